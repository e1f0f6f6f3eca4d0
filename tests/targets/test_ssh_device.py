"""Reaching a device: host keys, logins, and one clear line for each way in which it fails."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from paramiko import SFTPClient, SSHException

from fabric.targets.base import DeviceRef
from fabric.targets.connect import Connection, FileRefusedError
from fabric.targets.device import DeviceError
from fabric.targets.open import open_device
from fabric.targets.ssh import fetch_host_key
from tests.targets.fake_eos import FakeEos
from tests.targets.fake_ssh import PASSWORD, SshServer

REF = DeviceRef("ctsw1", "ctsw", "eos")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    with SshServer(FakeEos(tmp_path).shell, tmp_path).running() as running:
        yield running


def _failure(server: SshServer, tmp_path: Path, **login: Any) -> str:
    device = open_device(REF, "7808", server.login(tmp_path, **login), bytes)
    with pytest.raises(DeviceError) as caught:
        device.pending()
    device.close()
    assert "\n" not in str(caught.value)
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


def test_an_unknown_host_key_is_refused(server: SshServer, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for known_hosts in (str(tmp_path / "empty"), str(tmp_path / "none"), None):
        said = _failure(server, tmp_path, known_hosts=known_hosts)
        assert said == "host key of ctsw1 is not known (hint: fabric trust SPEC)"


def test_a_changed_host_key_is_refused_in_its_own_words(server: SshServer, tmp_path: Path) -> None:
    login = server.login(tmp_path)
    other = " ".join(asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().split()[:2])
    Path(login.known_hosts or "").write_text(f"[127.0.0.1]:{server.port} {other}\n")
    device = open_device(REF, "7808", login, bytes)
    with pytest.raises(DeviceError, match=r"host key has changed.*; only then fabric trust --replace SPEC"):
        device.pending()


def test_a_wrong_password(server: SshServer, tmp_path: Path) -> None:
    assert "login refused for user 'netops'" in _failure(server, tmp_path, password="wrong")


def test_no_way_to_log_in(server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    assert "no key and no password" in _failure(server, tmp_path, password=None)
    assert "there is no key file" in _failure(server, tmp_path, key_file=str(tmp_path / "none"))


def test_nobody_listens(server: SshServer, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        said = _failure(server, tmp_path, port=free.getsockname()[1])
    assert "connection refused" in said


def test_a_name_that_does_not_exist(server: SshServer, tmp_path: Path) -> None:
    assert "there is no such host name" in _failure(server, tmp_path, host="ctsw1.invalid")


def test_a_port_that_takes_and_never_answers(server: SshServer, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert "no answer in time" in _failure(server, tmp_path, port=port, timeout_s=1.0)
        with pytest.raises(DeviceError, match="no answer in time"):
            fetch_host_key("127.0.0.1", port, 1.0)


def test_a_port_that_speaks_something_else(server: SshServer, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as http:
        port = http.getsockname()[1]
        http.settimeout(10)
        import threading

        def answer() -> None:
            connection, _ = http.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"\x00\xff" * 5000)
            connection.close()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert _failure(server, tmp_path, port=port, timeout_s=2.0)
        thread.join(10)


def test_a_connection_that_is_cut_in_mid_copy_is_no_refusal_of_the_device(server: SshServer, tmp_path: Path) -> None:
    connection = Connection(server.login(tmp_path), "arista_eos", "ctsw1", cli=True)
    connection.cli("show version")
    server.cut = True
    with pytest.raises(DeviceError, match="ctsw1: the connection was lost while writing /file") as caught:
        connection.put("/file", b"x" * 4_000_000, 0o600)
    assert not isinstance(caught.value, FileRefusedError)
    server.full = True
    with pytest.raises(FileRefusedError, match="writing /file: Failure"):
        connection.put("/file", b"x" * 100, 0o600)
    connection.close()


def test_a_key_file_that_holds_no_key_is_told_as_such(server: SshServer, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("root:*:19000\n")
    assert "not a valid" in _failure(server, tmp_path, key_file=str(key), password=None)


@pytest.mark.parametrize(
    "error", [OSError("Socket is closed"), EOFError(), SSHException("Server connection dropped: ")]
)
def test_however_paramiko_says_it_a_lost_connection_is_told_as_such(
    server: SshServer, tmp_path: Path, error: Exception
) -> None:
    connection = Connection(server.login(tmp_path), "arista_eos", "ctsw1", cli=True)

    def lose(files: SFTPClient) -> None:
        channel = files.get_channel()
        assert channel is not None
        channel.get_transport().close()
        raise error

    with pytest.raises(DeviceError, match=r"^ctsw1: the connection was lost while writing x") as caught:
        connection._sftp("writing x", lose)
    assert not isinstance(caught.value, FileRefusedError)


def test_the_host_key_for_trust_is_what_ssh_keygen_says(server: SshServer, tmp_path: Path) -> None:
    kind, blob, fingerprint = fetch_host_key("127.0.0.1", server.port)
    assert f"[127.0.0.1]:{server.port} {kind} {blob}\n" == Path(server.known_hosts(tmp_path)).read_text()
    assert fingerprint == server.key.get_fingerprint()
    with pytest.raises(DeviceError, match="refused"):
        fetch_host_key("127.0.0.1", 1)


def test_a_target_without_driver(server: SshServer, tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="no driver"):
        open_device(DeviceRef("x", "x", "nos"), "m", server.login(tmp_path), bytes)


def test_netmiko_is_imported_only_when_a_device_is_reached() -> None:
    code = "import sys, fabric.targets.open, fabric.targets.connect; print(sorted({'netmiko', 'paramiko'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
