"""The connection of one device, opened when first used: command line, commands with a status, files. All of it bounded in time."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from fabric.targets import ssh
from fabric.targets.device import DeviceError, Login

if TYPE_CHECKING:
    import paramiko
    from netmiko import BaseConnection

_CHUNK = 65536
_POLL_S = 0.01
_ANY_HOST = r"[^\s#>()]+"

_T = TypeVar("_T")


class FileRefusedError(DeviceError):
    """The device did not let us read, write or remove a file (permissions, a full disk); the connection still stands."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command on a Linux box gave: exit status and both outputs, apart."""

    status: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode("utf-8", "replace")

    @property
    def words(self) -> tuple[str, ...]:
        """All lines that are not empty, standard error first: what to show when it failed."""
        both = self.err.decode("utf-8", "replace") + "\n" + self.text
        return tuple(line.strip() for line in both.splitlines() if line.strip())


@dataclass(frozen=True, slots=True)
class Answer:
    """What a CLI command gave: the text without echo and prompt, and the prompt that followed it."""

    text: str
    prompt: str


class Connection:
    """One device over SSH. `device_type` is netmiko's name; a device with a CLI of its own has its terminal prepared."""

    def __init__(self, login: Login, device_type: str, name: str, *, cli: bool) -> None:
        self.name = name
        self.timeout = login.timeout_s
        self._login, self._type, self._cli = login, device_type, cli
        self._open: BaseConnection | None = None
        self._files: paramiko.SFTPClient | None = None

    def reconnect(self) -> None:
        """Drop what there is and log in again."""
        self.close()
        self._connection()

    def close(self) -> None:
        """Drop the connection; never raises."""
        opened, self._open, self._files = self._open, None, None
        if opened is not None:
            with contextlib.suppress(Exception):
                ssh.drop(opened)

    def _connection(self) -> BaseConnection:
        if self._open is None:
            self._open = ssh.connect(self._login, self._type, self.name, prepare=self._cli)
            if self._cli:
                self._enable(self._open)
        return self._open

    def _enable(self, connection: BaseConnection) -> None:
        with self._said("enable"):
            if connection.find_prompt().rstrip().endswith(">"):
                connection.enable()

    # ------------------------------------------------------------------------------------------------- command line

    def cli(self, line: str, *, timeout: float | None = None, any_host: bool = False) -> Answer:
        """Send one line to the CLI and read to the next prompt; `any_host` when the line may change the host name.

        DeviceError: no prompt within `timeout` seconds (default: the login's), an answer that is too long, a lost connection.
        """
        connection = self._connection()
        channel: Any = connection.channel
        channel.count = 0
        host = _ANY_HOST if any_host else re.escape(connection.base_prompt)
        with self._said(line):
            raw = connection.send_command(
                line,
                expect_string=rf"(?:^|\n){host}(?:\([^)\n]*\))*[#>] *\Z",
                read_timeout=timeout or self.timeout,
                strip_prompt=False,
            )
            if any_host:
                connection.set_base_prompt()
        return _answer(str(raw), line)

    @contextlib.contextmanager
    def _said(self, doing: str) -> Iterator[None]:
        """Everything that fails inside is a DeviceError that says what was being done; the connection is not used again."""
        from netmiko.exceptions import ReadTimeout

        try:
            yield
        except ReadTimeout as error:
            self.close()
            raise DeviceError(f"{self.name}: no end of the answer to {_short(doing)} in time") from error
        except DeviceError:
            self.close()
            raise
        except Exception as error:
            self.close()
            raise ssh.explained(error, self.name, self._login) from error
        except BaseException:  # Ctrl-C in the middle of an answer: what would come next is the rest of it
            self.close()
            raise

    # ------------------------------------------------------------------------------------------- commands on a Linux box

    def run(self, command: str, *, timeout: float | None = None) -> Ran:
        """Run a shell command in a channel of its own: outputs stay apart, and the exit status is known."""
        with self._said(command):
            return self._run(command, timeout or self.timeout)

    def _run(self, command: str, timeout: float) -> Ran:
        channel = self._transport().open_session(timeout=self.timeout)
        end = time.monotonic() + timeout
        out, err = bytearray(), bytearray()
        try:
            channel.settimeout(timeout)
            channel.exec_command(command)
            while not _finished(channel):
                if not _drain(channel, out, err):
                    time.sleep(_POLL_S)
                if len(out) + len(err) > ssh.ANSWER_LIMIT:
                    raise ssh.too_long(self.name)
                if time.monotonic() > end:
                    raise DeviceError(f"{self.name}: no end of the answer to {_short(command)} in time")
            while _drain(channel, out, err):
                pass
            status = channel.recv_exit_status() if channel.exit_status_ready() else -1
            if status < 0:  # none came: the connection broke, or the command was killed
                raise DeviceError(f"{self.name}: the connection was lost while {_short(command)} ran")
            return Ran(status, bytes(out), bytes(err))
        finally:
            channel.close()

    def _transport(self) -> paramiko.Transport:
        client = self._connection().remote_conn_pre
        transport = client.get_transport() if client is not None else None
        if transport is None or not transport.is_active():
            raise DeviceError(f"{self.name}: the connection was closed by the device")
        return transport

    # ---------------------------------------------------------------------------------------------------------- files

    def put(self, path: str, content: bytes, mode: int) -> None:
        """Write a file; its mode is set before its content. DeviceError when it does not get there whole."""

        def write(files: paramiko.SFTPClient) -> int | None:
            with files.open(path, "w") as handle:
                files.chmod(path, mode)
                for start in range(0, len(content), _CHUNK // 2):
                    handle.write(content[start : start + _CHUNK // 2])
            return files.stat(path).st_size

        size = self._sftp(f"writing {path}", write)
        if size != len(content):
            raise DeviceError(f"{self.name}: writing {path}: {size} of {len(content)} bytes arrived")

    def get(self, path: str) -> bytes | None:
        """The content of a file; None when there is no such file."""

        def read(files: paramiko.SFTPClient) -> bytes | None:
            try:
                with files.open(path, "r") as handle:
                    return _read_bounded(handle, self.name)
            except FileNotFoundError:
                return None

        return self._sftp(f"reading {path}", read)

    def remove(self, path: str) -> None:
        """Remove a file; fine when there is none."""

        def remove(files: paramiko.SFTPClient) -> None:
            with contextlib.suppress(FileNotFoundError):
                files.remove(path)

        self._sftp(f"removing {path}", remove)

    def names(self, folder: str) -> list[str]:
        """The names in a folder; none when there is no such folder."""

        def names(files: paramiko.SFTPClient) -> list[str]:
            try:
                return sorted(files.listdir(folder))
            except FileNotFoundError:
                return []

        return self._sftp(f"listing {folder}", names)

    def _sftp(self, doing: str, work: Callable[[paramiko.SFTPClient], _T]) -> _T:
        """Do one thing over SFTP. What the device refuses leaves the connection as it is; what breaks it closes it."""
        import paramiko

        with self._said(doing):
            if self._files is None:
                self._files = paramiko.SFTPClient.from_transport(self._transport())
                if self._files is None:
                    raise DeviceError(f"{self.name}: it offers no file transfer (SFTP)")
                channel = self._files.get_channel()
                if channel is not None:
                    channel.settimeout(self.timeout)
            files = self._files
        try:
            return work(files)
        except TimeoutError as error:
            self.close()
            raise DeviceError(f"{self.name}: {doing}: no answer in time") from error
        except DeviceError:
            self.close()
            raise
        except (paramiko.SSHException, EOFError, OSError) as error:
            if not isinstance(error, OSError) or isinstance(error, ConnectionError) or _lost(files):
                self.close()
                raise DeviceError(f"{self.name}: the connection was lost while {doing}") from error
            # an answer of the SFTP server: "Failure" is all it says of a full disk
            raise FileRefusedError(f"{self.name}: {doing}: {error.strerror or error}") from error


def _short(command: str) -> str:
    """The beginning of a command, quoted, for a message of one line."""
    line = " ".join(command.split())
    return repr(line if len(line) <= 60 else line[:57] + "...")


def _lost(files: paramiko.SFTPClient) -> bool:
    """Whether the connection below is gone: paramiko tells that by an OSError too ("Socket is closed")."""
    channel = files.get_channel()
    return channel is None or bool(channel.closed or channel.eof_received or not channel.get_transport().is_active())


def _finished(channel: paramiko.Channel) -> bool:
    return bool(channel.closed or (channel.eof_received and channel.exit_status_ready()))


def _drain(channel: paramiko.Channel, out: bytearray, err: bytearray) -> bool:
    moved = False
    if channel.recv_ready():
        out += channel.recv(_CHUNK)
        moved = True
    if channel.recv_stderr_ready():
        err += channel.recv_stderr(_CHUNK)
        moved = True
    return moved


def _read_bounded(handle: paramiko.SFTPFile, name: str) -> bytes:
    size = handle.stat().st_size or 0
    if size > ssh.ANSWER_LIMIT:
        raise ssh.too_long(name)
    handle.prefetch(size)
    parts, read = [], 0
    while chunk := handle.read(_CHUNK):
        parts.append(chunk)
        read += len(chunk)
        if read > ssh.ANSWER_LIMIT:
            raise ssh.too_long(name)
    return b"".join(parts)


def _answer(raw: str, line: str) -> Answer:
    """Cut the answer from its prompt, and from the echo, which a slow device gives twice (once after a repeated prompt)."""
    head, _, prompt = raw.rpartition("\n")
    lines = head.split("\n")
    while lines and (
        not lines[0].strip() or lines[0].strip().endswith(("#" + line, ">" + line)) or lines[0].strip() == line
    ):
        lines.pop(0)
    return Answer("\n".join(lines).rstrip(), prompt.strip())
