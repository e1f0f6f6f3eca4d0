"""Bringing the kernel to what agent.conf asks: only differences, so that nothing flaps that did not change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fabric.lab.fboss import kernel
from fabric.lab.fboss.desired import PortWish, Wish
from fabric.lab.fboss.kernel import LinkState
from fabric.lab.fboss.node import Node

_HASH = ("/proc/sys/net/ipv4/fib_multipath_hash_policy", "/proc/sys/net/ipv6/fib_multipath_hash_policy")


class Programmer:
    """Programs one box; remembers what the kernel cannot be asked for (LLDP descriptions, router advertisements)."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._described: dict[str, str] = {}
        self._advertised: dict[str, int] = {}

    def apply(self, wish: Wish) -> list[str]:
        """Program the differences; returns what could not be done, in the words of the system."""
        faults: list[str] = []
        links, routes = kernel.links(), kernel.static_routes()
        lines = list(batch(wish, links, routes))
        if lines:
            done = kernel.run(("ip", "-force", "-batch", "-"), "\n".join(lines) + "\n")
            faults += [line for line in done.stderr.splitlines() if line.strip()]
        faults += _set_hash(wish.l4_hash)
        faults += self._describe(wish, links)
        faults += self._advertise(wish, links)
        return faults

    def _describe(self, wish: Wish, links: Mapping[str, LinkState]) -> Iterator[str]:
        """Port descriptions in LLDP."""
        changed = {
            name: port.description
            for name, port in wish.ports.items()
            if name in links and self._described.get(name, "") != port.description
        }
        socket = self._node.lldp_socket
        if not changed or socket is None or not Path(socket).exists():
            return
        lines = [f"configure ports {name} lldp portdescription {quoted(text)}" for name, text in changed.items()]
        done = kernel.run(("lldpcli", "-u", socket), "\n".join(lines) + "\n")
        self._described.update(changed)
        if done.returncode:
            yield from (line for line in done.stderr.splitlines() if line.strip())

    def _advertise(self, wish: Wish, links: Mapping[str, LinkState]) -> Iterator[str]:
        """Router advertisements, sent by zebra."""
        wanted = {name: port.ra_s for name, port in wish.ports.items() if name in links}
        changed = {name: seconds for name, seconds in wanted.items() if self._advertised.get(name, 0) != seconds}
        if not changed:
            return
        words = ["-c", "configure terminal"]
        for name, seconds in changed.items():
            words += ["-c", f"interface {name}"]
            if seconds:
                words += ["-c", f"ipv6 nd ra-interval {seconds}", "-c", "no ipv6 nd suppress-ra"]
            else:
                words += ["-c", "ipv6 nd suppress-ra", "-c", "no ipv6 nd ra-interval"]
        try:
            done = kernel.run(("vtysh", "-N", self._node.frr, *words))
        except OSError as error:
            yield f"vtysh: {error.strerror}"
            return
        if done.returncode:
            yield from (line for line in done.stdout.splitlines() if line.startswith("%") or "failed" in line)
        else:
            self._advertised.update(changed)


def quoted(text: str) -> str:
    """A text as one word of lldpcli."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _set_hash(l4: bool) -> Iterator[str]:
    """ECMP by addresses alone (0) or with protocol and ports (1): Documentation/networking/ip-sysctl of the kernel."""
    for name in _HASH:
        try:
            path = Path(name)
            if path.read_text(encoding="ascii").strip() != str(int(l4)):
                path.write_text(f"{int(l4)}\n", encoding="ascii")
        except OSError as error:
            yield f"{name}: {error.strerror}"


def batch(wish: Wish, links: Mapping[str, LinkState], routes: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Lines for `ip -batch`: what goes first, so that an address can move from one port to another; routes last."""
    known = {name: port for name, port in wish.ports.items() if name in links}
    for prefix in routes:
        if prefix not in wish.routes:
            yield f"route del {_kind(routes[prefix])}{prefix} proto static"
    for name, port in known.items():
        for address in sorted(links[name].addresses - port.addresses):
            yield f"addr del {address} dev {name}"
    if "lo" in links:
        yield from _loopback(wish, links["lo"])
    for name, port in known.items():
        yield from _port(name, port, links[name])
    for prefix, hops in wish.routes.items():
        if routes.get(prefix) != hops:
            yield f"route replace {_kind(hops)}{prefix}{''.join(f' nexthop via {hop}' for hop in sorted(hops))} proto static"


def _loopback(wish: Wish, now: LinkState) -> Iterator[str]:
    if not now.up:
        yield "link set dev lo up"
    for address in sorted(now.addresses - wish.loopback):
        yield f"addr del {address} dev lo"
    for address in sorted(wish.loopback - now.addresses):
        yield f"addr add {address} dev lo{_nodad(address)}"


def _port(name: str, port: PortWish, now: LinkState) -> Iterator[str]:
    if now.mtu != port.mtu:
        yield f"link set dev {name} mtu {port.mtu}"
    if now.up != port.up:
        yield f"link set dev {name} {'up' if port.up else 'down'}"
    gone_with_link = port.up and not now.up  # the kernel drops IPv6 addresses of a link that goes down
    for address in sorted(port.addresses):
        if address not in now.addresses or (gone_with_link and ":" in address):
            yield f"addr replace {address} dev {name}{_nodad(address)}"


def _kind(hops: frozenset[str]) -> str:
    return "" if hops else "blackhole "


def _nodad(address: str) -> str:
    return " nodad" if ":" in address else ""
