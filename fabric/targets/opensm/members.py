"""What the files list: top switches, compute ports, service ports, the members of partitions in their shortest safe form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from fabric.design.ib.model import Hca, IbSwitch, Membership, Partition, Subnet
from fabric.targets.opensm.codes import mtu_code, rate_code
from fabric.targets.opensm.partitions import DEFAULT_PKEY

GUIDS_A_LINE = 8
"""A member is at most 27 bytes, so that a line stays far below what opensm reads at a time."""


def standing(subnet: Subnet) -> tuple[tuple[IbSwitch, ...], tuple[Hca, ...]]:
    """Switches and HCAs that are there; a planned one is not."""
    switches = tuple(switch for switch in subnet.switches if switch.state != "planned")
    return switches, tuple(hca for hca in subnet.hcas if hca.state != "planned")


def roots(subnet: Subnet) -> list[int]:
    """Node GUIDs of the top tier."""
    return [switch.guid for switch in subnet.roots if switch.state != "planned"]


def compute(subnet: Subnet) -> list[int]:
    """Port GUIDs of the GPU hosts' HCAs."""
    return [hca.port_guid for hca in subnet.compute if hca.state != "planned"]


def services(subnet: Subnet) -> list[int]:
    """Port GUIDs of all other HCAs: storage, SM hosts without GPUs."""
    return [hca.port_guid for hca in subnet.hcas if hca.purpose != "compute" and hca.state != "planned"]


def wants_both(subnet: Subnet) -> bool:
    """Is a port to hold both keys of a partition? Without `allow_both_pkeys` it would be full (measured)."""
    return any("both" in partition.members.values() for partition in subnet.partitions)


def wants_order(subnet: Subnet) -> bool:
    """Is the order in which destinations are routed to be written down? Only MinHop and Up/Down of a two-tier fabric gain by it."""
    return subnet.tiers == 2 and bool({"minhop", "updn", "ar_updn"} & set(subnet.routing.engines))


def order(subnet: Subnet) -> list[int]:
    """Compute ports by leaf and leaf port, which is how round robin spreads them evenly."""
    place = {link.b: (link.a, link.a_port) for link in subnet.links if link.tier == "host"}
    position = {switch.name: at for at, switch in enumerate(subnet.switches)}
    there = [hca for hca in subnet.compute if hca.state != "planned" and hca.name in place]
    there.sort(key=lambda hca: (position[place[hca.name][0]], place[hca.name][1]))
    return [hca.port_guid for hca in there]


@dataclass(frozen=True, slots=True)
class MemberLine:
    """Members on one line, and whose they are ("" = no one host's)."""

    words: str
    host: str


@dataclass(frozen=True, slots=True)
class PartitionRule:
    """One definition of partitions.conf: `head` before the colon, `lines` of members after it."""

    head: str
    lines: tuple[MemberLine, ...]


def partition_rules(subnet: Subnet) -> list[PartitionRule]:
    """Every partition of the subnet, the default one first; membership always written out."""
    declared = {partition.pkey: partition for partition in subnet.partitions}
    default = declared.pop(DEFAULT_PKEY, None)
    hosts = {hca.port_guid: hca.host for hca in standing(subnet)[1]}
    return [_default(subnet, default, hosts), *(_rule(partition, hosts) for partition in declared.values())]


def _default(subnet: Subnet, partition: Partition | None, hosts: Mapping[int, str]) -> PartitionRule:
    """The default partition: a word for all ports, then those that differ. Subnet managers are full members in every case."""
    managers = {manager.hca.port_guid for manager in subnet.managers}
    members = {guid: kind for guid, kind in partition.members.items() if guid in hosts} if partition else {}
    standard: Membership = "limited"
    if partition is not None and len(members) >= len(hosts):
        standard = Counter(members.values()).most_common(1)[0][0]
    elif partition is None and not subnet.partitions:
        standard = "full"
    full: dict[int, Membership] = dict.fromkeys(sorted(managers), "full")
    differing = {guid: membership for guid, membership in {**members, **full}.items() if membership != standard}
    lines = (MemberLine(f"ALL={standard}, SELF=full", ""), *_lines(differing, hosts))
    return PartitionRule(_head(partition) if partition else f"Default={DEFAULT_PKEY:#06x}", lines)


def _rule(partition: Partition, hosts: Mapping[int, str]) -> PartitionRule:
    return PartitionRule(_head(partition), tuple(_lines(partition.members, hosts)))


def _head(partition: Partition) -> str:
    words = [f"{partition.name}={partition.pkey:#06x}"]
    if partition.ipoib is not None:
        group = partition.ipoib
        words += ["ipoib", f"mtu={mtu_code(group.mtu)}", f"rate={rate_code(group.rate_gbps)}", f"scope={group.scope}"]
    if partition.sl is not None:
        words.append(f"sl={partition.sl}")
    return ", ".join(words)


def _lines(members: Mapping[int, Membership], hosts: Mapping[int, str]) -> Iterator[MemberLine]:
    """A line a host, so that a diff shows hosts; more than one where it has many ports. A planned host has no ports yet."""
    there = ((guid, kind) for guid, kind in members.items() if guid in hosts)
    for host, group in groupby(there, key=lambda member: hosts[member[0]]):
        words = [f"{guid:#018x}={membership}" for guid, membership in group]
        for start in range(0, len(words), GUIDS_A_LINE):
            yield MemberLine(", ".join(words[start : start + GUIDS_A_LINE]), host)
