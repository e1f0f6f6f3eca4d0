"""Readers of what ethtool, ip, lspci, the QoS tools and the RDMA tools print. Unseen for what is no answer of theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fabric.verify.hosts.node.sources import Unseen


def objects(text: str, tool: str) -> list[dict[str, Any]]:
    """The objects of a JSON list, or a single one. Unseen when it is no JSON; entries that are no objects are left out."""
    try:
        data = json.loads(text) if text.strip() else []
    except (ValueError, RecursionError):
        raise Unseen(f"{tool} prints no JSON") from None
    return [item for item in (data if isinstance(data, list) else [data]) if isinstance(item, dict)]


def pairs(text: str) -> dict[str, str]:
    """Lines "Key: value" as a mapping, keys without white space around; the first of equal ones."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip(), value.strip())
    return found


@dataclass
class PciDevice:
    """One device of `lspci -D -vvv`: address, first line, link state, MaxReadReq in bytes, whether ACS source validation is on."""

    address: str
    title: str
    speed: str = ""
    width: int = 0
    max_read_request: int = 0
    acs: bool = False
    has_capabilities: bool = False


def lspci(text: str) -> dict[str, PciDevice]:
    """Address -> device. Unseen when there is none."""
    found: dict[str, PciDevice] = {}
    device: PciDevice | None = None
    for line in text.splitlines():
        head = re.match(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (.*)", line)
        if head is not None:
            address = head[1] if head[1].count(":") == 2 else f"0000:{head[1]}"
            device = found[address] = PciDevice(address, head[2])
        elif device is not None:
            _pci_line(device, line)
    if not found:
        raise Unseen("lspci lists no device")
    return found


def _pci_line(device: PciDevice, line: str) -> None:
    if "LnkSta:" in line:
        speed = re.search(r"Speed ([0-9.]+) ?GT/s", line)
        width = re.search(r"Width x(\d{1,2})\b", line)
        device.speed = f"{float(speed[1]):.1f} GT/s" if speed and speed[1].count(".") < 2 and speed[1] != "." else ""
        device.width = int(width[1]) if width else 0
        device.has_capabilities = True
    elif "MaxReadReq" in line:
        size = re.search(r"MaxReadReq (\d{1,5}) bytes", line)
        device.max_read_request = int(size[1]) if size else 0
    elif "ACSCtl:" in line:
        device.acs = "SrcValid+" in line
        device.has_capabilities = True


@dataclass
class NicQos:
    """Trust mode ("dscp", "pcp", "" = not said), the priorities with PFC, DSCP -> priority of those that were said."""

    trust: str = ""
    pfc: tuple[int, ...] | None = None
    priority: dict[int, int] = field(default_factory=dict)


def mlnx_qos(text: str) -> NicQos:
    """What `mlnx_qos -i IF` prints. Unseen without the lines of trust and PFC."""
    qos = NicQos()
    trust = re.search(r"^Priority trust state:\s*(\w+)", text, re.MULTILINE)
    enabled = re.search(r"^\s*enabled((?:\s+[01]){8})\s*$", text, re.MULTILINE)
    if trust is None or enabled is None:
        raise Unseen("mlnx_qos prints no trust state or no PFC")
    qos.trust = trust[1].lower()
    qos.pfc = tuple(place for place, cell in enumerate(enabled[1].split()) if cell == "1")
    for priority, dscps in re.findall(r"^\s*prio:(\d) dscp:([0-9,]+)", text, re.MULTILINE):
        qos.priority.update({int(dscp): int(priority) for dscp in dscps.split(",") if dscp and len(dscp) < 3})
    return qos


def dcb(pfc_text: str, app_text: str) -> NicQos:
    """What `dcb -j pfc show` and `dcb -j app show` print. The kernel trusts DSCP as soon as there is a DSCP map."""
    qos = NicQos()
    pfc = next(iter(objects(pfc_text, "dcb")), {}).get("prio-pfc")
    if not isinstance(pfc, dict):
        raise Unseen("dcb prints no prio-pfc")
    qos.pfc = tuple(sorted(int(key) for key, on in pfc.items() if on is True and re.fullmatch("[0-7]", key)))
    app = next(iter(objects(app_text, "dcb")), {}).get("dscp-prio", [])
    for entry in app if isinstance(app, list) else []:
        if isinstance(entry, list) and len(entry) == 2 and all(type(value) is int for value in entry):
            qos.priority[entry[0]] = entry[1]
    qos.trust = "dscp" if qos.priority else "pcp"
    return qos


@dataclass
class Hca:
    """Port 1 of one RDMA device: state, active MTU in bytes, link layer, firmware, GIDs by index as (text, "RoCE v2" or "")."""

    state: str = ""
    mtu: int = 0
    link_layer: str = ""
    firmware: str = ""
    lid: int = 0
    gids: dict[int, tuple[str, str]] = field(default_factory=dict)


def ibv_devinfo(text: str) -> dict[str, Hca]:
    """HCA -> port 1, of `ibv_devinfo -v`. Unseen when there is none."""
    found: dict[str, Hca] = {}
    hca: Hca | None = None
    port = 0
    for line in text.splitlines():
        key, _, value = (part.strip() for part in line.partition(":"))
        if key == "hca_id":
            hca, port = found.setdefault(value, Hca()), 0
        elif key == "port" and value.isdecimal() and len(value) < 5:
            port = int(value)
        elif hca is not None and port <= 1:
            _hca_line(hca, key, value)
    if not found:
        raise Unseen("ibv_devinfo lists no device")
    return found


def _hca_line(hca: Hca, key: str, value: str) -> None:
    gid = re.match(r"GID\[\s*(\d{1,3})\]", key)
    if gid is not None:
        address, _, kind = value.partition(",")
        hca.gids[int(gid[1])] = (address.strip(), kind.strip())
    elif key == "state":
        hca.state = value.split(" ", maxsplit=1)[0]
    elif key == "active_mtu":
        hca.mtu = int(value.split(" ", maxsplit=1)[0]) if re.match(r"\d{3,5}( |$)", value) else 0
    elif key == "link_layer":
        hca.link_layer = value
    elif key == "fw_ver":
        hca.firmware = value
    elif key == "port_lid":
        hca.lid = int(value) if re.fullmatch(r"\d{1,5}", value) else 0


def show_gids(text: str) -> Iterator[tuple[str, int, str, str]]:
    """(HCA, index, IPv4 address or "", version "v1" or "v2") of each row of `show_gids`."""
    for line in text.splitlines():
        cells = line.split()
        if len(cells) >= 5 and cells[1] == "1" and re.fullmatch(r"\d{1,3}", cells[2]) and ":" in cells[3]:
            address = cells[4] if cells[4].count(".") == 3 else ""
            version = next((cell for cell in cells[4:] if cell in ("v1", "v2")), "")
            yield cells[0], int(cells[2]), address, version


@dataclass
class IbPort:
    """Port 1 of an HCA as `ibstat` says: state, physical state, rate in Gb/s, GUID."""

    state: str = ""
    physical: str = ""
    rate: int = 0
    guid: str = ""


def ibstat(text: str) -> dict[str, IbPort]:
    """HCA -> port 1. Unseen when there is none."""
    found: dict[str, IbPort] = {}
    port: IbPort | None = None
    for line in text.splitlines():
        head = re.match(r"CA '([^']{1,64})'", line)
        if head is not None:
            port = found.setdefault(head[1], IbPort())
            continue
        if re.match(r"\s*Port [2-9]:", line):
            port = None
        key, _, value = (part.strip() for part in line.partition(":"))
        if port is None:
            continue
        if key == "State":
            port.state = value
        elif key == "Physical state":
            port.physical = value
        elif key == "Rate":
            port.rate = int(value) if re.fullmatch(r"\d{1,5}", value) else 0
        elif key == "Port GUID":
            port.guid = value.lower()
    if not found:
        raise Unseen("ibstat lists no HCA")
    return found


def mlxconfig(text: str) -> dict[str, tuple[str, str]]:
    """Parameter -> (current, next boot) of `mlxconfig -e query`: values without their number, "ETH(2)" stays as it is.

    Unseen when no line holds the three columns.
    """
    found: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        hit = re.match(r"[*\s]*([A-Z][A-Z0-9_]+)(?:\s+(\S+))\s+(\S+)\s+(\S+)\s*$", line)
        if hit is not None:
            found[hit[1]] = (hit[3], hit[4])
    if not found:
        raise Unseen("mlxconfig prints no parameter with its current and next value")
    return found
