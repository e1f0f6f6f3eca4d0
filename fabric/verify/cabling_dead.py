"""A device of which every link is down is one fault, not as many as it has cables."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.fabric import Fabric
from fabric.verify.cabling_plan import CablePlan, Ears, devices_of, ends
from fabric.verify.finding import Finding
from fabric.verify.observed import Network


def dead_devices(
    fabric: Fabric, plan: CablePlan, ears: Ears, network: Network, covered: set[int]
) -> Iterator[tuple[Finding, set[int]]]:
    """(finding, links) of each device that cannot be asked and whose links, two at least, are all down at the other end."""
    links: dict[str, list[tuple[int, bool]]] = {}
    for number in range(len(plan.links)):
        a, b = ends(plan, number)
        for here, there in ((a, b), (b, a)):
            gone = here[0] not in fabric.by_name or (here[0] in network and network[here[0]].unreachable is not None)
            if gone and ears.states[here] == "blind" and ears.states[there] != "blind":
                down = ears.states[there] == "silent" and ears.up(there) is False and number not in covered
                links.setdefault(here[0], []).append((number, down))
    for name, found in links.items():
        if len(found) >= 2 and all(down for _, down in found):
            yield _finding(plan, network, name, [number for number, _ in found]), {number for number, _ in found}


def _finding(plan: CablePlan, network: Network, name: str, found: list[int]) -> Finding:
    device = network.get(name)
    said = "" if device is None else f"; {device.unreachable}"
    others = devices_of(end for number in found for end in ends(plan, number))
    return Finding(
        "cabling.device", name, "fail", f"all {len(found):,} links are down at their other ends{said}",
        "its links are up", f"check the power of {name} first, then its cables", (),
        tuple(dict.fromkeys([name, *others])), len(found), tuple(plan.subject(number) for number in found),
    )  # fmt: skip
