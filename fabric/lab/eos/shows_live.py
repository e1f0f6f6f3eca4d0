"""The show commands about neighbours, BGP, routes and ports, answered with live data."""

from __future__ import annotations

from collections.abc import Callable

from fabric.lab.eos import shows_bgp, shows_lldp, shows_ports, shows_routes
from fabric.lab.eos.grammar import Refused
from fabric.lab.eos.shell import Answer, Call, Handler, Shell
from fabric.lab.eos.shows_base import Json, Shows, joined
from fabric.lab.eos.sources import Sources
from fabric.lab.eos.values import short_name


def live(sources: Sources) -> dict[str, Handler]:
    """The answers to the commands about neighbours, BGP, routes and ports, by the names of the command table."""
    return _LiveShows(sources).table()


class _LiveShows(Shows):
    def _lldp(self, shell: Shell) -> Json:
        return shows_lldp.detail(self.sources.neighbors(), shell.switch.node.ports, shell.switch.clock())

    def show_lldp_detail(self, shell: Shell, call: Call) -> Answer:
        data = self._lldp(shell)
        return data if call.as_json else shows_lldp.detail_text(data)

    def show_lldp(self, shell: Shell, call: Call) -> Answer:
        data = shows_lldp.brief(self._lldp(shell), shell.switch.clock())
        return data if call.as_json else shows_lldp.text(data)

    def _bgp(self, shell: Shell, call: Call, family: str) -> Answer:
        answer = self.sources.frr(f"show bgp ipv{family} unicast summary")
        now = shell.switch.clock()
        data = shows_bgp.summary(answer, _asn(shell), now, _names(shell))
        return data if call.as_json else shows_bgp.text(data, now)

    def show_bgp4(self, shell: Shell, call: Call) -> Answer:
        return self._bgp(shell, call, "4")

    def show_bgp6(self, shell: Shell, call: Call) -> Answer:
        return self._bgp(shell, call, "6")

    def show_bgp_all(self, shell: Shell, call: Call) -> Answer:
        both = {family: self.sources.frr(f"show bgp ipv{family} unicast summary") for family in ("4", "6")}
        if call.as_json:
            return shows_bgp.everything(both, _asn(shell), _names(shell))
        merged = {**both["4"], "peers": {**(both["4"].get("peers") or {}), **(both["6"].get("peers") or {})}}
        now = shell.switch.clock()
        return shows_bgp.text(shows_bgp.summary(merged, _asn(shell), now, _names(shell)), now)

    def _route(self, shell: Shell, call: Call, family: str) -> Answer:
        words = list(call.words[3:])
        if words[:1] == ["vrf"]:
            if words[1] not in ("default", "all"):
                return self._other_vrf(shell, call, words[1])
            words = words[2:]
        command = {"4": "ip", "6": "ipv6"}[family]
        answer = self.sources.frr(f"show {command} route {words[0]}" if words else f"show {command} route")
        running = shell.switch.sessions.running
        routing = bool(running.find("ip", "routing") if family == "4" else running.find("ipv6", "unicast-routing"))
        data = shows_routes.table(answer, _names(shell), shell.switch.node.management_linux, routing=routing)
        return data if call.as_json else shows_routes.text(data)

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

    def _ports(self, shell: Shell, call: Call, what: str, text: Callable[[Json], str]) -> Answer:
        switch = shell.switch
        ports = shows_ports.Ports(
            switch.sessions.running, switch.node, self.sources.links(), switch.booted, switch.clock()
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


def _asn(shell: Shell) -> str | None:
    return shell.switch.sessions.running.value("router", "bgp")


def _names(shell: Shell) -> Callable[[str], str]:
    names = {linux: port for port, linux in shell.switch.node.ports.items()}
    names["lo"] = "Loopback0"
    names[shell.switch.node.management_linux] = "Management0"
    return lambda linux: names.get(linux, linux)


def _table(key: str) -> Callable[[Json], str]:
    def text(answer: Json) -> str:
        rows = answer[key]
        columns = list(next(iter(rows.values()), {}))
        out = ["Port       " + " ".join(f"{name:>14}" for name in columns)]
        out += [
            f"{short_name(port):<10} " + " ".join(f"{row[name]:>14}" for name in columns) for port, row in rows.items()
        ]
        return joined(out)

    return text


def _pfc_text(answer: Json) -> str:
    rows = answer["interfaceCounters"].items()
    return joined(
        [
            "Port       RxPfc       TxPfc",
            *(f"{short_name(port):<8} {row['rxFrames']:>8} {row['txFrames']:>8}" for port, row in rows),
        ]
    )
