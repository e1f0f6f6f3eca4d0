"""Sessions, commit timers, files and faults of the virtual EOS, as an operator meets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lab_unit.veos_box import VeosBox

BASE = "hostname ctsw001\ninterface Ethernet3/1/1\n   mtu 1500\n   no switchport\n"


@pytest.fixture
def box(tmp_path: Path) -> VeosBox:
    return VeosBox(tmp_path, startup=BASE)


def states(box: VeosBox) -> dict[str, str]:
    data = box.cli().json("show configuration sessions detail")
    return {name: one["state"] for name, one in data["sessions"].items()}


def mtu(box: VeosBox) -> str | None:
    section = box.switch.sessions.running.find("interface", "Ethernet3/1/1")[0]
    return section.value("mtu")


def test_prompts(tmp_path: Path) -> None:
    box = VeosBox(tmp_path, startup=BASE, supervisor_prompt=True, session_name_cut=10)
    cli = box.cli(enabled=False)
    seen = [cli.prompt]
    for line in (
        "enable",
        "configure terminal",
        "int et3/1/1",
        "exit",
        "router bgp 65001",
        "end",
        "configure session netcode_1782878953",
        "interface et3/1/1",
    ):
        assert cli.say(line) == ""
        seen.append(cli.prompt)
    assert seen == [
        "ctsw001(s1)>",
        "ctsw001(s1)#",
        "ctsw001(s1)(config)#",
        "ctsw001(s1)(config-if-Et3/1/1)#",
        "ctsw001(s1)(config)#",
        "ctsw001(s1)(config-router-bgp)#",
        "ctsw001(s1)#",
        "ctsw001(s1)(config-s-netcode_17)#",
        "ctsw001(s1)(config-s-netcode_17-if-Et3/1/1)#",
    ]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("terminal width 511", "Width set to 511 columns.\n"),
        ("term len 0", "Pagination disabled.\n"),
        ("show bogus", "% Invalid input (at token 1: 'bogus')\n"),
        ("show", "% Incomplete command (at token 0: 'show')\n"),
        ("commit", "% Invalid input (at token 0: 'commit')\n"),
        ("copy terminal: session-config", "% Invalid input (at token 2: 'session-config')\n"),
        (
            "copy flash:none running-config",
            "% Error copying flash:none to running-config (No such file or directory)\n",
        ),
        (
            "copy flash:../../secret running-config",
            "% Error copying flash:../../secret to running-config (No such file or directory)\n",
        ),
        ("configure session x abort", "% Session x does not exist\n"),
        ("sh host", "Hostname: ctsw001\nFQDN:     ctsw001\n"),
        ("show running-config | include mtu", "   mtu 1500\n"),
        ("show running-config | section Ethernet3/1", "interface Ethernet3/1/1\n   mtu 1500\n   no switchport\n"),
        ("show running-config section Ethernet3/1", "interface Ethernet3/1/1\n   mtu 1500\n   no switchport\n"),
        ("show running-config diffs | no-more | begin nothing", ""),
    ],
)
def test_answers(box: VeosBox, line: str, answer: str) -> None:
    assert box.cli().say(line) == answer


def test_without_enable_nothing_is_changed(box: VeosBox) -> None:
    cli = box.cli(enabled=False)
    assert cli.say("configure session a") == "% Invalid input (at token 0: 'configure')\n"
    assert cli.say("show hostname").startswith("Hostname")


def test_a_session_shows_its_diff_and_nothing_changes_before_the_commit(box: VeosBox) -> None:
    cli = box.cli()
    cli.say("configure session a", "interface Ethernet3/1/1", "mtu 9214")
    assert cli.say("show session-config diffs") == (
        "--- system:/running-config\n+++ session:/a-session-config\n@@ -1,7 +1,7 @@\n hostname ctsw001\n !\n"
        " interface Ethernet3/1/1\n-   mtu 1500\n+   mtu 9214\n    no switchport\n !\n interface Ethernet3/2/1\n"
    )
    assert (mtu(box), len(box.programmed)) == ("1500", 1)
    assert cli.say("commit") == ""
    assert (mtu(box), len(box.programmed), cli.prompt) == ("9214", 2, "ctsw001#")
    assert states(box) == {"a": "completed"}
    assert box.cli().say("show session-config named a diffs") == ""
    assert "mtu 1500" in (box.folder / "flash" / "startup-config").read_text(encoding="utf-8"), "a commit does not save"


def test_clean_config_and_paste_replace_everything(box: VeosBox) -> None:
    cli = box.cli()
    cli.say("configure session a", "rollback clean-config")
    said = cli.paste("hostname new\nruter bgp 1\ninterface Ethernet3/1/1\n   mtu 9000\nend\n")
    assert said == "> ruter bgp 1% Invalid input (at token 0: 'ruter') at line 2\nCopy completed successfully.\n"
    cli.say("commit")
    assert box.switch.hostname == "new"
    assert mtu(box) == "9000"
    assert "no switchport" not in box.cli().say("show running-config")


def test_what_is_equal_has_no_diff(box: VeosBox) -> None:
    cli = box.cli()
    cli.say("configure session a", "rollback clean-config")
    cli.paste(BASE)
    assert cli.say("show session-config diffs") == ""


def test_a_profile_shows_in_the_diff_only_when_its_mode_is_left(box: VeosBox) -> None:
    cli = box.cli()
    cli.say("configure session a", "qos profile ROCE", "qos trust dscp")
    assert cli.say("show session-config diffs") == ""
    cli.say("exit")
    assert "+qos profile ROCE" in cli.say("show session-config diffs")


@pytest.mark.parametrize("release", ["4.31.2F", "4.33.1F"])
def test_an_armed_commit_is_told_in_the_form_of_its_release(tmp_path: Path, release: str) -> None:
    box = VeosBox(tmp_path, startup=BASE, version=release)
    box.cli().say("configure session a", "hostname other", "commit timer 00:05:00")
    data: dict[str, Any] = box.cli().json("show configuration sessions detail")
    if release == "4.31.2F":
        assert data["sessions"]["a"]["state"] == "pendingCommitTimer"
        assert data["sessions"]["a"]["commitBy"] == box.now + 300
        assert "commitTimerSessionName" not in data
    else:
        assert data["sessions"]["a"]["state"] == "committed"
        assert (data["commitTimerSessionName"], data["commitTimerExpireTime"]) == ("a", box.now + 300)
        assert "commitBy" not in data["sessions"]["a"]


def test_the_timer_reverts_and_a_confirmed_one_does_not(box: VeosBox) -> None:
    box.cli().say("configure session a", "hostname other", "commit timer 00:00:30")
    assert box.switch.hostname == "other"
    box.now += 29
    assert box.switch.sessions.tick() == pytest.approx(1)
    box.now += 2
    assert box.switch.sessions.tick() is None
    assert (box.switch.hostname, box.programmed[-1]) == ("ctsw001", box.programmed[0])
    assert states(box) == {}
    box.cli().say("configure session b", "hostname kept", "commit timer 00:00:30")
    box.cli().say("configure session b commit")
    box.now += 100
    assert box.switch.sessions.tick() is None
    assert (box.switch.hostname, states(box)) == ("kept", {"b": "completed"})


def test_an_armed_commit_is_undone_by_abort_and_excludes_others(box: VeosBox) -> None:
    box.cli().say("configure session a", "hostname other", "commit timer 00:05:00")
    other = box.cli()
    other.say("configure session b", "hostname third")
    assert other.say("commit").startswith("% Cannot commit")
    box.cli().say("configure session a abort")
    assert box.switch.hostname == "ctsw001"


def test_a_timer_started_again_reverts_to_the_state_before_both(box: VeosBox) -> None:
    box.cli().say("configure session a", "hostname other", "commit timer 00:00:30")
    box.now += 20
    box.cli().say("configure session a commit timer 00:00:30")
    box.now += 20
    assert box.switch.sessions.tick() == pytest.approx(10)
    box.now += 10
    box.switch.sessions.tick()
    assert box.switch.hostname == "ctsw001"


def test_five_sessions_may_be_pending_and_a_lost_one_counts(box: VeosBox) -> None:
    for number in range(5):
        box.cli().say(f"configure session s{number}")
    assert box.cli().say("configure session s5") == "% Maximum number of pending sessions has been reached\n"
    box.cli().say("no configure session s0")
    assert box.cli().say("configure session s5") == ""
    assert set(states(box)) == {"s1", "s2", "s3", "s4", "s5"}


def test_end_leaves_a_session_pending_and_abort_does_not(box: VeosBox) -> None:
    cli = box.cli()
    cli.say("configure session a", "hostname x", "end")
    assert (cli.prompt, states(box)) == ("ctsw001#", {"a": "pending"})
    cli.say("configure session a")
    assert "+hostname x" in cli.say("show session-config diffs")
    cli.say("interface Ethernet3/1/1", "abort")
    assert (cli.prompt, states(box)) == ("ctsw001#", {})


def test_saving_and_booting(box: VeosBox) -> None:
    cli = box.cli()
    cli.say("configure terminal", "hostname kept", "end")
    assert cli.say("write memory") == "Copy completed successfully.\n"
    cli.say("configure session a", "hostname lost", "commit timer 00:05:00")
    box.switch.boot()
    box.now += 1000
    box.switch.sessions.tick()
    assert box.switch.hostname == "kept", "an armed timer is lost with the reboot"
    assert states(box) == {}


def test_a_full_flash_is_told_and_the_old_file_stays(box: VeosBox, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    said = box.cli().say("copy running-config startup-config")
    assert said == "% Error copying running-config to startup-config (No space left on device)\n"
    assert (box.folder / "flash" / "startup-config").read_text(encoding="utf-8") == BASE


def test_checkpoints_and_replace(box: VeosBox) -> None:
    cli = box.cli()
    cli.say("configure checkpoint save before", "configure session a", "hostname other", "commit")
    assert [name.split("-")[0] for name in cli.json("show configuration checkpoints")["checkpoints"]] == [
        "before",
        "ckp",
    ]
    assert cli.say("configure checkpoint restore before") == ""
    assert box.switch.hostname == "ctsw001"
    (box.folder / "flash" / "good.cfg").write_text("hostname good\n", encoding="utf-8")
    (box.folder / "flash" / "bad.cfg").write_text("hostname bad\nbogus\n", encoding="utf-8")
    assert cli.say("configure replace flash:good.cfg") == ""
    assert cli.say("configure replace flash:bad.cfg").startswith(
        "> bogus% Invalid input (at token 0: 'bogus') at line 2\n%"
    )
    assert box.switch.hostname == "good"


def test_files_on_flash(box: VeosBox) -> None:
    cli = box.cli()
    assert cli.say("copy running-config flash:rollback-0") == "Copy completed successfully.\n"
    listing = cli.say("dir flash:")
    assert "rollback-0" in listing
    assert "bytes free" in listing
    (box.folder / "flash" / "x").write_bytes(b"abc")
    assert (
        cli.say("verify /md5 file:/mnt/flash/x")
        == "verify /md5 (file:/mnt/flash/x) = 900150983cd24fb0d6963f7d28e17f72\n"
    )
    assert cli.reply("bash timeout 10 df -h").argument == "timeout 10 df -h"


def test_faults(box: VeosBox) -> None:
    box.fault(refuse="^mtu", keep="^no switchport", foreign_session="ops1")
    cli = box.cli()
    cli.say("configure session a", "rollback clean-config")
    said = cli.paste("interface Ethernet3/1/1\nmtu 9000\ndescription new\nno switchport\n")
    assert said.startswith("> mtu 9000% Invalid input (at token 0: 'mtu') at line 2\n")
    assert states(box) == {"ops1": "pending", "a": "pending"}
    box.fault(keep="^mtu")
    cli.say("interface Ethernet3/1/1", "mtu 9000", "commit")
    assert mtu(box) == "1500", "the old line stays"
    box.fault(garbage=True)
    with pytest.raises(ValueError, match="Expecting value"):
        cli.json("show version")
    box.fault(flood_mb=100, only="show version")
    assert (cli.reply("show version").action, cli.reply("show version").argument) == ("flood", "100")
    assert cli.reply("show hostname").action == ""
    box.fault(hang=True)
    assert cli.reply("show version").action == "hang"


def test_reload_asks_when_something_is_not_saved(box: VeosBox) -> None:
    cli = box.cli()
    cli.say("configure terminal", "hostname other", "end")
    assert cli.reply("reload").argument == "System configuration has been modified. Save? [yes/no/cancel/diff]:"
    assert cli.reply("no").argument == "Proceed with reload? [confirm]"
    assert cli.reply("").action == "reload"
    assert cli.reply("reload now").action == "reload"
