"""What FBOSS refuses of ports, alone and against the platform mapping (reference: fboss.md 12.3 and 12.6)."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.targets.fboss.inventory import PortEntry, PortInventory
from fabric.targets.fboss.problem import Problem
from fabric.targets.fboss.refusals_base import Json, Rule, View, has, items, member, number, text
from fabric.targets.fboss.schema import enum_value

_QUEUED_TYPES = ("INTERFACE_PORT", "MANAGEMENT_PORT", "CPU_PORT", "HYPER_PORT_MEMBER")
_REFERENCES = (
    ("portQueueConfigName", "portQueueConfigs"),
    ("flowletConfigName", "portFlowletConfigs"),
)


def port_values(view: View) -> Iterator[Problem]:
    """Conditions on single values of a port."""
    queued = {enum_value(f"PortType.{name}") for name in _QUEUED_TYPES}
    drainable = {enum_value("PortType.INTERFACE_PORT"), enum_value("PortType.FABRIC_PORT")}
    healing = has(member(view.sw, "switchSettings"), "selfHealingEcmpLagConfig")
    for path, port in view.ports:
        kind = number(port, "portType")
        if kind not in queued:
            yield Problem(f"{path}.portType", f"{view.asic.name} defines no queues for port type {kind}")
        if number(port, "drainState") == enum_value("PortDrainState.DRAINED") and kind not in drainable:
            yield Problem(f"{path}.drainState", "only interface and fabric ports can be drained")
        if port.get("selfHealingECMPLagEnable") and not healing:
            yield Problem(f"{path}.selfHealingECMPLagEnable", "needs switchSettings.selfHealingEcmpLagConfig")
        for key in ("portDownHoldoffTimeMs", "portUpHoldoffTimeMs"):
            if number(port, key) < 0:
                yield Problem(f"{path}.{key}", "must not be negative")
        if has(port, "llrConfigName"):
            yield Problem(f"{path}.llrConfigName", f"{view.asic.name} has no link-layer retry")


def port_references(view: View) -> Iterator[Problem]:
    """Names of configurations that a port uses."""
    for key, target in _REFERENCES:
        known = member(view.sw, target)
        for path, port in view.ports:
            if has(port, key) and port[key] not in known:
                yield Problem(f"{path}.{key}", f"{port[key]!r} is not in {target}")


def pfc(view: View) -> Iterator[Problem]:
    """PAUSE and PFC exclude each other; the watchdog and PGs of PFC; one recovery action on the whole switch."""
    known = member(view.sw, "portPgConfigs")
    declared = has(view.sw, "portPgConfigs")
    actions: dict[int, str] = {}
    for path, port in view.ports:
        found = member(port, "pfc")
        if not found:
            continue
        pause = member(port, "pause")
        if (pause.get("tx") or pause.get("rx")) and (found.get("tx") or found.get("rx")):
            yield Problem(f"{path}.pfc", "PAUSE and PFC are both on")
        name = text(found, "portPgConfigName")
        if has(found, "watchdog"):
            if not name:
                yield Problem(f"{path}.pfc.watchdog", "needs a portPgConfigName")
            actions.setdefault(number(found["watchdog"], "recoveryAction"), path)
        if name and not declared:
            yield Problem(f"{path}.pfc.portPgConfigName", f"{name!r} is named, but there are no portPgConfigs")
        elif name and name not in known:
            yield Problem(f"{path}.pfc.portPgConfigName", f"{name!r} is not in portPgConfigs")
    if len(actions) > 1:
        first, other = list(actions.values())[:2]
        yield Problem(f"{other}.pfc.watchdog.recoveryAction", f"differs from that of {first}: one for the whole switch")


def sampling(view: View) -> Iterator[Problem]:
    """Mirrors that ports name, and sFlow sampling to them."""
    known = {text(mirror, "name") for mirror in items(view.sw, "mirrors")}
    to_mirror = enum_value("SampleDestination.MIRROR")
    used: dict[str, str] = {}
    for path, port in view.ports:
        for key in ("ingressMirror", "egressMirror"):
            if has(port, key) and port[key] not in known:
                yield Problem(f"{path}.{key}", f"there is no mirror {port[key]!r}")
        if port.get("sampleDest") != to_mirror:
            continue
        if number(port, "sFlowEgressRate"):
            yield Problem(f"{path}.sFlowEgressRate", "egress sampling to a mirror is refused")
        if has(port, "ingressMirror"):
            used.setdefault(port["ingressMirror"], path)
        else:
            yield Problem(f"{path}.sampleDest", "MIRROR needs ingressMirror")
    if len(used) > 1:
        first, other = list(used.items())[:2]
        yield Problem(
            f"{other[1]}.ingressMirror", f"samples to {other[0]!r}, {first[1]} to {first[0]!r}: one for all ports"
        )


def inventory(view: View) -> Iterator[Problem]:
    """Each port against the platform mapping; nothing without one."""
    known = view.inventory
    if known is None:
        return
    ids_by_name = {entry.name: logical for logical, entry in known.ports.items()}
    enabled = {number(port, "logicalID"): path for path, port in view.enabled}
    for path, port in view.ports:
        logical = number(port, "logicalID")
        entry = known.ports.get(logical)
        if entry is None:
            yield Problem(f"{path}.logicalID", f"{known.platform} has no port {logical}")
            continue
        if has(port, "name") and port["name"] != entry.name:
            owner = ids_by_name.get(port["name"])
            whose = f"is the name of port {owner}" if owner is not None else f"is not a port of {known.platform}"
            yield Problem(f"{path}.name", f"{port['name']!r} {whose}; port {logical} is {entry.name}", "silent")
        yield from _profile(known, entry, path, port, number(port, "logicalID") in enabled)
    yield from _subsumed(view, known, enabled)


def _profile(known: PortInventory, entry: PortEntry, path: str, port: Json, is_enabled: bool) -> Iterator[Problem]:
    profile = number(port, "profileID")
    if profile not in known.profile_speeds:
        yield Problem(f"{path}.profileID", f"{known.platform} has no profile {profile}")
    elif profile not in entry.profiles:
        offered = ", ".join(map(str, sorted(entry.profiles)))
        yield Problem(f"{path}.profileID", f"{entry.name} does not offer profile {profile} (it has {offered})")
    elif is_enabled and number(port, "speed") != known.profile_speeds[profile]:
        speed = known.profile_speeds[profile]
        yield Problem(f"{path}.speed", f"{number(port, 'speed')} is not the {speed} of profile {profile}")


def _subsumed(view: View, known: PortInventory, enabled: dict[int, str]) -> Iterator[Problem]:
    listed = {number(port, "logicalID"): path for path, port in view.ports}
    for _, port in view.enabled:
        logical, profile = number(port, "logicalID"), number(port, "profileID")
        entry = known.ports.get(logical)
        if entry is None:
            continue
        for other in entry.profiles.get(profile, ()):
            why = f"port {other} is subsumed by port {logical} with profile {profile}"
            if other in enabled:
                yield Problem(f"{enabled[other]}.state", f"{why}: it must not be enabled")
            elif other in listed and view.sai:
                yield Problem(listed[other], f"{why}: leave it out under SAI", "warning")
        for other in entry.overlaps.get(profile, ()):
            if other in enabled:
                why = f"port {other} uses lanes of port {logical} with profile {profile}"
                yield Problem(f"{enabled[other]}.state", f"{why}: one of them stays down", "silent")


RULES: tuple[Rule, ...] = (port_values, port_references, pfc, sampling, inventory)
"""The rules of this module, in the order in which their problems are reported."""
