"""Speed, width and state of the links that are where they belong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabric.targets.opensm.mad_model import PortInfo
from fabric.verify.finding import Finding
from fabric.verify.ib.cables import Cables
from fabric.words import counted

SIMULATED_GBPS = 200
"""The fastest link of the simulator: 4x HDR (ibsim 0.10 knows no NDR; reference, section 1.4)."""
_LANES = ((200, "XDR"), (100, "NDR"), (50, "HDR"), (25, "EDR"), (14, "FDR"), (10, "QDR"), (5, "DDR"), (2.5, "SDR"))
"""Nominal Gb/s of one lane by generation; what a port tells is a little more, its signalling rate (InfiniBand Architecture Specification)."""
_MANY = 4
"""Links in one wrong state that are told one by one; more have one cause, most likely, and are one finding."""


def judge_rate(found: Cables, right: Sequence[int], *, simulated: bool) -> Iterator[Finding]:
    """Findings on links with the right ends: not active, slower than designed, or a pass.

    On the simulator one unknown says which speed it could not show.
    """
    states: dict[str, list[int]] = {}
    for number in right:
        ports = [found.ports[end] for end in found.ends(number)]
        idle = next((port.state for port in ports if port.state != "active"), None)
        if idle is not None:
            states.setdefault(idle, []).append(number)
            continue
        wanted = found.links[number].cabled.speed_gbps
        yield _rate(found, number, ports, min(wanted, SIMULATED_GBPS) if simulated else wanted)
    for state, numbers in states.items():
        for group in [numbers] if len(numbers) > _MANY else [[number] for number in numbers]:
            yield _idle(found, state, group)
    beyond = [number for number in right if found.links[number].cabled.speed_gbps > SIMULATED_GBPS]
    if simulated and beyond:
        wanted = max(found.links[number].cabled.speed_gbps for number in beyond)
        yield Finding(
            "cabling.rate", counted(len(beyond), "link"), "unknown",
            f"the simulator has no more than {SIMULATED_GBPS} Gb/s (4x HDR): links were held against that",
            f"{wanted:,} Gb/s, as designed",
        )  # fmt: skip


def _rate(found: Cables, number: int, ports: Sequence[PortInfo], wanted: int) -> Finding:
    subject, link = found.plan.subject(number), found.links[number]
    names = (link.a, link.b)
    slow = min(ports, key=gbps)
    if gbps(slow) >= wanted:
        return Finding("cabling.link", subject, "pass", "right", "", "", (), names, 1, (subject,))
    designed = link.cabled.speed_gbps
    expected = f"{wanted:,} Gb/s{f' in the lab ({designed:,} Gb/s as designed)' if designed != wanted else ''}"
    action = "reseat both plugs, then exchange the cable; look at its error counters (`fabric validate errors`)"
    return Finding(
        "cabling.speed", subject, "fail", f"runs at {spelled(slow)}", expected, action, (), names, 1, (subject,),
    )  # fmt: skip


def gbps(port: PortInfo) -> float:
    """What a link carries, nominal Gb/s."""
    return port.width * _lane(port)[0]


def _lane(port: PortInfo) -> tuple[float, str]:
    return next(((speed, name) for speed, name in _LANES if port.speed >= speed), (port.speed, "unknown speed"))


def spelled(port: PortInfo) -> str:
    """Width and speed as people write them: "4x HDR, 200 Gb/s"."""
    return f"{port.width}x {_lane(port)[1]}, {gbps(port):g} Gb/s"


def _idle(found: Cables, state: str, numbers: Sequence[int]) -> Finding:
    links = tuple(found.plan.subject(number) for number in numbers)
    names = tuple(dict.fromkeys(end[0] for number in numbers for end in found.ends(number)))
    subject = links[0] if len(links) == 1 else f"{len(links):,} links"
    text = {
        "initialize": "is up, and no subnet manager has configured it",
        "armed": "is armed, and carries no data yet",
    }
    return Finding(
        "cabling.state", subject, "fail", f"{text.get(state, 'is logically down')} (state {state})", "state active",
        "see `fabric validate sm`", (), names, len(links), links,
    )  # fmt: skip
