"""Switches: fixed boxes with a port table, chassis with line cards, InfiniBand switches with a port rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, PrivateAttr

from fabric.catalog.base import CatalogError, Evidence, Medium, Model, Sourced
from fabric.catalog.chassis import Chassis, ChassisPort, LineCard, chassis_ports
from fabric.catalog.infiniband import InfiniBandSide, infiniband_ports
from fabric.catalog.portmap import PortMap, check_map, profiles_for
from fabric.catalog.ports import PortDef, Profile
from fabric.errors import FabricError


class FbossSide(Evidence):
    """What FBOSS calls the box and what its configuration needs."""

    platform: str = Field(description="FBOSS platform name")
    platform_type: int = Field(description="number of the PlatformType enum")
    platform_type_name: str
    asic_type: int = Field(description="number of the AsicType enum, as in switchIdToSwitchInfo")
    asic_type_name: str
    mode: str = Field(description="value of the gflag `mode`")
    fruid_prefixes: tuple[str, ...] = Field(description="of the product name; empty = by flag only")
    platform_base_required: bool = Field(description="no public SDK section fits: give one")
    sdk_config: Literal["bcm_config", "bcm_yaml"] = Field(description="where platform.chip.bcm keeps the SDK settings")
    external_phy: bool | None = Field(default=None, description="absent = not known")
    buffers: Sourced[str] = Field(description="key of the ASIC's `buffers` set that applies to this box")


class EosSide(Model):
    """What EOS calls things on the box. `family`: sand = VOQ/Jericho, trident = Broadcom XGS ("strata")."""

    family: Literal["sand", "trident"]
    management_interface: Sourced[str]
    interface_name: Sourced[str] = Field(description="form of an interface name")
    modular: bool = Field(description="slots in interface names")


@dataclass(frozen=True, slots=True)
class LoadContext:
    """How a switch file reaches the other files it refers to (the loader gives it)."""

    ports: Callable[[str], tuple[PortDef, ...]]
    profiles: Callable[[], Mapping[int, Profile]]
    line_card: Callable[[str], LineCard]


class SwitchModel(Model):
    """One switch model: its file, plus the ports that the file's table or rule expands to.

    `limits` are counts by name. Which of `fboss`, `eos` and `infiniband` is there follows from `nos`.
    """

    name: str
    title: str
    vendor: str
    form: Literal["fixed", "chassis"]
    nos: tuple[Literal["eos", "fboss", "infiniband"], ...] = Field(min_length=1)
    asic: str | None = Field(default=None, description="name of the ASIC's catalog file")
    asic_source: str = Field(description="where the ASIC is named, and how sure")
    rack_units: Sourced[int] | None = None
    limits: dict[str, Sourced[int]] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fboss: FbossSide | None = None
    eos: EosSide | None = None
    infiniband: InfiniBandSide | None = None
    chassis: Chassis | None = None
    port_table: str | None = Field(default=None, description="name of the table in ports/")
    maps: tuple[PortMap, ...] = Field(default=(), description="role maps of a fixed box")

    _ports: tuple[PortDef, ...] = PrivateAttr(default=())
    _by_name: dict[str, PortDef] = PrivateAttr(default_factory=dict)
    _profiles: Mapping[int, Profile] = PrivateAttr(default_factory=dict)
    _line_card: Callable[[str], LineCard] | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any) -> None:
        """Expand the ports and check the role maps; `context` is the loader's LoadContext (without it: no ports)."""
        for side in ("eos", "fboss", "infiniband"):
            if (side in self.nos) != (getattr(self, side) is not None):
                raise CatalogError(f"nos: {side} is listed without a section {side!r}, or the other way round")
        if (self.form == "chassis") != (self.chassis is not None):
            raise CatalogError("form: a chassis needs the section 'chassis', a fixed box must not have it")
        if isinstance(context, LoadContext):
            self._expand(context)

    def _expand(self, context: LoadContext) -> None:
        self._line_card = context.line_card
        if self.infiniband is not None:
            self._ports = infiniband_ports(self.infiniband)
        elif self.port_table is not None:
            self._profiles = context.profiles()
            self._ports = context.ports(self.port_table)
        self._by_name = {port.name: port for port in self._ports}
        names = [port_map.name for port_map in self.maps]
        for port_map in self.maps:
            if names.count(port_map.name) > 1:
                raise CatalogError(f"maps: {port_map.name!r} is declared twice")
            check_map(port_map, self._by_name, self._profiles)

    @property
    def ports(self) -> tuple[PortDef, ...]:
        """Ports of a fixed box in front-panel order; empty for a chassis (see `chassis_ports`)."""
        return self._ports

    @property
    def profiles(self) -> Mapping[int, Profile]:
        """The profile table (FBOSS profile number -> Profile) that the ports refer to."""
        return self._profiles

    @property
    def port_maps(self) -> dict[str, PortMap]:
        """The role maps of the box by name, in the file's order."""
        return {port_map.name: port_map for port_map in self.maps}

    @property
    def slots(self) -> tuple[int, ...]:
        """Line-card slot numbers of a chassis; empty for a fixed box."""
        return self.chassis.slots if self.chassis else ()

    @property
    def line_cards(self) -> tuple[str, ...]:
        """Names of the line cards that a chassis takes; empty for a fixed box."""
        return self.chassis.line_cards if self.chassis else ()

    def port(self, name: str) -> PortDef:
        """The port with the neutral name `name`; raises FabricError when the box has none."""
        try:
            return self._by_name[name]
        except KeyError:
            raise FabricError(f"{self.name} has no port {name!r}", hint=self._range_hint()) from None

    def port_map(self, name: str) -> PortMap:
        """The role map `name`; raises FabricError with the known names."""
        known = self.port_maps
        if name not in known:
            raise FabricError(f"{self.name} has no port map {name!r}", hint=f"known: {', '.join(known) or 'none'}")
        return known[name]

    def profiles_for(self, port: str, speed_gbps: int, medium: Medium) -> tuple[int, ...]:
        """FBOSS profile numbers of `port` at that speed and medium, widest first; may be empty."""
        return profiles_for(self.port(port), self._profiles, speed_gbps, medium)

    def profile_for(self, port: str, speed_gbps: int, medium: Medium, *, fec: str | None = None) -> int:
        """The one FBOSS profile number of `port` at that speed and medium: the widest, with FEC `fec` when given.

        Raises FabricError when there is none, or when equally wide ones differ only in FEC and `fec` does not choose.
        """
        fitting = [p for p in self.profiles_for(port, speed_gbps, medium) if fec in (None, self._profiles[p].fec)]
        if not fitting:
            raise FabricError(
                f"{self.name} {port} has no {speed_gbps}G {medium} profile", hint=f"it offers {self._offers(port)}"
            )
        best = self._profiles[fitting[0]]
        ties = [p for p in fitting if (self._profiles[p].lanes, self._profiles[p].medium) == (best.lanes, best.medium)]
        if len(ties) > 1:
            fecs = ", ".join(self._profiles[p].fec for p in ties)
            what = f"{len(ties)} profiles at {speed_gbps}G {medium}"
            raise FabricError(f"{self.name} {port} has {what}", hint=f"choose the FEC: {fecs}")
        return fitting[0]

    def chassis_ports(self, line_card: str | LineCard, *, cards: int | None = None) -> tuple[ChassisPort, ...]:
        """Ports of the chassis with `line_card` in its first `cards` slots (default: all), in slot-then-port order.

        Raises FabricError when the box is no chassis, does not take the card, or has fewer slots.
        """
        if self.chassis is None or self._line_card is None:
            raise FabricError(f"{self.name} is a fixed box and takes no line cards")
        name = line_card if isinstance(line_card, str) else line_card.name
        if name not in self.chassis.line_cards:
            takes = ", ".join(self.chassis.line_cards)
            raise FabricError(f"{self.name} does not take line card {name!r}", hint=f"it takes {takes}")
        count = len(self.slots) if cards is None else cards
        if not 0 < count <= len(self.slots):
            raise FabricError(f"{self.name} has {len(self.slots)} line-card slots, {count} were asked for")
        card = self._line_card(name) if isinstance(line_card, str) else line_card
        return chassis_ports(self.slots[:count], card)

    def _offers(self, port: str) -> str:
        kinds = {(self._profiles[p].speed_mbps // 1000, self._profiles[p].medium) for p in self.port(port).profiles}
        return ", ".join(f"{speed}G {kind}" for speed, kind in sorted(kinds)) or "none"

    def _range_hint(self) -> str:
        if not self._ports:
            return "it has no fixed ports"
        return f"ports run from {self._ports[0].name} to {self._ports[-1].name}"
