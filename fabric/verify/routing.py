"""Routing: sessions, routes with their next hops, MTU.

Routes are judged after the sessions: what a switch lacks only because a session is down, or because its neighbour lacks it too, is a
consequence and is named with the cause, not held against the switch.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fabric.design.fabric import Fabric
from fabric.verify.degraded import Degraded
from fabric.verify.finding import Finding
from fabric.verify.lldp_names import port_key, printable
from fabric.verify.mtu import judge_interfaces
from fabric.verify.observed import Network, seen
from fabric.verify.route_plan import Expected, Hops, RoutePlan
from fabric.verify.route_table import same_hops
from fabric.verify.sessions import judge_sessions
from fabric.words import counted, verb

SHOWN = 4
_PLAN = "compare the BGP configuration of {names} with the declared one (fabric plan)"


def judge_routing(fabric: Fabric, plan: RoutePlan, network: Network) -> list[Finding]:
    """All findings on routing but those of a prober."""
    sessions = judge_sessions(fabric, network)
    routes = _Routes(plan, network)
    routes.judge(Degraded(plan, sessions.down, routes.lacking()))
    found = sessions.findings
    if routes.consequences:
        lost = sum(routes.consequences.values())
        where = counted(len(routes.consequences), "switch", "switches")
        text = f"{counted(lost, 'route')} of {where} {verb(lost, 'lacks a next hop, as it', 'lack a next hop, as they')} must"
        found = [
            dataclasses.replace(f, evidence=(*f.evidence, text))
            if f.verdict == "fail" and f.check != "routing.unexpected-session"
            else f
            for f in found
        ]
    return [*found, *routes.findings, *judge_interfaces(fabric, network)]


Difference = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""(kind, devices behind lacking next hops, what is behind those that should not be, prefixes): equal ones are one finding."""


@dataclass(slots=True)
class _Routes:
    plan: RoutePlan
    network: Network
    findings: list[Finding] = field(default_factory=list)
    consequences: Counter[str] = field(default_factory=Counter)

    def lacking(self) -> dict[str, frozenset[str]]:
        """Prefixes that each switch has no route for."""
        return {
            name: frozenset(prefix for prefix, hops in device.routes.deviant.items() if hops is None)
            for name, device in self.network.items()
            if device.routes is not None
        }

    def judge(self, degraded: Degraded) -> None:
        """Fill `findings` and `consequences`."""
        groups: dict[Difference, list[str]] = {}
        nowhere = self._nowhere(degraded)
        for switch in self.plan.live:
            device = seen(self.network, switch.name)
            report = device.routes
            if report is None:
                if device.unreachable is None and switch.name in self.network:
                    self._unknown(switch.name, device.why("routes"))
                continue
            self._own(switch.name)
            if report.right:
                self._pass(switch.name, report.right)
            if not report.deviant:
                continue
            expected = self.plan.expected(switch)
            per_kind: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
            for prefix, found in report.deviant.items():
                if prefix in nowhere:
                    continue
                due = degraded.hops(switch, prefix)
                if due == found or (due is not None and found is not None and same_hops(found, due, expected.width)):
                    self.consequences[switch.name] += 1
                    continue
                per_kind.setdefault(_difference(expected, found, due), []).append(prefix)
            for (kind, lacks, extra), prefixes in per_kind.items():
                groups.setdefault((kind, lacks, extra, tuple(sorted(prefixes))), []).append(switch.name)
        self.findings += [_grouped(key, names) for key, names in groups.items()]

    def _nowhere(self, degraded: Degraded) -> set[str]:
        """Prefixes that are in no table that should have them: their origin does not announce them."""
        lacking = self.lacking()
        absent = Counter(prefix for prefixes in lacking.values() for prefix in prefixes)
        asked = [s for s in self.plan.live if s.name in lacking]
        found: dict[str, list[str]] = {}
        for prefix, count in absent.items():
            origin = self.plan.fabric.by_name[self.plan.origin[prefix]]
            near = {
                port.peer for port in self.plan.fabric.ports(origin) if port.role in ("up", "down") and port.enabled
            }
            reachable = [s for s in asked if s.name in near and degraded.hops(s, prefix) is not None]
            if reachable and count >= 2 and all(prefix in lacking[s.name] for s in reachable):
                found.setdefault(origin.name, []).append(prefix)
        for origin_name, prefixes in found.items():
            self._not_announced(origin_name, prefixes)
        return {prefix for prefixes in found.values() for prefix in prefixes}

    def _not_announced(self, origin: str, prefixes: Sequence[str]) -> None:
        down = self._down_nics(origin)
        text = f"no neighbour has {_some(prefixes)}"
        action = _PLAN.format(names=origin)
        if down:
            text += f"; {down:,} of its NIC links are down"
            action = f"bring up the NIC links of {origin}: it announces what it has"
        self.findings.append(
            Finding("routing.announce", origin, "fail", text, "announced to all neighbours", action, (), (origin,), len(prefixes))
        )  # fmt: skip

    def _down_nics(self, name: str) -> int:
        device = self.network.get(name)
        if device is None or device.interfaces is None:
            return 0
        up = {port_key(state.name): state.oper_up for state in device.interfaces}
        nics = self.plan.expected(self.plan.fabric.by_name[name]).nics
        return sum(up.get(port_key(port)) is False for port in nics)

    def _own(self, name: str) -> None:
        """NIC links that have no route though their port is up; and what the design does not have."""
        device = self.network[name]
        if device.routes is None:
            return
        up = {port_key(state.name) for state in device.interfaces or () if state.oper_up}
        for port, prefixes in device.routes.nics.items():
            if port_key(port) in up:
                self.findings.append(
                    Finding(
                        "routing.nic-link", f"{name}:{port}", "fail", f"the port is up and {' and '.join(prefixes)} is not in the table",
                        "the NIC link's prefix is connected", _PLAN.format(names=name), (), (name,),
                    )
                )  # fmt: skip
        if not device.routes.beyond:
            return
        expected = self.plan.expected(self.plan.fabric.by_name[name])
        for prefix, hops in device.routes.beyond.items():
            via = ", ".join(_behind(expected, hops)) or "nothing"
            self.findings.append(
                Finding(
                    "routing.unexpected-prefix", f"{name}: {printable(prefix)}", "fail", f"a route via {via}",
                    "the design has no such prefix", "find who brings it in, and filter it", (), (name,),
                )
            )  # fmt: skip

    def _pass(self, name: str, right: int) -> None:
        text = "expected next hops"
        self.findings.append(Finding("routing.routes", name, "pass", text, text, "", (), (name,), right))

    def _unknown(self, name: str, why: str) -> None:
        self.findings.append(Finding("routing.routes", name, "unknown", why, "expected next hops", "", (), (name,)))


def _difference(
    expected: Expected, found: Hops | None, due: Hops | None
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    due = due or frozenset()
    if found is None:
        return "missing-prefix", tuple(_behind(expected, due, port=False)), ()
    lacks, extra = due - found, found - due
    kind = "ecmp" if found & due else "path"
    return kind, tuple(_behind(expected, lacks, port=False)), tuple(_behind(expected, extra, port=False))


def _behind(expected: Expected, hops: Hops, *, port: bool = True) -> Iterator[str]:
    """Who is behind some next hops, by name; an address that no neighbour of the design has as itself."""
    named = sorted(expected.peers.get(hop) or printable(hop) for hop in hops)
    yield from dict.fromkeys(name if port else name.partition(" (")[0] for name in named)


def _some(items: Sequence[str]) -> str:
    more = f" and {len(items) - SHOWN:,} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more


def _grouped(key: Difference, names: Sequence[str]) -> Finding:
    kind, lacks, extra, prefixes = key
    said = []
    if kind == "missing-prefix":
        said.append(f"no route, though {_some(lacks)} {'has' if len(lacks) == 1 else 'have'} one")
    elif lacks:
        said.append(f"no next hop {_some(lacks)}")
    if extra:
        said.append(f"a next hop {_some(extra)}, which the design does not have for it")
    text = f"{_some(prefixes)}: {'; '.join(said) or 'other next hops of the same neighbours'}"
    culprits = [*names[:SHOWN], *[name for name in lacks[:SHOWN] if " " not in name]]
    return Finding(
        f"routing.{kind}", _some(names), "fail", text, "exactly the next hops of the design",
        _PLAN.format(names=_some(culprits)), (), tuple(names), len(prefixes) * len(names),
    )  # fmt: skip
