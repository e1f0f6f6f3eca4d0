"""Our lists of keys against the reference's, and against what opensm itself says of each key."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fabric.targets.opensm.keys import Key, known_keys, nvidia_keys, upstream_keys

OPENSM = shutil.which("opensm") or "/usr/sbin/opensm"
needs_opensm = pytest.mark.skipif(not Path(OPENSM).exists(), reason="opensm is not installed")
BY_NAME = upstream_keys()


def said(conf: str, folder: Path) -> tuple[str, dict[str, str]]:
    """What opensm prints on reading a file, and the values that it then has; no fabric is needed."""
    (folder / "in.conf").write_text(conf, encoding="ascii")
    done = subprocess.run(
        [OPENSM, "-F", "in.conf", "-c", "out.conf"], cwd=folder, capture_output=True, text=True, timeout=120, check=True
    )
    found = {}
    for line in (folder / "out.conf").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(" ")
        if name and name[0] != "#":
            found[name] = value
    return done.stdout, found


def test_lists_equal_the_reference(reference_dir: Path) -> None:
    folder = reference_dir / "infiniband"
    assert sorted(BY_NAME) == (folder / "opensm-3.3.23-keys.txt").read_text().split()
    assert sorted(nvidia_keys()) == (folder / "opensm-nvidia-only-keys.txt").read_text().split()


def test_applied_at_sighup_equals_the_reference(reference_dir: Path) -> None:
    text = (reference_dir / "infiniband.md").read_text(encoding="utf-8")
    listed = re.search(r"Applied at SIGHUP \(93 keys\): `([^`]*)`", text)
    assert listed is not None
    single = set(listed[1].split())
    found = {name for name, key in BY_NAME.items() if key.applies == "sighup"}
    qos = {
        name
        for name in BY_NAME
        if re.fullmatch(r"qos(_ca|_sw0|_swe|_rtr)?_(max_vls|high_limit|vlarb_high|vlarb_low|sl2vl)", name)
    }
    assert len(found) == 93
    assert found == single | qos


def test_flavours() -> None:
    assert "congestion_control" in known_keys("opensm")
    assert "congestion_control" not in known_keys("nvidia")
    assert {"mlnx_congestion_control", "max_rate_enum"} <= known_keys("nvidia").keys()
    assert not {"mlnx_congestion_control", "max_rate_enum"} & known_keys("opensm").keys()


@needs_opensm
def test_names_and_defaults_are_those_of_opensm(tmp_path: Path) -> None:
    _, found = said("", tmp_path)
    assert found.keys() == BY_NAME.keys() - {"dimn_ports_file"}  # an old name: taken, not written
    assert {name: value for name, value in found.items() if value != (BY_NAME[name].default or "(null)")} == {}


def accepted(key: Key, value: object, folder: Path) -> bool:
    out, _ = said(f"{key.name} {value}\n", folder)
    return not re.search(r"Parsing error|Invalid Cached Option|Unrecognized", out)


@needs_opensm
@pytest.mark.parametrize(
    "name", ["sm_priority", "lmc", "m_key_protection_level", "fdr10", "perfmgr_sweep_time_s", "log_flags"]
)
def test_ranges_are_those_of_opensm(name: str, tmp_path: Path) -> None:
    key = BY_NAME[name]
    assert accepted(key, key.low, tmp_path)
    assert accepted(key, key.high, tmp_path)
    assert not accepted(key, key.high + 1, tmp_path)
    assert key.low == 0 or not accepted(key, key.low - 1, tmp_path)


@needs_opensm
def test_every_numeric_key_takes_its_bounds_and_no_word(tmp_path: Path) -> None:
    numeric = [key for key in BY_NAME.values() if key.kind == "int" and not key.name.endswith("high_limit")]
    for bound in ("low", "high"):
        out, _ = said("".join(f"{key.name} {getattr(key, bound)}\n" for key in numeric), tmp_path)
        assert not re.findall(r"Parsing error.*|Invalid Cached.*", out)
    out, _ = said("".join(f"{key.name} ten\n" for key in numeric), tmp_path)
    assert set(re.findall(r"Parsing error in field (\w+), expected numeric", out)) == {key.name for key in numeric}


@needs_opensm
def test_only_the_word_true_is_true(tmp_path: Path) -> None:
    booleans = [name for name, key in BY_NAME.items() if key.kind == "bool"]
    for word, meaning in (("TRUE", "TRUE"), ("true", "FALSE"), ("yes", "FALSE"), ("1", "FALSE")):
        _, found = said("".join(f"{name} {word}\n" for name in booleans), tmp_path)
        assert {found[name] for name in booleans} == {meaning}
