"""What no target can render is refused before anything is written, with its place in the spec.

The targets refuse by themselves what their operating system does not take; here one switch of each kind is rendered to hear it.
"""

from __future__ import annotations

from fabric.design.fabric import Fabric
from fabric.design.load import Cluster, placed
from fabric.design.model import Switch
from fabric.errors import FabricError, FabricErrors
from fabric.targets.job import ClusterJob


def accept(cluster: Cluster) -> ClusterJob:
    """The job of all devices of a cluster, after a trial of each kind; FabricErrors, in file order, for what cannot be rendered."""
    loaded = cluster.loaded
    job = ClusterJob(cluster.fabric, loaded.text_sha256, base_dir=loaded.path.parent)
    found: dict[tuple[object, str], FabricError] = {}
    for name in _one_of_each_kind(cluster.fabric):
        try:
            job.render(name)
        except FabricError as error:
            found.setdefault((getattr(error, "path", None), str(error)), error)
    if found:
        raise placed(loaded, FabricErrors(list(found.values())))
    return job


def _one_of_each_kind(fabric: Fabric) -> list[str]:
    """Names of switches that differ in what a target may refuse."""
    kinds = {_kind(fabric, switch): switch.name for switch in reversed(fabric.switches)}
    return list(reversed(kinds.values()))


def _kind(fabric: Fabric, switch: Switch) -> tuple[object, ...]:
    kind = (switch.role, switch.model, switch.nos, switch.profile)
    if not fabric.spec.overrides:
        return kind
    own = fabric.settings_of(switch)
    return (*kind, own.ecmp_width, tuple(sorted(own.agent_args.items())))
