"""Kinds of devices: one folder each renders the design into that device's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import Loaded
    from fabric.targets.job import ClusterJob
    from fabric.targets.opensm.job import SubnetJob

__all__ = ["job_of", "render_devices"]


def job_of(loaded: Loaded[ClusterSpec], targets: set[str] | None = None) -> ClusterJob | SubnetJob:
    """The job that renders the devices of a spec of any kind: its switches, or the hosts of its subnet managers.

    `targets` are the kinds of device (all when None). FabricError for what cannot be built or rendered.
    """
    if loaded.value.backend.kind != "infiniband":
        return render_devices(loaded, targets)
    from fabric.design.load import subnet_of
    from fabric.targets.opensm.job import SubnetJob
    from fabric.targets.trial_subnet import accept_subnet

    cluster = subnet_of(loaded)
    accept_subnet(cluster)
    return SubnetJob(cluster.subnet, loaded.text_sha256, targets=targets, base_dir=loaded.path.parent)


def render_devices(loaded: Loaded[ClusterSpec], targets: set[str] | None) -> ClusterJob:
    """The job that renders the switches of the `targets` (all when None); FabricError for what cannot be built or rendered.

    What it needs is imported here: small processes of the lab use modules of the targets without the design.
    """
    from fabric.design.load import design_loaded
    from fabric.targets.job import ClusterJob
    from fabric.targets.trial import accept

    cluster = design_loaded(loaded)
    accept(cluster)
    return ClusterJob(cluster.fabric, loaded.text_sha256, targets=targets, base_dir=loaded.path.parent)
