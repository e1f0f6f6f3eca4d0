"""The load that routes put on links: links per path, balance by tier and direction, contention of shift permutations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from fabric.design.ib.model import Subnet
from fabric.forwarding.shift import contention
from fabric.forwarding.tables import Routes
from fabric.forwarding.walk import TierLoad, Walk, balance
from fabric.verify.finding import Finding, Verdict
from fabric.words import counted

EVEN = 1.005
"""Worst over mean that counts as 1.00."""
UNEVEN = 1.25
"""The same where the design itself is uneven (leaves with unlike numbers of HCAs, an uneven stripe): our choice, below the 2.0 of a
missing root.
"""


def judge_loads(subnet: Subnet, laid: Routes, walked: Walk, doubt: str) -> list[Finding]:
    """Findings on loads, when every pair is routed. `doubt`: why an uneven load need not be the routing's fault, "" when it must be."""
    if walked.failed:
        return []
    judge = _Judge(subnet, laid, walked, doubt)
    return judge.doubted([*judge.paths(), *judge.balance(), *judge.contention()])


@dataclass(frozen=True, slots=True)
class _Judge:
    subnet: Subnet
    laid: Routes
    walked: Walk
    doubt: str

    def paths(self) -> Iterator[Finding]:
        """Links per path against what the tiers need."""
        links = dict(self.walked.links)
        if not links:
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

    def balance(self) -> Iterator[Finding]:
        """All-pairs load of each tier and direction."""
        most = EVEN if self._even() else UNEVEN
        expected = (
            "1.00 times the mean" if most == EVEN else f"at most {UNEVEN} times the mean (the design itself is uneven)"
        )
        for tier in balance(self.walked):
            text = f"the busiest of {tier.links:,} links carries {tier.ratio:.2f} times the mean: {counted(tier.worst, 'pair')}, {tier.busiest}"
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


def _histogram(links: dict[int, int]) -> str:
    return ", ".join(f"{counted(count, 'pair')} over {length} links" for length, count in sorted(links.items()))


def _finding(
    kind: str, verdict: Verdict, measured: str, expected: str, action: str, count: int = 1, *, subject: str = "subnet"
) -> Finding:
    return Finding(f"routing.{kind}", subject, verdict, measured, expected, action, (), (), count)
