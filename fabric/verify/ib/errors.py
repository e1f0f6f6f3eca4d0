"""Error counters of both ends of every link, and links that run slower than designed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from fabric.design.ib.model import Subnet
from fabric.targets.opensm.mad_model import PortCounters
from fabric.verify.finding import Finding
from fabric.verify.ib.cables import Cables, cables
from fabric.verify.ib.names import match
from fabric.verify.ib.rate import judge_rate
from fabric.verify.ib.reads import Observed, Unread
from fabric.words import counted

_LINE = "clean and reseat both plugs, then exchange the cable"
_LOAD = "look for congestion, a slow receiver, or HOQ and packet lifetimes that are too short"
_WRONG = "somebody sends what this port must not take: look at partitions and routes"


@dataclasses.dataclass(frozen=True, slots=True)
class Threshold:
    """One counter: its name as the diagnostics print it, the value that is still good, what to do above it."""

    name: str
    most: int
    action: str


THRESHOLDS: Mapping[str, Threshold] = {
    "symbol_errors": Threshold("SymbolErrorCounter", 10, _LINE),
    "link_error_recovery": Threshold("LinkErrorRecoveryCounter", 10, _LINE),
    "link_downed": Threshold("LinkDownedCounter", 10, _LINE),
    "receive_errors": Threshold("PortRcvErrors", 10, _LINE),
    "remote_physical_errors": Threshold(
        "PortRcvRemotePhysicalErrors", 100, "the fault is on a link before the far end: look at that one"
    ),
    "switch_relay_errors": Threshold("PortRcvSwitchRelayErrors", 100, _WRONG),
    "transmit_discards": Threshold("PortXmitDiscards", 100, _LOAD),
    "transmit_constraint_errors": Threshold("PortXmitConstraintErrors", 100, _WRONG),
    "receive_constraint_errors": Threshold("PortRcvConstraintErrors", 100, _WRONG),
    "local_integrity_errors": Threshold("LocalLinkIntegrityErrors", 10, _LINE),
    "excessive_buffer_overruns": Threshold("ExcessiveBufferOverrunErrors", 10, _LOAD),
    "vl15_dropped": Threshold(
        "VL15Dropped", 100, "the port gets more management packets than it takes: look at the SM's windows"
    ),
}
"""By the fields of PortCounters. The values are those of the file `error_thresholds` that Debian's infiniband-diags 44 ships (as comments).

A healthy link counts none of the first group; the file allows for what plugging a cable counts.
"""


def judge_errors(subnet: Subnet, seen: Observed, *, rates: bool) -> list[Finding]:
    """Findings on all ends of declared links that are there; with `rates` also links below the designed speed."""
    if isinstance(seen.topology, Unread) or isinstance(seen.counters, Unread):
        why = (
            seen.topology.why
            if isinstance(seen.topology, Unread)
            else seen.counters.why
            if isinstance(seen.counters, Unread)
            else ""
        )
        return [Finding("errors.counters", "all ports", "unknown", why, "the counters can be read")]
    matched = match(subnet, seen.topology)
    found = cables(subnet, seen.topology, matched)
    failed: list[Finding] = []
    silent: list[str] = []
    clean = 0
    for number in range(len(found.links)):
        for end in found.ends(number):
            guid = matched.guid.get(end[0])
            if guid is None or (guid, int(end[1])) not in seen.counters:
                continue
            counters = seen.counters[guid, int(end[1])]
            if counters is None:
                silent.append(found.plan.label(end))
                continue
            bad = dict(_above(counters))
            if bad:
                failed.append(_finding(found, number, found.plan.label(end), bad))
            else:
                clean += 1
    return [*failed, *(_slow(found, seen) if rates else ()), *_silent(silent), *_clean(clean)]


def _above(counters: PortCounters) -> Iterator[tuple[str, int]]:
    for field, threshold in THRESHOLDS.items():
        value = getattr(counters, field)
        if value > threshold.most:
            yield field, value


def _finding(found: Cables, number: int, label: str, bad: Mapping[str, int]) -> Finding:
    link = found.links[number]
    limits = [THRESHOLDS[field] for field in bad]
    measured = ", ".join(f"{limit.name} {value:,}" for limit, value in zip(limits, bad.values(), strict=True))
    return Finding(
        "errors.counters", label, "fail", measured, ", ".join(f"{limit.name} at most {limit.most:,}" for limit in limits),
        "; ".join(dict.fromkeys(limit.action for limit in limits)) + "; then clear the counters (`ibqueryerrors -k`)",
        (f"the cable is {found.plan.subject(number)}",), (link.a, link.b), 1, (found.plan.subject(number),),
    )  # fmt: skip


def _slow(found: Cables, seen: Observed) -> Iterator[Finding]:
    right = [number for number in range(len(found.links)) if found.ears.states[found.ends(number)[0]] == "right"]
    for finding in judge_rate(found, right, simulated=seen.simulated):
        if finding.check == "cabling.speed":
            yield dataclasses.replace(finding, check="errors.speed")


def _silent(silent: list[str]) -> Iterator[Finding]:
    for label in silent:
        yield Finding(
            "errors.counters", label, "unknown", "the port did not answer for its counters", "it does", "", (),
            (label.rpartition(":")[0],),
        )  # fmt: skip


def _clean(clean: int) -> Iterator[Finding]:
    if clean:
        yield Finding(
            "errors.counters", counted(clean, "port"), "pass", "no counter above its threshold", "", "", (), (), clean
        )
