"""Answers about interfaces: state from the kernel, the rest from the running-config."""

from __future__ import annotations

import re
from typing import Any

from fabric.lab.eos.device import NodeFile
from fabric.lab.eos.tree import Node
from fabric.lab.eos.values import short_name

Json = dict[str, Any]

_MANAGEMENT_SPEED = 1_000_000_000
"""bit/s of a management port, as recorded (`10/100/1000`)."""


class Ports:
    """All interfaces of a switch at one moment: `links` is what `ip -s addr` says, by Linux name."""

    def __init__(self, running: Node, node: NodeFile, links: dict[str, Json], booted: float, now: float) -> None:
        self._sections = {section.words[1]: section for section in running.find("interface")}
        self._node, self._links, self._booted, self._now = node, links, booted, now

    def names(self, only: str | None) -> list[str]:
        """The interfaces to show, in running-config order."""
        return [name for name in self._sections if only in (None, name)]

    def status(self, only: str | None) -> Json:
        """`show interfaces status | json`."""
        names = [name for name in self.names(only) if not name.startswith("Loopback")]
        return {"interfaceStatuses": {name: self._status(name) for name in names}}

    def _status(self, name: str) -> Json:
        link, line = self._state(name)
        managed = name.startswith("Management")
        routed = managed or bool(self._sections[name].find("no", "switchport"))
        vlan: Json = {"interfaceMode": "routed", "interfaceForwardingModel": "routed"}
        if not routed:
            vlan = {"interfaceMode": "bridged", "vlanId": 1, "interfaceForwardingModel": "bridged"}
        return {
            "vlanInformation": vlan,
            "bandwidth": self._bandwidth(name),
            "interfaceType": "10/100/1000" if managed else self._media(name),
            "description": self._sections[name].value("description") or "",
            "autoNegotiateActive": managed,
            "duplex": "duplexFull",
            "autoNegotigateActive": managed,
            "linkStatus": link,
            "lineProtocolStatus": line,
        }

    def descriptions(self, only: str | None) -> Json:
        """`show interfaces description | json`."""
        out: Json = {}
        for name in self.names(only):
            link, line = self._state(name)
            words = {"connected": "up", "disabled": "adminDown"}
            out[name] = {
                "interfaceStatus": words.get(link, "down"),
                "lineProtocolStatus": line,
                "description": self._sections[name].value("description") or "",
            }
        return {"interfaceDescriptions": out}

    def detail(self, only: str | None) -> Json:
        """`show interfaces | json`."""
        return {"interfaces": {name: self._detail(name) for name in self.names(only)}}

    def _detail(self, name: str) -> Json:
        section, link = self._sections[name], self._links.get(self._linux(name), {})
        state, line = self._state(name)
        loopback = name.startswith("Loopback")
        mtu = section.value("mtu")
        out: Json = {
            "name": name,
            "forwardingModel": "routed" if loopback or self._routed(name) else "bridged",
            "lineProtocolStatus": line,
            "interfaceStatus": state,
            "hardware": "loopback" if loopback else "ethernet",
            "interfaceAddress": self._addresses(section),
        }
        if not loopback:
            mac = str(link.get("address", "00:00:00:00:00:00"))
            out |= {"physicalAddress": mac, "burnedInAddress": mac}
        out |= {
            "description": section.value("description") or "",
            "bandwidth": self._bandwidth(name),
            "mtu": 65535 if loopback else int(link.get("mtu") or mtu or 1500),
            "l3MtuConfigured": mtu is not None,
            "l2Mru": 0,
            "lastStatusChangeTimestamp": self._booted,
        }
        if loopback:
            return out
        return {
            **out,
            "interfaceStatistics": dict(_RATES),
            "interfaceCounters": self._counters(link),
            "duplex": "duplexFull",
            "autoNegotiate": "success" if name.startswith("Management") else "off",
            "loopbackMode": "loopbackNone",
            "lanes": self._lanes(section),
        }

    def errors(self, only: str | None) -> Json:
        """`show interfaces counters errors | json`."""
        out: Json = {}
        for name in self._hardware(only):
            stats = self._stats(name)
            out[name] = {
                "inErrors": stats[0].get("errors", 0),
                "frameTooLongs": 0,
                "outErrors": stats[1].get("errors", 0),
                "frameTooShorts": 0,
                "fcsErrors": 0,
                "alignmentErrors": 0,
                "symbolErrors": 0,
            }
        return {"interfaceErrorCounters": out}

    def discards(self, only: str | None) -> Json:
        """`show interfaces counters discards | json`."""
        out: Json = {}
        for name in self._hardware(only):
            stats = self._stats(name)
            out[name] = {"outDiscards": stats[1].get("dropped", 0), "inDiscards": stats[0].get("dropped", 0)}
        totals = [sum(entry[key] for entry in out.values()) for key in ("inDiscards", "outDiscards")]
        return {"inDiscardsTotal": totals[0], "interfaces": out, "outDiscardsTotal": totals[1]}

    def pfc(self) -> Json:
        """`show priority-flow-control counters | json`: a kernel counts no PFC frames, so all are 0."""
        return {"interfaceCounters": {name: {"rxFrames": 0, "txFrames": 0} for name in self._hardware(None)}}

    def _hardware(self, only: str | None) -> list[str]:
        return [name for name in self.names(only) if name.startswith("Ethernet")]

    def _stats(self, name: str) -> tuple[Json, Json]:
        stats = self._links.get(self._linux(name), {}).get("stats64") or {}
        return stats.get("rx") or {}, stats.get("tx") or {}

    def _linux(self, name: str) -> str:
        return self._node.management_linux if name.startswith("Management") else self._node.ports.get(name, "")

    def _routed(self, name: str) -> bool:
        return name.startswith("Management") or bool(self._sections[name].find("no", "switchport"))

    def _state(self, name: str) -> tuple[str, str]:
        """(linkStatus, lineProtocolStatus)."""
        if self._sections[name].find("shutdown"):
            return "disabled", "down"
        if name.startswith("Loopback"):
            return "connected", "up"
        link = self._links.get(self._linux(name))
        if link is None:
            return "notconnect", "notPresent"
        return ("connected", "up") if link.get("operstate") == "UP" else ("notconnect", "down")

    def _media(self, name: str) -> str:
        if self._linux(name) not in self._links:
            return "Not Present"
        speed = self._gbps(self._sections[name])
        return f"{speed}GBASE-LAB" if speed else "Not Present"

    def _bandwidth(self, name: str) -> int:
        if name.startswith("Management"):
            return _MANAGEMENT_SPEED
        if name.startswith("Ethernet") and self._linux(name) in self._links:
            return self._gbps(self._sections[name]) * 1_000_000_000
        return 0

    @staticmethod
    def _gbps(section: Node) -> int:
        match = re.search(r"(\d+(?:\.\d+)?)(g|t)", section.value("speed") or "")
        return round(float(match[1]) * (1600 / 1.6 if match[2] == "t" else 1)) if match else 0

    @staticmethod
    def _lanes(section: Node) -> int:
        match = re.search(r"-(\d)", section.value("speed") or "")
        return int(match[1]) if match else 0

    @staticmethod
    def _addresses(section: Node) -> list[Json]:
        address = section.value("ip", "address")
        if address is None:
            return []
        host, _, length = address.partition("/")
        return [
            {
                "primaryIp": {"address": host, "maskLen": int(length)},
                "secondaryIps": {},
                "secondaryIpsOrderedList": [],
                "virtualIp": {"address": "0.0.0.0", "maskLen": 0},  # noqa: S104 - EOS's word for none
                "virtualSecondaryIps": {},
                "virtualSecondaryIpsOrderedList": [],
                "broadcastAddress": "255.255.255.255",
                "dhcp": False,
            }
        ]

    def _counters(self, link: Json) -> Json:
        stats = link.get("stats64") or {}
        rx, tx = stats.get("rx") or {}, stats.get("tx") or {}
        multicast = rx.get("multicast", 0)
        return {
            "inOctets": rx.get("bytes", 0),
            "inUcastPkts": max(0, rx.get("packets", 0) - multicast),
            "inMulticastPkts": multicast,
            "inBroadcastPkts": 0,
            "inDiscards": rx.get("dropped", 0),
            "totalInErrors": rx.get("errors", 0),
            "inputErrorsDetail": dict(_IN_ERRORS),
            "outOctets": tx.get("bytes", 0),
            "outUcastPkts": tx.get("packets", 0),
            "outMulticastPkts": 0,
            "outBroadcastPkts": 0,
            "outDiscards": tx.get("dropped", 0),
            "totalOutErrors": tx.get("errors", 0),
            "outputErrorsDetail": dict(_OUT_ERRORS),
            "linkStatusChanges": 1,
            "counterRefreshTime": self._now,
        }


_RATES = {"updateInterval": 5.0, "inBitsRate": 0.0, "inPktsRate": 0.0, "outBitsRate": 0.0, "outPktsRate": 0.0}
_IN_ERRORS = dict.fromkeys(("runtFrames", "giantFrames", "fcsErrors", "alignmentErrors", "symbolErrors", "rxPause"), 0)
_OUT_ERRORS = dict.fromkeys(("collisions", "lateCollisions", "deferredTransmissions", "txPause"), 0)


def status_text(answer: Json) -> str:
    """`show interfaces status`."""
    out = ["Port       Name             Status       Vlan     Duplex Speed  Type         Flags Encapsulation"]
    for name, entry in answer["interfaceStatuses"].items():
        auto = "a-" if entry["autoNegotiateActive"] else ""
        speed = f"{entry['bandwidth'] // 1_000_000_000}G"
        vlan = "routed" if entry["vlanInformation"]["interfaceMode"] == "routed" else "1"
        out.append(
            f"{short_name(name):<10} {entry['description'][:16]:<16} {entry['linkStatus']:<12} {vlan:<8} {auto + 'full':<6} "
            f"{auto + speed:<6} {entry['interfaceType']}"
        )
    return "\n".join(out) + "\n"


def descriptions_text(answer: Json) -> str:
    """`show interfaces description`."""
    out = ["Interface                      Status         Protocol           Description"]
    for name, entry in answer["interfaceDescriptions"].items():
        state = "admin down" if entry["interfaceStatus"] == "adminDown" else entry["interfaceStatus"]
        out.append(
            f"{short_name(name):<30} {state:<14} {entry['lineProtocolStatus']:<18} {entry['description']}".rstrip()
        )
    return "\n".join(out) + "\n"


def detail_text(answer: Json) -> str:
    """`show interfaces`, the first lines of each."""
    out: list[str] = []
    for name, entry in answer["interfaces"].items():
        admin = "administratively down" if entry["interfaceStatus"] == "disabled" else entry["lineProtocolStatus"]
        out.append(f"{name} is {admin}, line protocol is {entry['lineProtocolStatus']} ({entry['interfaceStatus']})")
        if entry["description"]:
            out.append(f"  Description: {entry['description']}")
        for address in entry["interfaceAddress"]:
            ip = address["primaryIp"]
            out.append(f"  Internet address is {ip['address']}/{ip['maskLen']}")
        out.append(f"  IP MTU {entry['mtu']} bytes , BW {entry['bandwidth'] // 1000} kbit")
    return "\n".join(out) + "\n"
