"""Cabling of an InfiniBand subnet: every declared cable once, by what discovery found at both ends, and what is there beside them.

A wrong cable is told apart: crossed (one swap with both ends), on a wrong rail, in a wrong port, at a wrong device, missing. A device that
is not there at all is one fault, not as many as it has cables.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from fabric.design.ib.model import Subnet
from fabric.targets.opensm.mad_model import Topology
from fabric.verify.cabling_mix import Ring, ring_finding, rings
from fabric.verify.cabling_plan import End, devices_of
from fabric.verify.finding import Finding, Verdict
from fabric.verify.ib.absent import absent
from fabric.verify.ib.cables import Cables, cables
from fabric.verify.ib.names import match, stranger
from fabric.verify.ib.rate import judge_rate
from fabric.verify.ib.reads import Observed, Unread


def judge_cabling(subnet: Subnet, seen: Observed) -> list[Finding]:
    """Findings on all links: what is wrong first, then what could not be seen, then a pass for every link that is right."""
    if isinstance(seen.topology, Unread):
        return [Finding("cabling.link", "all links", "unknown", seen.topology.why, "the subnet can be discovered")]
    found = cables(subnet, seen.topology, match(subnet, seen.topology))
    judge = _Judge(found)
    crossed = rings(found.plan, found.ears)
    failed = [judge.ring(ring) for ring in crossed]
    covered = {found.plan.link_of[end] for ring in crossed for end in ring.chain}
    used: set[End] = set()
    for finding, numbers in absent(found, covered, bool(seen.topology.problems)):
        failed.append(finding)
        covered |= numbers
    rest: list[Finding] = []
    right: list[int] = []
    for number in range(len(found.links)):
        used.update(found.ears.meets[end] for end in found.ends(number) if end in found.ears.meets)
        if number in covered:
            continue
        if found.ears.states[found.ends(number)[0]] == "right":
            right.append(number)
        else:
            rest.append(judge.link(number))
    rest += judge.extras(used)
    rest += _names(subnet, seen.topology)
    rest += judge_rate(found, right, simulated=seen.simulated)
    order = {"fail": 0, "unknown": 1, "pass": 2}
    return sorted([*failed, *rest], key=lambda finding: order[finding.verdict])


def _names(subnet: Subnet, topology: Topology) -> Iterator[Finding]:
    """What is doubtful in who is who."""
    matched = match(subnet, topology)
    for name, word in matched.contrary.items():
        yield Finding(
            "cabling.name", name, "fail", f"the node with its GUID 0x{matched.guid[name]:016x} calls itself {word}",
            f"it calls itself {name}", "the board is in another box, or the GUID file has the two exchanged", (), (name, word),
        )  # fmt: skip
    for word, guids in matched.doubles.items():
        who = ", ".join(f"0x{guid:016x}" for guid in guids)
        yield Finding(
            "cabling.name", word, "unknown", f"{len(guids)} nodes call themselves so: {who}", "one node of this name",
            "declare the GUIDs, or give each node its own description", (), (word,),
        )  # fmt: skip
    for gap in topology.problems:
        yield Finding("cabling.discovery", "subnet", "unknown", gap, "every node that is cabled answers")


@dataclasses.dataclass(frozen=True, slots=True)
class _Judge:
    found: Cables

    def ring(self, ring: Ring) -> Finding:
        """Crossed cables, with the rails when HCAs change theirs."""
        finding = ring_finding(self.found.plan, self.found.ears, ring)
        notes = [note for end in ring.chain if (note := self._rail(end, self.found.ears.meets.get(end)))]
        if not notes:
            return finding
        return dataclasses.replace(finding, measured=f"{finding.measured}; {'; '.join(notes)}")

    def _rail(self, end: End, met: End | None) -> str:
        """What to say when the HCA `end` hangs on a leaf of another rail, else nothing."""
        hca = self.found.subnet.hca.get(end[0])
        leaf = None if met is None else self.found.subnet.switch.get(met[0])
        if hca is None or leaf is None or leaf.tier != "leaf" or leaf.rail < 0 or leaf.rail == hca.rail:
            return ""
        return f"{hca.name} is of rail {hca.rail} and hangs on rail {leaf.rail}"

    def link(self, number: int) -> Finding:
        """One link that is in no ring and not right."""
        a, b = self.found.ends(number)
        states = {self.found.ears.states[a], self.found.ears.states[b]}
        if states & {"wrong", "stranger"} or a in self.found.ears.meets or b in self.found.ears.meets:
            return self._misplaced(number, a, b)
        link = self.found.links[number]
        action = f"check the cable ({link.cabled.cable}, {link.cabled.length_m:g} m) and both plugs"
        return self._finding("missing", number, "fail", f"{self._port(a)}; {self._port(b)}", action)

    def _port(self, end: End) -> str:
        label = self.found.plan.label(end)
        if self.found.ears.states[end] == "blind":
            return f"{end[0]} is not seen"
        if end not in self.found.ports:
            return f"{label} is not a port of the box"
        said = self.found.ears.said.get(end)
        return f"{label} has no link" if said is None else f"{label} meets {said}"

    def _misplaced(self, number: int, a: End, b: End) -> Finding:
        """Somebody else is at one end or both."""
        ears, label = self.found.ears, self.found.plan.label
        measured = [self._port(end) for end in (a, b)]
        for here, there in ((a, b), (b, a)):
            met = ears.meets.get(here)
            if met is None or there in ears.meets:
                continue
            note = self._rail(here, met)
            kind = "wrong-rail" if note else "wrong-port" if met[0] == there[0] else "wrong-device"
            action = f"move the plug from {label(met)} to {label(there)}"
            return self._finding(kind, number, "fail", "; ".join([*measured, note] if note else measured), action)
        if a in ears.meets and b in ears.meets:
            action = f"follow the cables of {label(a)} and {label(b)}; join these two ports"
        else:
            here, there = (a, b) if ears.states[a] == "stranger" else (b, a)
            action = f"follow the cable of {label(here)}; it must lead to {label(there)}"
        return self._finding("wrong-device", number, "fail", "; ".join(measured), action)

    def extras(self, used: set[End]) -> Iterator[Finding]:
        """Cables in ports that have none declared; the two ends of one such cable are one finding."""
        told: set[End] = set()
        ears = self.found.ears
        for end, other in ears.extra.items():
            if end in told or end in used or (other is not None and other in self.found.plan.mate):
                continue
            if other is not None:
                told.add(other)
            label = self.found.plan.label(end)
            node = self.found.strangers.get(end)
            who = ears.said[end] if node is None else f"{stranger(node)}"
            yield Finding(
                "cabling.unexpected", label, "fail", f"meets {who}", "no cable is declared here",
                f"unplug it, or declare it; follow the cable of {label}", (), devices_of([end]),
            )  # fmt: skip

    def _finding(self, kind: str, number: int, verdict: Verdict, measured: str, action: str) -> Finding:
        link = self.found.links[number]
        subject = self.found.plan.subject(number)
        return Finding(
            f"cabling.{kind}", subject, verdict, measured, f"{link.a}:{link.a_port} meets {link.b}:{link.b_port}", action,
            (), (link.a, link.b), 1, (subject,),
        )  # fmt: skip
