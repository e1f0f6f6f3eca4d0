"""The EOS driver against a switch that answers as EOS does, over real SSH, with what goes wrong there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.targets import ssh
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.device import DeviceError, DeviceRefusedError, Staged
from fabric.targets.eos.device import STARTUP_CONFIG, EosDevice
from fabric.targets.eos.device_cli import timer
from fabric.targets.token import checked_token
from tests.targets.fake_eos import FakeEos, Session
from tests.targets.fake_ssh import SshServer

REF = DeviceRef("ctsw1", "ctsw", "eos")
OLD = "hostname ctsw1\nend\n"
NEW = "hostname ctsw1\nusername a secret sha512 s3cret\nend\n"


@pytest.fixture
def eos(tmp_path: Path) -> FakeEos:
    (tmp_path / "mnt/flash").mkdir(parents=True)
    return FakeEos(tmp_path)


@pytest.fixture
def server(eos: FakeEos, tmp_path: Path) -> Iterator[SshServer]:
    with SshServer(eos.shell, tmp_path).running() as running:
        yield running


@pytest.fixture
def connect(server: SshServer, tmp_path: Path) -> Iterator[Callable[..., EosDevice]]:
    made: list[EosDevice] = []

    def device(**login: Any) -> EosDevice:
        made.append(EosDevice(REF, server.login(tmp_path, **login), _fill))
        return made[-1]

    yield device
    for each in made:
        each.close()


def _fill(content: bytes) -> bytes:
    return content.replace(b"$SECRET{a}", b"s3cret")


def _artifact(text: str = "hostname ctsw1\nusername a secret sha512 $SECRET{a}\nend\n") -> list[Artifact]:
    return [Artifact("ctsw1", "ctsw", "eos", STARTUP_CONFIG, text.encode(), 0o600, secret=True)]


def _flash(eos: FakeEos) -> list[str]:
    return sorted(file.name for file in (eos.root / "mnt/flash").iterdir())


@pytest.mark.parametrize("from_432", [False, True], ids=["before-4.32", "from-4.32"])
@pytest.mark.parametrize("chassis", ["", "(s1)"])
def test_stage_commit_confirm(eos: FakeEos, connect: Callable[..., EosDevice], from_432: bool, chassis: str) -> None:
    eos.from_432, eos.chassis = from_432, chassis
    device = connect()
    staged = device.stage(_artifact(), "r1")
    assert "+username a secret sha512 <secret>" in staged.diff
    assert "s3cret" not in staged.diff
    assert (eos.running, _flash(eos)) == (OLD, [])
    device.commit(staged, 300)
    assert "configure session fabric-r1 commit timer 00:05:00" in eos.log
    assert [(it.token, it.armed, it.ours) for it in device.pending()] == [("r1", True, True)]
    device.reconnect()
    device.confirm(staged)
    assert eos.running == eos.startup == NEW
    assert device.pending() == []
    assert device.read([STARTUP_CONFIG, "/etc/other"]) == {STARTUP_CONFIG: NEW.encode(), "/etc/other": None}


@pytest.mark.parametrize("saved", [False, True])
def test_a_confirmation_cut_short_is_finished(eos: FakeEos, connect: Callable[..., EosDevice], saved: bool) -> None:
    device = connect()
    staged = device.stage(_artifact(), "r1")
    later = connect()
    with pytest.raises(DeviceError, match="was not confirmed"):
        later.finish(staged)
    device.commit(staged, 300)
    with pytest.raises(DeviceError, match="was not confirmed"):
        later.finish(staged)
    eos.session("fabric-r1", ["commit"])  # confirmed, and then the connection went
    if saved:
        eos.startup = eos.running
    assert not (saved and "write memory" in eos.log)
    for _ in range(2):
        later.finish(staged)
        assert eos.running == eos.startup == NEW
    assert eos.log.count("write memory") == (0 if saved else 1)
    device.rollback(staged)  # the checkpoint is still there
    assert eos.running == eos.startup == OLD


def test_no_difference_is_an_empty_diff(connect: Callable[..., EosDevice]) -> None:
    device = connect()
    staged = device.stage(_artifact(OLD), "r1")
    assert staged.diff == ""
    device.discard(staged)
    device.discard(staged)
    assert device.pending() == []


@pytest.mark.parametrize("fresh", [False, True], ids=["same object", "a later run"])
def test_rollback_while_the_timer_runs(eos: FakeEos, connect: Callable[..., EosDevice], fresh: bool) -> None:
    device = connect()
    staged = device.stage(_artifact(), "r1")
    device.commit(staged, 300)
    (connect() if fresh else device).rollback(staged)
    assert (eos.running, eos.startup, eos.armed) == (OLD, OLD, None)


@pytest.mark.parametrize("fresh", [False, True], ids=["same object", "a later run"])
def test_after_the_timer_confirm_says_so_and_rollback_is_right(
    eos: FakeEos, connect: Callable[..., EosDevice], fresh: bool
) -> None:
    device = connect()
    staged = device.stage(_artifact(), "r1")
    device.commit(staged, 300)
    eos.expire()
    later = connect() if fresh else device
    with pytest.raises(DeviceError, match="has returned to its old configuration"):
        later.confirm(staged)
    later.rollback(staged)
    assert eos.running == OLD


def test_rollback_after_the_confirmation_restores_the_checkpoint(
    eos: FakeEos, connect: Callable[..., EosDevice]
) -> None:
    device = connect()
    staged = device.stage(_artifact(), "r1")
    device.commit(staged, 300)
    device.confirm(staged)
    connect().rollback(staged)
    assert (eos.running, eos.startup) == (OLD, OLD)


def test_rollback_of_what_was_never_committed_changes_nothing(eos: FakeEos, connect: Callable[..., EosDevice]) -> None:
    device = connect()
    device.rollback(device.stage(_artifact(), "r1"))
    device.rollback(Staged("ctsw1", "never", ""))
    assert (eos.running, eos.sessions) == (OLD, {})
    assert "write memory" not in eos.log


def test_a_new_host_name_changes_the_prompt(eos: FakeEos, connect: Callable[..., EosDevice]) -> None:
    device = connect()
    staged = device.stage(_artifact("hostname other.7\nend\n"), "r1")
    device.commit(staged, 300)
    device.confirm(staged)
    assert eos.startup == "hostname other.7\nend\n"


def test_a_refused_line_aborts_the_session_and_is_told(eos: FakeEos, connect: Callable[..., EosDevice]) -> None:
    with pytest.raises(DeviceRefusedError) as caught:
        connect().stage(_artifact("hostname ctsw1\nbogus secret $SECRET{a}\nend\n"), "r1")
    assert caught.value.lines == ("> bogus secret <secret>% Invalid input (at token 2: '<secret>') at line 2",)
    assert (eos.sessions, _flash(eos), eos.running) == ({}, [], OLD)


def test_a_full_flash_leaves_nothing_behind(eos: FakeEos, server: SshServer, connect: Callable[..., EosDevice]) -> None:
    server.full = True
    with pytest.raises(DeviceError, match=r"flash is full: \d+ bytes do not fit, 16 are free"):
        connect().stage(_artifact(), "r1")
    assert (eos.sessions, _flash(eos)) == ({}, [])


def test_foreign_and_own_leftovers(eos: FakeEos, connect: Callable[..., EosDevice]) -> None:
    eos.sessions = {"fabric-old": Session(OLD), "joe": Session(OLD)}
    (eos.root / "mnt/flash/.fabric-old").write_text("secret")
    connect().stage(_artifact(), "r1")
    assert sorted(eos.sessions) == ["fabric-r1", "joe"], (
        "own orphans are aborted, others' sessions are not ours to touch"
    )
    assert _flash(eos) == []


def test_a_foreign_timer_refuses_stage_and_commit(eos: FakeEos, connect: Callable[..., EosDevice]) -> None:
    device = connect()
    staged = device.stage(_artifact(), "r1")
    eos.sessions["joe"] = Session(NEW, "committed")
    eos.armed = ("joe", time.monotonic() + 300, OLD)
    for refused in (lambda: device.stage(_artifact(), "r2"), lambda: device.commit(staged, 300)):
        with pytest.raises(DeviceRefusedError, match="someone else's change"):
            refused()
    assert [it.token for it in device.pending() if it.armed] == ["joe"]


def test_too_many_sessions_is_told_in_the_words_of_eos(eos: FakeEos, connect: Callable[..., EosDevice]) -> None:
    eos.sessions = {f"joe{n}": Session(OLD) for n in range(5)}
    with pytest.raises(DeviceRefusedError, match="Maximum number of pending sessions"):
        connect().stage(_artifact(), "r1")


@pytest.mark.parametrize("fresh", [False, True], ids=["same object", "a later run"])
def test_a_device_changed_by_hand_is_not_committed(
    eos: FakeEos, connect: Callable[..., EosDevice], fresh: bool
) -> None:
    device = connect()
    staged = device.stage(_artifact(), "r1")
    eos.running = "hostname ctsw1\nby hand\nend\n"
    with pytest.raises(DeviceRefusedError, match="has changed since"):
        (connect() if fresh else device).commit(staged, 300)
    assert eos.armed is None


def test_ssh_lost_while_staging_leaves_no_secrets(eos: FakeEos, connect: Callable[..., EosDevice]) -> None:
    eos.drop_on = "copy file:"
    with pytest.raises(DeviceError):
        connect().stage(_artifact(), "r1")
    assert (_flash(eos), eos.sessions) == ([], {})


def test_a_file_that_was_left_on_flash_is_pending_and_can_be_discarded(
    eos: FakeEos, connect: Callable[..., EosDevice]
) -> None:
    for name in (".fabric-r0", ".fabric-r1", ".fabric-not a token", "startup-config"):
        (eos.root / "mnt/flash" / name).write_text("s3cret")
    eos.sessions["fabric-r1"] = Session(OLD)
    device = connect()
    found = device.pending()
    assert [(p.token, p.armed, p.ours) for p in found] == [("r1", False, True), ("r0", False, True)]
    assert found[1].detail == "file .fabric-r0 left on flash"
    for item in found:
        device.discard(Staged("ctsw1", item.token, ""))
    assert (device.pending(), _flash(eos)) == ([], [".fabric-not a token", "startup-config"])


def test_ssh_lost_before_the_commit_changes_nothing(eos: FakeEos, connect: Callable[..., EosDevice]) -> None:
    device = connect()
    staged = device.stage(_artifact(), "r1")
    eos.drop_on = "show configuration sessions"
    with pytest.raises(DeviceError, match="closed by the device"):
        device.commit(staged, 300)
    assert eos.armed is None


def test_ssh_lost_by_the_commit_is_no_failure_when_management_survives(
    eos: FakeEos, connect: Callable[..., EosDevice]
) -> None:
    device = connect()
    staged = device.stage(_artifact(), "r1")
    eos.drop_on = "configure session fabric-r1 commit"
    device.commit(staged, 300)
    assert eos.armed
    assert eos.running == NEW


def test_bad_answers_are_one_clear_line_in_bounded_time(
    eos: FakeEos, connect: Callable[..., EosDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "ANSWER_LIMIT", 1024 * 1024)
    device = connect(timeout_s=2.0)
    eos.answers["show version | json"] = '{"version": '
    eos.answers["show lldp neighbors detail | json"] = "\x00\xff garbage"
    for ask, said in ((device.version, "broken JSON"), (device.lldp, "not JSON"), (device.routes, "Invalid input")):
        with pytest.raises(DeviceError, match=said):
            ask()
    eos.flood = "show ip route"
    with pytest.raises(DeviceError, match="more than 1 MiB"):
        device.routes()
    eos.flood, eos.silent = "", "show ip route"
    start = time.monotonic()
    with pytest.raises(DeviceError, match=r"no end of the answer to 'show ip route \| json' in time"):
        device.routes()
    assert time.monotonic() - start < 45


def test_facts_come_through_a_repeated_echo_and_from_an_unprivileged_prompt(
    eos: FakeEos, connect: Callable[..., EosDevice], reference_dir: Path
) -> None:
    eos.duplicate_echo = eos.unprivileged = True
    folder = reference_dir / "device-answers/eos"
    for command, file in (
        ("show version | json", "show_version.json"),
        ("show hostname | json", "show_hostname.json"),
        ("show lldp neighbors detail | json", "show_lldp_neighbors_detail.json"),
        ("show ip bgp summary | json", "show_ip_bgp_summary.json"),
        ("show bgp ipv6 unicast summary | json", "show_bgp_ipv6_unicast_summary.json"),
        ("show ip route | json", "show_ip_route.json"),
        ("show ipv6 route | json", "show_ipv6_route.json"),
        ("show interfaces status | json", "show_interfaces_status.json"),
    ):
        eos.answers[command] = (folder / file).read_text()
    device = connect()
    assert device.version().model == "DCS-7808-EXAMPLE"
    assert len(device.lldp()) == 4
    assert len(device.bgp()) == 5, "both families, the second by its other command"
    assert len(device.routes()) == 3
    assert len(device.interfaces()) == 4


@pytest.mark.parametrize(("seconds", "text"), [(1, "00:00:01"), (3661, "01:01:01"), (300, "00:05:00")])
def test_timer(seconds: int, text: str) -> None:
    assert timer(seconds) == text


@pytest.mark.parametrize("seconds", [0, -5, 360000])
def test_no_timer(seconds: int) -> None:
    with pytest.raises(DeviceError, match="not possible"):
        timer(seconds)


@pytest.mark.parametrize("token", ["", "a b", "a;reboot", "-x", "a" * 41, "a\n"])
def test_a_token_cannot_smuggle_a_command(token: str) -> None:
    with pytest.raises(DeviceError, match="cannot name a change"):
        checked_token(token)


def test_ctrl_c_while_staging_leaves_nothing_behind(
    eos: FakeEos, connect: Callable[..., EosDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    device = connect()
    device.pending()

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("fabric.targets.eos.device_cli.EosCli.diff", interrupted)
    with pytest.raises(KeyboardInterrupt):
        device.stage(_artifact(), "r1")
    assert (_flash(eos), eos.sessions) == ([], {})
