"""Who a neighbour says that it is: names and ports as devices spell them, matched to those of the design.

Lessons of others' false alarms: names come short or with a domain, dots may be part of a host name, port ids come quoted, as a MAC
address, or short; the port's name may stand in its description only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from fabric.targets.facts import LldpNeighbor

_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}|[0-9a-f]{12}")
_SHORT = re.compile(r"(?:ethernet|eth|et)(?=\d)")


@lru_cache(maxsize=1 << 18)
def port_key(text: str) -> str:
    """A port's name in one spelling: `Ethernet3/1/1`, `Et3/1/1`, `"eth3/1/1"` are equal; other names only lose case and quotes."""
    plain = text.strip().strip("\"'").strip().lower()
    return _SHORT.sub("et", plain, count=1) if _SHORT.match(plain) else plain


def is_mac(text: str) -> bool:
    """Whether a port id is a MAC address, so that it names no port of the design."""
    return _MAC.fullmatch(text.strip().strip("\"'").lower()) is not None


def is_data_port(name: str) -> bool:
    """Whether a local port belongs to the fabric; management ports are cabled elsewhere."""
    return port_key(name).startswith("et")


class Directory:
    """The devices of the design by the names under which they may announce themselves."""

    def __init__(self, names: Iterable[str], domain: str) -> None:
        self._names = {name.lower(): name for name in names}
        self._suffix = f".{domain.lower()}"

    def device(self, announced: str | None) -> str | None:
        """The design's name of a neighbour; None for a stranger, or for one that says no name."""
        if announced is None:
            return None
        text = announced.strip().strip("\"'").rstrip(".").lower()
        found = self._names.get(text) or self._names.get(text.removesuffix(self._suffix))
        return found or self._names.get(text.partition(".")[0])


def port_names(neighbor: LldpNeighbor, known: Callable[[str], bool]) -> tuple[str, ...]:
    """The port names that a neighbour gives, as keys: its port id unless that is a MAC address, and its port description.

    A description may hold any words, so it counts only when it is a `known` port of that device.
    """
    port, description = neighbor.port_id, neighbor.port_description
    found = [] if not port or is_mac(port) else [port_key(port)]
    if description and known(port_key(description)):
        found.append(port_key(description))
    return tuple(found)


def spelled(neighbor: LldpNeighbor) -> str:
    """A neighbour as it names itself, for people: texts of a device are cut and made printable."""
    name = neighbor.system_name or neighbor.chassis_id or "a neighbour without a name"
    port = neighbor.port_id or neighbor.port_description
    return printable(name if port is None else f"{name}:{port}")


def printable(text: str, limit: int = 80) -> str:
    """Untrusted text on one line, without control characters, cut to `limit` characters."""
    clean = "".join(char if char.isprintable() else "?" for char in text)
    return clean if len(clean) <= limit else clean[: limit - 3] + "..."
