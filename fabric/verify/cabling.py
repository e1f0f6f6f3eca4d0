"""Cabling by LLDP: every declared cable once, and what is there beside them.

A wrong cable is told apart: crossed (see `cabling_mix`), in a wrong port, at a wrong device, missing, heard one way only. An end that
cannot be asked is judged from the other one; a device that says nothing of itself is unknown, unless its port is down.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from fabric.design.fabric import Fabric
from fabric.verify.cabling_dead import dead_devices
from fabric.verify.cabling_mix import ring_finding, rings
from fabric.verify.cabling_mute import mute_devices
from fabric.verify.cabling_plan import CablePlan, Ears, End, cable_plan, devices_of, ends, listen
from fabric.verify.finding import Finding
from fabric.verify.observed import Network, seen

_STALE = "a change of the last minute may not be seen yet: neighbours are forgotten after the LLDP hold time"


def judge_cabling(fabric: Fabric, network: Network) -> list[Finding]:
    """Findings on all links: what is wrong first, then what could not be seen, then a pass for every link that is right."""
    plan = cable_plan(fabric)
    ears = listen(fabric, plan, network)
    judge = _Judge(plan, ears, network, fabric.by_name)
    failed: list[Finding] = []
    covered: set[int] = set()
    used: set[End] = set()
    for ring in rings(plan, ears):
        failed.append(ring_finding(plan, ears, ring))
        covered.update(plan.link_of[end] for end in ring.chain)
    for finding, links in dead_devices(fabric, plan, ears, network, covered):
        failed.append(finding)
        covered |= links
    for finding, links in mute_devices(fabric, plan, ears, covered):
        failed.append(finding)
        covered |= links
    rest: list[Finding] = []
    off: list[int] = []
    for number in range(len(plan.links)):
        a, b = ends(plan, number)
        used.update(ears.meets[end] for end in (a, b) if end in ears.meets)
        if number in covered:
            continue
        if "off" in (ears.states[a], ears.states[b]) and not judge.wrong(a) and not judge.wrong(b):
            off.append(number)
            continue
        rest.append(judge.link(number))
    failed += judge.extras(used)
    order = {"fail": 0, "unknown": 1, "pass": 2}
    rest.sort(key=lambda finding: order[finding.verdict])
    return [*failed, *rest, *_switched_off(plan, off)]


def _switched_off(plan: CablePlan, off: list[int]) -> Iterator[Finding]:
    if off:
        links = tuple(plan.subject(number) for number in off)
        names = devices_of(end for number in off for end in ends(plan, number))
        subject = links[0] if len(off) == 1 else f"{len(off):,} links"
        yield Finding(
            "cabling.link", subject, "unknown", "a port is shut down on the device", "declared as deployed",
            "see `fabric plan` for what shuts them down", links, names, len(off), links,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Judge:
    plan: CablePlan
    ears: Ears
    network: Network
    switches: Container[str]

    def wrong(self, end: End) -> bool:
        """Whether somebody else than declared is at this end."""
        return self.ears.states[end] in ("wrong", "stranger") or end in self.ears.meets

    def link(self, number: int) -> Finding:
        """One link that is in no ring."""
        a, b = ends(self.plan, number)
        states = (self.ears.states[a], self.ears.states[b])
        if self.wrong(a) or self.wrong(b):
            return self._misplaced(number, a, b)
        if "silent" in states:
            return self._silent(number, a, b)
        if "right" in states:
            return self._finding("link", number, "pass", "right", "")
        if "device" in states:
            return self._finding(
                "link", number, "unknown", "the far end names its device, and no port (its port id is a MAC address)",
                "have the host's LLDP agent send the interface name as port id or port description",
            )  # fmt: skip
        why = "; ".join(dict.fromkeys(self._blind(end) for end in (a, b)))
        return self._finding("link", number, "unknown", f"neither end can be asked: {why}", "")

    def _blind(self, end: End) -> str:
        if end[0] not in self.switches:
            return "hosts are not asked"
        return seen(self.network, end[0]).why("lldp")

    def _misplaced(self, number: int, a: End, b: End) -> Finding:
        """Somebody else is at one end or both."""
        said = [self._said(end) for end in (a, b)]
        measured = "; ".join(text for text in said if text)
        kind, action = self._move(a, b)
        evidence = [f"{self.plan.label(end)} {self._port(end)}" for end in (a, b) if end in self.ears.ports]
        return self._finding(kind, number, "fail", measured, action, (*evidence, _STALE))

    def _said(self, end: End) -> str:
        label, met = self.plan.label(end), self.ears.meets.get(end)
        if met is not None:
            return f"{label} meets {self.plan.label(met)}"
        if end in self.ears.said and self.ears.states[end] in ("wrong", "stranger"):
            return f"{label} hears {self.ears.said[end]}"
        if self.ears.states[end] == "silent":
            return f"{label} hears nothing"
        return ""

    def _move(self, a: End, b: End) -> tuple[str, str]:
        """(kind of fault, what to do), from the end at which the cable still is."""
        label = self.plan.label
        for here, there in ((a, b), (b, a)):
            met = self.ears.meets.get(here)
            if met is not None and there not in self.ears.meets:
                kind = "wrong-port" if met[0] == there[0] else "wrong-device"
                if self.plan.mate.get(met) is None or self.ears.states.get(there) != "silent":
                    return kind, f"move the plug from {label(met)} to {label(there)}"
                return (
                    kind,
                    f"move the plug from {label(met)} to {label(there)}, then look for the cable of {label(met)}",
                )
        if a in self.ears.meets and b in self.ears.meets:
            return "wrong-device", f"follow the cables of {label(a)} and {label(b)}; join these two ports"
        return (
            "wrong-device",
            f"follow the cable of {label(a if self.wrong(a) else b)}; it must lead to {label(b if self.wrong(a) else a)}",
        )

    def _silent(self, number: int, a: End, b: End) -> Finding:
        """Nothing wrong is heard, and an end that was asked hears nothing."""
        for here, there in ((a, b), (b, a)):
            if self.ears.states[here] == "silent" and self.ears.states[there] in ("right", "device"):
                text = f"{self.plan.label(there)} hears {self.plan.label(here)}, which hears nothing"
                action = f"check the fibre that sends from {self.plan.label(there)}, and LLDP on both ends"
                return self._finding("one-way", number, "fail", text, action, (self._ports(a, b), _STALE))
        if self.ears.states[a] == self.ears.states[b] == "silent":
            return self._missing(number, a, b)
        here, there = (a, b) if self.ears.states[a] == "silent" else (b, a)
        up = self.ears.up(here)
        if up is False:
            return self._missing(number, a, b)
        state = "is up" if up else "does not tell its state"
        text = f"{self.plan.label(here)} {state} and hears nothing; the far end cannot be asked, or does not speak LLDP"
        return self._finding("link", number, "unknown", text, f"have {there[0]} speak LLDP, or look at the cable")

    def _missing(self, number: int, a: End, b: End) -> Finding:
        link = self.plan.links[number]
        cable = f"{link.cabled.cable}, {link.cabled.length_m:g} m"
        action = f"check the cable ({cable}) and both plugs: {self.plan.label(a)}, {self.plan.label(b)}"
        return self._finding("missing", number, "fail", self._ports(a, b), action)

    def _ports(self, a: End, b: End) -> str:
        return "; ".join(f"{self.plan.label(end)} {self._port(end)}" for end in (a, b))

    def _port(self, end: End) -> str:
        if self.ears.states.get(end) == "blind":
            return "cannot be asked"
        up = self.ears.up(end)
        heard = "hears nothing" if self.ears.states.get(end) == "silent" else "hears a neighbour"
        return heard if up is None else f"is {'up' if up else 'down'}, {heard}"

    def extras(self, used: set[End]) -> Iterator[Finding]:
        """Neighbours on ports that have no declared link; the two ends of one such cable are one finding."""
        told: set[End] = set()
        for end, other in self.ears.extra.items():
            if end in told or end in used or (other is not None and other in self.plan.mate and self.wrong(other)):
                continue
            if other is not None:
                told.add(other)
            label = self.plan.label(end)
            yield Finding(
                "cabling.unexpected", label, "fail", f"hears {self.ears.said[end]}", "no cable is declared here",
                f"unplug it, or declare it; follow the cable of {label}", (_STALE,), devices_of([end]),
            )  # fmt: skip

    def _finding(
        self, kind: str, number: int, verdict: str, measured: str, action: str, evidence: tuple[str, ...] = ()
    ) -> Finding:
        link = self.plan.links[number]
        return Finding(
            f"cabling.{kind}", self.plan.subject(number), verdict, measured,  # type: ignore[arg-type]
            f"{link.a}:{link.a_port} meets {link.b}:{link.b_port}", action, evidence, (link.a, link.b), 1, (self.plan.subject(number),),
        )  # fmt: skip
