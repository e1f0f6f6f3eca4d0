"""What a measurement loads: GPUs, host cables, switches, trunks, uplinks of zones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

from fabric.design.seats import Seat, Seating, Trunk
from fabric.verify.collectives.model import Measurement

Kind = Literal["gpu", "link", "trunk", "host", "some", "uplinks", "switch", "upper", "zone", "path"]
"""`link`: NIC, cable and switch port of one rail of one host. `some`: one unknown uplink of a switch. `uplinks`: all uplinks of an
RTSW or leaf. `upper`: a switch without hosts. `zone`: the uplinks of a zone. `path`: what only two hosts have together (`name` is both)."""

Suspect = tuple[Kind, str, int]
"""Kind, name of host, switch or trunk, and the GPU's or rail's number (`zone`: its number), 0 where there is none."""

Span = Literal["host", "switch", "zone", "zones"]

FULL = 0.8
"""From this share of their NICs' rate on, a result of two hosts says something of the hosts."""


class Places:
    """The seating with its ways: who is under one switch, who in one zone."""

    def __init__(self, seating: Seating) -> None:
        self.seating = seating
        self.seats = seating.by_host
        self._crossed: dict[object, list[str]] = {}
        self._facts: dict[tuple[int, int, tuple[int, ...]], tuple[float, Span]] = {}
        self._upward: dict[tuple[str, ...], int] = {}
        self._shares: dict[tuple[str, tuple[int, ...], bool], float] = {}

    @cached_property
    def trunk(self) -> dict[str, Trunk]:
        """Every trunk by its name."""
        return {trunk.name: trunk for trunk in self.seating.trunks}

    @cached_property
    def under(self) -> dict[str, list[str]]:
        """The hosts with a seat at each switch, in the fabric's order."""
        found: dict[str, list[str]] = {}
        for host, seats in self.seats.items():
            for switch in dict.fromkeys(seat.switch for seat in seats):
                found.setdefault(switch, []).append(host)
        return found

    @cached_property
    def switches(self) -> frozenset[str]:
        """Every switch."""
        return frozenset((*self.under, *self.seating.trunks_of))

    @cached_property
    def groups(self) -> dict[tuple[str, ...], list[str]]:
        """Hosts that are cabled to the same switches, rail by rail: those of one RTSW, or of one leaf group."""
        found: dict[tuple[str, ...], list[str]] = {}
        for host, seats in self.seats.items():
            found.setdefault(tuple(seat.switch for seat in seats), []).append(host)
        return found

    def group(self, host: str) -> tuple[str, ...]:
        """The switches of a host in rail order: the key of its group."""
        return self._group[host]

    @cached_property
    def _group(self) -> dict[str, tuple[str, ...]]:
        return {host: group for group, hosts in self.groups.items() for host in hosts}

    @cached_property
    def _number(self) -> dict[str, int]:
        """The number of each host's group."""
        return {host: number for number, hosts in enumerate(self.groups.values()) for host in hosts}

    @cached_property
    def _zone(self) -> dict[str, int]:
        return {host: seats[0].zone if seats else 0 for host, seats in self.seats.items()}

    @cached_property
    def by_zone(self) -> dict[int, list[str]]:
        """The hosts of each zone, in the fabric's order."""
        found: dict[int, list[str]] = {}
        for host in self.seats:
            found.setdefault(self.zone(host), []).append(host)
        return found

    def uplinks(self, switch: str) -> list[Trunk]:
        """The trunks that lead up from a switch."""
        return [trunk for trunk in self.seating.trunks_of.get(switch, ()) if trunk.b == switch]

    def abroad(self, zone: int) -> int:
        """How many hosts of a zone may send to other zones at once: half of what its uplinks carry, at least one; 0 without any."""
        return self._abroad.get(zone, 0)

    @cached_property
    def zone_of_switch(self) -> dict[str, int]:
        """The zone of each RTSW or leaf, and of the switches right above these that serve one zone only."""
        lower = {seat.switch: seat.zone for seats in self.seats.values() for seat in seats}
        above: dict[str, set[int]] = {}
        for switch, zone in lower.items():
            for trunk in self.uplinks(switch):
                above.setdefault(trunk.a, set()).add(zone)
        return {**lower, **{switch: min(zones) for switch, zones in above.items() if len(zones) == 1}}

    @cached_property
    def exits(self) -> dict[int, list[Trunk]]:
        """The trunks that lead out of each zone: from its CTSWs up, or from its leaves where what is above serves others too."""
        found: dict[int, list[Trunk]] = {}
        for trunk in self.seating.trunks:
            zone = self.zone_of_switch.get(trunk.b)
            if zone is not None and trunk.a not in self.zone_of_switch:
                found.setdefault(zone, []).append(trunk)
        return found

    @cached_property
    def _abroad(self) -> dict[int, int]:
        need = {zone: sum(seat.speed_gbps for seat in self.seats[hosts[0]]) for zone, hosts in self.by_zone.items()}
        return {
            zone: max(1, sum(trunk.speed_gbps for trunk in trunks) // (2 * need[zone]))
            for zone, trunks in self.exits.items()
            if need.get(zone)
        }

    def zone(self, host: str) -> int:
        """The zone of a host; 0 for one without NICs."""
        return self._zone[host]

    def used(self, host: str, rails: Sequence[int]) -> tuple[Seat, ...]:
        """The seats of a host that take part; `rails` empty = all."""
        seats = self.seats[host]
        return tuple(seat for seat in seats if seat.rail in rails) if rails else seats

    def crossed(self, m: Measurement) -> list[str]:
        """The switches whose uplinks a measurement needs: where hosts meet on one rail that are not under one switch."""
        number = self._number
        key: object = (m.hosts, m.rails)
        if len(m.hosts) == 2:  # as for all pairs of these two groups
            key = (number[m.hosts[0]], number[m.hosts[1]], m.rails)
        found = self._crossed.get(key)
        if found is None:
            found = self._crossed[key] = self._crossing(m)
        return found

    def _crossing(self, m: Measurement) -> list[str]:
        groups = dict.fromkeys(self._group[host] for host in m.hosts)
        if len(groups) < 2:
            return []
        by_rail: dict[int, dict[str, None]] = {}
        for group in groups:
            for seat in self.used(self.groups[group][0], m.rails):
                by_rail.setdefault(seat.rail, {})[seat.switch] = None
        return list(dict.fromkeys(switch for found in by_rail.values() if len(found) > 1 for switch in found))

    def span(self, m: Measurement) -> Span:
        """How much of the fabric it goes through."""
        if len(m.hosts) == 2:
            return self._pair(m)[1]
        if len(m.hosts) == 1:
            return "host"
        if not self.crossed(m):
            return "switch"
        return "zones" if len({self.zone(host) for host in m.hosts}) > 1 else "zone"

    def ceiling(self, m: Measurement) -> float:
        """The share of its NICs' rate that a pair can reach at most, by the speed of the uplinks on its way; 1 for larger groups."""
        return self._pair(m)[0] if len(m.hosts) == 2 else 1.0

    def _pair(self, m: Measurement) -> tuple[float, Span]:
        """Ceiling and span, which are the same for all pairs of two groups of hosts."""
        a, b = m.hosts
        key = (self._number[a], self._number[b], m.rails)
        if (known := self._facts.get(key)) is not None:
            return known
        abroad = self.zone(a) != self.zone(b)
        found: tuple[float, Span] = (1.0, "switch")
        if self.crossed(m):
            found = (min(self._share(host, m.rails, abroad) for host in m.hosts), "zones" if abroad else "zone")
        self._facts[key] = found
        return found

    def _share(self, host: str, rails: tuple[int, ...], abroad: bool) -> float:
        key = (host, rails, abroad)
        if key not in self._shares:
            need: dict[str, int] = {}
            for seat in self.used(host, rails):
                need[seat.switch] = need.get(seat.switch, 0) + seat.speed_gbps
            shares = [self._up_speed(switch) / speed for switch, speed in need.items()]
            exits = self.exits.get(self.zone(host), ()) if abroad else ()
            if exits:
                shares.append(sum(trunk.speed_gbps for trunk in exits) / sum(need.values()))
            self._shares[key] = min([1.0, *(share for share in shares if share > 0)])
        return self._shares[key]

    def _up_speed(self, switch: str) -> int:
        return sum(trunk.speed_gbps for trunk in self.uplinks(switch))

    def lanes(self, a: str, b: str) -> tuple[int, ...]:
        """The rails that two hosts can use at once at their full rate; empty = all of them.

        Where the uplinks do not carry all, as many as half of them carry: flows that choose among few uplinks often choose the same.
        """
        share = self.ceiling(Measurement("retest", "", (a, b)))
        rails = tuple(seat.rail for seat in self.seats[a])
        return () if share >= FULL else rails[: max(1, int(share * len(rails) / 2))]

    def upward(self, host: str) -> int:
        """How many hosts beside this one and with it may send over the uplinks of its switches at once, at least one."""
        group = self.group(host)
        if group not in self._upward:
            need: dict[str, int] = {}
            for seat in self.seats[host]:
                need[seat.switch] = need.get(seat.switch, 0) + seat.speed_gbps
            self._upward[group] = max(1, min((self._up_speed(s) // n for s, n in need.items()), default=1))
        return self._upward[group]

    def must(self, m: Measurement) -> Iterator[Suspect]:
        """What makes this measurement bad for sure when it is at fault; so a good one speaks for all of these."""
        if len(m.hosts) == 1:
            host = m.hosts[0]
            yield from (("gpu", host, seat.gpu) for seat in self.used(host, m.rails))
            return
        switches: dict[str, None] = {}
        if self.ceiling(m) >= FULL:
            for suspect in self._ends(m):
                if suspect[0] == "switch":
                    switches[suspect[1]] = None
                else:
                    yield suspect
        crossed = self.crossed(m)
        for name in m.trunks:
            if (trunk := self.trunk.get(name)) is not None:
                yield ("trunk", name, 0)
                switches[trunk.a] = switches[trunk.b] = None
        yield from (self.switch(switch) for switch in switches)
        yield from (("uplinks", switch, 0) for switch in crossed)
        zones = dict.fromkeys(self.zone(host) for host in m.hosts)
        if len(zones) > 1:
            yield from (("zone", "", zone) for zone in zones)

    def may(self, m: Measurement) -> Iterator[Suspect]:
        """What can make it bad, although a good one says little of it."""
        if len(m.hosts) == 1:
            yield ("host", m.hosts[0], 0)
            return
        if self.ceiling(m) < FULL:
            yield from self._ends(m)
        for host in m.hosts:
            yield from (("gpu", host, seat.gpu) for seat in self.used(host, m.rails))
        if len(m.hosts) == 2 and m.stage != "paths":
            yield ("path", " <-> ".join(sorted(m.hosts)), 0)
        if not m.trunks:
            yield from (("some", switch, 0) for switch in self.crossed(m))

    def _ends(self, m: Measurement) -> Iterator[Suspect]:
        """Hosts, links and their switches: where uplinks are too few for all rails, their slowness may not show."""
        for host in m.hosts:
            yield ("host", host, 0)
            for seat in self.used(host, m.rails):
                yield ("link", host, seat.rail)
                yield ("switch", seat.switch, 0)

    def switch(self, name: str) -> Suspect:
        """A switch as a suspect."""
        return ("switch" if name in self.under else "upper", name, 0)

    def text(self, suspect: Suspect) -> str:
        """A suspect as findings name it."""
        kind, name, number = suspect
        if kind == "gpu":
            return f"{name}:gpu{number}"
        if kind == "link":
            return self.seat(name, number).cable
        if kind in ("some", "uplinks"):
            return f"{name} uplinks"
        return f"zone {number} uplinks" if kind == "zone" else name

    def seat(self, host: str, rail: int) -> Seat:
        """The seat of one rail of a host."""
        return next(seat for seat in self.seats[host] if seat.rail == rail)
