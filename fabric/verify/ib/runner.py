"""Reads of a live subnet what the checks need, and judges it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from fabric.design.ib.model import Subnet
from fabric.errors import FabricError
from fabric.targets.opensm.mad_model import End, Topology
from fabric.verify.finding import Finding
from fabric.verify.ib.cables import cables
from fabric.verify.ib.judge import judge
from fabric.verify.ib.names import Matched, match
from fabric.verify.ib.partitions import ports_of
from fabric.verify.ib.paths import samples
from fabric.verify.ib.qos import qos_ports
from fabric.verify.ib.reads import NOT_ASKED, Observed, Path, Reads, Unread

T = TypeVar("T")


def observe(
    subnet: Subnet, reads: Reads, checks: Collection[str], progress: Callable[[str], None] = lambda _: None
) -> Observed:
    """Everything that the checks need, each part read once. A part that cannot be read is Unread, with the reason."""
    progress("discovers the subnet")
    topology = _try(reads.topology)
    if isinstance(topology, Unread):
        texts = reads.texts(subnet.managers) if "sm" in checks else {}
        return Observed(reads.simulated, topology, topology, topology, topology, topology, topology, texts)
    matched = match(subnet, topology)

    def part(needed: Collection[str], text: str, ask: Callable[[], T]) -> T | Unread:
        if not set(needed) & set(checks):
            return NOT_ASKED
        progress(text)
        return _try(ask)

    return Observed(
        reads.simulated,
        topology,
        part(
            ("sm", "partitions"),
            "asks the subnet managers",
            lambda: reads.managers(topology, _declared(subnet, topology, matched)),
        ),
        part(("routing",), "reads the forwarding tables", lambda: reads.lfts(topology)),
        part(("partitions",), "reads the P_Key tables", lambda: reads.pkeys(topology, ports_of(subnet, matched.guid))),
        part(("qos",), "reads SL2VL and VLArb", lambda: reads.qos(topology, qos_ports(topology) if subnet.qos else [])),
        part(("errors",), "reads the counters", lambda: reads.counters(topology, _cabled(subnet, topology, matched))),
        reads.texts(subnet.managers) if {"sm", "partitions"} & set(checks) else {},
        part(("qos",), "asks for sample paths", lambda: _paths(subnet, topology, matched, reads)),
    )


def _declared(subnet: Subnet, topology: Topology, matched: Matched) -> list[End]:
    """The ports of the declared subnet managers, as far as they are there."""
    ends = [(matched.guid[manager.hca.name], 1) for manager in subnet.managers if manager.hca.name in matched.guid]
    return [end for end in ends if end in topology.ports]


def _cabled(subnet: Subnet, topology: Topology, matched: Matched) -> list[End]:
    """Both ends of every declared link, as far as their nodes are there."""
    found = cables(subnet, topology, matched)
    ends = [end for number in range(len(found.links)) for end in found.ends(number)]
    return [(matched.guid[name], int(port)) for name, port in ends if (name, port) in found.ports]


def _paths(subnet: Subnet, topology: Topology, matched: Matched, reads: Reads) -> Mapping[tuple[str, str], Path | None]:
    wanted = [(source, target) for source, target, _ in samples(subnet, topology)]
    ends = [((matched.guid[source], 1), (matched.guid[target], 1)) for source, target in wanted]
    return dict(zip(wanted, reads.paths(topology, ends), strict=True))


def _try(ask: Callable[[], T]) -> T | Unread:
    try:
        return ask()
    except FabricError as error:
        return Unread(error.message)


def validate(
    subnet: Subnet,
    reads: Reads,
    checks: Collection[str],
    *,
    saved_lids: Mapping[int, int] | None = None,
    only: frozenset[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Observed, list[Finding]]:
    """Reads the subnet and gives what was read and all findings."""
    seen = observe(subnet, reads, checks, progress)
    return seen, judge(subnet, seen, checks, saved_lids=saved_lids, only=only)
