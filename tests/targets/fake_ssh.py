"""An SSH server in a thread, for drivers to talk to: the shell and the commands are Python functions, SFTP serves a folder."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncssh

from fabric.targets.device import Login

Handler = Callable[["asyncssh.SSHServerProcess[Any]"], Awaitable[None]]
PASSWORD = "opens-nothing"


class _Server(asyncssh.SSHServer):
    def begin_auth(self, _username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, _username: str, password: str) -> bool:
        return password == PASSWORD


class SshServer:
    """Listens on 127.0.0.1; `root` is what SFTP shows as `/` (None: the real one).

    `full` makes every write fail, `cut` cuts the connection at the first one.
    """

    def __init__(self, handler: Handler, root: Path | None) -> None:
        self.full = self.cut = False
        self.port = 0
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self._handler, self._root = handler, root
        self._loop = asyncio.new_event_loop()
        self._connections: set[asyncssh.SSHServerConnection] = set()

    @contextmanager
    def running(self) -> Iterator[SshServer]:
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        self._call(self._listen())
        try:
            yield self
        finally:
            self._call(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(10)
            self._loop.close()

    def drop_all(self) -> None:
        """Cut every connection, as a dead management network would."""
        self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        for connection in list(self._connections):
            connection.abort()

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> None:
        self._acceptor = await asyncssh.listen(
            "127.0.0.1",
            self.port,
            server_factory=_Server,
            server_host_keys=[self.key],
            process_factory=self._process,
            sftp_factory=self._sftp,
        )
        self.port = self._acceptor.get_port()

    async def _stop(self) -> None:
        self._abort()
        self._acceptor.close()
        await self._acceptor.wait_closed()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _process(self, process: asyncssh.SSHServerProcess[Any]) -> None:
        connection = process.get_extra_info("connection")
        self._connections.add(connection)
        with suppress(asyncssh.Error, BrokenPipeError, ConnectionError):
            await self._handler(process)
        process.exit(0)

    def _sftp(self, channel: asyncssh.SSHServerChannel[bytes]) -> asyncssh.SFTPServer:
        fake = self

        class Files(asyncssh.SFTPServer):
            def write(self, file_obj: object, offset: int, data: bytes) -> int:
                if fake.cut:
                    fake.cut = False
                    fake._abort()
                if fake.full:
                    raise asyncssh.SFTPFailure("Failure")
                return super().write(file_obj, offset, data)  # type: ignore[return-value]

        return Files(channel, chroot=str(self._root).encode() if self._root else None)

    def known_hosts(self, folder: Path) -> str:
        """A known_hosts file with this server's key."""
        file = folder / "known_hosts"
        key = " ".join(self.key.export_public_key().decode().split()[:2])
        file.write_text(f"[127.0.0.1]:{self.port} {key}\n")
        return str(file)

    def login(self, folder: Path, **changes: Any) -> Login:
        """How to reach it."""
        values: dict[str, Any] = {
            "host": "127.0.0.1",
            "username": "netops",
            "port": self.port,
            "password": PASSWORD,
            "known_hosts": self.known_hosts(folder),
            "timeout_s": 60.0,
        }
        return Login(**(values | changes))
