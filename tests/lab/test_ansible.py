"""`ansible-playbook` against the virtual lab: check with diff, the change, and again; by the same engine as `fabric apply`."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import LabUnderTest

pytestmark = pytest.mark.lab

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
# one path through the fabric, with both operating systems and all tiers
SWITCHES = ("z01-rtsw001", "z01-ctsw01", "atsw001", "z02-ctsw01", "z02-rtsw001")


def play(lab: LabUnderTest, *options: str) -> tuple[int, dict[str, Any], str]:
    """(exit code, result of the one task, the diff that was shown) of switches.yml, run at the seat by this Python's Ansible."""
    env = [
        f"PATH={Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        f"ANSIBLE_CONFIG={PLAYBOOKS / 'ansible.cfg'}",
        "ANSIBLE_STDOUT_CALLBACK=ansible.builtin.minimal",
    ]
    command = ["ansible-playbook", "-i", lab.spec, PLAYBOOKS / "switches.yml", "-l", ",".join(SWITCHES)]
    done = lab.seat("env", *env, *command, *options, check=False, timeout=420)
    found = re.fullmatch(r"(.*?)^\S+(?: -> \S+)? \| [A-Z!]+ ?=> (\{.*^\})\s*", done.stdout, re.M | re.S)
    assert found is not None, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(found[2])
    return done.returncode, result, found[1].strip()


def ip_mtus(lab: LabUnderTest) -> set[str]:
    """MTUs of the fabric's interfaces, as the kernel has them on the devices."""
    found = set()
    for name in SWITCHES:
        lines = lab.node(name, "ip", "-o", "link", "show").stdout.splitlines()
        found |= {line.split(" mtu ")[1].split()[0] for line in lines if re.match(r"\d+: et(h)?\d", line)}
    return found


def test_check_run_and_run_again(boot_lab: Callable[..., LabUnderTest]) -> None:
    lab = boot_lab(None, *(word for name in SWITCHES for word in ("--subset", name)))
    assert play(lab, "--check", "--diff") == (0, {**_same(), "changed": False}, "")
    lab.spec.write_text(f"{lab.spec.read_text()}mtu: {{ip: 8000}}\n")

    code, checked, would = play(lab, "--check", "--diff")
    assert (code, checked["changed"], checked["counts"]) == (0, True, {"changed": len(SWITCHES)})
    assert "mtu 8000" in would
    code, only, nothing = play(lab, "--tags", "plan")
    assert (code, only["changed"], only["counts"], nothing) == (0, True, {"changed": len(SWITCHES)}, "")
    assert ip_mtus(lab) == {"9000"}

    code, changed, did = play(lab, "--diff", "-e", "wave_size=1")
    assert (code, changed["changed"], changed["counts"]) == (0, True, {"done": len(SWITCHES)}), changed
    assert did == would
    assert ip_mtus(lab) == {"8000"}

    assert play(lab, "--diff") == (0, {**_same(), "changed": False}, "")
    runs = lab.seat(sys.executable, "-m", "fabric", "runs", "list", "-s", lab.spec).stdout
    assert changed["run"] in runs


def _same() -> dict[str, Any]:
    return {"run": "", "counts": {"same": len(SWITCHES)}, "devices": {}}
