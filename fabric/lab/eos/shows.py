"""The show commands: which source answers each, and in which of its two forms."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from fabric.lab.eos import config, shows_net, shows_ports
from fabric.lab.eos.grammar import Refused
from fabric.lab.eos.shell import Answer, Call, Handler, Shell, section
from fabric.lab.eos.shows_net import dotted
from fabric.lab.eos.sources import Sources
from fabric.lab.eos.tree import Node, render
from fabric.lab.eos.values import short_name

Json = dict[str, Any]


def handlers(sources: Sources) -> dict[str, Handler]:
    """The answers to all show commands, with live data from `sources`."""
    return _Shows(sources).table()


class _Shows:
    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def table(self) -> dict[str, Handler]:
        """By the names of the command table."""
        names = [name.removeprefix("show_") for name in dir(self) if name.startswith("show_")]
        return {name: getattr(self, f"show_{name}") for name in names}

    # ------------------------------------------------------------------------------------------------------- identity

    def _version(self, shell: Shell) -> Json:
        switch = shell.switch
        release = switch.node.settings.version
        mac = str(self._sources.links().get(switch.node.management_linux, {}).get("address", "00:00:00:00:00:00"))
        memory = _memory()
        return {
            "mfgName": "Arista",
            "modelName": switch.node.settings.model,
            "hardwareRevision": "",
            "serialNumber": "",
            "systemMacAddress": mac,
            "hwMacAddress": mac,
            "configMacAddress": "00:00:00:00:00:00",
            "version": release,
            "architecture": "x86_64",
            "internalVersion": release,
            "internalBuildId": "00000000-0000-4000-8000-000000000000",
            "imageFormatVersion": "3.0",
            "imageOptimization": "None",
            "bootupTimestamp": switch.booted,
            "uptime": switch.clock() - switch.booted,
            "memTotal": memory.get("MemTotal", 0),
            "memFree": memory.get("MemAvailable", 0),
            "isIntlVersion": False,
        }

    def show_version(self, shell: Shell, call: Call) -> Answer:
        data = self._version(shell)
        if call.as_json:
            return data
        return (
            f"Arista {data['modelName']}\nHardware version: {data['hardwareRevision']}\n"
            f"Serial number: {data['serialNumber']}\nHardware MAC address: {dotted(data['hwMacAddress'])}\n"
            f"System MAC address: {dotted(data['systemMacAddress'])}\n\nSoftware image version: {data['version']}\n"
            f"Architecture: {data['architecture']}\nInternal build version: {data['internalVersion']}\n"
            f"Internal build ID: {data['internalBuildId']}\nImage format version: {data['imageFormatVersion']}\n"
            f"Image optimization: {data['imageOptimization']}\n\nUptime: {_duration(data['uptime'])}\n"
            f"Total memory: {data['memTotal']} kB\nFree memory: {data['memFree']} kB\n\n"
        )

    def show_hostname(self, shell: Shell, call: Call) -> Answer:
        name = shell.switch.hostname
        domain = shell.switch.sessions.running.value("dns", "domain")
        fqdn = f"{name}.{domain}" if domain else name
        return {"hostname": name, "fqdn": fqdn} if call.as_json else f"Hostname: {name}\nFQDN:     {fqdn}\n"

    def show_uptime(self, shell: Shell, call: Call) -> Answer:
        import os

        now, load = shell.switch.clock(), list(os.getloadavg())
        up = now - shell.switch.booted
        if call.as_json:
            return {"upTime": up, "loadAvg": load, "users": 1, "currentTime": now}
        clock = time.strftime("%H:%M:%S", time.gmtime(now))
        return f" {clock} up {_duration(up)},  1 user,  load average: {load[0]:.2f}, {load[1]:.2f}, {load[2]:.2f}\n"

    def show_clock(self, shell: Shell, _: Call) -> Answer:
        return time.strftime("%a %b %e %H:%M:%S %Y\nTimezone: UTC\n", time.gmtime(shell.switch.clock()))

    def show_boot_config(self, shell: Shell, call: Call) -> Answer:
        image = f"flash:/EOS64-{shell.switch.node.settings.version}.swi"
        if call.as_json:
            return {"softwareImage": image}
        return f"Software image: {image}\nConsole speed: (not set)\nAboot password (encrypted): (not set)\n"

    def show_reload_cause(self, shell: Shell, call: Call) -> Answer:
        causes = [
            {
                "recommendedAction": "No action necessary.",
                "description": text,
                "timestamp": when,
                "debugInfoIsDir": False,
            }
            for when, text in reversed(shell.switch.reload_causes)
        ]
        if call.as_json:
            return {"kernelCrashData": [], "resetCauses": causes, "full": False}
        return "".join(
            f"Reload Cause {number}:\n-------------------\n{cause['description']}\n\n"
            for number, cause in enumerate(causes, 1)
        )

    def show_inventory(self, shell: Shell, call: Call) -> Answer:
        model = shell.switch.node.settings.model
        if not call.as_json:
            return f"System information\n    Model                    Description\n    {model}\n"
        system = {"name": model, "description": "virtual switch of the lab"}
        return {
            "systemInformation": system,
            "powerSupplySlots": {},
            "fanTraySlots": {},
            "cardSlots": {},
            "xcvrSlots": {},
        }

    def show_logging(self, shell: Shell, _: Call) -> Answer:
        return "".join(f"{line}\n" for line in shell.switch.log[-200:])

    def show_users(self, shell: Shell, _: Call) -> Answer:
        return f"    Line      User\n*   {shell.terminal:<9} {shell.user}\n"

    # ------------------------------------------------------------------------------------------------------------ net

    def _lldp(self, shell: Shell) -> Json:
        return shows_net.lldp_detail(self._sources.neighbors(), shell.switch.node.ports, shell.switch.clock())

    def show_lldp_detail(self, shell: Shell, call: Call) -> Answer:
        data = self._lldp(shell)
        return data if call.as_json else shows_net.lldp_detail_text(data)

    def show_lldp(self, shell: Shell, call: Call) -> Answer:
        data = shows_net.lldp(self._lldp(shell), shell.switch.clock())
        return data if call.as_json else shows_net.lldp_text(data)

    def _bgp(self, shell: Shell, call: Call, family: str) -> Answer:
        answer = self._sources.frr(f"show bgp ipv{family} unicast summary")
        now = shell.switch.clock()
        data = shows_net.bgp_summary(answer, _asn(shell), now, _names(shell))
        return data if call.as_json else shows_net.bgp_text(data, now)

    def show_bgp4(self, shell: Shell, call: Call) -> Answer:
        return self._bgp(shell, call, "4")

    def show_bgp6(self, shell: Shell, call: Call) -> Answer:
        return self._bgp(shell, call, "6")

    def show_bgp_all(self, shell: Shell, call: Call) -> Answer:
        both = {family: self._sources.frr(f"show bgp ipv{family} unicast summary") for family in ("4", "6")}
        if call.as_json:
            return shows_net.bgp_all(both, _asn(shell), _names(shell))
        merged = {**both["4"], "peers": {**(both["4"].get("peers") or {}), **(both["6"].get("peers") or {})}}
        now = shell.switch.clock()
        return shows_net.bgp_text(shows_net.bgp_summary(merged, _asn(shell), now, _names(shell)), now)

    def _route(self, shell: Shell, call: Call, family: str) -> Answer:
        words = list(call.words[3:])
        if words[:1] == ["vrf"]:
            if words[1] not in ("default", "all"):
                return self._other_vrf(shell, call, words[1])
            words = words[2:]
        command = {"4": "ip", "6": "ipv6"}[family]
        answer = self._sources.frr(f"show {command} route {words[0]}" if words else f"show {command} route")
        running = shell.switch.sessions.running
        routing = bool(running.find("ip", "routing") if family == "4" else running.find("ipv6", "unicast-routing"))
        data = shows_net.routes(answer, _names(shell), shell.switch.node.management_linux, routing=routing)
        return data if call.as_json else shows_net.routes_text(data)

    def _other_vrf(self, shell: Shell, call: Call, vrf: str) -> Answer:
        if not shell.switch.sessions.running.find("vrf", "instance", vrf):
            raise Refused(f"% IP Routing table for VRF {vrf} does not exist.")
        if not call.as_json:
            return f"\nVRF: {vrf}\n! IP routing not enabled\n\n"
        empty = {
            "routingDisabled": True,
            "allRoutesProgrammedHardware": True,
            "allRoutesProgrammedKernel": True,
            "defaultRouteState": "notSet",
            "routes": {},
        }
        return {"vrfs": {vrf: empty}}

    def show_route4(self, shell: Shell, call: Call) -> Answer:
        return self._route(shell, call, "4")

    def show_route6(self, shell: Shell, call: Call) -> Answer:
        return self._route(shell, call, "6")

    # ---------------------------------------------------------------------------------------------------------- ports

    def _ports(self, shell: Shell, call: Call, what: str, text: Callable[[Json], str]) -> Answer:
        switch = shell.switch
        ports = shows_ports.Ports(
            switch.sessions.running, switch.node, self._sources.links(), switch.booted, switch.clock()
        )
        only = next((word for word in call.words[2:3] if word[0].isupper()), None)
        data: Json = getattr(ports, what)(only) if what != "pfc" else ports.pfc()
        return data if call.as_json else text(data)

    def show_interfaces(self, shell: Shell, call: Call) -> Answer:
        return self._ports(shell, call, "detail", shows_ports.detail_text)

    def show_interfaces_status(self, shell: Shell, call: Call) -> Answer:
        return self._ports(shell, call, "status", shows_ports.status_text)

    def show_interfaces_description(self, shell: Shell, call: Call) -> Answer:
        return self._ports(shell, call, "descriptions", shows_ports.descriptions_text)

    def show_counters_errors(self, shell: Shell, call: Call) -> Answer:
        return self._ports(shell, call, "errors", _table("interfaceErrorCounters"))

    def show_counters_discards(self, shell: Shell, call: Call) -> Answer:
        return self._ports(shell, call, "discards", _table("interfaces"))

    def show_pfc_counters(self, shell: Shell, call: Call) -> Answer:
        return self._ports(shell, call, "pfc", _pfc_text)

    def show_pfc_watchdog(self, _: Shell, call: Call) -> Answer:
        return {"interfaces": {}} if call.as_json else "Port     TxQ     Total times stuck   Total times recovered\n"

    # -------------------------------------------------------------------------------------------------- configuration

    def show_running(self, shell: Shell, call: Call) -> Answer:
        switch = shell.switch
        command = " ".join(call.words)
        lines = config.shown(switch.sessions.running, switch.hostname, switch.hardware, command)
        if not call.as_json:
            return _joined(lines)
        return {"header": lines[:3], "comments": [], "cmds": _commands(switch.sessions.running)}

    def show_running_section(self, shell: Shell, call: Call) -> Answer:
        try:
            found = re.compile(call.words[3], re.IGNORECASE)
        except re.error:
            raise Refused(f"% Invalid regular expression: {call.words[3]}") from None
        return _joined(section(render(shell.switch.sessions.running), found))

    def show_running_diffs(self, shell: Shell, _: Call) -> Answer:
        import difflib

        switch = shell.switch
        new = config.text_of(switch.sessions.running).splitlines()
        lines = difflib.unified_diff(
            switch.startup_lines() or [], new, "flash:/startup-config", "system:/running-config", lineterm=""
        )
        return _joined(list(lines))

    def show_startup(self, shell: Shell, _: Call) -> Answer:
        switch = shell.switch
        lines = switch.startup_lines()
        if lines is None:
            return ""
        stamp = time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(switch.startup_path.stat().st_mtime))
        head = [
            "! Command: show startup-config",
            f"! Startup-config last modified at  {stamp} by root",
            f"! device: {switch.hostname} ({switch.hardware.model}, EOS-{switch.hardware.version})",
            "!",
            f"! boot system flash:/EOS64-{switch.hardware.version}.swi",
            "!",
        ]
        return _joined([*head, *lines])

    def _session_tree(self, shell: Shell, call: Call) -> tuple[str, Node]:
        if "named" in call.words:
            name = call.words[3]
            session = shell.switch.sessions.by_name.get(name)
            if session is None:
                raise Refused(f"% Session {name} does not exist")
            return name, session.tree
        if shell.session is None or shell.editor is None:
            raise Refused("% Not in a configuration session")
        return shell.session.name, shell.editor.seen

    def show_session_config(self, shell: Shell, call: Call) -> Answer:
        _, tree = self._session_tree(shell, call)
        switch = shell.switch
        return _joined(config.shown(tree, switch.hostname, switch.hardware, " ".join(call.words)))

    def show_session_diffs(self, shell: Shell, call: Call) -> Answer:
        name, tree = self._session_tree(shell, call)
        return _joined(config.diffs(shell.switch.sessions.running, tree, name))

    def show_config_sessions(self, shell: Shell, call: Call) -> Answer:
        sessions = shell.switch.sessions
        data = sessions.as_json(shell.switch.node.settings.release)
        if call.as_json:
            return data
        out = [
            "Maximum number of completed sessions: 1",
            f"Maximum number of pending sessions: {sessions.limit}",
            "Merge on commit is disabled",
            "Autosave to startup-config on commit is disabled",
        ]
        if sessions.armed is not None and shell.switch.node.settings.release >= (4, 32):
            left = time.strftime("%H:%M:%S", time.gmtime(max(0.0, sessions.armed.deadline - sessions.clock())))
            out += [
                f"Session with pending commit timer: {sessions.armed.name}",
                f"Time left until commit timer expiry: in {left.lstrip('0') or '0'}",
            ]
        out += [
            "",
            "  Name                State                 User       Terminal",
            "  ------------------- --------------------- ---------- --------",
        ]
        shown: Any = data["sessions"]
        for name, one in shown.items():
            users = [f"{user['user']:<10} {user['terminal']}" for user in one["instances"].values()] or [""]
            out.append(f"  {name:<19} {one['state']:<21} {users[0]}".rstrip())
        return _joined(out)

    def show_config_checkpoints(self, shell: Shell, call: Call) -> Answer:
        found = shell.switch.sessions.checkpoints.values()
        if call.as_json:
            entries = {one.name: {"fileDate": one.taken, "fileUser": one.user} for one in found}
            return {"checkpoints": entries, "maxCheckpoints": 20}
        out = [
            "Maximum number of checkpoints: 20",
            "  Filename                     Date                 User",
            "  ----------------- ------------------- ----------",
        ]
        for one in found:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(one.taken))
            out.append(f"  {one.name:<17} {stamp:<19} {one.user}")
        return _joined(out)


def _asn(shell: Shell) -> str | None:
    return shell.switch.sessions.running.value("router", "bgp")


def _names(shell: Shell) -> Callable[[str], str]:
    names = {linux: port for port, linux in shell.switch.node.ports.items()}
    names["lo"] = "Loopback0"
    names[shell.switch.node.management_linux] = "Management0"
    return lambda linux: names.get(linux, linux)


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _commands(node: Node) -> Json:
    return {child.line: {"comments": [], "cmds": _commands(child)} if child.opens else None for child in node.sorted()}


def _table(key: str) -> Callable[[Json], str]:
    def text(answer: Json) -> str:
        rows = answer[key]
        columns = list(next(iter(rows.values()), {}))
        out = ["Port       " + " ".join(f"{name:>14}" for name in columns)]
        out += [
            f"{short_name(port):<10} " + " ".join(f"{row[name]:>14}" for name in columns) for port, row in rows.items()
        ]
        return _joined(out)

    return text


def _pfc_text(answer: Json) -> str:
    rows = answer["interfaceCounters"].items()
    return _joined(
        [
            "Port       RxPfc       TxPfc",
            *(f"{short_name(port):<8} {row['rxFrames']:>8} {row['txFrames']:>8}" for port, row in rows),
        ]
    )


def _duration(seconds: float) -> str:
    minutes = int(seconds) // 60
    weeks, days, hours = minutes // 10080, minutes // 1440 % 7, minutes // 60 % 24
    return f"{weeks} weeks, {days} days, {hours} hours and {minutes % 60} minutes"


def _memory() -> dict[str, int]:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - one read of a kernel file
            return {line.split(":")[0]: int(line.split()[1]) for line in lines}
    except (OSError, ValueError, IndexError):
        return {}
