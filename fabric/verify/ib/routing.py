"""Routing: the forwarding tables of all switches, walked for every pair of HCAs over the cables that are there.

Does every HCA reach every other, by as few links as the tiers need, without credit loops, and evenly? Counted over data paths only:
the number of table entries for a port proves nothing in three tiers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabric.design.ib.model import Subnet
from fabric.errors import FabricError
from fabric.forwarding.cycles import channels_used, find_cycle
from fabric.forwarding.tables import NO_ROUTE, Lfts, Routes, routes
from fabric.forwarding.walk import Failure, Kind, Walk, walk
from fabric.targets.opensm.mad_model import Topology
from fabric.verify.finding import Finding, Verdict
from fabric.verify.ib.cables import cables
from fabric.verify.ib.lids import lids_of
from fabric.verify.ib.live_wiring import live_wiring
from fabric.verify.ib.loads import judge_loads
from fabric.verify.ib.names import match
from fabric.verify.ib.reads import Observed, Unread
from fabric.words import counted, verb

SEVERAL_LANES = frozenset({"dfsssp", "nue", "lash", "torus-2QoS"})
"""Engines that spread paths over several VLs: a cycle seen over one may be none (reference, section 2.4)."""
_SHOWN = 3


def judge_routing(subnet: Subnet, seen: Observed) -> list[Finding]:
    """Findings on all pairs of HCAs that are cabled."""
    topology, lfts = seen.topology, seen.lfts
    if isinstance(topology, Unread) or isinstance(lfts, Unread):
        why = topology.why if isinstance(topology, Unread) else lfts.why if isinstance(lfts, Unread) else ""
        return [_finding("reach", "unknown", why, "the forwarding tables can be read", "")]
    try:
        laid = routes(live_wiring(subnet, topology), lfts, lids_of(topology))
    except FabricError as error:
        return [
            _finding("reach", "unknown", error.message, "every port has one LID of its own", "see `fabric validate sm`")
        ]
    walked = walk(laid)
    judge = _Judge(subnet, laid, walked, _doubt(subnet, topology, lfts), bool(lfts.unread))
    return [*judge.reach(), judge.deadlock(), *judge_loads(subnet, laid, walked, judge.doubt)]


def _doubt(subnet: Subnet, topology: Topology, lfts: Lfts) -> str:
    """Why an uneven load need not be the routing's fault: "" when there is no such reason."""
    if lfts.unread:
        return f"{counted(len(lfts.unread), 'block')} of forwarding tables could not be read"
    found = cables(subnet, topology, match(subnet, topology))
    wrong = sum(
        any(found.ears.states[end] != "right" for end in found.ends(number)) for number in range(len(found.links))
    )
    wrong += len(found.ears.extra)
    return (
        f"{wrong:,} of {len(found.links):,} links {verb(wrong, 'is', 'are')} not as designed (see `fabric validate cabling`)"
        if wrong
        else ""
    )


@dataclass(frozen=True, slots=True)
class _Judge:
    subnet: Subnet
    laid: Routes
    walked: Walk
    doubt: str
    unread: bool

    def reach(self) -> Iterator[Finding]:
        """Whether everything is reached from everywhere."""
        walked = self.walked
        if walked.pairs and not walked.failed:
            text = f"{walked.delivered:,} of {walked.pairs:,} pairs of HCAs are routed"
            yield _finding("reach", "pass", text, "every pair is routed", "", walked.pairs)
        if walked.others and not walked.others_failed:
            text = f"{walked.others:,} ways from a leaf to a service port are routed"
            yield _finding("services", "pass", text, "services are reached from every leaf", "", walked.others)
        if not walked.pairs and not walked.others:
            yield _finding("reach", "unknown", "fewer than two HCAs are seen", "every pair is routed", "")
        for kind in dict.fromkeys([*walked.failed, *walked.others_failed]):
            yield self._lost(kind)

    def _lost(self, kind: Kind) -> Finding:
        count, others = self.walked.failed.get(kind, 0), self.walked.others_failed.get(kind, 0)
        words = {
            "hole": "end where there is no route",
            "loop": "go around in a loop",
            "wrong end": "end at a wrong HCA",
        }
        lost = [f"{count:,} of {self.walked.pairs:,} pairs"] if count else []
        lost += [f"{others:,} of {self.walked.others:,} ways to service ports"] if others else []
        examples = [_told(failure) for failure in self.walked.failures if failure.kind == kind]
        measured = f"{' and '.join(lost)} {words[kind]}: {'; '.join(examples[:_SHOWN])}"
        check = "reach" if count else "services"
        if self.unread:
            return _finding(check, "unknown", f"{measured}; {self.doubt}", "every pair is routed", "")
        devices = tuple(
            dict.fromkeys(
                name for failure in self.walked.failures if failure.kind == kind for name, _ in failure.way[-1:]
            )
        )
        action = "see whether the master SM still runs and what its log says of these switches"
        return _finding(check, "fail", measured, "every pair is routed", action, devices=devices)

    def deadlock(self) -> Finding:
        """Credit loops."""
        cycle = find_cycle(self.walked)
        engine = self.subnet.routing.engines[0]
        if cycle is None:
            text = f"no cycle in {channels_used(self.walked):,} channels"
            if self.unread:
                return _finding("deadlock", "unknown", f"{text} so far; {self.doubt}", "no credit loop", "")
            return _finding("deadlock", "pass", text, "no credit loop", "")
        names = [self.laid.wiring.channel_name(channel) for channel in cycle]
        shown = "; ".join(names[: 2 * _SHOWN]) + (
            f"; and {len(names) - 2 * _SHOWN} more" if len(names) > 2 * _SHOWN else ""
        )
        text = f"{len(names)} channels wait for each other in a circle: {shown}"
        if engine in SEVERAL_LANES:
            text = f"over one VL, {text}; {engine} may have them on several"
            return _finding(
                "deadlock", "unknown", text, "no credit loop", "check with ibdmchk, path-SL and SL2VL dumps"
            )
        return _finding(
            "deadlock", "fail", text, "no credit loop", "use an engine without credit loops (ftree, updn with roots)"
        )


def _told(failure: Failure) -> str:
    way = " -> ".join(
        f"{name}[{port}]" if port != NO_ROUTE else f"{name} (no route)" for name, port in failure.way[-8:]
    )
    if failure.kind == "loop":
        way += " and around again"
    return f"{failure.leaf} to {failure.destination} by {way}" if way else f"{failure.leaf} to {failure.destination}"


def _finding(
    kind: str,
    verdict: Verdict,
    measured: str,
    expected: str,
    action: str,
    count: int = 1,
    *,
    devices: tuple[str, ...] = (),
) -> Finding:
    return Finding(f"routing.{kind}", "subnet", verdict, measured, expected, action, (), devices, count)
