"""What was read from the devices: the only input of the checks besides the design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, Version

if TYPE_CHECKING:
    from fabric.verify.qos_reading import QosReading
    from fabric.verify.route_table import RouteReport

NOT_ASKED = "not asked"
"""`unreachable` of a device that the user's selection leaves out."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What one device said. A part is None when it was not asked or could not be read; `errors` has the reason by the part's name.

    `unreachable` is the reason why nothing could be read, or None. Routes and configurations are large, so what is kept of them is what
    the checks need, made while reading.
    """

    name: str
    unreachable: str | None = None
    version: Version | None = None
    lldp: tuple[LldpNeighbor, ...] | None = None
    bgp: tuple[BgpSession, ...] | None = None
    interfaces: tuple[InterfaceState, ...] | None = None
    routes: RouteReport | None = None
    qos: QosReading | None = None
    errors: Mapping[str, str] = field(default_factory=dict)

    def why(self, part: str) -> str:
        """Why a part is None."""
        if self.unreachable is not None:
            return self.unreachable
        return self.errors.get(part, f"{part} was not read")


Network = Mapping[str, Observed]
"""Everything that was read, by device name."""


def seen(network: Network, name: str) -> Observed:
    """What a device said; one that is not in `network` was not asked."""
    found = network.get(name)
    return Observed(name, unreachable=NOT_ASKED) if found is None else found
