"""LIDs: each port has one of its own, they fit, and they stay what they were when another SM takes over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from fabric.design.ib.model import Subnet
from fabric.errors import FabricError
from fabric.spec.yaml_read import read_bytes
from fabric.targets.opensm.mad_model import Topology
from fabric.verify.finding import Finding
from fabric.verify.ib.names import match
from fabric.words import counted

SCHEMA = "fabric.lids/1"
LAST = 0xBFFF
"""The highest unicast LID (InfiniBand Architecture Specification)."""
_SHOWN = 6


def lids_of(topology: Topology) -> dict[int, int]:
    """Port GUID -> LID of every port that has a link, 0 for none; a switch has its node GUID."""
    found = {node.guid: node.lid for node in topology.switches}
    for end, guid in topology.port_guid.items():
        if topology.ports[end].link_up:
            found[guid] = topology.ports[end].lid
    return found


def judge_lids(subnet: Subnet, topology: Topology, saved: Mapping[int, int] | None) -> Iterator[Finding]:
    """Findings on LIDs now, and, with those `saved` before, on which of them moved."""
    lids = lids_of(topology)
    names = _names(subnet, topology)
    none = [names.get(guid, f"0x{guid:016x}") for guid, lid in lids.items() if lid == 0]
    holders: dict[int, list[str]] = {}
    for guid, lid in lids.items():
        if lid:
            holders.setdefault(lid, []).append(names.get(guid, f"0x{guid:016x}"))
    twice = {lid: who for lid, who in holders.items() if len(who) > 1}
    wide = sum(topology.ports[end].lmc > 0 for end in topology.hca_ports)
    faults = []
    if none:
        faults.append(f"no LID: {_some(none)}")
    faults += [f"LID {lid} belongs to {' and '.join(who[:3])}" for lid, who in list(twice.items())[:_SHOWN]]
    if wide:
        faults.append(f"LMC above 0 on {counted(wide, 'port')}")
    if faults:
        yield _finding(
            "lids", "fail", "; ".join(faults), "one LID for each port, LMC 0", "see the log of the master SM"
        )
    if holders:
        top = max(holders)
        text = f"{counted(len(holders), 'LID')}, the highest is {top:,} of {LAST:,}"
        if not faults:
            yield _finding("lids", "pass", text, "one LID for each port, LMC 0", "")
    if saved is not None:
        yield _kept(lids, saved, names)


def _kept(lids: Mapping[int, int], saved: Mapping[int, int], names: Mapping[int, str]) -> Finding:
    moved = [
        f"{names.get(guid, f'0x{guid:016x}')} from {lid} to {lids[guid]}"
        for guid, lid in saved.items()
        if lids.get(guid, lid) != lid
    ]
    both = sum(guid in lids for guid in saved)
    gone = f"; {len(saved) - both:,} of the saved ports are not seen" if both < len(saved) else ""
    if moved:
        return _finding(
            "lids-kept", "fail", f"{len(moved):,} of {both:,} LIDs changed: {_some(moved)}{gone}", "every port keeps its LID",
            "set honor_guid2lid_file TRUE, and give each SM a guid2lid file of its own that is kept",
        )  # fmt: skip
    if not both:
        return _finding("lids-kept", "unknown", "none of the saved ports is seen", "every port keeps its LID", "")
    return _finding("lids-kept", "pass", f"0 of {both:,} LIDs changed{gone}", "every port keeps its LID", "")


def saved_lids(topology: Topology) -> bytes:
    """The LIDs of now as a file, for a comparison after a handover."""
    lids = {f"0x{guid:016x}": lid for guid, lid in sorted(lids_of(topology).items())}
    return (json.dumps({"schema": SCHEMA, "lids": lids}, indent=1) + "\n").encode()


def load(path: Path) -> dict[int, int]:
    """The LIDs of a file that `saved_lids` made; FabricError for a file that is none."""
    raw = read_bytes(path)
    try:
        data = json.loads(raw)
        if data["schema"] != SCHEMA:
            raise ValueError(data["schema"])
        return {int(guid, 16): int(lid) for guid, lid in data["lids"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FabricError(
            f"{path} holds no saved LIDs", hint="write it with `fabric validate sm SPEC --save FILE`"
        ) from None


def _names(subnet: Subnet, topology: Topology) -> dict[int, str]:
    """Port GUID -> name."""
    matched = match(subnet, topology)
    found = dict(matched.name)
    for end, guid in topology.port_guid.items():
        if end[0] in matched.name:
            found[guid] = matched.name[end[0]]
    return found


def _some(items: list[str]) -> str:
    return ", ".join(items[:_SHOWN]) + (f" and {len(items) - _SHOWN:,} more" if len(items) > _SHOWN else "")


def _finding(kind: str, verdict: str, measured: str, expected: str, action: str) -> Finding:
    return Finding(f"sm.{kind}", "subnet", verdict, measured, expected, action)  # type: ignore[arg-type]
