"""The nouns of the hosts' design. Frozen values; addresses are ints; speeds in Gb/s, lengths in metres, sizes in bytes.

Only shapes stand here. `fabric.design.hosts.build` makes them from spec + catalog + fabric or subnet; `targets/host` renders them,
`verify/hosts` checks them, `change` orders them in waves, the inventory plugin lists them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fabric.design.model import State
from fabric.spec.cluster import ClusterSpec

Family = Literal["debian", "rhel"]


@dataclass(frozen=True, slots=True)
class Distribution:
    """What the hosts run: `name` as the spec has it ("ubuntu-24.04"), its family, its CUDA repository's name ("ubuntu2404").

    `network`: which service configures the NICs.
    """

    name: str
    family: Family
    cuda_repo: str
    network: Literal["networkd", "networkmanager"]


@dataclass(frozen=True, slots=True)
class Package:
    """One pinned package: its name and full version as the package manager takes it; `hold`: never upgraded by itself."""

    name: str
    version: str | None
    hold: bool = True


@dataclass(frozen=True, slots=True)
class BackendNic:
    """One back-end NIC. `rail` counts from 0; `pci` is "0000:1b:00.0", None where the spec does not say.

    RoCE: `local*`/`peer*` are the NIC's and the RTSW's address (None where the family is not used) with their lengths, `table` is
    the number of the NIC's own routing table. InfiniBand: `guid` is the port GUID, and there are no addresses.
    `switch`, `switch_port`: what it is cabled to.
    """

    rail: int
    name: str
    hca: str
    pci: str | None
    switch: str
    switch_port: str
    speed_gbps: int
    cable_length_m: float
    table: int
    local4: int | None = None
    peer4: int | None = None
    len4: int = 31
    local6: int | None = None
    peer6: int | None = None
    len6: int = 127
    guid: int | None = None


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One host. `zone` and `rack` as in the fabric (InfiniBand: `zone` is the scalable unit); `block` names what must never reboot at
    once: the hosts of one rack, or of one scalable unit's leaf group.
    """

    name: str
    fqdn: str
    zone: int
    rack: int
    unit: int
    block: str
    state: State
    nics: tuple[BackendNic, ...]


@dataclass(frozen=True, slots=True)
class RoceQos:
    """The lossless class as the hosts need it: its PFC priority, all its DSCPs, the one that the hosts send with, the byte in the
    IP header (DSCP << 2, with ECT(0) where ECN is on), the DSCP and priority of CNPs, and whether DCQCN is on.
    """

    priority: int
    dscps: tuple[int, ...]
    dscp: int
    traffic_class: int
    cnp_dscp: int
    cnp_priority: int
    dcqcn: bool


@dataclass(frozen=True, slots=True)
class NcclSetting:
    """One line of /etc/nccl.conf, and where its value comes from ("derived: ...", "hosts.nccl.overrides")."""

    key: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Mount:
    """One storage mount. `unit` is the systemd unit's name of the path, escaped ("mnt-scratch"). The rest depends on the kind:
    `fuse`: binary, arguments (whole argv after the binary, mount point and pool in place), cache directory; `pnfs`: source
    ("server:/export"), options in the order of /etc/fstab.
    """

    name: str
    kind: Literal["fuse", "pnfs"]
    path: str
    unit: str
    source: str
    options: tuple[str, ...]
    binary: str = ""
    arguments: tuple[str, ...] = ()
    cache_dir: str = ""
    cache_bytes: int = 0
    before_slurmd: bool = True


@dataclass(frozen=True, slots=True)
class HostFleet:
    """All hosts of a cluster: what they have in common once, and one small HostPlan each (in the order of the fabric).

    `hosts` is built lazily by name (`plan(name)`) where a whole fleet is not wanted; see `fabric.design.hosts.build`.
    """

    spec: ClusterSpec
    backend: Literal["roce", "infiniband"]
    distribution: Distribution
    packages: Mapping[str, tuple[Package, ...]]
    """By concern: rdma, nvidia, cuda, nccl, checks, storage."""
    qos: RoceQos | None
    mtu: int
    nccl: tuple[NcclSetting, ...]
    mounts: tuple[Mount, ...]
    hosts: Sequence[HostPlan]
