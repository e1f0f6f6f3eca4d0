"""validate.yml as Ansible runs it, with a stand-in for `fabric` that answers as it is told."""

from __future__ import annotations

import json
from pathlib import Path

from tests.playbooks.test_inventory import LAB, ansible

STANDS_IN = """#!/bin/sh
printf '%s\\n' "$*" >>{log}
case $2 in qos) echo "FAIL $2"; exit 2 ;; hosts) echo 'error: nobody there' >&2; exit 1 ;; esac
"""


def test_every_check_is_made_and_told(tmp_path: Path) -> None:
    program, log = tmp_path / "fabric", tmp_path / "log"
    program.write_text(STANDS_IN.format(log=log))
    program.chmod(0o755)
    more = {
        "fabric_program": str(program),
        "fabric_checks": ["qos", "hosts", "collectives"],
        "fabric_reports": str(tmp_path),
        "fabric_collectives": ["--engine", "mpi"],
    }
    done = ansible("ansible-playbook", "-i", LAB, "playbooks/validate.yml", "-e", json.dumps(more))
    assert done.returncode == 2, done.stdout + done.stderr
    calls = log.read_text().splitlines()
    assert calls == [
        f"validate qos {LAB} --junit {tmp_path}/qos.xml",
        f"validate hosts {LAB} --junit {tmp_path}/hosts.xml",
        f"validate collectives {LAB} --junit {tmp_path}/collectives.xml --engine mpi",
    ]
    assert "qos found something wrong; hosts could not be made" in done.stdout
    assert "error: nobody there" in done.stdout
