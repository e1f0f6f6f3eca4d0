"""The nouns of the hosts' design. Frozen values; addresses are ints; speeds in Gb/s, lengths in metres, sizes in bytes.

Only shapes stand here. `fabric.design.hosts.build` makes them from spec + catalog + fabric or subnet; `targets/host` renders them,
`verify/hosts` checks them, `change` orders them in waves, the inventory plugin lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
class PcieSwitch:
    """One PCIe switch of a host: the GPUs and back-end NICs under it by index, in the catalog's order."""

    name: str
    gpus: tuple[int, ...]
    nics: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HostTopology:
    """How GPUs and back-end NICs should hang on PCIe, the same on every host. `gpus` and `nics`: PCI addresses by index.

    `speed` ("32.0 GT/s", "" = not known) and `width` (lanes, 0 = not known) are those of every GPU and NIC. `dump`: path on the host
    where a job leaves NCCL's own dump, "" = nowhere.
    """

    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    switches: tuple[PcieSwitch, ...]
    speed: str
    width: int
    dump: str


@dataclass(frozen=True, slots=True)
class NcclSetting:
    """One line of /etc/nccl.conf, and where its value comes from ("derived: ...", "hosts.nccl.overrides")."""

    key: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One host. `zone` and `rack` as in the fabric (InfiniBand: `zone` is the scalable unit); `unit` is its place in the rack, from 1.

    `block` names what must never reboot at once: the RTSW of one rack's hosts, or the scalable unit ("su001"). `nccl`: lines of
    /etc/nccl.conf that only this host has, after those of the fleet.
    """

    name: str
    fqdn: str
    zone: int
    rack: int
    unit: int
    block: str
    state: State
    nics: tuple[BackendNic, ...]
    nccl: tuple[NcclSetting, ...] = ()
    pkeys: tuple[int, ...] = ()
    """P_Keys (15 bits) of the partitions with IP over InfiniBand that the host is in, the default partition left out."""


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
class Mount:
    """One storage mount. `unit` is the systemd unit's name of the path, escaped ("mnt-scratch"). The rest depends on the kind.

    `fuse`: binary, arguments (whole argv after the binary, mount point and pool in place), cache directory, `environment` and `secrets`
    (variable, name of the secret), `notify` where the client tells systemd that it is ready, `package` that brings the binary.
    `pnfs`: `sources` ("server:/export"), of which `HostFleet.source_of` chooses a host's (`source` is the first), options in the order
    of /etc/fstab, `automount`, `timeout_s` of one mount. `probe`: folder that checks may write to, None = they only read.
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
    sources: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, str], ...] = ()
    notify: bool = False
    package: Package | None = None
    automount: bool = False
    timeout_s: int = 90
    probe: str | None = None


@dataclass(frozen=True, slots=True)
class Repository:
    """One package repository. `url` ends with "/"; `key_url` is None where packages are taken unsigned (a lab's own mirror).

    Debian family: a flat repository, `deb [signed-by=...] URL ./`. `exclude`: packages that must not come from it.
    """

    name: str
    url: str
    key_url: str | None
    exclude: tuple[str, ...] = ()
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that is set on the hosts (a sysctl, a NIC firmware parameter), and who says so."""

    key: str
    value: str
    why: str


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
    repositories: tuple[Repository, ...] = ()
    sysctls: tuple[Setting, ...] = ()
    firmware: tuple[Setting, ...] = ()
    """mlxconfig parameters of the back-end NICs, in the order in which they must be set."""
    front_end: tuple[str, ...] = ()
    """Front-end interfaces; not matched by prefix."""
    ntp: tuple[str, ...] = ()
    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Module streams to enable by concern (dnf), before its packages: {"nvidia": ("nvidia-driver:580-open",)}."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """What is pinned, by software: driver, fabric_manager, cuda, nccl ("2.28.9-1+cuda13.0"), dcgm, doca (not with the inbox stack)."""
    topology: HostTopology | None = None
    """Where the spec says in which slots GPUs and NICs sit."""

    def plan(self, name: str) -> HostPlan:
        """The host of that name; KeyError when there is none."""
        found = getattr(self.hosts, "named", None)
        if found is not None:
            plan: HostPlan = found(name)
            return plan
        return next((host for host in self.hosts if host.name == name), None) or _missing(name)

    def deployed(self) -> Iterable[str]:
        """Names of the hosts that are not only planned, in their order."""
        found = getattr(self.hosts, "deployed", None)
        if found is not None:
            names: Iterable[str] = found()
            return names
        return (host.name for host in self.hosts if host.state != "planned")

    @staticmethod
    def source_of(mount: Mount, host: HostPlan) -> str:
        """What a pNFS mount of this host mounts: the servers take turns by the host's place, so that growth moves nobody."""
        sources = mount.sources or (mount.source,)
        return sources[(host.zone + host.rack + host.unit) % len(sources)]


def _missing(name: str) -> HostPlan:
    raise KeyError(name)
