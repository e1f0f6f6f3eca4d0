from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import LabUnderTest, wait_until

pytestmark = pytest.mark.lab

SCENE = Path(__file__).with_name("collective_scene.py")
RAILS = 2


@pytest.fixture(scope="module")
def shaped(lab: LabUnderTest) -> Iterator[LabUnderTest]:
    """The shared lab with cables of known rates: 400 Gb/s are 5 Mbit/s, slow enough for a busy machine. Scenes undo their faults themselves."""
    lab.cli("lab", "shape", lab.spec, "--kbit-per-gbps", 12.5)
    yield lab
    lab.cli("lab", "shape", lab.spec, "--kbit-per-gbps", 0)
    wait_until(lambda: not lab.missing(), words="not as it was")


def play(lab: LabUnderTest, scenes: Sequence[Any]) -> list[Any]:
    done = lab.seat(sys.executable, SCENE, lab.spec, RAILS, json.dumps(scenes), timeout=600)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_healthy_lab_gives_no_finding_in_twenty_runs(shaped: LabUnderTest) -> None:
    changes = {
        "repeats": 60,
        "limit_s": 300,
        "warmup": 0,
        "sizes": {"smallest": "64K", "largest": "64K", "factor": 2},
    }
    answers = play(shaped, [{"faults": [], "stages": ["pairs", "retest"], "apart": 3, "changes": changes}])
    found = [answer for answer in answers if answer["parts"] or answer["bad"] or answer["unknown"]]
    assert (len(answers), found) == (20, [])
    assert {len(made["values"]) for answer in answers for made in answer["made"]} == {3}


def test_a_slow_nic_is_named_and_nobody_else(shaped: LabUnderTest) -> None:
    faults = [{"kind": "slow", "a": "z01-r001-h1:beth1", "rate": "1mbit"}]
    (answer,) = play(shaped, [{"faults": faults, "stages": ["pairs", "retest", "rails"]}])
    named = [(part["kind"], part["name"]) for part in answer["parts"]]
    assert named == [("cable", "z01-rtsw001:eth2/3/1 <-> z01-r001-h1:beth1")], answer


def test_a_slow_cable_between_two_tiers_is_named_and_nobody_else(shaped: LabUnderTest) -> None:
    faults = [{"kind": "slow", "a": "z02-rtsw001:Ethernet8/1/1", "rate": "1mbit"}]
    (answer,) = play(shaped, [{"faults": faults, "stages": ["paths"]}])
    named = [(part["kind"], part["name"]) for part in answer["parts"]]
    assert named == [("trunk", "z02-ctsw01:Ethernet3/1/1 <-> z02-rtsw001:Ethernet8/1/1")], answer
