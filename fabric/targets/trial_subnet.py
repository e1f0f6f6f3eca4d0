"""What an SM's files cannot hold is refused with its place in the spec, before anything is written: each SM is rendered to hear it."""

from __future__ import annotations

from fabric.design.load import SubnetCluster, placed
from fabric.errors import FabricError, FabricErrors
from fabric.targets.opensm.job import SubnetJob


def accept_subnet(cluster: SubnetCluster) -> SubnetJob:
    """The job of all SM hosts of a cluster, after a trial of each; FabricErrors, in file order, for what cannot be rendered."""
    loaded = cluster.loaded
    job = SubnetJob(cluster.subnet, loaded.text_sha256, base_dir=loaded.path.parent)
    found: dict[tuple[object, str], FabricError] = {}
    for device in job.devices:
        try:
            job.render(device.name)
        except FabricError as error:
            found.setdefault((getattr(error, "path", None), str(error)), error)
    if found:
        raise placed(loaded, FabricErrors(list(found.values())))
    return job
