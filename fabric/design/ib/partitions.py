"""Partitions: each port's membership, explicit; what opensm would silently degrade is refused."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence

from fabric.design.ib.model import Hca, IpoibGroup, Membership, Partition, SubnetManager
from fabric.design.ib.tree import Tree
from fabric.design.suggest import near
from fabric.errors import DesignError, FabricError, FabricErrors
from fabric.spec.ib_policy import Member, PartitionSpec
from fabric.words import counted, verb

DEFAULT_PKEY = 0x7FFF
RATES = (2.5, 5, 10, 14, 20, 25, 28, 30, 40, 50, 56, 60, 80, 100, 112, 120, 168, 200, 300, 400, 600)
"""Rates in Gb/s that have a code in opensm 3.3.23 (reference, MTU and rate codes)."""

Path = tuple[str | int, ...]


def partitions_of(tree: Tree, hcas: tuple[Hca, ...], managers: Sequence[SubnetManager]) -> tuple[Partition, ...]:
    """The default partition first, then the declared ones in the spec's order; DesignError(s) for what cannot be."""
    declared = tree.spec.infiniband.partitions
    errors: list[FabricError] = [*_keys(declared), *_levels(tree, declared)]
    found = []
    resolver = _Resolver(tree, hcas)
    for index, entry in enumerate(declared):
        members = resolver.members(("backend", "partitions", index), entry)
        if entry.name != "Default":
            errors += _nobody_full(("backend", "partitions", index), entry, members)
        found.append((entry, members))
    errors += resolver.errors
    errors += _default_full(found)
    if errors:
        raise errors[0] if len(errors) == 1 else FabricErrors(errors)
    own = [_partition(tree, entry, members) for entry, members in found if entry.pkey != DEFAULT_PKEY]
    default = next(((e, m) for e, m in found if e.pkey == DEFAULT_PKEY), None)
    return (_default(tree, hcas, managers, default, bool(own)), *own)


def _partition(tree: Tree, entry: PartitionSpec, members: dict[int, Membership]) -> Partition:
    group = entry.ipoib
    ipoib = None if group is None else IpoibGroup(group.mtu, group.rate or tree.speed_gbps)
    return Partition(entry.name, entry.pkey, members, entry.sl, ipoib)


def _default(
    tree: Tree,
    hcas: tuple[Hca, ...],
    managers: Sequence[SubnetManager],
    declared: tuple[PartitionSpec, dict[int, Membership]] | None,
    isolated: bool,
) -> Partition:
    """Every port is in 0x7fff: limited beside other partitions, else full; those of the SMs are full."""
    plain: Membership = "limited" if isolated else "full"
    members: dict[int, Membership] = {hca.port_guid: plain for hca in hcas}
    sl, ipoib = None, None
    if declared is not None:
        made = _partition(tree, *declared)
        members.update(made.members)
        sl, ipoib = made.sl, made.ipoib
    members.update({manager.hca.port_guid: "full" for manager in managers})
    return Partition("Default", DEFAULT_PKEY, members, sl, ipoib)


def _keys(declared: Sequence[PartitionSpec]) -> Iterator[DesignError]:
    """P_Keys and names: each once, 15 bits, 0x7fff only as Default."""
    keys: dict[int, str] = {}
    names: set[str] = set()
    for index, entry in enumerate(declared):
        path, key = ("backend", "partitions", index), entry.pkey
        if key == 0x8000:
            yield DesignError((*path, "pkey"), "0x8000 is the membership bit alone, no partition")
        elif key > DEFAULT_PKEY:
            low = key & DEFAULT_PKEY
            also = ", which is the default partition" if low == DEFAULT_PKEY else ""
            yield DesignError(
                (*path, "pkey"),
                f"0x{key:04x} holds the membership bit 0x8000; the partition is 0x{low:04x}{also}",
                hint="membership stands with the members",
            )
        elif (key == DEFAULT_PKEY) != (entry.name == "Default"):
            which = (
                "the default partition, which every port is in, so it isolates nobody"
                if key == DEFAULT_PKEY
                else "not 0x7fff"
            )
            hint = "0x0001 to 0x7ffe for a tenant" if key == DEFAULT_PKEY else "Default is the name of 0x7fff"
            yield DesignError((*path, "pkey"), f"{entry.name}: 0x{key:04x} is {which}", hint=hint)
        key &= DEFAULT_PKEY
        if key in keys:
            yield DesignError((*path, "pkey"), f"{entry.name} and {keys[key]} have the same P_Key 0x{key:04x}")
        if entry.name in names:
            yield DesignError((*path, "name"), f"{entry.name} is declared twice")
        keys[key] = entry.name
        names.add(entry.name)


def _levels(tree: Tree, declared: Sequence[PartitionSpec]) -> Iterator[DesignError]:
    """What needs QoS, and rates that have a code."""
    qos = tree.spec.infiniband.qos
    for index, entry in enumerate(declared):
        path = ("backend", "partitions", index)
        if entry.sl is not None and qos is None:
            yield DesignError(
                (*path, "sl"),
                f"{entry.name} wants SL {entry.sl}, which opensm ignores without QoS",
                hint="declare backend.qos",
            )
        elif entry.sl is not None and qos is not None and qos.sl2vl[entry.sl] == 15:
            yield DesignError((*path, "sl"), f"{entry.name} wants SL {entry.sl}, which sl2vl drops (VL 15)")
        rate = entry.ipoib.rate if entry.ipoib else None
        if rate is not None and rate not in RATES:
            known = ", ".join(f"{value:g}" for value in RATES)
            yield DesignError(
                (*path, "ipoib", "rate"), f"there is no InfiniBand rate of {rate} Gb/s", hint=f"one of {known}"
            )
        elif rate is not None and rate > tree.speed_gbps:
            yield DesignError(
                (*path, "ipoib", "rate"),
                f"{rate} Gb/s is more than the {tree.speed_gbps} Gb/s of a port: nobody could join",
            )


def _nobody_full(path: Path, entry: PartitionSpec, members: dict[int, Membership]) -> Iterator[DesignError]:
    if members and all(value == "limited" for value in members.values()):
        yield DesignError(
            (*path, "members"),
            f"{entry.name}: all {len(members):,} ports are limited, and limited members cannot talk with each other",
        )


def _default_full(found: Sequence[tuple[PartitionSpec, dict[int, Membership]]]) -> Iterator[DesignError]:
    """A tenant's port that is full in 0x7fff talks with every other port."""
    tenants = {guid: entry.name for entry, members in found if entry.pkey != DEFAULT_PKEY for guid in members}
    for index, (entry, members) in enumerate(found):
        open_ports = [guid for guid, value in members.items() if value != "limited" and guid in tenants]
        if entry.pkey == DEFAULT_PKEY and open_ports:
            yield DesignError(
                ("backend", "partitions", index, "members"),
                f"{counted(len(open_ports), 'port')} of tenants ({tenants[open_ports[0]]} first) would be "
                "full members of 0x7fff, which reaches every port",
                hint="limited",
            )


class _Resolver:
    """From names, units and racks to port GUIDs."""

    def __init__(self, tree: Tree, hcas: tuple[Hca, ...]) -> None:
        self.tree, self.errors = tree, list[FabricError]()
        self.hosts: dict[str, list[int]] = {}
        for hca in hcas:
            self.hosts.setdefault(hca.host, []).append(hca.port_guid)
        self.number = {name: number for number, name in enumerate(self.hosts, 1) if number <= tree.hosts}
        self.unit = {hca.host: hca.unit for hca in hcas}
        self.names = list(self.hosts)

    def members(self, path: Path, entry: PartitionSpec) -> dict[int, Membership]:
        """Port GUID -> membership of one partition; what is wrong goes to `errors`."""
        found: dict[int, Membership] = {}
        for index, member in enumerate(entry.members):
            where = (*path, "members", index)
            for host in self._chosen(where, member):
                for guid in self.hosts[host]:
                    if found.setdefault(guid, member.membership) != member.membership:
                        self.errors.append(
                            DesignError(where, f"{host} is both {found[guid]} and {member.membership} in {entry.name}")
                        )
                        break
        return found

    def _chosen(self, path: Path, member: Member) -> list[str]:
        chosen = self.names if member.hosts is None else self._named(path, member.hosts)
        if member.units is not None:
            self._inside((*path, "units"), "unit", member.units, self.tree.units)
            units = set(member.units)
            chosen = [host for host in chosen if self.unit[host] in units]
        if member.racks is not None:
            per = self.tree.spec.infiniband.hosts_per_rack
            self._inside((*path, "racks"), "rack", member.racks, -(-self.tree.hosts // per))
            racks = set(member.racks)
            chosen = [host for host in chosen if host in self.number and (self.number[host] - 1) // per + 1 in racks]
        if not chosen and not self.errors:
            self.errors.append(DesignError(path, "chooses no host"))
        return chosen

    def _inside(self, path: Path, what: str, numbers: Sequence[int], most: int) -> None:
        if numbers[-1] > most:
            self.errors.append(
                DesignError(path, f"there {verb(most, 'is', 'are')} {counted(most, what)}, {numbers[-1]:,} is beyond")
            )

    def _named(self, path: Path, patterns: Sequence[str]) -> list[str]:
        found: dict[str, None] = {}
        for index, pattern in enumerate(patterns):
            if pattern in self.hosts:
                found[pattern] = None
                continue
            match = re.compile(fnmatch.translate(pattern)).match
            hits = [name for name in self.names if match(name)]
            if not hits:
                hint = near(pattern, self.names) if len(self.names) < 5000 else ""
                like = hint if hint.startswith("did") else f"hosts are named like {self.names[0]}"
                self.errors.append(DesignError((*path, "hosts", index), f"no host matches {pattern!r}", hint=like))
            found.update(dict.fromkeys(hits))
        return list(found)
