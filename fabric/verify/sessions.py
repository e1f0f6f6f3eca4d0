"""BGP sessions: every link between switches has one for each family, established, with the declared AS numbers at both ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Link
from fabric.targets.facts import BgpSession
from fabric.verify.degraded import Session
from fabric.verify.finding import Finding
from fabric.verify.lldp_names import printable
from fabric.verify.observed import Network, seen
from fabric.verify.route_table import canonical

ESTABLISHED = "established"
_FAMILY = ("IPv4", "IPv6")


@dataclass(slots=True)
class SessionReport:
    """Findings on sessions; `down` are those that are not established at an end that was asked, by both ends."""

    findings: list[Finding] = field(default_factory=list)
    down: set[Session] = field(default_factory=set)


def judge_sessions(fabric: Fabric, network: Network) -> SessionReport:
    """Findings on all sessions: one a link, as both families and both ends of a link have one cause nearly always."""
    report = SessionReport()
    known = {
        name: {session.peer: session for session in device.bgp}
        for name, device in network.items()
        if device.bgp is not None
    }
    wanted: dict[str, set[str]] = {name: set() for name in known}
    judged = [
        _judge(fabric, network, link, known, wanted, report.down)
        for link in fabric.links()
        if link.tier != "host" and not link.planned
    ]
    folded, covered = _dead(network, judged)
    report.findings += folded
    report.findings += [finding for finding in judged if finding.subject not in covered]
    report.findings += _unexpected(known, wanted)
    return report


@dataclass(frozen=True, slots=True)
class _Side:
    """One end of a session: whose, over which port, to which address and AS number."""

    device: str
    port: str
    peer: str
    asn: int
    place: int


def _sides(fabric: Fabric, link: Link) -> Iterator[tuple[_Side, _Side]]:
    """Both ends of each session of a link."""
    asn_a, asn_b = fabric.by_name[link.a].asn, fabric.by_name[link.b].asn
    if link.a4 is not None and link.b4 is not None:
        yield _Side(link.a, link.a_port, fmt4(link.b4), asn_b, 0), _Side(link.b, link.b_port, fmt4(link.a4), asn_a, 0)
    if link.a6 is not None and link.b6 is not None:
        yield _Side(link.a, link.a_port, fmt6(link.b6), asn_b, 1), _Side(link.b, link.b_port, fmt6(link.a6), asn_a, 1)


def _judge(
    fabric: Fabric,
    network: Network,
    link: Link,
    known: dict[str, dict[str, BgpSession]],
    wanted: dict[str, set[str]],
    down: set[Session],
) -> Finding:
    subject = f"{link.a}:{link.a_port} <-> {link.b}:{link.b_port}"
    problems: list[str] = []
    families = asked = 0
    for pair in _sides(fabric, link):
        families += 1
        said = []
        for side in pair:
            if side.device not in known:
                continue
            asked += 1
            wanted[side.device].add(side.peer)
            problem = _problem(side, known[side.device])
            if problem is not None:
                said.append(f"{side.device} {problem}")
        if said:
            problems.append(f"{_FAMILY[pair[0].place]}: {', '.join(said)}")
            down.update((side.device, side.port, side.place) for side in pair)
    ends = (link.a, link.b)
    expected = f"established, AS {fabric.by_name[link.a].asn} and AS {fabric.by_name[link.b].asn}"
    if problems:
        action = "check the link (fabric validate cabling), then the BGP configuration of both ends (fabric plan)"
        return Finding(
            "routing.session", subject, "fail", "; ".join(problems), expected, action, (), ends, 1, (subject,)
        )
    if not asked:
        why = "; ".join(dict.fromkeys(seen(network, name).why("bgp") for name in ends))
        return Finding(
            "routing.session", subject, "unknown", f"neither end can be asked: {why}", expected, "", (), ends
        )
    return Finding("routing.session", subject, "pass", ESTABLISHED, expected, "", (), ends, families)


def _problem(side: _Side, sessions: dict[str, BgpSession]) -> str | None:
    session = sessions.get(side.peer)
    if session is None:
        session = next((found for peer, found in sessions.items() if canonical(peer) == side.peer), None)
    if session is None:
        return f"has no session to {side.peer}"
    if session.state != ESTABLISHED:
        return f"is {printable(session.state)}"
    if session.remote_asn is not None and session.remote_asn != side.asn:
        return f"has AS {session.remote_asn} behind it"
    return None


def _dead(network: Network, judged: list[Finding]) -> tuple[list[Finding], set[str]]:
    """A switch that cannot be asked and has not one session at its other ends is one fault: (findings, subjects in them)."""
    silent = {name for name, device in network.items() if device.unreachable is not None}
    links: dict[str, list[Finding]] = {}
    for finding in judged:
        if finding.verdict != "unknown":
            for name in silent.intersection(finding.devices):
                links.setdefault(name, []).append(finding)
    folded: list[Finding] = []
    covered: set[str] = set()
    for name, found in links.items():
        if len(found) < 2 or any(finding.verdict == "pass" for finding in found):
            continue
        covered.update(finding.subject for finding in found)
        folded.append(
            Finding(
                "routing.device", name, "fail", f"all sessions of {len(found):,} links are down at their other ends; "
                + seen(network, name).why("bgp"), "its sessions are established", f"check {name} first", (),
                tuple(dict.fromkeys([name, *(other for finding in found for other in finding.devices)])), len(found),
                tuple(finding.subject for finding in found),
            )
        )  # fmt: skip
    return folded, covered


def _unexpected(known: dict[str, dict[str, BgpSession]], wanted: dict[str, set[str]]) -> Iterator[Finding]:
    for name, sessions in known.items():
        if len(sessions) == len(wanted[name]) and wanted[name] == sessions.keys():
            continue
        for peer, session in sessions.items():
            if peer not in wanted[name] and canonical(peer) not in wanted[name]:
                more = f" ({printable(session.description)})" if session.description else ""
                yield Finding(
                    "routing.unexpected-session", f"{name} to {printable(peer)}", "fail",
                    f"a session to {printable(peer)}{more}, {printable(session.state)}, AS {session.remote_asn}",
                    "no session is declared here", "remove it on the device, or declare the neighbour", (), (name,),
                )  # fmt: skip
