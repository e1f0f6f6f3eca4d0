"""Link rates: every host cable of a lab carries its designed speed times a scale, so that rates mean something on one machine.

A veth pair has no rate of its own; it carries what the CPU can. With `fabric lab shape` each end gets a token bucket (tbf), and bandwidth then
depends on the cables and no longer on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fabric.lab import proc
from fabric.lab.cables import Socket

BURST_S = 0.02
"""Depth of the bucket in seconds at its rate: what a busy machine may be late without losing rate."""

LATENCY = "1000ms"
"""Longest queue: so long that TCP fills it and loses nothing, as on a lossless fabric."""


def rates(
    cables: Iterable[Mapping[str, Any]], nodes: Mapping[str, Mapping[str, Any]], bps_per_gbps: int
) -> dict[Socket, int]:
    """Socket -> bits a second, for both ends of every host cable.

    Cables between switches stay as they are: a lab has fewer of them than its NICs would fill, and flows that meet would look like a fault.
    """
    found = {}
    for cable in cables:
        if nodes[cable["b"]]["kind"] == "host":
            for end in ("a", "b"):
                name = cable[end]
                found[name, nodes[name]["ports"][cable[f"{end}_port"]]] = int(cable.get("speed_gbps", 0) * bps_per_gbps)
    return {socket: rate for socket, rate in found.items() if rate > 0}


def limit(sockets: Mapping[Socket, int | str]) -> None:
    """Give each end its rate, in bits a second or as tc takes it. Segments leave one by one, so that the MTU of the way counts for TCP too."""
    ends: dict[str, list[tuple[str, int | str]]] = {}
    for (name, linux), rate in sockets.items():
        ends.setdefault(name, []).append((linux, rate))
    for name, ports in ends.items():
        proc.ip_batch([f"link set {linux} gso_max_segs 1" for linux, _ in ports], netns=name)
        proc.ip_batch([_tbf(linux, rate) for linux, rate in ports], netns=name, tool="tc")


def _tbf(linux: str, rate: int | str) -> str:
    burst = "256k" if isinstance(rate, str) else str(max(20_000, int(rate * BURST_S / 8)))
    text = rate if isinstance(rate, str) else f"{rate}bit"
    return f"qdisc replace dev {linux} root tbf rate {text} burst {burst} latency {LATENCY}"


def free(sockets: Iterable[Socket]) -> None:
    """Take the limit away where there is one: a reboot or another cable may have done it already."""
    for name, linux in sockets:
        if "tbf" in proc.run(["tc", "-n", name, "qdisc", "show", "dev", linux]):
            proc.run(["tc", "-n", name, "qdisc", "del", "dev", linux, "root"])
            proc.ip_batch([f"link set {linux} gso_max_segs 65535"], netns=name)
