"""Parts of the InfiniBand lab that need no simulator: what killed clients leave, what an SM's log says, the lab form, journalctl."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabric.design.ib.build import design_subnet
from fabric.errors import FabricError
from fabric.lab.ib import client, form, journal
from fabric.lab.ib.managers import Managers
from fabric.lab.ib.places import SmPlace
from fabric.spec.cluster import ClusterSpec
from fabric.targets.opensm import render
from tests.conftest import edited

LAB: dict[str, Any] = {
    "managers": [{"host": "sm1", "node": "H-0000a00000000000"}],
    "socket": "none",
    "python_path": sys.path,
}


def test_only_folders_of_clients_that_are_gone_are_removed(tmp_path: Path) -> None:
    alive = subprocess.Popen(["sleep", "60"], cwd=tmp_path)
    elsewhere = subprocess.Popen(["sleep", "60"], cwd="/")
    try:
        for name in (f"sys-{alive.pid}", f"sys-{elsewhere.pid}", "sys-admin", "sys-4194399"):
            (tmp_path / name / "class").mkdir(parents=True)
        gone = {path.name for path in client.sweep(tmp_path)}
        assert gone == {f"sys-{elsewhere.pid}", "sys-4194399"}
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"sys-{alive.pid}", "sys-admin"])
    finally:
        for process in (alive, elsewhere):
            process.kill()
            process.wait()


def test_labs_have_sockets_of_their_own() -> None:
    assert client.socket_name(Path("/run/a")) != client.socket_name(Path("/run/b"))
    env = client.environment(client.socket_name(Path("/run/a")), "H-1")
    assert set(env) == {"LD_PRELOAD", "IBSIM_SOCKNAME", "SIM_HOST"}


def test_ibsim_gets_no_preload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/lib/x.so")
    assert "LD_PRELOAD" not in client.without_preload()


def test_a_tool_that_hangs_or_fails_says_nothing(tmp_path: Path) -> None:
    assert client.run_tool(["sleep", "5"], {}, tmp_path, 0.2) == ""
    assert client.run_tool(["false"], {}, tmp_path) == ""
    assert client.run_tool(["echo", "yes"], {}, tmp_path) == "yes\n"


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        ([], "opensm is discovering"),
        (["Entering DISCOVERING state"], "opensm is discovering"),
        (["Entering DISCOVERING state", "Entering MASTER state"], "opensm is master"),
        (["Entering MASTER state", "Errors during initialization"], "Errors during initialization"),
        (["Entering MASTER state", "No routing engine able to successfully configure"], "No routing engine able"),
        (["Entering MASTER state", "Errors during initialization", "0x02 -> SUBNET UP"], None),
        (["Entering STANDBY state"], None),
        (["Entering MASTER state", "0x02 -> SUBNET U"], "opensm is master"),
    ],
)
def test_what_an_sm_still_lacks_by_its_log(lines: list[str], missing: str | None, tmp_path: Path) -> None:
    place = SmPlace.of(tmp_path, "sm1")
    place.make()
    managers = _running(tmp_path)
    try:
        place.log.write_text("".join(f"{line}\n" for line in lines))
        found = managers.missing(["sm1"])
        assert found == ({} if missing is None else {"sm1": missing})
    finally:
        managers.stop("sm1")


def test_an_opensm_that_ends_by_itself_is_told_with_what_it_said(tmp_path: Path) -> None:
    SmPlace.of(tmp_path, "sm1").make()
    managers = _running(tmp_path, "echo 'Perhaps another instance of OpenSM is already running'; echo Exiting SM")
    managers.lives["sm1"].process.wait(120)
    assert managers.missing(["sm1"]) == {
        "sm1": "opensm ended (0): Perhaps another instance of OpenSM is already running"
    }
    assert managers.failed("sm1")


def test_an_sm_without_files_does_not_start(tmp_path: Path) -> None:
    SmPlace.of(tmp_path, "sm1").make()
    with pytest.raises(FabricError, match=r"sm1: there is no /etc/opensm/opensm\.conf"):
        Managers(tmp_path, LAB).start("sm1")


def test_an_sm_is_waited_for_until_it_is_one_or_has_ended(tmp_path: Path) -> None:
    place = SmPlace.of(tmp_path, "sm1")
    place.make()
    managers = _running(tmp_path, f"sleep 0.3; echo 'Entering STANDBY state' >>{place.log}; exec sleep 600")
    managers.wait("sm1")
    assert managers.lives["sm1"].state == "standby"
    managers.stop("sm1")
    ended = _running(tmp_path, "exit 3")
    ended.wait("sm1")
    assert ended.failed("sm1")


def _running(folder: Path, script: str = "sleep 60") -> Managers:
    """SMs of a lab in which a shell script stands for opensm."""
    place = SmPlace.of(folder, "sm1")
    (place.etc / "opensm.conf").write_text("guid 0x0000a00000000001\n")
    program = folder / "opensm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fabric.lab.ib.managers.OPENSM", str(program))
        patch.setattr("fabric.lab.ib.client.preload", lambda: "")
        managers = Managers(folder, LAB)
        managers.start("sm1")
    return managers


def test_the_lab_form_is_made_again_only_when_files_differ(tmp_path: Path) -> None:
    subnet = design_subnet(ClusterSpec.model_validate(edited("ib-lab", {})))
    place = SmPlace(tmp_path / "gt0001")
    place.make()
    for artifact in render(subnet, subnet.managers[0]):
        (place.etc / Path(artifact.path).name).write_bytes(artifact.content)
    changes = form.make(place, "gt0001")
    assert any(line.startswith("log_file") for line in changes)
    assert form.changes_of(place) == changes
    assert (place.form / "partitions.conf").read_bytes() == (place.etc / "partitions.conf").read_bytes()
    assert form.made_of(place) == form.fingerprint(place.etc)
    (place.etc / ".fabric-0123").mkdir()
    (place.etc / ".fabric-0123" / "x").write_text("what a change keeps beside")
    assert form.made_of(place) == form.fingerprint(place.etc)
    (place.etc / "root_guids").write_text("")
    assert form.made_of(place) != form.fingerprint(place.etc)


def test_journalctl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = SmPlace(tmp_path)
    place.make()
    for words, said in (
        (["-u", "opensm"], "-- No entries --\n"),
        (["-u", "sshd"], "-- No entries --\n"),
    ):
        journal.main(["", str(tmp_path), *words])
        assert capsys.readouterr().out == said
    place.out.write_text("one\ntwo\nthree\n")
    journal.main(["", str(tmp_path), "-u", "opensm.service", "-n", "2", "--no-pager"])
    assert capsys.readouterr().out == "two\nthree\n"
