"""SSH to a device: an authenticated connection of netmiko, host keys always verified, every failure one clear line.

netmiko and paramiko are imported when a connection is opened: they take half a second, which `fabric render` need not pay.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.targets.device import DeviceError, Login

if TYPE_CHECKING:
    from netmiko import BaseConnection

ANSWER_LIMIT = 32 * 1024 * 1024
"""Bytes of one answer that are kept at most: ten times the largest configuration, and a bound for the memory of a bad answer."""

KEEPALIVE_S = 10
"""Seconds between SSH keep-alives, so that a connection that is gone is noticed."""


_LATE = ("banner", "No existing session", "Pattern not detected")
"""In what paramiko and netmiko say when no SSH server spoke up in time, or no prompt came after the login."""


def fetch_host_key(host: str, port: int = 22, timeout: float = 10.0) -> tuple[str, str, str]:
    """The host key that a device shows now: (type, base64, "SHA256:..." as ssh-keygen -l prints it).

    Nothing is trusted by this: the caller shows the fingerprint and asks. DeviceError when there is no SSH server.
    """
    import paramiko

    _quiet()
    where = f"{host}:{port}"
    try:
        with socket.create_connection((host, port), timeout=timeout) as sock:
            transport = paramiko.Transport(sock)
            try:
                transport.banner_timeout = timeout
                transport.start_client(timeout=timeout)
                key = transport.get_remote_server_key()
            finally:
                transport.close()
    except (OSError, EOFError, paramiko.SSHException) as error:
        raise explained(error, where) from error
    blob = key.asbytes()
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return key.get_name(), base64.b64encode(blob).decode(), f"SHA256:{digest}"


def connect(login: Login, device_type: str, name: str, *, prepare: bool) -> BaseConnection:
    """An open netmiko connection to the device `name`; with `prepare`, its terminal is set up and its prompt known.

    Raises DeviceError: unreachable, host key unknown or changed, login refused, no answer in time.
    """
    from netmiko import ConnectHandler

    _quiet()
    _check_files(login, name)
    connection: BaseConnection | None = None
    try:
        connection = ConnectHandler(**_parameters(login, device_type))
        connection.establish_connection()
        connection.channel = bounded(connection.channel, name)
        if prepare:
            connection.session_preparation()
    except Exception as error:
        if connection is not None:
            drop(connection)
        raise explained(error, name, login) from error
    return connection


def drop(connection: BaseConnection) -> None:
    """Close the connection without a word to the device, which may no longer answer."""
    connection.paramiko_cleanup()


def bounded(channel: Any, name: str) -> Any:
    """The channel of a netmiko connection, made to count: `channel.count` starts at 0 for each command.

    It raises DeviceError when an answer passes ANSWER_LIMIT, and when the other end has closed (netmiko would wait on).
    """
    from netmiko.channel import SSHChannel

    class Bounded(SSHChannel):
        count = 0

        def read_buffer(self) -> str:
            conn = self.remote_conn
            if conn is not None and not conn.recv_ready() and (conn.closed or conn.eof_received):
                raise DeviceError(f"{name}: the connection was closed by the device")
            text: str = super().read_buffer()
            self.count += len(text)
            if self.count > ANSWER_LIMIT:
                raise too_long(name)
            return text

    return Bounded(channel.remote_conn, channel.encoding)


def too_long(name: str) -> DeviceError:
    """An answer passed ANSWER_LIMIT."""
    return DeviceError(f"{name}: an answer of more than {ANSWER_LIMIT // 1024 // 1024} MiB: not read further")


def explained(error: BaseException, name: str, login: Login | None = None) -> DeviceError:
    """The DeviceError, one line, for whatever netmiko or paramiko raised; the cause decides, not the words around it."""
    if isinstance(error, DeviceError):
        return error
    where = f"{name} ({login.host}:{login.port})" if login else name
    causes = list(_causes(error))
    for cause in causes:
        said = _known(cause, where, name, login)
        if said is not None:
            return said
    lines = (line.strip() for cause in causes for line in str(cause).splitlines())
    first = next(filter(None, lines), type(error).__name__)
    return DeviceError(f"{where}: SSH failed: {first}")


def _known(cause: BaseException, where: str, name: str, login: Login | None) -> DeviceError | None:
    import paramiko

    text, user = str(cause), login.username if login else "?"
    if isinstance(cause, DeviceError):
        return cause
    if isinstance(cause, paramiko.BadHostKeyException):
        return DeviceError(
            f"{where}: the host key has changed, or another machine answers; nothing was sent",
            hint="compare the fingerprint on the console; only then fabric trust --replace SPEC",
        )
    if "not found in known_hosts" in text:
        return DeviceError(f"host key of {name} is not known", hint="fabric trust SPEC")
    if isinstance(cause, paramiko.PasswordRequiredException):
        return DeviceError(f"{where}: the key file needs a passphrase", hint="load the key into ssh-agent")
    if isinstance(cause, paramiko.AuthenticationException):
        return DeviceError(
            f"{where}: login refused for user {user!r}", hint="FABRIC_USER, FABRIC_PASSWORD, FABRIC_KEY_FILE"
        )
    if "No authentication methods available" in text:
        return DeviceError(
            f"{where}: no key and no password for user {user!r}", hint="FABRIC_KEY_FILE, FABRIC_PASSWORD, ssh-agent"
        )
    return _known_network(cause, where, text)


def _known_network(cause: BaseException, where: str, text: str) -> DeviceError | None:
    import paramiko

    if isinstance(cause, socket.gaierror):
        return DeviceError(f"{where}: there is no such host name")
    if isinstance(cause, paramiko.ssh_exception.NoValidConnectionsError | ConnectionRefusedError):
        return DeviceError(f"{where}: connection refused", hint="is its SSH server running?")
    if isinstance(cause, TimeoutError) or any(word in text for word in _LATE):
        return DeviceError(f"{where}: no answer in time")
    if isinstance(cause, OSError) and cause.strerror:
        return DeviceError(f"{where}: {cause.strerror}")
    if isinstance(cause, EOFError):
        return DeviceError(f"{where}: the connection was closed by the device")
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from, the innermost first."""
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    return reversed(chain)


def _parameters(login: Login, device_type: str) -> dict[str, Any]:
    return {
        "device_type": device_type,
        "host": login.host,
        "port": login.port,
        "username": login.username,
        "password": login.password,
        "secret": login.password or "",
        "key_file": login.key_file,
        "allow_agent": True,
        "ssh_strict": True,  # an unknown host key is refused
        "alt_host_keys": True,
        "alt_key_file": login.known_hosts or "",
        "conn_timeout": login.timeout_s,
        "auth_timeout": login.timeout_s,
        "banner_timeout": login.timeout_s,
        "blocking_timeout": login.timeout_s,
        "read_timeout_override": None,
        "keepalive": KEEPALIVE_S,
        "auto_connect": False,
    }


def _check_files(login: Login, name: str) -> None:
    import paramiko

    if login.key_file and not Path(login.key_file).expanduser().is_file():
        raise DeviceError(f"{name}: there is no key file {login.key_file}", hint="FABRIC_KEY_FILE")
    if login.known_hosts and Path(login.known_hosts).is_file():
        try:
            paramiko.HostKeys(login.known_hosts)
        except Exception as error:  # paramiko has no one class for a broken file
            raise DeviceError(f"{name}: {login.known_hosts} cannot be read as known hosts: {error}") from error


def _quiet() -> None:
    """Keep logs off the terminal: paramiko and netmiko log tracebacks of what we say in one line."""
    for name in ("paramiko", "netmiko"):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
