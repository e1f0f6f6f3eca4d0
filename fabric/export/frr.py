"""What stands in for an FBOSS switch outside of our own lab: FRR, with the same addresses, sessions and announced prefixes."""

from __future__ import annotations

from dataclasses import dataclass

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Prefix, Switch
from fabric.templating import environment

DAEMONS = "".join(
    [
        *(f"{daemon}=yes\n" for daemon in ("zebra", "bgpd", "bfdd", "vtysh_enable")),
        *(f'{daemon}_options="  -A 127.0.0.1"\n' for daemon in ("zebra", "bgpd", "bfdd")),
    ]
)
"""/etc/frr/daemons: which daemons start."""


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface: Linux name, what is at the other end, addresses with lengths."""

    name: str
    description: str
    address4: str
    address6: str


@dataclass(frozen=True, slots=True)
class Neighbor:
    """One BGP session."""

    address: str
    asn: int
    description: str


@dataclass(frozen=True, slots=True)
class FrrView:
    """What the template takes. `own4`, `own6` are the prefixes that the switch announces; `transit`: it passes on others' too."""

    hostname: str
    asn: int
    router_id: str
    keepalive: int
    hold: int
    bfd: bool
    paths: int
    transit: bool
    interfaces: tuple[Interface, ...]
    peers4: tuple[Neighbor, ...]
    peers6: tuple[Neighbor, ...]
    own4: tuple[str, ...]
    own6: tuple[str, ...]


def frr_config(fabric: Fabric, switch: Switch, names: dict[str, str]) -> str:
    """frr.conf of a switch; `names` is port name -> Linux name of its cabled ports."""
    return environment("containerlab").get_template("frr.conf.j2").render(v=_view(fabric, switch, names))


def _view(fabric: Fabric, switch: Switch, names: dict[str, str]) -> FrrView:
    ports = [port for port in fabric.ports(switch) if port.slot.name in names]
    sessions = [port for port in ports if port.role in ("up", "down")]
    bgp = fabric.spec.bgp
    racks = fabric.rack_prefix(switch.zone, switch.number) if switch.role == "rtsw" else (None, None)
    return FrrView(
        hostname=switch.name,
        asn=switch.asn,
        router_id=fmt4(switch.router_id),
        keepalive=bgp.timers.keepalive_s,
        hold=bgp.timers.hold_s,
        bfd=bgp.bfd is not None,
        paths=max(1, len(sessions)),
        transit=switch.role != "rtsw",
        interfaces=(_loopback(switch), *(_interface(port, names[port.slot.name]) for port in ports)),
        peers4=tuple(Neighbor(fmt4(p.peer4), p.peer_asn, p.peer) for p in sessions if p.peer4 is not None),
        peers6=tuple(Neighbor(fmt6(p.peer6), p.peer_asn, p.peer) for p in sessions if p.peer6 is not None),
        own4=(*_prefix4(racks[0]), f"{fmt4(switch.router_id)}/32"),
        own6=(*_prefix6(racks[1]), *(() if switch.loopback6 is None else (f"{fmt6(switch.loopback6)}/128",))),
    )


def _loopback(switch: Switch) -> Interface:
    six = "" if switch.loopback6 is None else f"{fmt6(switch.loopback6)}/128"
    return Interface("lo", "", f"{fmt4(switch.router_id)}/32", six)


def _interface(port: Port, name: str) -> Interface:
    return Interface(
        name,
        f"{port.slot.name} to {port.peer}:{port.peer_port}",
        "" if port.local4 is None else f"{fmt4(port.local4)}/31",
        "" if port.local6 is None else f"{fmt6(port.local6)}/{port.len6}",
    )


def _prefix4(prefix: Prefix | None) -> tuple[str, ...]:
    return () if prefix is None else (f"{fmt4(prefix.base)}/{prefix.length}",)


def _prefix6(prefix: Prefix | None) -> tuple[str, ...]:
    return () if prefix is None else (f"{fmt6(prefix.base)}/{prefix.length}",)
