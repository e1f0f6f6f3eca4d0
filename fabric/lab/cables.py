"""Cables: veth pairs between the nodes, the management bridge, and moving the end of a cable from one socket to another.

A "socket" is a port of a node, (node, Linux name). Which end of which pair sits in it changes when cables are swapped or cut. An end that sits
nowhere lies in the namespace LIMBO, down, so that the other end has no carrier: that is what a pulled plug looks like.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fabric.lab.proc import ip_batch, run

BRIDGE = "mgmt"
"""The management bridge in the operator's seat."""

LIMBO = "limbo-"
"""Network namespace of unplugged cable ends; no device can have a name that ends with a dash."""

Socket = tuple[str, str]


def bridge_batch(gateway: str, nodes: Sequence[Socket]) -> list[str]:
    """`ip` commands for the seat: the bridge with the gateway's address, and a port towards each node's management interface."""
    lines = [
        "link set lo up",
        f"link add {BRIDGE} type bridge forward_delay 0 stp_state 0 mcast_snooping 0",
        f"addr add {gateway} dev {BRIDGE}",
        f"link set {BRIDGE} up",
    ]
    for number, (name, interface) in enumerate(nodes):
        lines.append(f"link add m{number} type veth peer name {interface} netns {name}")
        lines.append(f"link set m{number} master {BRIDGE} up")
    return lines


def cable_batch(a: Socket, b: Socket, mtu: int) -> str:
    """The `ip` command that plugs a cable."""
    return f"link add name {a[1]} netns {a[0]} mtu {mtu} type veth peer name {b[1]} netns {b[0]} mtu {mtu}"


def snapshot(socket: Socket) -> dict[str, Any]:
    """What must be put back when another device takes the name: addresses, MTU, up or down."""
    found: dict[str, Any] = json.loads(run(["ip", "-n", socket[0], "-j", "addr", "show", "dev", socket[1]]))[0]
    addresses = [
        f"{item['local']}/{item['prefixlen']}" for item in found.get("addr_info", []) if item["scope"] != "link"
    ]
    return {"addresses": addresses, "mtu": found["mtu"], "up": "UP" in found["flags"], "mac": found["address"]}


def unplug(socket: Socket, parked: str) -> dict[str, Any]:
    """Take the device out of a socket and park it under the name `parked`; returns what `plug` needs to fill the socket again."""
    state = snapshot(socket)
    ip_batch([f"link set {socket[1]} down", f"link set {socket[1]} name {parked} netns {LIMBO}"], netns=socket[0])
    return state


def plug(socket: Socket, parked: str, state: dict[str, Any]) -> None:
    """Put a parked device into a socket and make it look like the one that was there."""
    node, name = socket
    ip_batch([f"link set {parked} name {name} netns {node}"], netns=LIMBO)
    lines = [f"link set {name} mtu {state['mtu']} address {state['mac']}"]
    lines += [
        f"addr replace {address} dev {name}{' nodad' if ':' in address else ''}" for address in state["addresses"]
    ]
    # Up last: who watches the link finds the addresses there.
    if state["up"]:
        lines.append(f"link set {name} up")
    ip_batch(lines, netns=node)


def stub(parked: str) -> None:
    """A parked device whose other end is parked as well, and stays down: what sits in a socket without a cable."""
    ip_batch([f"link add {parked} type veth peer name {parked}x"], netns=LIMBO)


def drop(parked: str) -> None:
    """Remove a parked device and its other end."""
    ip_batch([f"link del {parked}"], netns=LIMBO)


def move_batch(names: Sequence[str], node: str) -> list[str]:
    """`ip` commands that take interfaces down and move them to the namespace of `node`; they lose all their configuration."""
    return [line for name in names for line in (f"link set {name} down", f"link set {name} netns {node}")]
