"""The InfiniBand lab with real ibsim and opensm, driven by the command line as a user drives it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.lab import proc
from fabric.lab.ib.places import SmPlace
from fabric.lab.state import Lab
from tests.lab.conftest import LabUnderTest, wait_until

SPEC = """\
schema: 1
name: ib-small
site: {name: lab, domain: lab.example.net}
hosts: {platform: grand-teton-h100}
backend:
  kind: infiniband
  switch: qm9700
  switch_ports: 16
  hosts: 16
  hosts_per_unit: 8
  guids: {scheme: placeholder}
  routing: {engines: [ftree], fallback: false}
  subnet_manager:
    flavour: opensm
    hosts:
      - {host: gt0001, rail: 0, priority: 14, address: 10.99.0.1}
      - {host: gt0009, rail: 0, priority: 13, address: 10.99.0.2}
    polling: {timeout_ms: 1000, retries: 2}
"""
MASTER, STANDBY = "gt0001", "gt0009"

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("sshd", path="/usr/sbin"), reason="needs root and sshd"),
]
# Without root rights, but allowed to read what root may: the virtual environment may lie where others cannot look.
NOBODY = [
    "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", "+dac_read_search", "--ambient-caps",
    "+dac_read_search", "env", "PYTHONDONTWRITEBYTECODE=1",
]  # fmt: skip


def _copy(folder: Path) -> Path:
    folder.mkdir()
    spec = folder / "cluster.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    return spec


@pytest.fixture(scope="module")
def ib_dir() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="fabric-ib-lab-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def shared(ib_dir: Path, lab_dir: Path) -> Iterator[LabUnderTest]:
    lab = LabUnderTest(_copy(ib_dir / "shared"))
    lab.cli("lab", "up", lab.spec)
    yield lab
    lab.cli("lab", "down", lab.spec)


@pytest.fixture
def ib_lab(shared: LabUnderTest) -> Iterator[LabUnderTest]:
    """The shared lab; afterwards all faults are undone."""
    yield shared
    faults = _folder(shared) / "faults.json"
    if faults.exists() and json.loads(faults.read_text())["faults"]:
        shared.fault("restore")


def _folder(lab: LabUnderTest) -> Path:
    found = Lab.find(lab.spec)
    assert found is not None
    return found.folder


def _managers(lab: LabUnderTest) -> dict[str, dict[str, Any]]:
    return {item["host"]: item for item in lab.status()["managers"]}


def _become(lab: LabUnderTest, *states: str) -> None:
    """Wait until the subnet managers are in these states; else tell what they say, and the end of their logs."""

    def states_now() -> list[str]:
        return [item["state"] for item in _managers(lab).values()]

    try:
        wait_until(lambda: states_now() == list(states))
    except AssertionError:
        logs = [lab.cli("lab", "logs", lab.spec, host, "opensm").stdout[-1500:] for host in (MASTER, STANDBY)]
        raise AssertionError(f"{states_now()} instead of {list(states)}", *logs) from None


def _links(lab: LabUnderTest) -> set[str]:
    """Every link from both ends, by what does not move: GUID and port."""
    text = lab.seat("ibnetdiscover", "-p").stdout
    ends = re.findall(r"^(?:SW|CA) +\d+ +(\d+) (0x\w+) (\S+ \S+) - (?:SW|CA) +\d+ +(\d+) (0x\w+)", text, re.MULTILINE)
    return {" ".join(end) for end in ends}


def _lids(lab: LabUnderTest) -> dict[str, str]:
    text = lab.seat("ibnetdiscover").stdout
    return dict(re.findall(r"^\[1\]\((\w+)\).*# lid (\d+) ", text, re.MULTILINE))


def _processes_of(folder: Path) -> list[int]:
    """Everything that works in a lab, by its working directory, arguments or environment."""
    found = []
    for pid in proc.pids():
        try:
            where = str(Path(f"/proc/{pid}/cwd").readlink())
        except OSError:
            continue
        if str(folder) in where or any(str(folder) in word for word in proc.cmdline(pid)):
            found.append(pid)
    return [pid for pid in found if pid != os.getpid() and proc.alive(pid)]


def test_up_has_a_master_and_a_standby_as_declared(ib_lab: LabUnderTest) -> None:
    managers = _managers(ib_lab)
    found = {host: (item["answers"]["state"], item["answers"]["priority"]) for host, item in managers.items()}
    assert found == {MASTER: ("master", 14), STANDBY: ("standby", 13)}
    assert managers[MASTER]["answers"]["lid"] != managers[STANDBY]["answers"]["lid"]
    assert any("log_file" in line for line in managers[MASTER]["for_the_simulator"])


def test_the_simulated_wiring_is_the_designed_one(ib_lab: LabUnderTest) -> None:
    cables = json.loads((_folder(ib_lab) / "wiring.json").read_text())["cables"]
    assert len(_links(ib_lab)) == 2 * len(cables)
    states = ib_lab.seat("iblinkinfo", "-l").stdout
    assert len(re.findall("4X +53.125 Gbps Active/ +LinkUp", states)) == 2 * len(cables)


def test_opensm_reads_the_rendered_files_and_routes_with_the_declared_engine(
    ib_lab: LabUnderTest, tmp_path: Path
) -> None:
    ib_lab.cli("render", ib_lab.spec, "-o", tmp_path / "out")
    rendered = next((tmp_path / "out").rglob(f"*{MASTER}*/**/partitions.conf")).read_text()
    assert ib_lab.node(MASTER, "cat", "/etc/opensm/partitions.conf").stdout == rendered
    log = ib_lab.cli("lab", "logs", ib_lab.spec, MASTER, "opensm").stdout
    assert "ftree tables configured on all switches" in log
    assert "Unrecognized token" not in ib_lab.cli("lab", "logs", ib_lab.spec, MASTER, "opensm.out").stdout


def test_an_sm_host_is_reached_by_ssh_and_is_its_own_hca(ib_lab: LabUnderTest) -> None:
    said = ib_lab.ssh(
        "netops", "10.99.0.2", "hostname; sminfo -D 0; systemctl is-active opensm; pgrep -x opensm"
    ).stdout
    assert said.startswith(f"{STANDBY}\n")
    assert "SMINFO_STANDBY" in said
    assert "\nactive\n" in said
    main = ib_lab.node(STANDBY, "systemctl", "show", "-p", "MainPID", "--value", "opensm").stdout.strip()
    assert main in said.split()


def test_a_cut_cable_is_gone_and_comes_back(ib_lab: LabUnderTest) -> None:
    before = _links(ib_lab)
    ib_lab.fault("cut", "leaf0010:9")
    assert len(before - _links(ib_lab)) == 2
    again = ib_lab.cli("lab", "fault", ib_lab.spec, "cut", "leaf0010:9", check=False)
    assert (again.returncode, "no cable is plugged there now" in again.stderr) == (1, True)
    ib_lab.fault("restore")
    assert _links(ib_lab) == before


def test_an_sm_that_was_cut_off_finds_its_place_again(ib_lab: LabUnderTest) -> None:
    ib_lab.fault("cut", f"{MASTER} mlx5_0")
    _become(ib_lab, "discovering", "master")
    ib_lab.fault("restore")
    states = [item["answers"]["state"] for item in _managers(ib_lab).values()]
    assert sorted(states) == ["master", "standby"]
    ib_lab.cli("lab", "daemon", ib_lab.spec, "restart", MASTER, "opensm")
    _become(ib_lab, "master", "standby")


def test_a_swap_keeps_all_counts_and_crosses_two_cables(ib_lab: LabUnderTest) -> None:
    before = _links(ib_lab)
    said = ib_lab.fault("swap", "leaf0010:9", "leaf0011:10")
    assert "swapped the far ends of leaf0010:9" in said
    after = _links(ib_lab)
    assert (len(after), len(after - before)) == (len(before), 4)
    faults = json.loads((_folder(ib_lab) / "faults.json").read_text())["faults"]
    assert [fault["kind"] for fault in faults] == ["swap"]
    ib_lab.fault("restore")
    assert _links(ib_lab) == before


def test_a_degraded_link_shows_in_counters_and_width(ib_lab: LabUnderTest) -> None:
    ib_lab.fault("degrade", "leaf0003:10")
    ib_lab.fault("degrade", "leaf0004:11", "--width", "1x", "--counter", "PortRcvErrors=77")
    said = ib_lab.seat("ibqueryerrors", check=False)
    assert said.returncode == 1
    assert "[SymbolErrorCounter == 1000] [LinkErrorRecoveryCounter == 20]" in said.stdout
    assert "[PortRcvErrors == 77]" in said.stdout
    narrow = [line for line in ib_lab.seat("iblinkinfo", "-l").stdout.splitlines() if "( 1X " in line]
    assert len(narrow) == 2
    assert any('"leaf0004"' in line for line in narrow)
    ib_lab.fault("restore")
    assert "0 bad nodes found" in ib_lab.seat("ibqueryerrors").stdout
    assert "( 1X " not in ib_lab.seat("iblinkinfo", "-l").stdout


def test_a_removed_switch_is_gone_with_all_cables_and_comes_back(ib_lab: LabUnderTest) -> None:
    before = _links(ib_lab)
    ib_lab.fault("remove", "spine01")
    assert "spine01" not in ib_lab.seat("ibnetdiscover", "-p").stdout
    assert len(before - _links(ib_lab)) == 32
    ib_lab.fault("restore")
    assert _links(ib_lab) == before


def test_when_the_master_is_killed_the_standby_takes_over_and_lids_stay(ib_lab: LabUnderTest) -> None:
    before = _lids(ib_lab)
    assert ib_lab.fault("kill-sm").strip() == f"1: killed opensm on {MASTER}" or "killed opensm" in ib_lab.fault("list")
    assert "priority 13 state 3 SMINFO_MASTER" in ib_lab.seat("sminfo").stdout
    assert ib_lab.node(MASTER, "systemctl", "is-active", "opensm", check=False).stdout.strip() == "failed"
    assert _lids(ib_lab) == before
    ib_lab.fault("restore")
    _become(ib_lab, "master", "standby")
    assert _lids(ib_lab) == before


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["cut", "nothere:1"], "this lab has no node 'nothere'"),
        (["cut", "leaf0001:99"], "leaf0001 has no cable at port '99'"),
        (["cut", "leaf0001"], "'leaf0001' names a switch without a port"),
        (["swap", "leaf0001:1", "gt0001 mlx5_0"], "leaf0001:1 and gt0001 mlx5_0:1 are the ends of one cable"),
        (["degrade", "leaf0001:1", "--counter", "Foo=3"], "ibsim knows no counter 'Foo'"),
        (["degrade", "leaf0001:1", "--counter", "Foo"], "'Foo' is not NAME=VALUE"),
        (["kill-sm", "gt0002"], "this lab has no SM host 'gt0002'"),
        (["slow", "leaf0001:1"], "there is no fault 'slow' in an InfiniBand lab"),
        (["restore", "99"], "there is no fault 99"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_in_one_line(ib_lab: LabUnderTest, words: list[str], error: str) -> None:
    done = ib_lab.cli("lab", "fault", ib_lab.spec, *words, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert error in done.stderr
    assert ib_lab.fault("list") == ""


def test_killed_clients_take_no_places_and_leave_no_folders(ib_lab: LabUnderTest, tmp_path: Path) -> None:
    script = (
        "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do ibping -S 1 >/dev/null 2>&1 & p=$!; sleep .1; kill -9 $p; done; true"
    )
    lab_exec = [sys.executable, "-m", "fabric", "lab", "exec", str(ib_lab.spec), "--"]
    subprocess.run([*lab_exec, "sh", "-c", script], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert list(tmp_path.iterdir()) == []
    for _ in range(10):
        assert "SMINFO_MASTER" in ib_lab.seat("sminfo").stdout


def test_an_opensm_that_cannot_bind_is_told_with_its_own_words(ib_lab: LabUnderTest) -> None:
    place = SmPlace.of(_folder(ib_lab), STANDBY)
    conf = place.etc / "opensm.conf"
    good = conf.read_text()
    try:
        conf.write_text(re.sub(r"(?m)^guid .*", "guid 0x0000a00000000011", good))
        ib_lab.cli("lab", "daemon", ib_lab.spec, "restart", STANDBY, "opensm", check=False)
        wait_until(lambda: not _managers(ib_lab)[STANDBY]["runs"])
        assert "opensm ended (0)" in _managers(ib_lab)[STANDBY]["problem"]
    finally:
        conf.write_text(good)
        ib_lab.cli("lab", "daemon", ib_lab.spec, "restart", STANDBY, "opensm")
    wait_until(lambda: _managers(ib_lab)[STANDBY]["state"] == "standby")


def test_a_second_lab_meets_the_first_in_nothing(ib_lab: LabUnderTest, ib_dir: Path) -> None:
    other = LabUnderTest(_copy(ib_dir / "other"))
    other.cli("lab", "up", other.spec)
    try:
        other.fault("cut", "leaf0001:9")
        assert len(_links(ib_lab)) == len(_links(other)) + 2
    finally:
        other.cli("lab", "down", other.spec)
    assert "SMINFO_MASTER" in ib_lab.seat("sminfo").stdout


def test_a_blank_lab_comes_up_by_the_files_that_it_is_given(ib_lab: LabUnderTest, ib_dir: Path) -> None:
    lab = LabUnderTest(_copy(ib_dir / "blank"))
    lab.cli("lab", "up", lab.spec, "--blank")
    try:
        assert lab.node(MASTER, "systemctl", "is-active", "opensm", check=False).stdout == "inactive\n"
        assert lab.node(MASTER, "ls", "/etc/opensm").stdout == ""
        refused = lab.node(MASTER, "systemctl", "start", "opensm", check=False)
        assert (refused.returncode, "there is no /etc/opensm/opensm.conf" in refused.stderr) == (1, True)
        shutil.copytree(
            SmPlace.of(_folder(ib_lab), MASTER).etc, SmPlace.of(_folder(lab), MASTER).etc, dirs_exist_ok=True
        )
        lab.node(MASTER, "systemctl", "start", "opensm")
        wait_until(lambda: _managers(lab)[MASTER]["state"] == "master" and _managers(lab)[MASTER]["subnet_up_after_s"])
    finally:
        lab.cli("lab", "down", lab.spec)


def _boot_as(prefix: list[str], spec: Path, folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    env = {**os.environ, "FABRIC_LAB_DIR": str(folder / "labs"), "HOME": str(folder)}

    def call(*args: object) -> subprocess.CompletedProcess[str]:
        argv = [*prefix, sys.executable, "-m", "fabric", "lab", *map(str, args)]
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120, check=False)

    done = call("up", spec)
    assert done.returncode == 0, done.stderr
    return call


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_a_killed_supervisor_leaves_nothing(who: str, ib_dir: Path, tmp_path: Path) -> None:
    folder = ib_dir / who
    spec = _copy(folder)
    if who == "nobody":
        os.chown(folder, 65534, 65534)
    call = _boot_as(NOBODY if who == "nobody" else [], spec, folder)
    (place,) = (folder / "labs").iterdir()
    assert "SMINFO_MASTER" in call("exec", spec, "--", "sminfo").stdout
    assert len(_processes_of(place)) >= 4  # supervisor, ibsim, two opensm
    os.kill(int((place / "pid").read_text().split()[0]), signal.SIGKILL)
    wait_until(lambda: not _processes_of(place))
    died = call("status", spec)
    assert (died.returncode, "has died" in died.stderr) == (1, True)
    assert list((folder / "labs").iterdir()) == []


def test_without_root_the_lab_says_that_there_is_no_ssh(ib_dir: Path) -> None:
    folder = ib_dir / "rootless"
    spec = _copy(folder)
    os.chown(folder, 65534, 65534)
    call = _boot_as(NOBODY, spec, folder)
    try:
        assert "SMINFO_STANDBY" in call("exec", spec, STANDBY, "--", "sminfo", "-D", "0").stdout
        up_again = call("up", spec)
        assert (up_again.returncode, "without root rights the SM hosts have no SSH" in up_again.stderr) == (1, True)
    finally:
        assert call("down", spec).stdout == "lab is down\n"
    time.sleep(0.1)  # nothing comes back
    assert list((folder / "labs").iterdir()) == []
