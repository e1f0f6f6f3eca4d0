"""The virtual EOS behind real sshd, driven by netmiko as a real switch is. No root namespace is touched: only a port of loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from netmiko.exceptions import NetmikoBaseException, NetmikoTimeoutException
from paramiko.ssh_exception import SSHException

from tests.lab.conftest import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("needs_lab")]

ROOT = Path(__file__).parents[2]
PORT = 2222
GOLDEN = ROOT / "tests" / "golden" / "eos" / "ctsw.cfg"


@dataclass(frozen=True, slots=True)
class Box:
    """A switch that listens."""

    folder: Path
    host: str
    key: Path

    def connect(self, **more: Any) -> Any:
        from netmiko import ConnectHandler

        return ConnectHandler(
            device_type="arista_eos", host=self.host, port=PORT, username="root", use_keys=True, key_file=str(self.key),
            allow_agent=False, **more,
        )  # fmt: skip


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    (tmp_path / "flash").mkdir()
    (tmp_path / "flash" / "startup-config").write_text("hostname z01-ctsw01\n", encoding="utf-8")
    node = {
        "name": "z01-ctsw01", "kind": "eos", "ports": {"Ethernet3/1/1": "none0"}, "flash": str(tmp_path / "flash"),
        "settings": {"eos": {"program": False, "supervisor_prompt": True}},
    }  # fmt: skip
    (tmp_path / "node.json").write_text(json.dumps(node), encoding="utf-8")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    host = f"127.22.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"  # nobody else's, unlike a port that was free a moment ago
    login = tmp_path / "login"
    login.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -S -m fabric.lab.eos.cli {tmp_path} "$@"\n',
        encoding="utf-8",
    )
    login.chmod(0o755)
    # sshd sees an account whose login shell is the switch's, in a mount namespace of its own.
    accounts = Path("/etc/passwd").read_text(encoding="utf-8").splitlines()
    lines = [f"root:x:0:0:root:{tmp_path}:{login}", *(line for line in accounts if not line.startswith("root:"))]
    (tmp_path / "passwd").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (tmp_path / "sshd_config").write_text(
        f"ListenAddress {host}\nPort {PORT}\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\nUsePAM no\n"
        f"StrictModes no\nPidFile none\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n",
        encoding="utf-8",
    )
    daemon = subprocess.Popen([sys.executable, "-S", "-m", "fabric.lab.eos.daemon", str(tmp_path)], cwd=ROOT)
    Path("/run/sshd").mkdir(exist_ok=True)
    inside = f"mount --bind {tmp_path}/passwd /etc/passwd && exec /usr/sbin/sshd -D -f {tmp_path}/sshd_config"
    sshd = subprocess.Popen(["unshare", "--mount", "sh", "-c", inside], stderr=subprocess.DEVNULL)
    try:
        _wait(host, tmp_path / "cli.sock")
        yield Box(tmp_path, host, tmp_path / "user")
    finally:
        sshd.terminate()
        daemon.kill()
        sshd.wait()
        daemon.wait()


def _wait(host: str, path: Path) -> None:
    def listens() -> bool:
        with socket.socket() as probe:
            return path.exists() and probe.connect_ex((host, PORT)) == 0

    wait_until(listens, words="sshd or the daemon did not start")


def test_netmiko_replaces_a_configuration_and_confirms_it(box: Box) -> None:
    text = GOLDEN.read_text(encoding="utf-8")
    with box.connect() as switch:
        switch.enable()
        assert switch.find_prompt() == "z01-ctsw01(s1)#"
        assert not switch.check_config_mode()
        switch.send_command("configure session tool-0001", expect_string=r"\(config-s-[^)]*\)#\s*$")
        assert switch.find_prompt() == "z01-ctsw01(s1)(config-s-tool-0)#"
        assert switch.check_config_mode()
        switch.send_command("rollback clean-config", expect_string=r"#\s*$")
        switch.write_channel("copy terminal: session-config\n")
        switch.read_until_pattern(r"control-d")
        switch.write_channel(text + "ruter bgp 1\n")
        switch.write_channel("\x04")
        said = switch.read_until_pattern(r"Copy completed successfully\.", read_timeout=30)
        assert "> ruter bgp 1% Invalid input (at token 0: 'ruter') at line" in said
        diff = switch.send_command("show session-config diffs", expect_string=r"#\s*$")
        assert "+++ session:/tool-0001-session-config" in diff
        assert "+router bgp 42" in diff
        switch.send_command("commit timer 00:05:00", expect_string=r"#\s*$")
    with box.connect() as switch:
        sessions = json.loads(switch.send_command("show configuration sessions detail | json"))
        assert sessions["commitTimerSessionName"] == "tool-0001"
        switch.enable()
        switch.send_command("configure session tool-0001 commit", expect_string=r"#\s*$")
        assert "Copy completed successfully." in switch.send_command("write memory")
        running = switch.send_command("show running-config", read_timeout=30)
    kept = [line for line in running.splitlines() if not line.lstrip().startswith("!")]
    wanted = [line for line in text.splitlines() if not line.lstrip().startswith("!")]
    assert [line for line in kept if line not in wanted] == []
    assert (box.folder / "flash" / "startup-config").read_text(encoding="utf-8").count("interface ") > 20


def test_the_commit_timer_brings_the_old_state_back_with_nobody_logged_in(box: Box) -> None:
    with box.connect() as switch:
        switch.enable()
        switch.send_command("configure session a", expect_string=r"#\s*$")
        switch.send_config_set(["hostname other"], enter_config_mode=False, exit_config_mode=False, cmd_verify=False)
        switch.send_command("commit timer 00:00:02", expect_string=r"#\s*$")
    time.sleep(3)

    def is_back() -> bool:
        with box.connect() as switch:
            return str(switch.find_prompt()) == "z01-ctsw01(s1)>"

    wait_until(is_back, words="the timer has not brought it back")


def test_files_are_copied_to_flash_and_their_sum_is_checked(box: Box, tmp_path: Path) -> None:
    from netmiko import file_transfer

    source = tmp_path / "candidate.cfg"
    source.write_text("hostname z01-ctsw01\nlldp timer 10\n", encoding="utf-8")
    with box.connect() as switch:
        switch.enable()
        done = file_transfer(
            switch, source_file=str(source), dest_file="candidate.cfg", file_system=str(box.folder / "flash"), direction="put",
            disable_md5=True,
        )  # fmt: skip
        assert done["file_transferred"]
        said = switch.send_command("verify /md5 flash:candidate.cfg")
        assert len(switch.process_md5(said) if hasattr(switch, "process_md5") else said.split("= ")[1].strip()) == 32
        switch.send_command("configure session f", expect_string=r"#\s*$")
        assert "Copy completed" in switch.send_command(
            "copy flash:candidate.cfg session-config", expect_string=r"#\s*$"
        )
        switch.send_command("abort", expect_string=r"#\s*$")


def test_a_command_given_to_ssh_is_answered(box: Box) -> None:
    argv = [
        "ssh", "-p", str(PORT), "-i", str(box.key), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
        "-o", "LogLevel=ERROR", f"root@{box.host}",
    ]  # fmt: skip
    good = subprocess.run([*argv, "show hostname | json"], capture_output=True, text=True, check=False)
    assert json.loads(good.stdout)["hostname"] == "z01-ctsw01"
    bad = subprocess.run([*argv, "show bogus"], capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout.strip()) == (1, "% Invalid input (at token 1: 'bogus')")


def test_a_reload_ends_every_login_and_forgets_what_was_not_saved(box: Box) -> None:
    with box.connect() as switch:
        switch.enable()
        switch.send_command("configure terminal", expect_string=r"#\s*$")
        switch.send_command("hostname lost", expect_string=r"#\s*$")
        switch.send_command("end", expect_string=r"#\s*$")
        switch.write_channel("reload now\n")
        wait_until(lambda: switch.remote_conn.closed, words="the login is not ended")

    def is_back() -> bool:
        try:
            with box.connect() as switch:
                if switch.find_prompt() != "z01-ctsw01(s1)>":
                    return False
                return bool(json.loads(switch.send_command("show reload cause | json"))["resetCauses"])
        except (NetmikoTimeoutException, NetmikoBaseException, SSHException, OSError):  # it boots
            return False

    wait_until(is_back, words="it does not come back as it was saved")
