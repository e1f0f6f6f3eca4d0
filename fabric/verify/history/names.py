"""Which names a text of a finding holds: devices, ports, cables."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from fabric.design.seats import Seat, Seating, Trunk

LINK = " <-> "
_BETWEEN = re.compile(r" <-> | and |, ")
_COUNTED = re.compile(r"^[\d,]+ \w+: ")
"""How a subject begins that sums up: `496 ports: leaf0001:1, leaf0001:2, ...`."""
_HCA = re.compile(r"(?<![\w.-])([\w.-]+) (\w+_\w*\d)(?::\d+)?(?![\w.:-])")
"""InfiniBand's node description with or without its port: `gt0001 mlx5_0:1`."""


@dataclass(frozen=True, slots=True)
class What:
    """What a history is asked for. `names` are all its names (a cable's, and those of its two ends), the asked one first.

    `host` and `rail`: whose measurements are its own; None for all rails, and for what is at no host.
    """

    name: str
    names: tuple[str, ...]
    host: str | None = None
    rail: int | None = None


def what_of(seating: Seating, name: str) -> What | None:
    """A host, NIC, GPU, switch, port or cable of the design by any of its names; None when it has none of that name."""
    name = plain(name)
    if name in seating.by_host:
        return What(name, (name,), name)
    if name in seating.trunks_of or any(switch == name for switch, _ in seating.by_port):
        return What(name, (name,))
    head = name.partition(":")[0]
    cable = frozenset(name.split(LINK))
    host = head if head in seating.by_host else next((end.partition(":")[0] for end in cable if LINK in name), "")
    places = [end.partition(":")[0] for end in cable]
    seats = [seat for place in (host, *places) for seat in seating.by_host.get(place, ())]
    ports = [tuple(end.split(":", 1)) for end in cable if ":" in end]
    seats += [seat for switch, port in ports if (seat := seating.by_port.get((switch, port))) is not None]
    for seat in seats:
        if name == f"{seat.host}:gpu{seat.gpu}":
            return What(name, (name,), seat.host, seat.rail)
        if cable & _ends(seat) and (LINK not in name or cable == frozenset(seat.cable.split(LINK))):
            told = () if seat.guid is None else (f"{seat.host} {seat.hca}",)  # as findings of InfiniBand say it
            return What(
                name, tuple(dict.fromkeys((name, seat.cable, *sorted(_ends(seat)), *told))), seat.host, seat.rail
            )
    for place in places:
        for trunk in seating.trunks_of.get(place, ()):
            if name in _trunk_ends(trunk) or cable == frozenset(_trunk_ends(trunk)):
                return What(name, tuple(dict.fromkeys((name, trunk.name, *_trunk_ends(trunk)))))
    return None


def _ends(seat: Seat) -> frozenset[str]:
    return frozenset({f"{seat.switch}:{seat.port}", seat.name, f"{seat.host}:{seat.hca}"})


def _trunk_ends(trunk: Trunk) -> tuple[str, str]:
    return f"{trunk.a}:{trunk.a_port}", f"{trunk.b}:{trunk.b_port}"


def plain(text: str) -> str:
    """An HCA by its host and device, however it is said: `gt0001 mlx5_0:1` is `gt0001:mlx5_0`."""
    return _HCA.sub(r"\1:\2", text)


def ends_of(subject: str) -> list[str]:
    """The ends that a subject names: `a:1 <-> b:2` and `a:1 and a:2` are two, a device or port is one."""
    return _BETWEEN.split(plain(_COUNTED.sub("", subject)))


def device_of(end: str) -> str:
    """The device of `device:port`."""
    return end.partition(":")[0]


def items_of(text: str) -> Iterator[str]:
    """The texts in it: those of a list as `History.numbers` writes it, else the text itself."""
    if text.startswith("["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list):
            yield from (item for item in found if isinstance(item, str))
            return
    yield text


def names_it(text: str, names: Collection[str]) -> bool:
    """Whether a subject, or a list of devices or links, is about one of the names: itself, an end of it, the device of an end."""
    return any(
        plain(item) in names or any(end in names or device_of(end) in names for end in ends_of(item))
        for item in items_of(text)
    )
