"""What an SM's files cannot hold is refused with its place in the spec, before anything is written.

One SM is rendered to hear it: the files of the others differ in the port and the priority only.
"""

from __future__ import annotations

from fabric.design.load import SubnetCluster, placed
from fabric.errors import FabricError, FabricErrors
from fabric.targets.opensm.job import SubnetJob


def accept_subnet(cluster: SubnetCluster) -> SubnetJob:
    """The job of all SM hosts of a cluster, after a trial of the first; FabricErrors, in file order, for what cannot be rendered."""
    loaded = cluster.loaded
    job = SubnetJob(cluster.subnet, loaded.text_sha256, base_dir=loaded.path.parent)
    for device in job.devices[:1]:
        try:
            job.render(device.name)
        except FabricErrors as errors:
            raise placed(loaded, errors) from None
        except FabricError as error:
            raise placed(loaded, FabricErrors([error])) from None
    return job
