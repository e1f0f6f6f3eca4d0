"""The driver of SM hosts against a box with a real shell and real files, over real SSH, with what goes wrong there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.device import DeviceError, DeviceRefusedError, Staged
from fabric.targets.opensm.device import OpensmDevice
from tests.targets.fake_ssh import SshServer
from tests.targets.opensm.fake_sm import FakeSm

REF = DeviceRef("sm1", "sm", "opensm")
PORT, OTHER = "0x0000a00000000001", "0x0000a00000000021"
Connect = Callable[[], OpensmDevice]


@pytest.fixture
def box(tmp_path: Path) -> Iterator[FakeSm]:
    fake = FakeSm(tmp_path / "box")
    yield fake
    fake.end()


@pytest.fixture
def server(box: FakeSm) -> Iterator[SshServer]:
    with SshServer(box.shell, None).running() as running:
        yield running


@pytest.fixture
def connect(box: FakeSm, server: SshServer, tmp_path: Path) -> Iterator[Connect]:
    made: list[OpensmDevice] = []

    def device() -> OpensmDevice:
        made.append(OpensmDevice(REF, server.login(tmp_path), lambda content: content, etc=str(box.etc)))
        return made[-1]

    yield device
    for each in made:
        each.close()


def _files(box: FakeSm, *, pkey: str = "0x1001", **keys: object) -> list[Artifact]:
    values: dict[str, object] = {
        "guid": PORT, "sm_priority": 14, "routing_engine": "ftree,no_fallback", "root_guid_file": box.etc / "root_guids",
        "cn_guid_file": box.etc / "cn_guids", "partition_config_file": box.etc / "partitions.conf",
        "log_file": box.folder / "opensm.log", "log_flags": "0x07", "force_log_flush": "TRUE", "honor_guid2lid_file": "TRUE", **keys,
    }  # fmt: skip
    texts = {
        "opensm.conf": "".join(f"{name} {value}\n" for name, value in values.items()),
        "partitions.conf": f"Default=0x7fff : ALL=limited, SELF=full ;\na={pkey} : {OTHER}=full ;\n",
        "root_guids": "0x0000900000000800\n",
        "cn_guids": f"{OTHER}\n",
    }
    return [Artifact("sm1", "sm", "opensm", f"{box.etc}/{name}", text.encode()) for name, text in texts.items()]


def _paths(box: FakeSm) -> list[str]:
    return [artifact.path for artifact in _files(box)]


def _content(artifacts: list[Artifact]) -> dict[str, bytes | None]:
    return {artifact.path: artifact.content for artifact in artifacts}


def _pkeys(box: FakeSm, port: str, *pkeys: str) -> None:
    (box.folder / "pkeys" / port).write_text(" " + " ".join(pkeys))


def _done(connect: Connect, artifacts: list[Artifact], token: str) -> None:
    device = connect()
    staged = device.stage(artifacts, token)
    device.commit(staged, 60)
    device.confirm(staged)
    device.close()


def _left(box: FakeSm) -> list[str]:
    return [path.name for path in box.etc.glob(".fabric-*") if path.is_dir()] + [
        p.name for p in (box.folder / "units").iterdir()
    ]


def test_blank_starts_and_returns_to_blank(box: FakeSm, connect: Connect) -> None:
    device, files = connect(), _files(box)
    assert device.read(_paths(box)) == dict.fromkeys(_paths(box))
    staged = device.stage(files, "run-1")
    assert "opensm: restart" in staged.diff
    device.commit(staged, 60)
    assert [(p.token, p.armed) for p in device.pending()] == [("run-1", True)]
    assert device.read(_paths(box)) == _content(files)
    device.rollback(staged)
    assert device.read(_paths(box)) == dict.fromkeys(_paths(box))
    assert box.log == ["stop", "start", "stop"]
    assert _left(box) == []
    _done(connect, files, "run-2")
    assert device.read(_paths(box)) == _content(files)
    assert _left(box) == []
    assert device.version().image == "opensm 3.3.23"


@pytest.mark.parametrize(
    ("change", "log"),
    [
        ({"pkey": "0x1002"}, ["reload 14"]),
        ({"sm_priority": 9}, ["reload 9"]),
        ({"routing_engine": "updn,no_fallback"}, ["stop", "start"]),
    ],
    ids=["contents", "a key of SIGHUP", "a key of a start"],
)
def test_no_more_than_is_needed(box: FakeSm, connect: Connect, change: dict[str, Any], log: list[str]) -> None:
    _done(connect, _files(box), "run-1")
    before = len(box.log)
    _done(connect, _files(box, **change), "run-2")
    assert box.log[before:] == log
    assert connect().read(_paths(box)) == _content(_files(box, **change))


@pytest.mark.parametrize("ends_late", [False, True], ids=["at once", "after half a second"])
def test_a_unit_without_reload_gets_its_signal(box: FakeSm, connect: Connect, ends_late: bool) -> None:
    if ends_late:
        (box.folder / "ends_late").touch()
    _done(connect, _files(box), "run-1")
    (box.folder / "no_reload").touch()
    device = connect()
    staged = device.stage(_files(box, pkey="0x1002"), "run-2")
    with pytest.raises(DeviceRefusedError, match="does not answer after its reload"):
        device.commit(staged, 60)  # the stand-in of opensm ends at SIGHUP
    assert "start" in box.log[2:]  # and the old files are run by a new one
    device.rollback(staged)
    assert device.read(_paths(box)) == _content(_files(box))


def test_the_master_hands_over_before_it_restarts(box: FakeSm, connect: Connect) -> None:
    _done(connect, _files(box), "run-1")
    (box.folder / "standby").touch()
    before = len(box.log)
    _done(connect, _files(box, routing_engine="updn,no_fallback"), "run-2")
    assert box.log[before:] == ["stop", "stop", "start"]  # nothing is started before the standby is master
    assert connect().read(_paths(box)) == _content(_files(box, routing_engine="updn,no_fallback"))


def test_a_handover_that_nobody_takes_changes_nothing(box: FakeSm, connect: Connect) -> None:
    _done(connect, _files(box), "run-1")
    (box.folder / "bin" / "saquery").write_text(
        "#!/bin/sh\necho '  GUID...1'; echo '  GUID...2'\n"
    )  # one of them is dead
    device = connect()
    staged = device.stage(_files(box, routing_engine="updn,no_fallback"), "run-2")
    with pytest.raises(DeviceRefusedError, match="no standby took over as master"):
        device.commit(staged, 6)
    device.rollback(staged)
    assert device.read(_paths(box)) == _content(_files(box))
    assert _left(box) == []


def test_an_opensm_that_cannot_start_is_undone_at_once(
    box: FakeSm, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabric.targets.opensm.device_scripts.UP_S", 1)
    _done(connect, _files(box), "run-1")
    device = connect()
    staged = device.stage(_files(box, log_prefix="CANNOT_BIND", routing_engine="updn,no_fallback"), "run-2")
    with pytest.raises(DeviceRefusedError, match="does not come up with the new files"):
        device.commit(staged, 60)
    device.rollback(staged)
    assert device.read(_paths(box)) == _content(_files(box))


def test_the_timer_returns_the_old_files_by_itself(box: FakeSm, connect: Connect) -> None:
    _done(connect, _files(box), "run-1")
    device = connect()
    staged = device.stage(_files(box, pkey="0x1002", routing_engine="updn,no_fallback"), "run-2")
    device.commit(staged, 5)
    end = time.monotonic() + 120
    while device.pending()[0].detail != "restored: the timer has returned the old files":
        assert time.monotonic() < end
        time.sleep(0.1)
    assert device.read(_paths(box)) == _content(_files(box))
    with pytest.raises(DeviceError, match="the timer has already returned the old files"):
        device.confirm(staged)
    device.rollback(staged)
    assert _left(box) == []


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("partitions.conf", "Default=0x7fff ALL=full ;\n", "no `:` on the line"),
        ("partitions.conf", f"Default=0x7fff : ALL=limited, SELF=full ;\na=0x1001 : {OTHER}=Full ;\n", "Full"),
        ("opensm.conf", "sm_prioriti 3\n", "unknown key 'sm_prioriti'"),
        ("opensm.conf", "qos true\n", "counts as FALSE"),
    ],
)
def test_what_opensm_would_take_in_another_sense_is_not_sent(
    box: FakeSm, connect: Connect, name: str, text: str, says: str
) -> None:
    files = [
        Artifact(a.device, a.role, a.target, a.path, text.encode()) if a.path.endswith(name) else a for a in _files(box)
    ]
    with pytest.raises(DeviceRefusedError) as refused:
        connect().stage(files, "run-1")
    assert any(says in line for line in refused.value.lines)
    assert list(box.etc.iterdir()) == []


def test_a_key_that_this_opensm_does_not_know_is_refused(box: FakeSm, connect: Connect) -> None:
    keys = box.folder / "keys"
    keys.write_text(keys.read_text().replace("honor_guid2lid_file x\n", ""))
    with pytest.raises(DeviceRefusedError, match="the opensm of sm1 does not know honor_guid2lid_file"):
        connect().stage(_files(box), "run-1")


def test_a_host_without_tools_is_told(box: FakeSm, connect: Connect) -> None:
    (box.folder / "bin" / "saquery").unlink()
    box.env["PATH"] = f"{box.folder}/bin:/usr/bin:/bin"
    with pytest.raises(DeviceRefusedError, match="it has no saquery"):
        connect().stage(_files(box), "run-1")


def test_what_lies_on_disk_and_does_not_run_is_told(box: FakeSm, connect: Connect) -> None:
    _done(connect, _files(box), "run-1")
    device = connect()
    conf = box.etc / "opensm.conf"
    conf.write_text(conf.read_text() + "sweep_interval 30\n")
    changed = device.read([str(conf)])[str(conf)]
    assert changed is not None
    assert changed.startswith(b"# not in force: it was changed after opensm read it\n")
    device._box.must_run("systemctl stop opensm")
    read = device.read(_paths(box))[str(conf)]
    assert read is not None
    assert read.startswith(b"# not in force: opensm does not run\n")
    staged = device.stage(_files(box), "run-2")
    assert "opensm: restart" in staged.diff
    device.commit(staged, 60)
    device.confirm(staged)
    assert device.read(_paths(box)) == _content(_files(box))


def test_the_subnet_is_looked_at(box: FakeSm, connect: Connect) -> None:
    _pkeys(box, PORT, "0xffff")
    _pkeys(box, OTHER, "0x7fff", "0x9001")
    device = connect()
    assert (
        device.problems() == ["opensm does not run"]
        or device.problems() == ["opensm runs, and it has no opensm.conf"]
        or device.problems() == []
    )
    device.commit(device.stage(_files(box), "run-1"), 60)
    assert device.problems() == []
    _pkeys(box, OTHER, "0xffff")
    assert device.problems() == [f"port {OTHER} holds P_Keys 0xffff, and 0x7fff 0x9001 are declared"]
    (box.folder / "pkeys" / OTHER).unlink()  # its host is down: not judged
    (box.folder / "stdout").write_text(' Unrecognized token: "sm_prioriti"\n')
    assert device.problems() == ['opensm says: Unrecognized token: "sm_prioriti"']
    (box.folder / "stdout").unlink()
    (box.folder / "mute").touch()
    assert device.problems() == ["the subnet manager does not answer (sminfo)"]
    (box.folder / "mute").unlink()
    (box.folder / "sm").unlink()
    assert device.problems() == ["opensm does not run"]


@pytest.mark.parametrize(
    ("says", "found"),
    [
        (
            "x -> ERR 1: Partition configuration in error; retrying with default config",
            "artition configuration in error",
        ),
        ("x -> cannot find or setup routing engine 'fattree'", "cannot find or setup routing engine"),
        ("x -> PARSE WARN: line 3: unrecognized port flag 'Full'", "PARSE WARN"),
        ("x -> ERR AB26: CN port is connected to switch", "ERR AB26"),
        ("x -> Failed to setup routing engine 'no_fallback'", ""),
        ("x -> port 0x1 not found", ""),
        ("x -> Errors during initialization", ""),
    ],
)
def test_the_log_since_the_change(box: FakeSm, connect: Connect, says: str, found: str) -> None:
    _pkeys(box, PORT, "0xffff")
    (box.folder / "opensm.log").write_text("x -> ERR AB25: of last week\n")
    (box.folder / "says").write_text(says + "\n")
    device = connect()
    device.commit(device.stage(_files(box), "run-1"), 60)
    problems = device.problems()
    assert len(problems) == bool(found), problems
    assert all(found in problem for problem in problems)


@pytest.mark.parametrize("at", ["mkdir -m 0700", "sha256sum -c", "commit.sh"])
def test_ssh_lost_in_the_middle_is_recoverable(box: FakeSm, connect: Connect, at: str) -> None:
    _done(connect, _files(box), "run-1")
    box.drop_before = at
    device, files = connect(), _files(box, pkey="0x1002")
    with pytest.raises(DeviceError):
        device.commit(device.stage(files, "run-2"), 60)
    device.reconnect()
    device.rollback(Staged("sm1", "run-2", ""))
    assert device.read(_paths(box)) == _content(_files(box))
    _done(connect, files, "run-3")
    assert _left(box) == []


def test_a_running_timer_is_respected(box: FakeSm, connect: Connect) -> None:
    device = connect()
    device.commit(device.stage(_files(box), "run-1"), 60)
    with pytest.raises(DeviceRefusedError, match=r"an earlier change \(run-1\) waits for its confirmation"):
        connect().stage(_files(box), "run-2")


def test_old_files_with_secrets_are_kept_on_the_host(box: FakeSm, connect: Connect) -> None:
    """The run's folder must not hold them, and a rollback needs them."""
    keys = {"m_key": "0x1234"}
    old = [replace(artifact, secret=artifact.path.endswith("opensm.conf")) for artifact in _files(box, **keys)]
    new = [replace(artifact, secret=artifact.path.endswith("opensm.conf")) for artifact in _files(box, m_key="0x5678")]
    _done(connect, old, "run-1")
    device = connect()
    staged = device.stage(new, "run-2")
    assert "0x1234" not in staged.diff
    assert "0x5678" not in staged.diff
    assert "m_key <secret>" in staged.diff
    device.commit(staged, 60)
    device.confirm(staged)
    assert device.pending() == []
    assert [path.name for path in box.etc.glob(".fabric-kept*")] == [".fabric-kept.run-2"]
    device.rollback(Staged("sm1", "run-2", ""))
    assert device.read(_paths(box)) == _content(old)
    assert _left(box) == []
