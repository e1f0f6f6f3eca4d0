"""The nouns of the design: switch, host, port, link, prefix. Frozen values; addresses are ints; lengths in metres,
speeds in Gb/s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["rtsw", "ctsw", "atsw"]
State = Literal["planned", "deployed", "drained"]


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch of the back end.

    `number` is the rack number of an RTSW, the number within its zone of a CTSW, the number in the cluster of an ATSW
    (all from 1).
    `zone` is 0 for an ATSW. `plane` counts from 0. `loopback6` and `management` are addresses.
    """

    name: str
    role: Role
    zone: int
    number: int
    plane: int
    model: str
    line_card: str | None
    nos: Literal["eos", "fboss"]
    profile: str
    asn: int
    router_id: int
    loopback6: int | None
    management: int
    state: State


@dataclass(frozen=True, slots=True)
class Host:
    """One GPU host: `unit` is its place in the rack, from 1."""

    name: str
    zone: int
    rack: int
    unit: int
    state: State


@dataclass(frozen=True, slots=True)
class Cabled:
    """How a link is cabled: cable model, medium, length, speed."""

    cable: str
    medium: Literal["copper", "optical"]
    length_m: float
    speed_gbps: int


@dataclass(frozen=True, slots=True)
class PortSlot:
    """A port as the box has it, at one speed: its name under the NOS, and what the NOS needs to set it up.

    `logical_id`, `profile` are FBOSS's, `speed_token` is EOS's; `cage` tells ports that share one cage.
    """

    name: str
    cage: str
    logical_id: int | None
    profile: int | None
    speed_token: str | None
    pipeline: int | None


@dataclass(slots=True)  # not frozen: hundreds a switch, and a frozen one takes three times as long to make
class Port:
    """One used port of a switch, with what is at the other end; never changed once made.

    `role`: `host` (to a NIC), `down` (to the tier below), `up` (to the tier above), `front-end` (reserved link to the
    rack's RSW).
    `index` counts the ports of a role from 1. Addresses are None where the family is not used; lengths belong to the
    local prefix.
    `enabled` is False towards a planned device.
    """

    slot: PortSlot
    role: Literal["host", "down", "up", "front-end"]
    index: int
    cabled: Cabled
    peer: str
    peer_port: str
    peer_asn: int
    peer_role: str
    local4: int | None
    peer4: int | None
    local6: int | None
    peer6: int | None
    len6: int
    enabled: bool


@dataclass(frozen=True, slots=True)
class Link:
    """One cable: the upper end (`a`) and the lower end (`b`); `tier` is `host`, `rtsw` (RTSW to CTSW) or `ctsw` (CTSW
    to ATSW).
    """

    tier: Literal["host", "rtsw", "ctsw"]
    a: str
    a_port: str
    b: str
    b_port: str
    cabled: Cabled
    a4: int | None
    b4: int | None
    a6: int | None
    b6: int | None
    len6: int
    state: State

    @property
    def planned(self) -> bool:
        """True when an end is only planned, so that the cable need not be there."""
        return self.state == "planned"


@dataclass(frozen=True, slots=True)
class Prefix:
    """An address prefix: first address and length."""

    base: int
    length: int
