"""Chassis and line cards: slots, ports of a card, ASICs, speeds as EOS spells them."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from fabric.catalog.base import Evidence, Model, Sourced


class Chassis(Model):
    """Slots of a modular switch: line cards stand in `line_card_slots` consecutive slots from `first_slot` on."""

    first_slot: Sourced[int]
    line_card_slots: Sourced[int]
    supervisors: Sourced[int] | None = None
    line_cards: tuple[str, ...] = Field(min_length=1, description="names of the cards it takes")

    @property
    def slots(self) -> tuple[int, ...]:
        """Slot numbers of the line cards, ascending."""
        first = self.first_slot.value
        return tuple(range(first, first + self.line_card_slots.value))


class CardAsic(Model):
    """One ASIC of a line card and the front-panel ports on it (both ends included)."""

    index: int = Field(ge=0)
    first_port: int = Field(gt=0)
    last_port: int = Field(gt=0)


class CardSpeed(Evidence):
    """One way to run a cage: `lanes_used` = EOS lanes that become interfaces, `eos_speed` = their `speed` value."""

    speed_gbps: int = Field(gt=0)
    eos_speed: str
    lanes_used: tuple[int, ...] = Field(min_length=1)


class LineCard(Model):
    """One line card: `ports` cages numbered from 1, `lanes` lanes each."""

    name: str
    title: str
    vendor: str
    asic: str
    cage_type: str
    ports: Sourced[int]
    lanes: Sourced[int] = Field(description="lanes of a cage")
    lane_gbps: Sourced[int] = Field(description="speed of one lane")
    asics: tuple[CardAsic, ...] = Field(min_length=1)
    asics_source: Sourced[str]
    speeds: tuple[CardSpeed, ...] = Field(min_length=1)
    limits: dict[str, Sourced[int]] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def speed(self, speed_gbps: int) -> CardSpeed | None:
        """How to run a cage at `speed_gbps` an interface, with most interfaces; None when the card cannot."""
        fitting = [entry for entry in self.speeds if entry.speed_gbps == speed_gbps]
        return max(fitting, key=lambda entry: len(entry.lanes_used), default=None)

    def asic_of(self, port: int) -> int:
        """Index of the ASIC that front-panel port `port` hangs on."""
        return next(asic.index for asic in self.asics if asic.first_port <= port <= asic.last_port)


@dataclass(frozen=True, slots=True)
class ChassisPort:
    """One cage of a chassis: `name` is its EOS interface at full speed (lane 1), `asic` the ASIC index on the card."""

    name: str
    slot: int
    port: int
    asic: int

    def lane_name(self, lane: int) -> str:
        """EOS name of the interface on `lane` (1..8) of a broken-out cage."""
        return f"Ethernet{self.slot}/{self.port}/{lane}"


def chassis_ports(slots: tuple[int, ...], card: LineCard) -> tuple[ChassisPort, ...]:
    """All cages with the same `card` in every one of `slots`, in slot-then-port order."""
    asics = [card.asic_of(port) for port in range(1, card.ports.value + 1)]
    return tuple(
        ChassisPort(f"Ethernet{slot}/{port}/1", slot, port, asic)
        for slot in slots
        for port, asic in enumerate(asics, start=1)
    )
