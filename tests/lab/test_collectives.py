from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import LabUnderTest, wait_until
from tests.lab.prove_collectives import napping

pytestmark = pytest.mark.lab

SCENE = Path(__file__).with_name("collective_scene.py")
RAILS = 2
QUICK = {"iterations": 1}
SCENES = {
    "healthy": {
        "faults": [],
        "stages": ["pairs", "retest"],
        "apart": 3,
        "changes": {**QUICK, "repeats": 60, "limit_s": 300, "warmup": 0},
    },
    "slow NIC": {
        "faults": [{"kind": "slow", "a": "z01-r001-h1:beth1", "rate": "2mbit"}],
        "stages": ["pairs", "retest", "rails"],
        "suspects_alone": ["rails"],
        "changes": QUICK,
    },
    "slow cable between two tiers": {
        "faults": [{"kind": "slow", "a": "z02-rtsw001:Ethernet8/1/1", "rate": "2mbit"}],
        "stages": ["paths"],
        "changes": {"repeats": 2},
    },
}
"""By what is broken; they undo their faults themselves. They are played one after the other, in one process at the seat."""


@pytest.fixture(scope="module")
def answers(lab: LabUnderTest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[Any]]]:
    """What the product made of each scene in the shared lab, with cables of known rates: 400 Gb/s are 10 Mbit/s, enough for two cores."""
    lab.cli("lab", "shape", lab.spec, "--kbit-per-gbps", 25)
    nap = napping(tmp_path_factory.mktemp("nap"))
    calm = ("env", f"LD_PRELOAD={nap}") if nap.exists() else ()
    scenes = json.dumps(list(SCENES.values()))
    done = lab.seat(*calm, sys.executable, SCENE, lab.spec, RAILS, scenes, timeout=900)
    *healthy, nic, trunk = [json.loads(line) for line in done.stdout.splitlines()]
    yield dict(zip(SCENES, (healthy, [nic], [trunk]), strict=True))
    lab.cli("lab", "shape", lab.spec, "--kbit-per-gbps", 0)
    wait_until(lambda: not lab.missing(), words="not as it was")


def test_a_healthy_lab_gives_no_finding_in_twenty_runs(answers: dict[str, list[Any]]) -> None:
    healthy = answers["healthy"]
    found = [answer for answer in healthy if answer["parts"] or answer["bad"] or answer["unknown"]]
    assert (len(healthy), found) == (20, [])
    assert {len(made["values"]) for answer in healthy for made in answer["made"]} == {3}


@pytest.mark.parametrize(
    ("scene", "part"),
    [
        ("slow NIC", ("cable", "z01-rtsw001:eth2/3/1 <-> z01-r001-h1:beth1")),
        ("slow cable between two tiers", ("trunk", "z02-ctsw01:Ethernet3/1/1 <-> z02-rtsw001:Ethernet8/1/1")),
    ],
)
def test_what_is_slow_is_named_and_nobody_else(
    answers: dict[str, list[Any]], scene: str, part: tuple[str, str]
) -> None:
    (answer,) = answers[scene]
    assert [(one["kind"], one["name"]) for one in answer["parts"]] == [part], answer
