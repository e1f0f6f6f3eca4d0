"""Brings the switch's kernel, FRR and lldpd to a configuration, from its text alone, touching only what has changed."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fabric.errors import FabricError
from fabric.lab import frr
from fabric.lab.eos.bgpconf import frr_text
from fabric.lab.eos.bgpdiff import commands
from fabric.lab.eos.device import NodeFile
from fabric.lab.eos.tree import Node
from fabric.lab.proc import ip_batch

DEFAULT_MTU = 1500
"""MTU of a routed EOS port without an `mtu` line, in bytes (Ethernet's own)."""


@dataclass(frozen=True, slots=True)
class Interface:
    """What the kernel is to have on one interface."""

    up: bool = False
    mtu: int = DEFAULT_MTU
    addresses: frozenset[str] = frozenset()
    description: str = ""


def wanted(root: Node, node: NodeFile) -> dict[str, Interface]:
    """Linux interface -> its state, for every port of the switch, for `lo` (all loopbacks) and for the management port when named.

    A port that the configuration does not name is down here: it has no address to be up for.
    """
    out = dict.fromkeys(node.ports.values(), Interface())
    loopbacks: frozenset[str] = frozenset()
    for section in root.find("interface"):
        name = section.words[1]
        state = _interface(section)
        if name.startswith("Loopback"):
            loopbacks |= state.addresses if state.up else frozenset()
        elif name.startswith("Management"):
            out[node.management_linux] = state
        elif name in node.ports:
            out[node.ports[name]] = state
    out["lo"] = Interface(up=True, mtu=65536, addresses=loopbacks)
    return out


def _interface(section: Node) -> Interface:
    routed = not section.words[1].startswith("Ethernet") or bool(section.find("no", "switchport"))
    found = [section.value("ip", "address"), *(node.words[2] for node in section.find("ipv6", "address"))]
    return Interface(
        up=not section.find("shutdown"),
        mtu=int(section.value("mtu") or DEFAULT_MTU),
        addresses=frozenset(address for address in found if address) if routed else frozenset(),
        description=section.value("description") or "",
    )


def batch(old: dict[str, Interface], new: dict[str, Interface], *, management: str = "ma0") -> list[str]:
    """`ip` commands from one state to the other. Management addresses stay without the routes of their network (the lab's own table
    has them).
    """
    out: list[str] = []
    for name, state in new.items():
        before = old.get(name, Interface())
        suffix = " noprefixroute" if name == management else ""
        if name not in ("lo", management) and state.mtu != before.mtu:
            out.append(f"link set dev {name} mtu {state.mtu}")
        out += [f"addr del {address} dev {name}" for address in sorted(before.addresses - state.addresses)]
        if state.up != before.up or name not in old:
            out.append(f"link set dev {name} {'up' if state.up else 'down'}")
        fresh = state.addresses if state.up and not before.up else state.addresses - before.addresses
        out += [
            f"addr replace {address} dev {name}{' nodad' if ':' in address else ''}{suffix}"
            for address in sorted(fresh)
        ]
    return out


class Programmer:
    """Called with each new running-config. `log` gets what could not be done: a switch keeps running then, as EOS does."""

    def __init__(self, node: NodeFile, log: Callable[[str], None]) -> None:
        self._node, self._log = node, log
        self._old: dict[str, Interface] | None = None
        self._hostname = node.name
        self._routed: str | None = None
        self._described: dict[str, str] = {}

    def __call__(self, root: Node) -> None:
        """Bring everything to `root`."""
        for step in (self._interfaces, self._routing, self._names):
            try:
                step(root)
            except (FabricError, OSError, subprocess.SubprocessError) as error:
                self._log(f"%PROGRAM-3-FAILED: {step.__name__.strip('_')}: {error}")

    def _interfaces(self, root: Node) -> None:
        new = wanted(root, self._node)
        new = {name: state for name, state in new.items() if name == "lo" or _exists(name)}
        old = self._old if self._old is not None else _present(new)
        commands = batch(old, new, management=self._node.management_linux)
        self._old = new
        ip_batch(commands)
        self._management_routes(commands)

    def _management_routes(self, commands: list[str]) -> None:
        """Routes over an interface that went down are gone; the lab's table of the management network is filled again."""
        link, gateway = self._node.management_linux, self._node.extra.get("gateway")
        own = str(self._node.extra.get("management") or "")
        if f"link set dev {link} up" in commands and own and gateway:
            import ipaddress

            network = ipaddress.ip_interface(own).network
            ip_batch(
                [
                    f"route replace {network} dev {link} table 99",
                    f"route replace default via {gateway} dev {link} table 99",
                ]
            )

    def _routing(self, root: Node) -> None:
        bfd = bool(self._node.extra.get("settings", {}).get("bfd")) and bool(root.find("router", "bfd"))
        name = root.value("hostname") or self._node.name
        text = frr_text(root, name, lambda port: self._node.ports.get(port, port), bfd=bfd)
        daemons = ("zebra", "bgpd", "bfdd") if bfd else ("zebra", "bgpd")
        if not all(frr.running(self._node.frr, daemon) for daemon in daemons):
            frr.start(self._node.frr, daemons, text=text)
        elif text != self._routed and not self._step(text):
            frr.reload(self._node.frr, text)
        self._routed = text

    def _step(self, text: str) -> bool:
        """Only the lines that differ from what this daemon gave FRR last; False when that is not known, or FRR refused one."""
        if self._routed is None:
            return False
        folder = frr.config_dir(self._node.frr)
        part = folder / "step.conf"
        part.write_text("\n".join([*commands(self._routed, text), ""]), encoding="utf-8")
        done = subprocess.run(  # noqa: S603
            ["/usr/bin/vtysh", "-N", self._node.frr, "-f", str(part)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            self._log(f"%PROGRAM-4-STEP: {(done.stdout + done.stderr).strip()[:300]}")
            return False
        (folder / "frr.conf").write_text(text, encoding="utf-8")
        return True

    def _names(self, root: Node) -> None:
        """Lldpd announces the host name and, as port description, the interface's own description."""
        texts: dict[str, str] = {}
        for section in root.find("interface"):
            linux = self._node.ports.get(section.words[1])
            if linux is not None:
                texts[linux] = section.value("description") or section.words[1]
        ids = {linux: port for port, linux in self._node.ports.items() if linux not in self._described}
        lines = [f'configure ports {linux} lldp portidsubtype local "{port}"' for linux, port in ids.items()]
        lines += [
            f'configure ports {linux} lldp portdescription "{text.translate(_QUOTES)}"'
            for linux, text in texts.items()
            if self._described.get(linux) != text
        ]
        name = root.value("hostname") or self._node.name
        if name != self._hostname:
            lines.append(f"configure system hostname {name}")
        if not lines or not self._node.lldp_socket:
            return
        _wait_for(self._node.lldp_socket)
        done = subprocess.run(  # noqa: S603
            ["/usr/sbin/lldpcli", "-u", self._node.lldp_socket],
            input="\n".join([*lines, ""]), capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
        if done.returncode:
            raise FabricError(f"lldpcli: {done.stderr.strip()[:200]}")
        self._described, self._hostname = texts, name


_QUOTES = str.maketrans({'"': "'", "\\": "/"})


def _wait_for(path: str, timeout_s: float = 30.0) -> None:
    """Wait for a socket: lldpd starts at the same time as the switch."""
    end = time.monotonic() + timeout_s
    while not Path(path).exists() and time.monotonic() < end:
        time.sleep(0.1)


def _exists(name: str) -> bool:
    return Path("/sys/class/net", name).exists()


def _present(names: dict[str, Interface]) -> dict[str, Interface]:
    """What the kernel has now on these interfaces (a daemon that starts anew, or the lab's own set-up)."""
    done = subprocess.run(["ip", "-j", "addr", "show"], capture_output=True, text=True, timeout=20, check=True)  # noqa: S607
    out: dict[str, Interface] = {}
    for link in json.loads(done.stdout or "[]"):
        if link.get("ifname") in names:
            addresses = frozenset(
                f"{one['local']}/{one['prefixlen']}"
                for one in link.get("addr_info", [])
                if one.get("scope") == "global" and "local" in one
            )
            out[link["ifname"]] = Interface("UP" in link.get("flags", []), int(link.get("mtu") or 0), addresses)
    return out
