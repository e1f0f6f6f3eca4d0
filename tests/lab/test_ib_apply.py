"""Subnet managers are changed by the real command line: blank, by SIGHUP, by restart with a handover, killed, returned, rolled back."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.design.load import load_subnet
from tests.lab.ib_apply_scene import MASTER, ROOT, STANDBY, IbScene, poll

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("ib-apply")]
TENANT_C = "    - name: tenant-c\n      pkey: 0x1003\n      members: [{units: 2-3}]\n  qos:\n"


@pytest.fixture(scope="module")
def scene(needs_lab: None, lab_dir: Path) -> Iterator[IbScene]:
    """A lab without a subnet manager's files, filled by the first apply."""
    spec = lab_dir / "ib-apply" / "cluster.yaml"
    shutil.copytree(ROOT / "inventories" / "ib-lab", spec.parent)
    found = IbScene(spec)
    yield found
    found.down()


@pytest.fixture
def up(scene: IbScene) -> IbScene:
    """The lab with what its spec declares in force."""
    done = scene.apply()
    assert done.code == 0, done.text
    return scene


def _settled(scene: IbScene) -> None:
    assert scene.left() == []
    assert scene.states() == {MASTER: "master", STANDBY: "standby"}
    drift = scene.run("drift", scene.spec)
    assert drift.code == 0, drift.text


def test_blank_to_subnet_up(scene: IbScene) -> None:
    plan = scene.run("plan", scene.spec)
    assert plan.code == 2
    assert "2 devices: 2 new (against the live devices)" in plan.out
    done = scene.apply()
    assert done.code == 0, done.text
    assert done.text.index(f"{STANDBY} done") < done.text.index(f"{MASTER} done")  # standby first
    assert "ftree tables configured on all switches" in scene.log(MASTER)
    subnet = load_subnet(scene.spec).subnet
    first, last = subnet.compute[0], subnet.compute[-1]
    assert scene.pkeys(first.port_guid) == {"0xffff", "0x9001"}  # the SM's own port
    assert scene.pkeys(last.port_guid) == {"0x7fff", "0x9002"}
    _settled(scene)


def test_partition_by_sighup(up: IbScene) -> None:
    pids = [up.pid(host) for host in (MASTER, STANDBY)]
    up.declare("  qos:\n", TENANT_C)
    done = up.apply()
    assert done.code == 0, done.text
    assert [up.pid(host) for host in (MASTER, STANDBY)] == pids  # nothing was restarted
    member = next(hca for hca in load_subnet(up.spec).subnet.compute if hca.unit == 2)
    assert up.pkeys(member.port_guid) == {"0x7fff", "0x9001", "0x9003"}
    _settled(up)
    back = up.runs("rollback")
    assert back.code == 0, back.text
    assert "0x9003" not in up.pkeys(member.port_guid)
    up.declare(TENANT_C, "  qos:\n")
    _settled(up)


def test_restart_hands_over_and_keeps_lids(up: IbScene) -> None:
    pids, lids, seen = [up.pid(host) for host in (MASTER, STANDBY)], up.lids(), len(up.log(STANDBY))
    up.declare("engines: [ftree]", "engines: [updn]")
    done = up.apply()
    assert done.code == 0, done.text
    assert not set(pids) & {up.pid(host) for host in (MASTER, STANDBY)}
    log = up.log(STANDBY)[seen:]
    assert "Entering MASTER state" in log  # while the master restarted
    assert "updn tables configured" in log
    assert len(lids) > 500
    assert up.lids() == lids
    _settled(up)
    up.declare("engines: [updn]", "engines: [ftree]")


def test_opensm_that_does_not_come_up(up: IbScene) -> None:
    """A port that is none of its host: opensm cannot bind, and ends with code 0."""
    before = up.files(STANDBY)
    up.declare("{host: gt0025, rail: 0", "{host: gt0025, rail: 1")
    done = up.apply()
    assert done.code == 1
    assert "opensm does not come up with the new files" in done.text
    assert "not started: gt0001" in done.text
    assert up.files(STANDBY) == before
    up.declare("{host: gt0025, rail: 1", "{host: gt0025, rail: 0")
    _settled(up)


@pytest.mark.parametrize(("device", "step"), [(STANDBY, "committed"), (MASTER, "committed"), (MASTER, "confirming")])
def test_kill_then_resume_and_rollback(up: IbScene, device: str, step: str) -> None:
    before = {host: up.files(host) for host in (MASTER, STANDBY)}
    up.declare("  qos:\n", TENANT_C)
    up.killed_at(step, device)
    assert up.files(device) != before[device]
    resumed = up.runs("resume")
    assert resumed.code == 0, resumed.text
    _settled(up)
    back = up.runs("rollback")
    assert back.code == 0, back.text
    assert {host: up.files(host) for host in (MASTER, STANDBY)} == before
    up.declare(TENANT_C, "  qos:\n")
    _settled(up)


def test_the_timer_returns_what_nobody_confirms(up: IbScene) -> None:
    before = up.files(STANDBY)
    up.declare("  qos:\n", TENANT_C)
    process = up.start("apply", up.spec, "--auto-approve", "--commit-timer", "60", stop_at=("committed", STANDBY))
    poll(lambda: up.files(STANDBY) != before, "committed")
    plan = up.run("plan", up.spec)
    assert plan.code == 1, plan.text
    assert "not confirmed" in plan.text
    os.kill(process.pid, 9)
    poll(lambda: up.files(STANDBY) == before, "the timer has returned it")
    resumed = up.runs("rollback")
    assert resumed.code == 0, resumed.text
    up.declare(TENANT_C, "  qos:\n")
    poll(lambda: up.run("drift", up.spec).code == 0, "it runs what it ran before")
    _settled(up)


def test_drift_of_files_and_of_what_runs(up: IbScene) -> None:
    conf, partitions = up.etc(STANDBY) / "opensm.conf", up.etc(MASTER) / "partitions.conf"
    texts = {path: path.read_text() for path in (conf, partitions)}
    partitions.write_text(texts[partitions].replace("0x1001", "0x1011"))
    conf.write_text(texts[conf].replace("sweep_interval 10", "sweep_interval 30"))
    drift = up.run("drift", up.spec)
    assert drift.code == 2, drift.text
    assert "0x1011" in drift.text
    assert "sweep_interval 30" in drift.text
    for path, text in texts.items():
        path.write_text(text)
    up.tool("systemctl", "restart", "opensm", host=STANDBY)
    drift = up.run("drift", up.spec)
    assert drift.code == 2, drift.text
    assert (
        "not in force: it was written again after opensm read it" in drift.text
    )  # the master may have read it meanwhile
    assert f"1 device (sm), changed:\n  {MASTER}" in drift.text or STANDBY not in drift.text, drift.text
    done = up.apply()
    assert done.code == 0, done.text
    _settled(up)


def test_playbook(up: IbScene) -> None:
    """The same by Ansible: check with diff sends nothing, the run changes, a second run has nothing to do."""
    playbooks = ROOT / "playbooks"

    def play(*options: str) -> str:
        settings = [
            f"PATH={Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            f"ANSIBLE_CONFIG={playbooks / 'ansible.cfg'}",
            "ANSIBLE_STDOUT_CALLBACK=ansible.builtin.minimal",
        ]
        command = ["ansible-playbook", "-i", str(up.spec), str(playbooks / "subnet_manager.yml"), *options]
        return up.tool("env", "-u", "LD_PRELOAD", *settings, *command)

    up.declare("  qos:\n", TENANT_C)
    before = up.files(MASTER)
    checked = play("--check", "--diff")
    assert '"changed": true' in checked
    assert "tenant-c" in checked
    assert up.files(MASTER) == before
    changed = play()
    assert '"done": 2' in changed
    assert "tenant-c" in up.files(MASTER)["partitions.conf"]
    assert '"changed": false' in play()
    up.declare(TENANT_C, "  qos:\n")
