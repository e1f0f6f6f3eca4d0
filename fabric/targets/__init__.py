"""Kinds of devices: one folder each renders the design into that device's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabric.errors import FabricError

if TYPE_CHECKING:
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import Loaded
    from fabric.targets.host.job import HostJob
    from fabric.targets.job import ClusterJob
    from fabric.targets.opensm.job import SubnetJob

__all__ = ["job_of", "render_devices", "render_job"]


def render_job(loaded: Loaded[ClusterSpec], targets: set[str] | None = None) -> ClusterJob | SubnetJob | HostJob:
    """The job that renders files of these kinds of device: None is all that are changed one by one, `host` alone are the GPU hosts.

    FabricError for what cannot be built or rendered.
    """
    if targets is not None and "host" in targets:
        return _hosts(loaded, targets)
    return job_of(loaded, targets)


def job_of(loaded: Loaded[ClusterSpec], targets: set[str] | None = None) -> ClusterJob | SubnetJob:
    """The job of the devices that are changed one by one: a spec's switches, or the hosts of its subnet managers.

    `targets` are the kinds of device (all when None). FabricError for what cannot be built or rendered.
    """
    if targets is not None and "host" in targets:
        raise FabricError("hosts are not changed device by device", hint="fabric plan --hosts, fabric apply --hosts")
    if loaded.value.backend.kind != "infiniband":
        return render_devices(loaded, targets)
    from fabric.design.load import subnet_of
    from fabric.targets.opensm.job import SubnetJob
    from fabric.targets.trial_subnet import accept_subnet

    cluster = subnet_of(loaded)
    accept_subnet(cluster)
    return SubnetJob(cluster.subnet, loaded.text_sha256, targets=targets, base_dir=loaded.path.parent)


def _hosts(loaded: Loaded[ClusterSpec], targets: set[str]) -> HostJob:
    from fabric.design.load import fleet_of
    from fabric.targets.host.job import HostJob

    if targets != {"host"}:
        others = ", ".join(sorted(targets - {"host"}))
        raise FabricError(f"target host stands alone, not with {others}", hint="one command for each")
    return HostJob(fleet_of(loaded).fleet, loaded.text_sha256)


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
