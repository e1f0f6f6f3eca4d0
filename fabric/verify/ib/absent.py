"""Devices that are not there, or not known: one fault each, with all their cables."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.targets.opensm.mad_model import Node
from fabric.verify.finding import Finding
from fabric.verify.ib.cables import Cables
from fabric.verify.ib.names import stranger
from fabric.words import counted


def absent(found: Cables, covered: set[int], gaps: bool) -> Iterator[tuple[Finding, set[int]]]:
    """(finding, links) of each switch and host that is not seen, of each box that another one stands in for.

    With `gaps` in the discovery a device that is not seen may only be behind such a gap: then it is unknown.
    """
    at: dict[str, list[int]] = {}
    for number, link in enumerate(found.links):
        for name in (link.a, link.b):
            if name not in found.nodes:
                at.setdefault(name, []).append(number)
    done = set(covered)
    for name in [*(n for n in at if n in found.subnet.switch), *(n for n in at if n in found.subnet.hca)]:
        other = _stand_in(found, name, at[name])
        if other is not None and not done & set(at[name]):
            done |= set(at[name])
            yield _replaced(found, name, other, at[name]), set(at[name])
    hidden: set[int] = set()
    for name, numbers in _groups(found, at).items():
        links = {number for number in numbers if number not in done and _down(found, number)}
        if not any(_seen(found, number) for number in links):
            hidden |= links  # nobody that can be asked is beside it
        elif len(links) > 1 or name in found.subnet.switch:
            done |= links
            yield _gone(found, name, sorted(links), gaps), links
    hidden |= {number for number in range(len(found.links)) if _down(found, number) and not _seen(found, number)}
    if hidden - done:
        yield _hidden(found, sorted(hidden - done)), hidden - done


def _seen(found: Cables, number: int) -> bool:
    """Whether a link has an end that can be asked."""
    return any(found.ears.states[end] == "silent" for end in found.ends(number))


def _hidden(found: Cables, numbers: list[int]) -> Finding:
    """What is behind that which is down: nothing can be said of it."""
    links = tuple(found.plan.subject(number) for number in numbers)
    names = tuple(dict.fromkeys(end[0] for number in numbers for end in found.ends(number)))
    switches = sum(name in found.subnet.switch for name in names)
    who = f"{counted(switches, 'switch', 'switches')} and {counted(len(names) - switches, 'HCA')}"
    text = f"{who} cannot be seen from here: they are behind what is down"
    return Finding(
        "cabling.hidden", links[0] if len(links) == 1 else f"{len(links):,} links", "unknown", text, "every device can be reached",
        "repair what is down, or ask from another host", (), names, len(links), links,
    )  # fmt: skip


def _groups(found: Cables, at: dict[str, list[int]]) -> dict[str, list[int]]:
    """The links of absent switches by switch, then of hosts none of whose HCAs is there by host."""
    groups = {name: numbers for name, numbers in at.items() if name in found.subnet.switch}
    behind = {number for numbers in groups.values() for number in numbers}
    present = {found.subnet.hca[name].host for name in found.nodes if name in found.subnet.hca}
    for name, numbers in at.items():
        hca = found.subnet.hca.get(name)
        if hca is not None and hca.host not in present and not behind & set(numbers):
            groups.setdefault(hca.host, []).extend(numbers)
    return groups


def _down(found: Cables, number: int) -> bool:
    """Whether nothing is seen of a link at either end."""
    return all(found.ears.states[end] in ("silent", "blind") for end in found.ends(number)) and not any(
        end in found.ears.meets for end in found.ends(number)
    )


def _stand_in(found: Cables, name: str, numbers: list[int]) -> Node | None:
    """The one node, unknown to the design, that is in all places of a device that is not seen."""
    met: set[int] = set()
    for number in numbers:
        for end, other in (found.ends(number), found.ends(number)[::-1]):
            if end[0] == name and other in found.strangers:
                met.add(found.strangers[other].guid)
            elif end[0] == name:
                return None
    if len(met) != 1:
        return None
    guid = met.pop()
    return next(node for node in found.strangers.values() if node.guid == guid)


def _identity(found: Cables, name: str) -> tuple[int, bool]:
    """Node GUID of a designed device, and whether it is a placeholder."""
    switch = found.subnet.switch.get(name)
    if switch is not None:
        return switch.guid, switch.placeholder
    hca = found.subnet.hca[name]
    return hca.node_guid, hca.placeholder


def _replaced(found: Cables, name: str, node: Node, numbers: list[int]) -> Finding:
    guid, placeholder = _identity(found, name)
    links = tuple(found.plan.subject(number) for number in numbers)
    if placeholder:
        return Finding(
            "cabling.link", links[0] if len(links) == 1 else name, "unknown",
            f"in the place of {name} is a node that does not tell this name: {stranger(node)}", f"it calls itself {name}",
            "declare its GUID, or have it set its node description (rdma-ndd on hosts)", (), (name,), len(links), links,
        )  # fmt: skip
    return Finding(
        "cabling.wrong-device", name, "fail", f"in its place is {stranger(node)}", f"GUID 0x{guid:016x}",
        "declare the GUID of the box that is there (was it changed?), or put the right one there", (), (name,), len(links), links,
    )  # fmt: skip


def _gone(found: Cables, name: str, numbers: list[int], gaps: bool) -> Finding:
    links = tuple(found.plan.subject(number) for number in numbers)
    names = dict.fromkeys([name, *(end[0] for number in numbers for end in found.ends(number))])
    behind = [n for n in names if n != name and n not in found.nodes and n in found.subnet.hca]
    hidden = (
        f"; {counted(len(behind), 'HCA')} behind it cannot be seen" if behind and name in found.subnet.switch else ""
    )
    known = sum(_seen(found, number) for number in numbers)
    which = (
        f"all {known:,} links to it that can be seen are down"
        if known > 1
        else "the one link to it that can be seen is down"
    )
    text = f"it is not seen, and {which}{hidden}"
    if gaps:
        text = f"it is not seen; discovery got no answer at some places{hidden}"
    return Finding(
        "cabling.device", name, "unknown" if gaps else "fail", text, "it is there, and its links are up",
        f"check the power of {name} first, then its cables", (), tuple(names), len(links), links,
    )  # fmt: skip
