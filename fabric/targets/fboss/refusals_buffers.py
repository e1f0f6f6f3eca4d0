"""What FBOSS refuses of hashing, flowlets, buffers and mirrors (reference: fboss.md 12.5)."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.targets.fboss.problem import Problem, join
from fabric.targets.fboss.refusals_base import (
    Json,
    Rule,
    View,
    has,
    ip,
    items,
    member,
    named_lists,
    number,
    rows,
    text,
    twice,
)

_MOST_PGS = 8
_STANDBY = ("standbySwitchingMode", "standbyInactivityIntervalUsecs", "standbyFlowletTableSize")


def hashing(view: View) -> Iterator[Problem]:
    """Load balancers and the UDF groups that they hash."""
    udf = member(view.sw, "udfConfig")
    groups, matchers = member(udf, "udfGroups"), member(udf, "udfPacketMatcher")
    found = list(rows(view.sw, "loadBalancers", "sw.loadBalancers"))
    ids = [(f"{path}.id", number(balancer, "id")) for path, balancer in found]
    yield from twice(ids, lambda balancer: f"load balancer {balancer} is declared twice")
    for path, balancer in found:
        for at, name in enumerate(items(member(balancer, "fieldSelection"), "udfGroups")):
            if name not in groups:
                yield Problem(f"{path}.fieldSelection.udfGroups[{at}]", f"there is no UDF group {name!r}")
    for key, group in groups.items():
        path = join("sw.udfConfig.udfGroups", key)
        if not has(group, "type"):
            yield Problem(f"{path}.type", "is needed: without it the FBOSS process aborts")
        if text(group, "name") != key:
            yield Problem(f"{path}.name", f"is not the key {key!r} of the group", "silent")
        for at, name in enumerate(items(group, "udfPacketMatcherIds")):
            if name not in matchers:
                yield Problem(f"{path}.udfPacketMatcherIds[{at}]", f"there is no packet matcher {name!r}")


def flowlets(view: View) -> Iterator[Problem]:
    """The three `standby*` fields of the flowlet configuration go together."""
    found = member(view.sw, "flowletSwitchingConfig")
    path = "sw.flowletSwitchingConfig"
    given = [key for key in _STANDBY if has(found, key)]
    if given and len(given) < len(_STANDBY):
        missing = next(key for key in _STANDBY if key not in given)
        yield Problem(f"{path}.{missing}", f"is needed with {given[0]}: all three standby fields or none")
    if has(found, _STANDBY[0]) and found[_STANDBY[0]] == number(found, "switchingMode"):
        yield Problem(f"{path}.{_STANDBY[0]}", "must differ from switchingMode")


def priority_groups(view: View) -> Iterator[Problem]:
    """PG configurations: count, ids, resume form."""
    for _, path, found in named_lists(view.sw, "portPgConfigs", "sw.portPgConfigs"):
        if len(found) > _MOST_PGS:
            yield Problem(path, f"{len(found)} PGs, at most {_MOST_PGS} are allowed")
        for at, group in enumerate(found):
            if not 0 <= number(group, "id") < _MOST_PGS:
                yield Problem(f"{path}[{at}].id", f"PG {number(group, 'id')} is outside 0..7")
            if has(group, "resumeBytes") and has(group, "resumeOffsetBytes"):
                yield Problem(f"{path}[{at}].resumeBytes", "excludes resumeOffsetBytes")


def _used_groups(view: View) -> Iterator[tuple[str, Json]]:
    known = member(view.sw, "portPgConfigs")
    names = dict.fromkeys(text(member(port, "pfc"), "portPgConfigName") for _, port in view.ports)
    for name in names:
        for at, group in enumerate(known.get(name) or []):
            yield f"{join('sw.portPgConfigs', name)}[{at}]", group


def pools(view: View) -> Iterator[Problem]:
    """The pools of the PGs that ports use: declared, one for the whole switch, with headroom, within the buffer."""
    known = member(view.sw, "bufferPoolConfigs")
    first: tuple[str, str] | None = None
    used: dict[str, None] = {}
    for path, group in _used_groups(view):
        name, place = text(group, "bufferPoolName"), f"{path}.bufferPoolName"
        if name not in known:
            yield Problem(place, f"{name!r} is not in bufferPoolConfigs" if name else "must not be empty")
            continue
        first = first or (name, path)
        if name != first[0]:
            yield Problem(place, f"{name!r}, but {first[1]} uses {first[0]!r}: one ingress pool for the whole switch")
        used[name] = None
        pool = number(known[name], "headroomBytes")
        if has(known[name], "headroomBytes") and number(group, "headroomLimitBytes") > pool:
            message = f"{number(group, 'headroomLimitBytes')} is more than the {pool} of the whole pool {name!r}"
            yield Problem(f"{path}.headroomLimitBytes", message, "silent")
    for name in used:
        yield from _pool(view, join("sw.bufferPoolConfigs", name), known[name])


def _pool(view: View, path: str, pool: Json) -> Iterator[Problem]:
    if not has(pool, "headroomBytes"):
        yield Problem(f"{path}.headroomBytes", "is needed for an ingress pool")
        return
    asic = view.asic
    asked = number(pool, "sharedBytes") + pool["headroomBytes"]
    usable = asic.usable_cells_per_itm * asic.cell_bytes
    if asked > usable:
        cells = -(-asked // asic.cell_bytes)
        yield Problem(
            path, f"{asked} B a memory ({cells} cells), {asic.name} can use {asic.usable_cells_per_itm} cells"
        )


def mirrors(view: View) -> Iterator[Problem]:
    """Mirrors and sFlow collectors."""
    found = list(rows(view.sw, "mirrors", "sw.mirrors"))
    names = [(f"{path}.name", text(mirror, "name")) for path, mirror in found]
    yield from twice(names, lambda name: f"mirror {name!r} is declared twice")
    if len(found) > view.asic.mirrors:
        yield Problem("sw.mirrors", f"{len(found)} mirrors, {view.asic.name} has {view.asic.mirrors}")
    for path, mirror in found:
        yield from _mirror(view, f"{path}.destination", member(mirror, "destination"))
    collectors = list(rows(view.sw, "sFlowCollectors", "sw.sFlowCollectors"))
    for path, collector in collectors:
        yield from _address(f"{path}.ip", text(collector, "ip"))
    pairs = [(path, (text(collector, "ip"), number(collector, "port"))) for path, collector in collectors]
    yield from twice(pairs, lambda pair: f"collector {pair[0]} is declared twice")


def _mirror(view: View, path: str, destination: Json) -> Iterator[Problem]:
    tunnel, port = member(destination, "tunnel"), member(destination, "egressPort")
    if not (has(tunnel, "greTunnel") or has(tunnel, "sflowTunnel") or port):
        yield Problem(path, "needs an egress port or a tunnel")
    names = {text(row, "name") for _, row in view.ports}
    if (has(port, "name") and port["name"] not in names) or (
        has(port, "logicalID") and port["logicalID"] not in view.port_ids
    ):
        yield Problem(f"{path}.egressPort", "is not a configured port")
    sflow = member(tunnel, "sflowTunnel")
    if has(tunnel, "sflowTunnel") and not (has(sflow, "udpSrcPort") and has(sflow, "udpDstPort")):
        yield Problem(f"{path}.tunnel.sflowTunnel", "needs udpSrcPort and udpDstPort")
    if has(destination, "ip"):
        yield from _address(f"{path}.ip", destination["ip"])
    if has(tunnel, "srcIp"):
        yield from _address(f"{path}.tunnel.srcIp", tunnel["srcIp"])
    for key in ("greTunnel", "sflowTunnel"):
        if has(tunnel, key):
            yield from _address(f"{path}.tunnel.{key}.ip", text(tunnel[key], "ip"))


def _address(path: str, value: str) -> Iterator[Problem]:
    if ip(value) is None:
        yield Problem(path, f"{value!r} is not an IP address")


RULES: tuple[Rule, ...] = (hashing, flowlets, priority_groups, pools, mirrors)
"""The rules of this module, in the order in which their problems are reported."""
