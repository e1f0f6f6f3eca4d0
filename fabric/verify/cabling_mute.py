"""A device whose LLDP is dead is one fault, not a one-way cable at each of its ports."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.fabric import Fabric
from fabric.verify.cabling_plan import CablePlan, Ears, End, devices_of, ends
from fabric.verify.finding import Finding


def mute_devices(fabric: Fabric, plan: CablePlan, ears: Ears, covered: set[int]) -> Iterator[tuple[Finding, set[int]]]:
    """(finding, links) of each device that was asked, whose links are not down and hear nothing, two at least, all of them.

    The far ends may hear it still (until the LLDP hold time is over), or hear nothing either, with the port up. Where they are
    somebody else's, or down, it is a matter of that cable.
    """
    links: dict[str, list[int]] = {}
    other: set[str] = set()
    for number in range(len(plan.links)):
        if number in covered:
            continue
        a, b = ends(plan, number)
        for here, there in ((a, b), (b, a)):
            if here[0] in fabric.by_name and ears.states[here] != "off":
                links.setdefault(here[0], []).append(number)
                if not _mute(ears, here, there):
                    other.add(here[0])
    told: set[int] = set()
    for name, numbers in links.items():
        found = [number for number in numbers if number not in told]
        if name not in other and len(found) >= 2 and _witnessed(plan, ears, name, found):
            told.update(found)
            yield _finding(plan, ears, name, found), set(found)


def _mute(ears: Ears, here: End, there: End) -> bool:
    if ears.states[here] != "silent" or ears.up(here) is False or ears.up(there) is False:
        return False
    return ears.states[there] in ("right", "device", "silent", "blind") and there not in ears.meets


def _far(plan: CablePlan, name: str, number: int) -> End:
    a, b = ends(plan, number)
    return b if a[0] == name else a


def _witnessed(plan: CablePlan, ears: Ears, name: str, numbers: list[int]) -> bool:
    """Whether some far end can be asked: beside hosts without LLDP alone, it may well be they that say nothing."""
    return any(ears.states[_far(plan, name, number)] != "blind" for number in numbers)


def _finding(plan: CablePlan, ears: Ears, name: str, found: list[int]) -> Finding:
    heard = sum(ears.states[_far(plan, name, number)] in ("right", "device") for number in found)
    still = f"{heard:,} far ends still hear it" if heard else "no far end hears it"
    others = devices_of(end for number in found for end in ends(plan, number))
    return Finding(
        "cabling.lldp", name, "fail", f"none of its {len(found):,} links hears a neighbour, and none is down; {still}",
        "it hears its neighbours", f"check LLDP on {name}, not its cables, and validate again", (),
        tuple(dict.fromkeys([name, *others])), len(found), tuple(plan.subject(number) for number in found),
    )  # fmt: skip
