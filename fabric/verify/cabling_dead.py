"""A device of which every link is down is one fault, not as many as it has cables."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.fabric import Fabric
from fabric.verify.cabling_plan import CablePlan, Ears, ends
from fabric.verify.finding import Finding
from fabric.verify.observed import NOT_ASKED, Network, seen


def dead_devices(
    fabric: Fabric, plan: CablePlan, ears: Ears, network: Network, covered: set[int]
) -> Iterator[tuple[Finding, set[int]]]:
    """(finding, links) of each device that cannot be asked and whose links, two at least, are all down at the other end."""
    links: dict[str, list[tuple[int, bool | None]]] = {}
    for number, link in enumerate(plan.links):
        a, b = ends(plan, number)
        for here, there in ((a, b), (b, a)):
            name = here[0]
            if ears.states[here] == "blind" and seen(network, name).unreachable is not None:
                asked = ears.states[there] != "blind"
                down = ears.states[there] == "silent" and ears.up(there) is False and number not in covered
                if asked:
                    links.setdefault(link.a if here == a else link.b, []).append((number, down))
    for name, found in links.items():
        if len(found) >= 2 and all(down for _, down in found):
            yield _finding(fabric, network, name, len(found)), {number for number, _ in found}


def _finding(fabric: Fabric, network: Network, name: str, count: int) -> Finding:
    switch = name in fabric.by_name
    why = seen(network, name).unreachable
    said = "" if not switch or why in (None, NOT_ASKED) else f"; {why}"
    return Finding(
        "cabling.device", name, "fail", f"all {count:,} links are down at their other ends{said}",
        "its links are up", f"check the power of {name} first, then its cables", (), (name,), count,
    )  # fmt: skip
