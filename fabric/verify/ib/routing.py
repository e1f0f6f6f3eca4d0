"""Routing: the forwarding tables of all switches, walked for every pair of HCAs over the cables that are there.

Does every HCA reach every other, by as few links as the tiers need, without credit loops, and evenly? Counted over data paths only:
the number of table entries for a port proves nothing in three tiers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from fabric.design.ib.model import Subnet
from fabric.errors import FabricError
from fabric.forwarding.cycles import channels_used, find_cycle
from fabric.forwarding.shift import contention
from fabric.forwarding.tables import NO_ROUTE, Lfts, Routes, routes
from fabric.forwarding.walk import Failure, Kind, TierLoad, Walk, balance, walk
from fabric.targets.opensm.mad_model import Topology
from fabric.verify.finding import Finding, Verdict
from fabric.verify.ib.cables import cables
from fabric.verify.ib.lids import lids_of
from fabric.verify.ib.live_wiring import live_wiring
from fabric.verify.ib.names import match
from fabric.verify.ib.reads import Observed, Unread
from fabric.words import counted

SEVERAL_LANES = frozenset({"dfsssp", "nue", "lash", "torus-2QoS"})
"""Engines that spread paths over several VLs: a cycle seen over one may be none (reference, section 2.4)."""
EVEN = 1.005
"""Worst over mean that counts as 1.00."""
UNEVEN = 1.25
"""The same where the design itself is uneven (leaves with unlike numbers of HCAs, an uneven stripe): our choice, below the 2.0 of a
missing root.
"""
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
    loads = [*judge.paths(), *judge.balance(), *judge.contention()]
    return [*judge.reach(), judge.deadlock(), *judge.doubted(loads)]


def _doubt(subnet: Subnet, topology: Topology, lfts: Lfts) -> str:
    """Why an uneven load need not be the routing's fault: "" when there is no such reason."""
    if lfts.unread:
        return f"{len(lfts.unread):,} blocks of forwarding tables could not be read"
    found = cables(subnet, topology, match(subnet, topology))
    wrong = sum(
        any(found.ears.states[end] != "right" for end in found.ends(number)) for number in range(len(found.links))
    )
    wrong += len(found.ears.extra)
    return (
        f"{wrong:,} of {len(found.links):,} links are not as designed (see `fabric validate cabling`)" if wrong else ""
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

    def paths(self) -> Iterator[Finding]:
        """Links per path against what the tiers need."""
        links = dict(self.walked.links)
        if not links or self.walked.failed:
            return
        wanted = self._needed()
        text = _histogram(links)
        if links == wanted:
            yield _finding("paths", "pass", text, _histogram(wanted), "", sum(links.values()))
        else:
            yield self._off(
                "paths",
                text,
                _histogram(wanted),
                "pairs take other ways than the tiers give: look at the routing engine",
            )

    def _needed(self) -> dict[int, int]:
        """Links per path -> pairs, by leaf and pod of both ends."""
        wiring, subnet = self.laid.wiring, self.subnet
        leaves: Counter[int] = Counter(wiring.home[wiring.order].tolist())
        pods: Counter[int] = Counter()
        for leaf, count in leaves.items():
            switch = subnet.switch.get(wiring.switches[leaf])
            pods[switch.pod if switch is not None else -1] += count
        total = sum(leaves.values())
        near = sum(count * (count - 1) for count in leaves.values())
        inside = (sum(n * n for n in pods.values()) if subnet.tiers > 2 else total * total) - sum(
            n * n for n in leaves.values()
        )
        beyond = total * (total - 1) - near - inside
        return {length: count for length, count in ((2, near), (4, inside), (6, beyond)) if count}

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

    def balance(self) -> Iterator[Finding]:
        """All-pairs load of each tier and direction."""
        if self.walked.failed:
            return
        most = EVEN if self._even() else UNEVEN
        expected = (
            "1.00 times the mean" if most == EVEN else f"at most {UNEVEN} times the mean (the design itself is uneven)"
        )
        for tier in balance(self.walked):
            text = f"the busiest of {tier.links:,} links carries {tier.ratio:.2f} times the mean: {tier.worst:,} pairs, {tier.busiest}"
            if tier.ratio <= most:
                yield _finding(
                    "balance", "pass", f"{tier.ratio:.2f} times the mean", expected, "", tier.links, subject=_name(tier)
                )
            else:
                yield self._off(
                    "balance", text, expected, "compare engine and root GUIDs with the design", subject=_name(tier)
                )

    def contention(self) -> Iterator[Finding]:
        """Flows on the busiest link when all HCAs shift by k places."""
        if self.walked.failed:
            return
        found = contention(self.laid)
        if not found:
            return
        ratio = (
            math.prod(self.subnet.figures.oversubscription.values()) if self.subnet.figures.oversubscription else 1.0
        )
        most = math.ceil(max(1.0, ratio) - 1e-9) + (not self._even())
        worst = max(found, key=lambda one: one.flows)
        expected = f"{counted(most, 'flow')} on the busiest link"
        if worst.flows <= most:
            yield _finding(
                "contention",
                "pass",
                f"{worst.flows} on the busiest link of {len(found)} shifts",
                expected,
                "",
                len(found),
            )
        else:
            text = f"shift by {worst.shift}: {worst.flows} flows on {worst.busiest}"
            yield self._off("contention", text, expected, "compare engine and root GUIDs with the design")

    def doubted(self, loads: list[Finding]) -> list[Finding]:
        """What is not held against the routing as one finding, with the reason."""
        off = [finding for finding in loads if finding.verdict == "unknown"]
        if not self.doubt or not off:
            return loads
        said = [
            f"{finding.check}{f' {finding.subject}' if finding.subject != 'subnet' else ''}: {finding.measured}"
            for finding in off
        ]
        text = f"uneven, which is not held against the routing, as {self.doubt}"
        one = Finding("routing.balance", "subnet", "unknown", text, off[0].expected, "", tuple(said))
        return [*(finding for finding in loads if finding not in off), one]

    def _even(self) -> bool:
        """Whether perfect balance is possible: equal leaves, and an even stripe."""
        wiring = self.laid.wiring
        counts = set(Counter(wiring.home[wiring.order].tolist()).values())
        smallest, largest = self.subnet.figures.stripe
        return len(counts) <= 1 and smallest == largest

    def _off(self, kind: str, measured: str, expected: str, action: str, *, subject: str = "subnet") -> Finding:
        """A load or path that is not as it should be: the routing's fault only when nothing else can be."""
        engine = self.subnet.routing.engines[0]
        if self.doubt:
            return _finding(
                kind,
                "unknown",
                f"{measured}; not held against the routing, as {self.doubt}",
                expected,
                "",
                subject=subject,
            )
        if engine.startswith("ar_"):
            text = f"{measured}, by the static tables; {engine} spreads packets over all links"
            return _finding(kind, "unknown", text, expected, "", subject=subject)
        return _finding(kind, "fail", measured, expected, action, subject=subject)


def _name(tier: TierLoad) -> str:
    return f"{tier.source} to {tier.target}"


def _told(failure: Failure) -> str:
    way = " -> ".join(
        f"{name}[{port}]" if port != NO_ROUTE else f"{name} (no route)" for name, port in failure.way[-8:]
    )
    if failure.kind == "loop":
        way += " and around again"
    return f"{failure.leaf} to {failure.destination} by {way}" if way else f"{failure.leaf} to {failure.destination}"


def _histogram(links: dict[int, int]) -> str:
    return ", ".join(f"{count:,} pairs over {length} links" for length, count in sorted(links.items()))


def _finding(
    kind: str,
    verdict: Verdict,
    measured: str,
    expected: str,
    action: str,
    count: int = 1,
    *,
    subject: str = "subnet",
    devices: tuple[str, ...] = (),
) -> Finding:
    return Finding(f"routing.{kind}", subject, verdict, measured, expected, action, (), devices, count)
