"""`fabric validate` against the running lab: nothing is wrong, and then exactly what was broken."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.lab.conftest import LabUnderTest, wait_until

pytestmark = pytest.mark.lab

SWAPPED = ("z01-ctsw01:Ethernet3/1/1", "z01-ctsw01:Ethernet3/2/1")
CUT = "z02-ctsw01:Ethernet3/2/1 <-> z02-rtsw002:Ethernet8/1/1"
SLOW_MTU = "atsw001:Ethernet3/1/1"


def validate(lab: LabUnderTest, *args: str) -> dict[str, Any]:
    """`fabric validate ARGS --json` at the operator's seat."""
    done = lab.seat(sys.executable, "-m", "fabric", "validate", *args[:1], lab.spec, *args[1:], "--json", check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["exit_code"] == done.returncode
    return found


def not_passed(found: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(f["verdict"], f["check"], f["subject"]) for f in found["findings"] if f["verdict"] != "pass"}


def test_nothing_is_wrong(lab: LabUnderTest) -> None:
    """All cables, sessions, routes, MTUs and QoS settings of a fresh lab, with pings of full size from host to host."""
    wait_until(lambda: not not_passed(validate(lab, "cabling")), timeout=60, words="LLDP has not settled")
    found = validate(lab, "all", "--ping-by", "ip netns exec {host}")
    assert not_passed(found) == set()
    assert {f["check"].partition(".")[0] for f in found["findings"]} == {"cabling", "routing", "qos"}
    assert sum(f["check"] == "routing.path-mtu" for f in found["findings"]) == 32


def test_exactly_what_was_broken(faulty_lab: LabUnderTest) -> None:
    """Two crossed cables, a cut one and a small MTU: three findings, and nobody else is blamed."""
    faulty_lab.fault("swap", *SWAPPED)
    faulty_lab.fault("cut", CUT.partition(" ")[0])
    faulty_lab.fault("mtu", SLOW_MTU, "1500")
    expected = {
        ("fail", "cabling.swap", " and ".join(SWAPPED)),
        ("fail", "cabling.missing", CUT),
        ("fail", "routing.mtu", SLOW_MTU),
    }
    wait_until(lambda: not_passed(validate(faulty_lab, "all")) == expected, timeout=90, words="other findings stay")
