"""The root of cluster.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from fabric.spec.addressing import Addressing, Bgp
from fabric.spec.backend import Backend, InfinibandBackend, RoceBackend
from fabric.spec.base import HostLabel, Model
from fabric.spec.collectives import Collectives
from fabric.spec.forwarding import Cabling, LoadBalancing, Mtu
from fabric.spec.hosts import Hosts
from fabric.spec.management import FbossSettings, Management, Secret
from fabric.spec.overrides import Override, State
from fabric.spec.qos import Qos
from fabric.spec.scheduler import Slurm
from fabric.spec.site import Naming, Site
from fabric.spec.storage import StorageMount


class ClusterSpec(Model):
    """One cluster: everything that its design, configurations, changes and checks follow from."""

    schema_: Literal[1] = Field(alias="schema", description="Version of this file's form: 1.")
    name: HostLabel = Field(description="Name of the cluster.", examples=["roce-24k"])
    site: Site
    naming: Naming = Field(default_factory=Naming, description="Patterns of device names.")
    hosts: Hosts
    backend: Backend = Field(description="The back-end network.")
    addressing: Addressing | None = Field(None, description="Address pools; wanted for RoCE.")
    bgp: Bgp = Field(default_factory=Bgp, description="BGP.")
    qos: Qos = Field(default_factory=Qos, description="QoS.")
    load_balancing: LoadBalancing = Field(default_factory=LoadBalancing, description="Load balancing.")
    mtu: Mtu = Field(default_factory=Mtu, description="Packet sizes.")
    cabling: Cabling = Field(default_factory=Cabling, description="Cables by tier.")
    management: Management | None = Field(None, description="Management plane; wanted for RoCE.")
    storage: list[StorageMount] = Field(default_factory=list, max_length=32, description="What every GPU host mounts.")
    scheduler: Slurm | None = Field(None, description="Scheduler, or null for none.")
    collectives: Collectives = Field(default_factory=Collectives, description="Collective checks.")
    fboss: FbossSettings = Field(default_factory=FbossSettings, description="FBOSS particulars.")
    overrides: list[Override] = Field(default_factory=list, description="Differences of single devices.")
    state: list[State] = Field(
        default_factory=list, description="Parts that are planned or drained; all else is deployed."
    )
    secrets: dict[str, Secret] = Field(default_factory=dict, description="Secrets by name; only references stand here.")

    @model_validator(mode="after")
    def _roce_needs(self) -> ClusterSpec:
        if isinstance(self.backend, RoceBackend):
            for name in ("addressing", "management"):
                if getattr(self, name) is None:
                    raise ValueError(f"a RoCE cluster needs the section {name!r}")
        return self

    @property
    def roce(self) -> RoceBackend:
        """The RoCE back end; raises TypeError for an InfiniBand cluster, so ask `backend.kind` first."""
        if not isinstance(self.backend, RoceBackend):
            raise TypeError("not a RoCE cluster")
        return self.backend

    @property
    def plan(self) -> Addressing:
        """The address plan of a RoCE cluster; raises TypeError for one that has none."""
        if self.addressing is None:
            raise TypeError("this cluster has no addressing")
        return self.addressing

    @property
    def mgmt(self) -> Management:
        """The management plane of a RoCE cluster; raises TypeError for one that has none."""
        if self.management is None:
            raise TypeError("this cluster has no management")
        return self.management

    @property
    def infiniband(self) -> InfinibandBackend:
        """The InfiniBand back end; raises TypeError for a RoCE cluster."""
        if not isinstance(self.backend, InfinibandBackend):
            raise TypeError("not an InfiniBand cluster")
        return self.backend
