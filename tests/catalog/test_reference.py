"""Our port tables equal the reference's inventories, port by port."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.catalog import PortDef, Profile, catalog

BOXES = {
    "wedge400": ("ports-wedge400", 144),
    "wedge400-grandteton": ("ports-wedge400-grandteton", 56),
    "minipack2": ("ports-minipack2", 128),
    "arista-7388x5": ("ports-elbert-7388x5", 128),
}


def reference(folder: Path, box: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "fboss" / f"{BOXES[box][0]}.json").read_text())
    return document


def ours(port: PortDef) -> dict[str, Any]:
    return {
        "id": port.logical_id,
        "name": port.name,
        "controllingPort": port.controlling_port,
        "core": f"BC{port.core}",
        "xcvr": port.cage,
        "profiles": {
            str(pid): (list(use.lanes), sorted(use.subsumes), sorted(use.overlap)) for pid, use in port.profiles.items()
        },
    }


def theirs(port: dict[str, Any]) -> dict[str, Any]:
    undeclared = port.get("laneOverlapNotDeclaredAsSubsumed", {})
    return {key: port[key] for key in ("id", "name", "controllingPort", "core", "xcvr")} | {
        "profiles": {
            pid: (use["lanes"], sorted(use.get("subsumesNames", [])), sorted(undeclared.get(pid, [])))
            for pid, use in port["profiles"].items()
        }
    }


@pytest.mark.parametrize("box", BOXES)
def test_every_port_in_order(reference_dir: Path, box: str) -> None:
    expected = [theirs(port) for port in reference(reference_dir, box)["ports"]]
    assert len(expected) == BOXES[box][1]
    assert [ours(port) for port in catalog().switch(box).ports] == expected


@pytest.mark.parametrize("box", BOXES)
def test_profiles_and_platform(reference_dir: Path, box: str) -> None:
    document, switch = reference(reference_dir, box), catalog().switch(box)
    used = {str(pid) for port in switch.ports for pid in port.profiles}
    for number in used:
        expected, profile = document["profiles"][number], switch.profiles[int(number)]
        assert shape(profile) == tuple(expected[key] for key in ("name", "speedMbps", "lanes", "modulation", "fec"))
    assert switch.fboss is not None
    assert switch.fboss.platform_type_name == document["fbossPlatformType"]
    assert switch.fboss.asic_type_name == document["asicType"]
    assert switch.fboss.mode == document["modeFlag"]
    assert list(switch.fboss.fruid_prefixes) == document["fruidProductPrefixes"]


def shape(profile: Profile) -> tuple[str, int, int, str, str]:
    return profile.name, profile.speed_mbps, profile.lanes, profile.modulation, profile.fec
