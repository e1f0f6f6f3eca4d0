"""The FBOSS driver against a box with a real shell and real files, over real SSH, with what goes wrong there."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.targets import ssh
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.device import DeviceError, DeviceRefusedError, Staged
from fabric.targets.fboss.device import FbossDevice
from fabric.targets.fboss.rendering import normalise
from tests.targets.fake_fboss import FakeFboss
from tests.targets.fake_ssh import SshServer

REF = DeviceRef("rtsw1", "rtsw", "fboss")
AGENT, BGP, LED = "agent.conf", "bgpcpp/bgpcpp.conf", "led.conf"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[FakeFboss]:
    fake = FakeFboss(tmp_path / "box")
    (fake.coop / AGENT).write_bytes(_agent("old"))
    (fake.coop / BGP).write_bytes(_bgp("192.0.2.1"))
    yield fake
    fake.end_timers()


@pytest.fixture
def server(box: FakeFboss) -> Iterator[SshServer]:
    with SshServer(box.shell, None).running() as running:
        yield running


@pytest.fixture
def connect(box: FakeFboss, server: SshServer, tmp_path: Path) -> Iterator[Callable[..., FbossDevice]]:
    made: list[FbossDevice] = []

    def device(**login: Any) -> FbossDevice:
        made.append(FbossDevice(REF, server.login(tmp_path, **login), lambda content: content, coop=str(box.coop)))
        return made[-1]

    yield device
    for each in made:
        each.close()


def _agent(name: str) -> bytes:
    return normalise(
        "x",
        json.dumps({"defaultCommandLineArgs": {}, "sw": {"version": 0, "vlans": [{"id": 1, "name": name}]}}).encode(),
    )


def _bgp(router: str) -> bytes:
    return normalise("x", json.dumps({"router_id": router, "networks4": [], "networks6": [], "peers": []}).encode())


def _files(box: FakeFboss, **content: bytes) -> list[Artifact]:
    paths = {"agent": AGENT, "bgp": BGP, "led": LED}
    return [Artifact("rtsw1", "rtsw", "fboss", f"{box.coop}/{paths[key]}", value) for key, value in content.items()]


def _state(box: FakeFboss) -> tuple[bytes, bytes, bool]:
    """Both files, and whether anything of ours is left beside them."""
    left = [*box.coop.rglob("*fabric-*"), *(box.folder / "units").iterdir()]
    return (box.coop / AGENT).read_bytes(), (box.coop / BGP).read_bytes(), bool(left)


OLD = (_agent("old"), _bgp("192.0.2.1"), False)
NEW = (_agent("new"), _bgp("192.0.2.2"), False)


def _both(box: FakeFboss) -> list[Artifact]:
    return _files(box, agent=NEW[0], bgp=NEW[1])


def test_stage_commit_confirm(box: FakeFboss, connect: Callable[..., FbossDevice]) -> None:
    device = connect()
    staged = device.stage(_both(box), "r1")
    changes = [(line[0], line.split()[-1]) for line in staged.diff.splitlines() if line[0] in "+-" and '"name"' in line]
    assert changes == [("-", '"old"}'), ("+", '"new"}')]
    assert _state(box)[:2] == OLD[:2]
    assert [(it.token, it.armed, it.detail) for it in device.pending()] == [("r1", False, "staged")]
    device.commit(staged, 300)
    assert box.log == ["config reload", "restart bgpd"]
    assert [(it.token, it.armed, it.ours) for it in device.pending()] == [("r1", True, True)]
    device.reconnect()
    device.confirm(staged)
    assert _state(box) == NEW
    assert device.pending() == []


def test_only_what_changed_is_restarted_and_links_stay_links(
    box: FakeFboss, connect: Callable[..., FbossDevice]
) -> None:
    (box.coop / "cli").mkdir()
    (box.coop / AGENT).rename(box.coop / "cli/agent.conf")
    (box.coop / AGENT).symlink_to("cli/agent.conf")
    device = connect()
    staged = device.stage(_files(box, agent=OLD[0], bgp=NEW[1], led=b"{}\n"), "r1")
    device.commit(staged, 300)
    assert box.log == ["restart bgpd", "restart led_service"]
    device.rollback(staged)
    assert not (box.coop / LED).exists()
    assert (box.coop / AGENT).is_symlink()
    assert _state(box) == OLD
    staged = device.stage(_files(box, agent=NEW[0]), "r2")
    device.commit(staged, 300)
    device.confirm(staged)
    assert (box.coop / AGENT).is_symlink()
    assert (box.coop / "cli/agent.conf").read_bytes() == NEW[0]


@pytest.mark.parametrize("end", ["confirm", "rollback", "timer"])
def test_a_file_is_removed_and_comes_back(box: FakeFboss, connect: Callable[..., FbossDevice], end: str) -> None:
    device = connect()
    (box.coop / LED).write_bytes(b"{}\n")
    absent = [f"{box.coop}/{path}" for path in (BGP, LED, "qsfp.conf")]
    staged = device.stage(_files(box, agent=OLD[0]), "r1", absent)
    assert f"--- {box.coop}/{BGP}\n+++ /dev/null" in staged.diff
    device.commit(staged, 4 if end == "timer" else 300)
    if end == "timer":
        until = time.monotonic() + 120
        while not (box.coop / LED).exists():
            assert time.monotonic() < until
            time.sleep(0.05)
    else:
        assert [(box.coop / path).exists() for path in (BGP, LED)] == [False, False]
        assert box.log == ["stop bgpd", "restart led_service"]
        (device.confirm if end == "confirm" else device.rollback)(staged)
    there = end != "confirm"
    assert [(box.coop / path).exists() for path in (BGP, LED, "qsfp.conf")] == [there, there, False]
    if there:
        assert (box.coop / BGP).read_bytes() == OLD[1]


def test_a_confirmation_cut_short_is_finished(box: FakeFboss, connect: Callable[..., FbossDevice]) -> None:
    device = connect()
    staged = device.stage(_both(box), "r1")
    with pytest.raises(DeviceError, match="was not confirmed"):
        device.finish(staged)
    device.commit(staged, 300)
    (box.folder / "units/fabric-revert-r1.timer").unlink()  # what the script of a confirmation does first
    for _ in range(2):
        connect().finish(staged)
        assert _state(box) == NEW
    (box.folder / "answers/show_config_running_agent").write_bytes(OLD[0])
    with pytest.raises(DeviceRefusedError, match=r"sw.vlans\[0\].name: new in the file, old in force"):
        connect().finish(staged)


def test_an_agent_that_keeps_a_difference_is_not_confirmed(box: FakeFboss, connect: Callable[..., FbossDevice]) -> None:
    device = connect()
    staged = device.stage(_both(box), "r1")
    device.commit(staged, 300)
    (box.folder / "answers/show_config_running_agent").write_bytes(OLD[0])
    with pytest.raises(DeviceRefusedError, match=r"sw.vlans\[0\].name: new in the file, old in force"):
        device.confirm(staged)
    device.rollback(staged)
    assert _state(box) == OLD


def test_an_agent_that_does_not_run_its_file_is_told_again(box: FakeFboss, connect: Callable[..., FbossDevice]) -> None:
    device = connect()
    device.run_files()
    assert box.log == []
    running = box.folder / "answers/show_config_running_agent"
    running.write_bytes(NEW[0])  # as after a reload that said yes and did nothing
    with pytest.raises(DeviceRefusedError, match=r"sw.vlans\[0\].name: old in the file, new in force"):
        device.run_files()
    assert box.log == ["config reload"]


def test_nothing_to_change(box: FakeFboss, connect: Callable[..., FbossDevice]) -> None:
    device = connect()
    staged = device.stage(_files(box, agent=OLD[0], bgp=OLD[1]), "r1")
    assert staged.diff == ""
    device.commit(staged, 300)
    device.confirm(staged)
    assert (box.log, _state(box)) == ([], OLD)


@pytest.mark.parametrize("fresh", [False, True], ids=["same object", "a later run"])
def test_rollback_while_the_timer_runs(box: FakeFboss, connect: Callable[..., FbossDevice], fresh: bool) -> None:
    device = connect()
    staged = device.stage(_both(box), "r1")
    device.commit(staged, 300)
    (connect() if fresh else device).rollback(Staged("rtsw1", "r1", ""))
    assert _state(box) == OLD
    assert box.log == ["config reload", "restart bgpd"] * 2
    device.rollback(staged)


def test_rollback_waits_for_a_timer_that_is_at_it(box: FakeFboss, connect: Callable[..., FbossDevice]) -> None:
    """Two that return the old files at once would stand in each other's way."""
    device = connect()
    staged = device.stage(_both(box), "r1")
    device.commit(staged, 300)
    service = box.folder / "units/fabric-revert-r1.service"
    (box.folder / "units/fabric-revert-r1.timer").rename(service)
    assert device.pending()[0].armed
    ends = threading.Timer(2, service.unlink)
    ends.start()
    device.rollback(staged)
    waited = not service.exists()
    ends.join()
    assert waited
    assert _state(box) == OLD


def test_the_timer_returns_the_old_files_by_itself(box: FakeFboss, connect: Callable[..., FbossDevice]) -> None:
    device = connect()
    staged = device.stage(_both(box), "r1")
    device.commit(staged, 4)
    deadline = time.monotonic() + 120
    while device.pending()[0].armed or not device.pending()[0].detail.startswith("restored"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    with pytest.raises(DeviceError, match="already returned the old files"):
        device.confirm(staged)
    device.rollback(staged)
    assert _state(box) == OLD


def test_a_reboot_forgets_the_timer_and_rollback_still_works(
    box: FakeFboss, connect: Callable[..., FbossDevice]
) -> None:
    device = connect()
    staged = device.stage(_both(box), "r1")
    device.commit(staged, 300)
    (box.folder / "units/fabric-revert-r1.timer").unlink()
    assert "its timer is gone" in device.pending()[0].detail
    with pytest.raises(DeviceRefusedError, match="waits for its confirmation"):
        device.stage(_both(box), "r2")
    device.rollback(staged)
    assert _state(box) == OLD


def test_a_refused_configuration_is_undone_at_once(box: FakeFboss, connect: Callable[..., FbossDevice]) -> None:
    device = connect()
    staged = device.stage(_files(box, agent=_agent("REFUSED"), bgp=NEW[1]), "r1")
    with pytest.raises(DeviceRefusedError, match="the old files are back") as caught:
        device.commit(staged, 300)
    assert "Thrift call failed: bad config" in caught.value.lines
    assert _state(box)[:2] == OLD[:2]
    assert not any(it.armed for it in device.pending())
    device.rollback(staged)
    assert _state(box) == OLD


@pytest.mark.parametrize("how", ["refuse", "dead"])
def test_a_daemon_that_does_not_start_is_undone(box: FakeFboss, connect: Callable[..., FbossDevice], how: str) -> None:
    (box.folder / how / "led_service").touch()
    device = connect()
    staged = device.stage(_files(box, agent=NEW[0], led=b"{}\n"), "r1")
    with pytest.raises(DeviceError, match="could not be put back in force"):
        device.commit(staged, 300)
    assert device.pending()[0].armed, "the timer tries again"
    (box.folder / how / "led_service").unlink()
    device.rollback(staged)
    assert _state(box) == OLD


def test_without_a_timer_nothing_changes(box: FakeFboss, connect: Callable[..., FbossDevice]) -> None:
    (box.folder / "refuse/systemd-run").touch()
    device = connect()
    staged = device.stage(_both(box), "r1")
    with pytest.raises(DeviceError, match="could not be armed; nothing was changed"):
        device.commit(staged, 300)
    device.discard(staged)
    assert (_state(box), box.log) == (OLD, [])


@pytest.mark.parametrize(
    "files", [{"agent": NEW[0]}, {"agent": OLD[0], "bgp": NEW[1]}], ids=["changed", "right already"]
)
def test_a_file_changed_by_hand_is_not_overwritten(
    box: FakeFboss, connect: Callable[..., FbossDevice], files: dict[str, bytes]
) -> None:
    device = connect()
    staged = device.stage(_files(box, **files), "r1")
    (box.coop / AGENT).write_bytes(b"{}")
    with pytest.raises(DeviceRefusedError, match="has changed since"):
        device.commit(staged, 300)
    device.discard(staged)
    assert _state(box) == (b"{}", OLD[1], False)


def test_a_file_that_the_daemons_would_skip_in_silence_is_refused(
    box: FakeFboss, connect: Callable[..., FbossDevice]
) -> None:
    for bad in (b'{"sw": {"prots": []}}', b"{", b'{"sw": {"version": "0"}}'):
        with pytest.raises(DeviceRefusedError):
            connect().stage(_files(box, agent=bad), "r1")
    with pytest.raises(DeviceError, match="not a configuration file of FBOSS"):
        connect().stage([Artifact("rtsw1", "rtsw", "fboss", "/etc/passwd", b"{}")], "r1")
    assert _state(box) == OLD


def test_a_full_disk_leaves_nothing_behind(
    box: FakeFboss, server: SshServer, connect: Callable[..., FbossDevice]
) -> None:
    server.full = True
    with pytest.raises(DeviceError, match="writing"):
        connect().stage(_both(box), "r1")
    assert _state(box) == OLD


@pytest.mark.parametrize("at", ["mkdir -m 0700", "sha256sum -c", "commit.sh"])
def test_ssh_lost_in_the_middle_is_recoverable(box: FakeFboss, connect: Callable[..., FbossDevice], at: str) -> None:
    device = connect()
    box.drop_before = at
    with pytest.raises(DeviceError, match=r"lost|closed"):
        device.commit(device.stage(_both(box), "r1"), 300)
    assert _state(box)[:2] == OLD[:2]
    again = connect()
    staged = again.stage(_both(box), "r2")
    assert [it.token for it in again.pending()] == ["r2"], "what the first attempt left is gone"
    again.commit(staged, 300)
    again.rollback(staged)
    assert _state(box) == OLD


def test_facts(box: FakeFboss, connect: Callable[..., FbossDevice], reference_dir: Path) -> None:
    device = connect()
    with pytest.raises(DeviceRefusedError, match="Thrift call failed: 'no'"):
        device.lldp()
    for name in ("lldp", "bgp_summary", "route", "interface", "product"):
        text = (reference_dir / f"device-answers/fboss/show_{name}.json").read_text()
        (box.folder / f"answers/show_{name}").write_text(text)
    assert len(device.lldp()) == 2
    assert len(device.bgp()) == 3
    assert len(device.routes()) == 3
    assert [it.admin_up for it in device.interfaces()] == [None, None], "show port was refused"
    version = device.version()
    assert (version.model, version.image) == ("MINIPACK2-EXAMPLE", None)
    assert version.uptime_s


def test_bad_answers_are_one_clear_line_in_bounded_time(
    box: FakeFboss, connect: Callable[..., FbossDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "ANSWER_LIMIT", 1024 * 1024)
    device = connect(timeout_s=2.0)
    for text, said in (
        ('{"localhost":', "broken JSON"),
        ("nonsense", "not JSON"),
        ("x" * 3_000_000, "more than 1 MiB"),
    ):
        (box.folder / "answers/show_lldp").write_text(text)
        with pytest.raises(DeviceError, match=said):
            device.lldp()
    (box.folder / "bin/fboss2").write_text("#!/bin/sh\nexec sleep 5\n")
    start = time.monotonic()
    with pytest.raises(DeviceError, match="no end of the answer"):
        device.lldp()
    assert time.monotonic() - start < 45
