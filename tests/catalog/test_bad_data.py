"""Catalog files that contradict themselves: each gets one line that names the file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.catalog import Catalog
from fabric.catalog.loader import DATA
from fabric.errors import FabricError

SWITCH, GT, PORTS, PROFILES = (
    "switches/minipack2.yaml",
    "switches/wedge400-grandteton.yaml",
    "ports/minipack2.json",
    "profiles.yaml",
)

CASES = {
    "map overlap, declared": (SWITCH, "front_end: eth7/3/1", "front_end: eth7/2/1"),
    "map overlap, undeclared": (GT, "uplinks: [eth1/1/1,", "uplinks: [eth1/2/3,"),
    "map without profile": (SWITCH, "[eth2/1/1, eth2/3/1", "[eth2/2/1, eth2/3/1"),
    "map twice": (SWITCH, "eth7/1/1, eth7/9/1", "eth7/1/1, eth2/1/1"),
    "map unknown port": (SWITCH, "front_end: eth7/3/1", "front_end: eth7/17/1"),
    "unknown profile": (PORTS, '"profiles": [4, 12, 22, 23, 25]', '"profiles": [4, 12, 22, 99, 25]'),
    "duplicate id": (PORTS, '"name": "eth2/2/1", "id": 4', '"name": "eth2/2/1", "id": 3'),
    "duplicate name": (PORTS, '"name": "eth2/2/1"', '"name": "eth2/1/1"'),
    "duplicate lane": (PORTS, '"id": 4, "ctl": 3, "core": 1, "lane": 4', '"id": 4, "ctl": 3, "core": 1, "lane": 0'),
    "unknown shape": (PORTS, '"lane": 4, "shape": "even"', '"lane": 4, "shape": "evn"'),
    "unknown controlling port": (PORTS, '"id": 4, "ctl": 3', '"id": 4, "ctl": 9999'),
    "unknown key": (SWITCH, "vendor: Celestica", "vendr: Celestica"),
    "duplicate key": (SWITCH, "vendor: Celestica", "vendor: Celestica\nvendor: Arista"),
    "wrong type": (SWITCH, "platform_type: 12", 'platform_type: "12"'),
    "a number without a source": (SWITCH, ', source: "FBOSS source: Fuji16QPimPlatformMapping.cpp"}', "}"),
    "unknown status": (SWITCH, "status: code, source", "status: sure, source"),
    "NOS without section": (SWITCH, "nos: [fboss]", "nos: [fboss, eos]"),
    "chassis without slots": (SWITCH, "form: fixed", "form: chassis"),
    "name is not the file's": (SWITCH, "name: minipack2", "name: minipack3"),
    "no YAML": (SWITCH, "nos: [fboss]", "nos: [fboss"),
    "a date": (SWITCH, "vendor: Celestica", "vendor: 2024-01-01"),
    "empty": (SWITCH, None, ""),
    "profile of no medium": (PROFILES, "medium: unspecified", "medium: BACKPLANE"),
}


def message(data: Path, case: str) -> str:
    file, old, new = CASES[case]
    path = data / file
    text = path.read_text()
    assert old is None or old in text
    path.write_text(new if old is None else text.replace(old, new, 1))
    with pytest.raises(FabricError) as caught:
        Catalog(data).switch("wedge400-grandteton" if file == GT else "minipack2")
    return str(caught.value)


@pytest.mark.parametrize("case", CASES)
def test_one_line_that_names_the_file(tmp_path: Path, case: str) -> None:
    data = tmp_path / "data"
    shutil.copytree(DATA, data)
    text = message(data, case)
    assert text.startswith(f"catalog file {CASES[case][0]}: ")
    assert "\n" not in text


def test_messages(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    lines = []
    for case in CASES:
        data = tmp_path / case.replace(" ", "-")
        shutil.copytree(DATA, data)
        lines.append(f"{case}\n    {message(data, case)}\n")
    golden("catalog/bad-data.txt", "".join(lines))


def test_missing_port_table(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(DATA, data)
    (data / PORTS).unlink()
    with pytest.raises(FabricError, match=r"catalog file ports/minipack2.json: cannot be read"):
        Catalog(data).switch("minipack2")
