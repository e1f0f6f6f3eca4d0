"""The lab comes up, is what the spec says, and leaves nothing behind, whoever kills what."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fabric.lab import proc
from fabric.lab.names import linux_name
from fabric.lab.state import Lab
from tests.lab.conftest import LabUnderTest, wait_until

pytestmark = pytest.mark.lab

ONE_RACK = ("--subset", "z02-rtsw001", "--subset", "z02-ctsw0*")


def traces() -> dict[str, set[str]]:
    """What a lab could leave on this machine: processes, mounts, interfaces, names of namespaces."""
    ours = os.environ["FABRIC_LAB_DIR"]
    lab_processes = {line for pid in proc.pids() if ours in (line := " ".join(proc.cmdline(pid)))}
    mounts = {line for line in Path("/proc/self/mounts").read_text().splitlines() if "lab" in line}
    links = {item["ifname"] for item in json.loads(subprocess.check_output(["ip", "-j", "link"]))}
    named = {path.name for path in Path("/run/netns").glob("*")}
    return {"processes": lab_processes, "mounts": mounts, "links": links, "namespaces": named}


@pytest.fixture
def leaves_nothing(needs_lab: None, lab_dir: Path) -> object:
    """After the test, everything is as before it."""
    before = traces()
    yield
    wait_until(lambda: traces() == before, words=f"left behind: {traces()} instead of {before}")


def test_up_and_down(leaves_nothing: None, boot_lab: Callable[..., LabUnderTest]) -> None:
    lab = boot_lab(None, *ONE_RACK)
    folder = Lab.find(lab.spec)
    assert folder is not None
    again = lab.cli("lab", "up", lab.spec, check=False)
    assert (again.returncode, again.stderr) == (
        1,
        "error: the lab of this spec is up already, or just coming up (hint: fabric lab down SPEC)\n",
    )
    lab.cli("lab", "down", lab.spec)
    assert not folder.folder.exists()
    assert "is not up" in lab.cli("lab", "down", lab.spec).stdout
    assert "is not up" in lab.cli("lab", "status", lab.spec, check=False).stderr


def test_killed_supervisor(leaves_nothing: None, boot_lab: Callable[..., LabUnderTest]) -> None:
    lab = boot_lab(None, *ONE_RACK)
    record = Lab.find(lab.spec)
    assert record is not None
    os.kill(record.first_process(), signal.SIGKILL)
    wait_until(lambda: record.supervisor() is None)
    assert "has died" in lab.cli("lab", "status", lab.spec, check=False).stderr
    assert not record.folder.exists()
    lab.cli("lab", "up", lab.spec, *ONE_RACK)


@pytest.mark.parametrize("moment", ["prepared", "plugged", "started"])
def test_killed_up(leaves_nothing: None, lab_dir: Path, spec_file: Callable[..., Path], moment: str) -> None:
    spec = spec_file("lab")
    process = subprocess.Popen([sys.executable, "-m", "fabric", "lab", "up", spec], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if moment in line:
            break
    process.kill()
    process.wait()
    process.stderr.close()
    # The supervisor may just be starting: it sees that the command is gone, and ends.
    wait_until(
        lambda: LabUnderTest(spec).cli("lab", "status", spec, check=False).returncode == 1 and Lab.find(spec) is None
    )


def test_two_labs_and_long_names(leaves_nothing: None, boot_lab: Callable[..., LabUnderTest], tmp_path: Path) -> None:
    first = boot_lab(None, *ONE_RACK)
    data = yaml.safe_load(first.spec.read_text())
    data["naming"] = {
        "rtsw": "{site}-zone{zone:02d}-rack-switch-number-{rack:03d}",
        "host": "{site}-zone{zone:02d}-rack{rack:03d}-gpu-host-{unit}",
    }
    path = tmp_path / "second" / "cluster.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(data))
    second = boot_lab(path, "--subset", "lab-zone02-rack-switch-number-001", "--subset", "z02-ctsw0*")
    for lab in (first, second):
        assert all(here == expected for here, expected in lab.sessions().values())
    name = "lab-zone02-rack-switch-number-001"
    assert second.node(name, "hostname").stdout.strip() == name
    assert second.node("lab-zone02-rack001-gpu-host-1", "ping", "-c1", "-W2", "10.128.1.16").returncode == 0


def test_blank_switches_can_be_logged_in_to(boot_lab: Callable[..., LabUnderTest]) -> None:
    lab = boot_lab(None, "--blank", "--subset", "z01-rtsw001", "--subset", "z01-ctsw01")
    assert lab.sessions() == {"z01-rtsw001": (0, 2), "z01-ctsw01": (0, 2)}
    assert lab.ssh("root", "10.0.1.17", "hostname").stdout == "z01-rtsw001\n"
    running = lab.ssh("netops", "10.0.1.25", "show running-config").stdout
    assert "ip address 10.0.1.25/22" in running
    assert "router bgp" not in running
    assert "no switchport" not in running


def test_whole_lab_is_what_the_spec_says(lab: LabUnderTest) -> None:
    status = lab.status()
    assert len(status["nodes"]) == 18
    assert all(not node["dead"] for node in status["nodes"])
    assert all(here == expected for here, expected in lab.sessions().values())
    record = Lab.find(lab.spec)
    assert record is not None
    cables = [cable for cable in record.read()["cables"] if "z02-ctsw01" in (cable["a"], cable["b"])]
    assert len(cables) == 4
    for cable in cables:
        mine, other = ("a", "b") if cable["a"] == "z02-ctsw01" else ("b", "a")
        heard = lab.lldp("z02-ctsw01", linux_name(cable[f"{mine}_port"]))
        assert heard == [(cable[other], cable[f"{other}_port"])]
    assert lab.lldp("z01-rtsw001", "eth2_1_1") == [("z01-r001-h1", "beth0")]


def test_hosts_reach_each_other_over_every_nic(lab: LabUnderTest) -> None:
    record = Lab.find(lab.spec)
    assert record is not None
    first, *others = [node for node in record.read()["nodes"] if node["kind"] == "host"]
    lines = ["set -e"]
    for peer in others:
        for nic in peer["nics"]:
            for family, size, key in (("-4", 8972, "address4"), ("-6", 8952, "address6")):
                target = nic[key].partition("/")[0]
                lines.append(f"ping {family} -c1 -W3 -M do -s {size} -I {nic['name']} {target} >/dev/null")
    lab.node(first["name"], "sh", "-c", "\n".join(lines))


def test_exec_gives_exit_codes_and_the_operator_what_he_needs(lab: LabUnderTest) -> None:
    assert lab.node("atsw001", "sh", "-c", "exit 7", check=False).returncode == 7
    assert lab.seat("sh", "-c", "kill -9 $$", check=False).returncode == 137
    assert "no program" in lab.seat("no-such-program", check=False).stderr
    assert "no node 'nobody'" in lab.node("nobody", "true", check=False).stderr
    got = lab.seat(
        "sh",
        "-c",
        'test -s "$FABRIC_KEY_FILE" && test -s "$FABRIC_STATE/known_hosts" && echo "$FABRIC_USER $FABRIC_NETOPS_HASH"',
    ).stdout
    assert got.startswith("netops $6$")


def test_logs(lab: LabUnderTest) -> None:
    assert "Server listening" in lab.cli("lab", "logs", lab.spec, "atsw001", "sshd").stdout
    assert "has no log of 'nothing'" in lab.cli("lab", "logs", lab.spec, "atsw001", "nothing", check=False).stderr


def test_without_root(needs_lab: None, spec_file: Callable[..., Path]) -> None:
    code = "import os; from fabric.lab.up import check_machine; os.setuid(65534); check_machine()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "FabricError: a lab needs root rights" in done.stderr


def test_kernel_that_refuses(needs_lab: None) -> None:
    """Without the right to mount, as in a container without CAP_SYS_ADMIN: one line, which says what."""
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", sys.executable, "-m", "fabric.lab.probe"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "refuses what a lab needs: unshare" in done.stderr
