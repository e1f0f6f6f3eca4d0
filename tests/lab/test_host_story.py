"""Two booted hosts, provisioned by the roles, validated, broken and repaired: the whole story, in the order in which it is told."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from fabric.lab import proc
from fabric.lab.machines import cgroups
from fabric.lab.state import Lab
from tests.lab.conftest import LabUnderTest, wait_until

pytestmark = pytest.mark.lab

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
HOSTS = ("z01-r001-h1", "z01-r001-h2")
ONE, OTHER = HOSTS
FUSE = "fabric-fuse-mnt-datasets.service"
EXPECTED = {"storage.mounted"}
"""The kernel below has no NFS client; that is found, and nothing else."""


def play(machines: LabUnderTest, *options: str, playbook: str = "site.yml") -> dict[str, dict[str, int]]:
    """Host -> counters of a run of a playbook that must not fail."""
    env = [
        f"PATH={Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin",
        f"ANSIBLE_CONFIG={PLAYBOOKS / 'ansible.cfg'}",
    ]
    command = ["ansible-playbook", "-i", machines.spec, "-u", "root", PLAYBOOKS / playbook, *options]
    done = machines.seat("env", *env, *command, check=False, timeout=900)
    rows = re.findall(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", done.stdout, re.M)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    names = ("ok", "changed", "unreachable", "failed")
    return {row[0]: dict(zip(names, map(int, row[1:]), strict=True)) for row in rows}


def changed(machines: LabUnderTest, *options: str) -> set[int]:
    """How many tasks changed something, of each host."""
    return {counts["changed"] for counts in play(machines, *options).values()}


def checked(machines: LabUnderTest, host: str = ONE, *only: str) -> dict[str, list[dict[str, Any]]]:
    """Check -> its failures, by check-host on one host."""
    options = [word for name in only for word in ("--only", name)]
    done = machines.node(host, "/usr/libexec/fabric/check-host", "--json", *options, check=False)
    found: dict[str, list[dict[str, Any]]] = {}
    for result in json.loads(done.stdout)["results"]:
        if result["verdict"] == "fail":
            found.setdefault(result["check"], []).append(result)
    return found


def sh(machines: LabUnderTest, line: str, host: str = ONE) -> str:
    """What a command line on a host prints."""
    return machines.node(host, "sh", "-c", line).stdout


def rebooted(machines: LabUnderTest, host: str) -> None:
    """Reboot a host from inside, and wait until it lets logins in again."""
    before = sh(machines, "cat /proc/sys/kernel/random/boot_id", host)
    machines.node(host, "systemctl", "reboot", check=False)

    def back() -> bool:
        done = machines.node(
            host, "sh", "-c", "cat /proc/sys/kernel/random/boot_id; ! test -e /run/nologin", check=False
        )
        return done.returncode == 0 and done.stdout not in ("", before)

    wait_until(back, timeout=120, words=f"{host} does not come back")
    machines.node(host, "systemctl", "is-system-running", "--wait", check=False)


def test_a_machine_is_a_host_of_the_lab(machines: LabUnderTest) -> None:
    assert "z01-r001-h1" in machines.ssh("root", ONE, "hostname").stdout
    assert sh(machines, "systemctl is-system-running --wait").strip() == "running"
    heard = dict(machines.lldp("z01-rtsw001", "eth2_1_1"))
    assert heard in ({}, {ONE: "beth0"})  # a link that nobody configured yet is down
    assert sh(machines, "lspci | grep -c H100").strip() == "8"
    assert machines.fault("gpu", ONE, "ecc").startswith("1: ")
    machines.fault("restore")


def test_check_mode_says_much_and_changes_nothing(machines: LabUnderTest) -> None:
    before = sh(machines, "find /etc /usr/libexec -newer /etc/hostname -type f | sort; dpkg-query -W")
    assert min(changed(machines, "--check")) > 5
    assert sh(machines, "find /etc /usr/libexec -newer /etc/hostname -type f | sort; dpkg-query -W") == before


def test_provisioned_and_a_second_run_changes_nothing(machines: LabUnderTest) -> None:
    assert min(changed(machines)) > 5
    assert changed(machines) == {0}
    assert set(checked(machines)) <= {*EXPECTED, "rdma.firmware", "host.reboot"}  # firmware waits for a boot
    assert "mlx5_0" in sh(machines, "cat /run/fabric/reboot-required.d/*")


def test_after_a_reboot_all_is_in_force_again(machines: LabUnderTest) -> None:
    for host in HOSTS:
        rebooted(machines, host)
    wait_until(lambda: set(checked(machines)) == EXPECTED, timeout=90, words=str(checked(machines)))
    assert "SrcValid+" not in sh(machines, "lspci -vvv")
    assert sh(machines, "findmnt -no FSTYPE /mnt/datasets").startswith("fuse")
    assert "Priority trust state: dscp" in sh(machines, "mlnx_qos -i beth0")
    assert "10.128.0.0" in sh(machines, "ip route show table 101")
    assert sh(machines, "ping -c1 -W2 -I beth0 10.128.0.0 >/dev/null && echo answers").strip() == "answers"


def test_hosts_are_validated_from_the_seat(machines: LabUnderTest) -> None:
    done = machines.seat(
        sys.executable, "-m", "fabric", "validate", "hosts", machines.spec, "--json", check=False, timeout=300
    )
    told = json.loads(done.stdout)
    assert [item for item in told["findings"] if item["verdict"] == "fail"] == []
    assert told["exit_code"] == 0, done.stderr


FAULTS = {
    ("gpu", "ecc", "3"): ("gpu.ecc", "GPU 3"),
    ("gpu", "missing", "7"): ("gpu.count", "7 GPUs"),
    ("gpu", "nvlink", "5"): ("gpu.nvlink", "GPU 5"),
    ("gpu", "pcie-width", "1"): ("gpu.pcie", "x8"),
    ("gpu", "throttle", "2"): ("gpu.clocks", "thermal"),
    ("gpu", "xid", "6"): ("gpu.xid", "Xid 79"),
    ("platform", "NVIDIA A100-SXM4-80GB"): ("gpu.count", "A100"),
    ("clock", "0.7"): ("host.clock", "700 ms"),
    ("mtu", "beth3", "1500"): ("nic.mtu", "1500"),
    ("cut", "beth2"): ("nic.link", "beth2"),
}
"""Fault of a host -> the check that names it, and a word that it says."""


def broken(machines: LabUnderTest, kind: str, *words: str) -> None:
    """Make a fault of FAULTS on the first host."""
    if kind in ("mtu", "cut"):
        machines.fault(kind, f"{ONE}:{words[0]}", *words[1:])
    elif kind == "gpu":
        machines.fault(kind, ONE, words[0], "--gpu", words[1])
    else:
        machines.fault(kind, ONE, *words)


def test_every_fault_is_named_and_goes(machines: LabUnderTest) -> None:
    for fault in FAULTS:
        broken(machines, *fault)
    wait_until(lambda: "beth2" in json.dumps(checked(machines, ONE, "nic.link")))
    found = checked(machines)
    missing = {
        fault: found.get(check) for fault, (check, word) in FAULTS.items() if word not in json.dumps(found.get(check))
    }
    assert not missing
    assert set(found) <= EXPECTED | {check for check, _ in FAULTS.values()} | {"rdma.port"}  # a port follows its link
    machines.fault("restore")
    wait_until(lambda: set(checked(machines)) == EXPECTED, words=str(checked(machines)))


def test_a_nic_that_forgot_its_qos(machines: LabUnderTest) -> None:
    machines.fault("forget-qos", ONE, "beth4")
    assert "beth4" in json.dumps(checked(machines, ONE, "rdma.qos"))
    sh(machines, "systemctl restart fabric-roce@beth4.service")
    assert not checked(machines, ONE, "rdma.qos")


def test_a_dead_fuse_client_is_recognised_and_recovers(machines: LabUnderTest) -> None:
    drop = f"/run/systemd/system/{FUSE}.d"
    sh(
        machines,
        f"mkdir -p {drop}; printf '[Service]\\nRestart=no\\nExecStopPost=\\n' >{drop}/no.conf; systemctl daemon-reload",
    )
    sh(machines, "pkill -KILL -x bindfs; sleep 0.5")
    assert "FUSE client is dead" in json.dumps(checked(machines, ONE, "storage.probe"))
    sh(machines, f"rm -r {drop}; systemctl daemon-reload; systemctl restart {FUSE}")
    assert not checked(machines, ONE, "storage.probe")
    sh(machines, "pkill -KILL -x bindfs")  # and by itself
    wait_until(lambda: "fuse" in sh(machines, "findmnt -no FSTYPE /mnt/datasets || true"))
    assert not checked(machines, ONE, "storage.probe")


def test_a_fuse_client_that_cannot_start_says_so_at_once_and_slurmd_waits_for_it(machines: LabUnderTest) -> None:
    main = "systemctl show --property=MainPID --value slurmd.service"
    before = sh(machines, main).strip()
    sh(machines, f"systemctl restart {FUSE}")
    assert sh(machines, main).strip() == before != "0"
    drop = f"/run/systemd/system/{FUSE}.d"
    lacks = "[Service]\\nExecStart=\\nExecStart=/usr/bin/no-client\\n"
    sh(machines, f"mkdir -p {drop}; printf '{lacks}' >{drop}/no.conf; systemctl daemon-reload")
    assert machines.node(ONE, "timeout", "5", "systemctl", "restart", FUSE, check=False).returncode == 1
    assert sh(machines, main).strip() == before
    assert machines.node(ONE, "systemctl", "restart", "slurmd.service", check=False).returncode == 1
    sh(machines, f"rm -r {drop}; systemctl daemon-reload; systemctl restart {FUSE}")
    wait_until(lambda: sh(machines, "systemctl is-active slurmd.service || true").strip() == "active")


def test_a_mount_that_hangs_hangs_no_check(machines: LabUnderTest) -> None:
    number = machines.fault("freeze", ONE, "bindfs").partition(":")[0]
    found = machines.node(
        ONE, "/usr/libexec/fabric/check-host", "--deadline", "2", "--only", "storage.probe", check=False, timeout=30
    )
    assert "no answer in 2 s" in found.stdout, found.stdout + found.stderr
    machines.fault("restore", number)
    wait_until(lambda: not checked(machines, ONE, "storage.probe"))


def test_an_upgrade_behind_the_specs_back_is_drift(machines: LabUnderTest) -> None:
    late = "580.173.02-1"
    names = (
        "nvidia-fabricmanager",
        "libnvidia-ml1",
        "nvidia-driver-cuda",
        "nvidia-persistenced",
        "nvidia-kernel-open-dkms",
        "nvidia-open",
    )
    wanted = " ".join(f"{name}={late}" for name in names)
    sh(machines, f"apt-get -qq -y --allow-change-held-packages install {wanted} 2>&1", OTHER)
    found = checked(machines, OTHER, "gpu.*", "host.packages")
    assert {"gpu.driver", "gpu.fabric-manager", "host.packages"} <= set(found)
    assert late in json.dumps(found["gpu.fabric-manager"])
    refused = machines.node(OTHER, "systemctl", "restart", "nvidia-fabricmanager", check=False)
    assert refused.returncode != 0


def test_a_new_driver_by_one_line_of_the_spec_repairs_the_drift_too(machines: LabUnderTest) -> None:
    text = machines.spec.read_text(encoding="utf-8")
    machines.spec.write_text(text.replace("driver: 580.126.16", "driver: 580.126.20"), encoding="utf-8")
    done = machines.seat(
        sys.executable,
        "-m",
        "fabric",
        "apply",
        "--hosts",
        machines.spec,
        "--device",
        OTHER,
        "--allow-reboot",
        "--drain",
        "none",
        "--auto-approve",
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    version = sh(machines, "nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0", OTHER)
    assert version.strip() == "580.126.20"
    assert sh(machines, "systemctl is-active nvidia-fabricmanager", OTHER).strip() == "active"
    assert changed(machines, "--check", "--limit", OTHER) == {0}
    assert min(changed(machines, "--check", "--limit", ONE)) > 0


def test_the_end_of_the_supervisor_ends_the_machines(machines: LabUnderTest) -> None:
    lab = Lab.find(machines.spec)
    assert lab is not None
    pid = lab.first_process()
    groups = [
        path
        for mount in ("unified", "systemd", ".")
        for path in Path("/sys/fs/cgroup", mount).glob(cgroups.name_of(lab.folder))
    ]
    inside = [
        int(word) for group in groups for path in group.rglob("cgroup.procs") for word in path.read_text().split()
    ]
    assert len(inside) > 20
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(proc.alive(one) for one in (pid, *inside)))
    assert str(lab.folder) not in Path("/proc/mounts").read_text(encoding="utf-8")
    assert "has died" in machines.cli("lab", "status", machines.spec, check=False).stderr
    assert not lab.folder.exists()
    assert not [path for path in groups if path.exists()]
