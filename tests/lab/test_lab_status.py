"""`fabric lab status` of a running lab: converged, or what each node lacks."""

from __future__ import annotations

import pytest

from tests.lab.conftest import LabUnderTest, wait_until

pytestmark = pytest.mark.lab


def test_status_says_what_is_missing(faulty_lab: LabUnderTest) -> None:
    wait_until(lambda: bool(faulty_lab.status()["converged"]), words="never converged")
    assert not any(node["missing"] for node in faulty_lab.status()["nodes"])
    assert "converged: every session" in faulty_lab.cli("lab", "status", faulty_lab.spec).stdout
    faulty_lab.fault("kill-daemon", "z01-ctsw01", "bgpd")
    wait_until(lambda: not faulty_lab.status()["converged"], words="the dead daemon is not seen")
    lacks = {node["name"]: node["missing"] for node in faulty_lab.status()["nodes"]}
    assert lacks["z01-ctsw01"].startswith("BGP sessions to 10.32.0.0, ")
    said = faulty_lab.cli("lab", "status", faulty_lab.spec).stdout
    assert "not converged: " in said
    assert "z01-ctsw01: BGP sessions to 10.32.0.0, " in said
