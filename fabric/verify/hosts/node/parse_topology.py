"""Where GPUs and NICs hang on PCIe: by a dump of NCCL's topology, and by /sys."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

from fabric.verify.hosts.node.sources import Unseen

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

BRIDGE, DISPLAY, NETWORK = "0x0604", "0x03", "0x02"
"""Beginnings of PCI classes: bridge or switch, GPU, NIC (NCCL topo.cc)."""
DEEPEST = 32
"""Bridges one above the other that a dump may have (our choice: hosts have two or three); more is no host."""
_ADDRESS = re.compile(r"(?:0000)?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\Z")


@dataclass(frozen=True)
class Link:
    """One PCIe link on the way to a device: `where` is "" for the device's own, `speed` in GT/s and `width` in lanes, 0 = not said."""

    where: str
    speed: float
    width: int

    def __str__(self) -> str:
        return f"{self.speed:.1f} GT/s x{self.width}" + (f" {self.where}" if self.where else "")


@dataclass(frozen=True)
class Place:
    """One device: its PCI class, the bridges above it (from the top, names of any form), its links, and whether NCCL reaches it by
    GPUDirect RDMA (None = not said).
    """

    kind: str
    bridges: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    direct: Optional[bool] = None  # noqa: UP045 - evaluated by Python 3.9


@dataclass
class Tree:
    """Devices by PCI address, and what says so in words."""

    source: str
    places: dict[str, Place] = field(default_factory=dict)

    def count(self, kind: str) -> int:
        """How many devices are of a class."""
        return sum(place.kind.startswith(kind) for place in self.places.values())


def link(where: str, speed: str, width: str) -> Link:
    """A link of the texts of /sys or of a dump: "32.0 GT/s PCIe", "16"; what is no number is not said."""
    gts = re.match(r"(\d{1,3}(?:\.\d{1,2})?) ?GT/s", speed.strip())
    lanes = re.fullmatch(r"\d{1,3}", width.strip())
    return Link(where, float(gts[1]) if gts else 0.0, int(lanes[0]) if lanes else 0)


def dump(text: str) -> Tree:
    """The devices of an NCCL topology file. Unseen for what is none; a job wrote it, so nothing in it is trusted."""
    from xml.etree import ElementTree  # here: a small Python may lack it, and then this check alone is unknown

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Unseen("the dump declares entities, which NCCL never writes")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - without entities, at most 1 MiB
    except (ElementTree.ParseError, ValueError) as error:
        raise Unseen(f"the dump is no XML: {error}") from None
    if root.tag != "system":
        raise Unseen(f"the dump is no NCCL topology: it begins with <{root.tag[:40]}>")
    tree, numbers = Tree("NCCL's dump"), itertools.count()
    waiting: list[tuple[ET.Element, tuple[str, ...], tuple[Link, ...]]] = [(root, (), ())]
    while waiting:
        element, bridges, links = waiting.pop()
        kind = element.get("class", "") if element.tag == "pci" else None
        if kind is not None and not kind.startswith(BRIDGE):
            address, place = _device(element, kind, bridges, links)
            tree.places[address] = place
            continue
        if kind is not None:
            hop = link("at the bridge above", element.get("link_speed", ""), element.get("link_width", ""))
            bridges, links = (*bridges, str(next(numbers))), (*links, hop)
            if len(bridges) > DEEPEST:
                raise Unseen(f"the dump has more than {DEEPEST} bridges one above the other")
        waiting += [(child, bridges, links) for child in element]
    return tree


def _device(element: ET.Element, kind: str, bridges: tuple[str, ...], links: tuple[Link, ...]) -> tuple[str, Place]:
    """A GPU or NIC of a dump, with its address."""
    found = _ADDRESS.match(element.get("busid", "").strip().lower())
    own = link("", element.get("link_speed", ""), element.get("link_width", ""))
    said = {part.get("gdr") for part in element.iter() if part.tag in ("gpu", "net")} - {None}
    return found[1] if found else "", Place(kind, bridges, (own, *links), "0" not in said if said else None)


def resolved(text: str) -> dict[str, tuple[str, ...]]:
    """Address -> the bridges above it, of `readlink -f` on entries of /sys/bus/pci/devices; a device that is not there has no entry."""
    found = {}
    for line in text.splitlines():
        parts = line.strip().split("/")
        if line.startswith("/sys/devices/") and _ADDRESS.match(parts[-1]):
            found[parts[-1]] = tuple(part for part in parts[3:-1] if _ADDRESS.match(part))
    return found


def sys_links(own: Mapping[str, str], port: Mapping[str, str]) -> tuple[Link, ...]:
    """A device's link by the attributes of both of its ends: the highest speed that each can, and the width that it has now.

    The current speed does not count: it falls when a GPU is idle.
    """
    links = []
    for where, files in (("", own), ("at the port above", port)):
        values = {path.rpartition("/")[2]: text for path, text in files.items()}
        found = link(where, values.get("max_link_speed", ""), values.get("current_link_width", ""))
        if found.speed or found.width:
            links.append(found)
    return tuple(links)
