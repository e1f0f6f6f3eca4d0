"""What the EOS driver says to a switch: one small function a step, each with the refusal that may come back."""

from __future__ import annotations

import hashlib
import re

from fabric.targets.connect import Connection, FileRefusedError
from fabric.targets.device import DeviceError, DeviceRefusedError
from fabric.targets.eos.read_answer import configuration, masked, refusals
from fabric.targets.eos.read_session import PREFIX, Session, read_sessions
from fabric.targets.token import is_token

FLASH = "/mnt/flash"
_LOAD_FACTOR = 6
"""Loading, committing and saving a configuration may take this many times the time of a show command."""
_COPIED = "Copy completed successfully"
_IN_SESSION = re.compile(r"\(config-s-[^)]*\)#$")
"""EOS cuts the session's name in its prompt (6 or 10 characters), so that only the form counts."""
_FREE = re.compile(r"\((\d+) bytes free\)")


class EosCli:
    """The CLI of one switch, over its connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.device = connection.name
        self._long = connection.timeout * _LOAD_FACTOR

    def show(self, command: str) -> str:
        """The answer to a show command, as it is."""
        return self.connection.cli(command).text

    def do(self, command: str, *, any_host: bool = False) -> str:
        """Give a command that must not be refused. DeviceRefusedError with EOS's words (secrets masked)."""
        answer = self.connection.cli(command, timeout=self._long, any_host=any_host).text
        said = refusals(answer)
        if said:
            raise DeviceRefusedError(f"{self.device} refused {command!r}: {said[0]}", said)
        return answer

    def copy(self, command: str) -> None:
        """Give a copy command. A rejected line does not keep EOS from saying that the copy was successful: both are looked at."""
        answer = self.do(command)
        if _COPIED not in answer:
            lines = tuple(masked(line.strip()) for line in answer.splitlines() if line.strip())
            raise DeviceRefusedError(
                f"{self.device}: {command!r} did not complete: {lines[0] if lines else 'no answer'}", lines
            )

    def running(self) -> str:
        """The running configuration without its header."""
        what = f"{self.device}: show running-config"
        return configuration(self.connection.cli("show running-config", timeout=self._long).text, what)

    def startup(self) -> str:
        """The startup configuration without its header."""
        what = f"{self.device}: show startup-config"
        return configuration(self.connection.cli("show startup-config", timeout=self._long).text, what)

    # ---------------------------------------------------------------------------------------------------- sessions

    def sessions(self) -> list[Session]:
        """All configuration sessions."""
        return read_sessions(self.show("show configuration sessions detail | json"))

    def armed(self, session: str) -> bool:
        """Whether the commit timer of that session runs."""
        return any(found.armed for found in self.sessions() if found.name == session)

    def is_pending(self, session: str) -> bool:
        """Whether that session is open and not committed."""
        return any(found.state == "pending" and not found.armed for found in self.sessions() if found.name == session)

    def load(self, session: str, file: str) -> str:
        """Open a session, replace all in it by the file, and give the device's own diff, secrets masked; "" = no change."""
        answer = self.connection.cli(f"configure session {session}")
        if not _IN_SESSION.search(answer.prompt):
            said = refusals(answer.text) or tuple(answer.text.split("\n")[:1])
            raise DeviceRefusedError(f"{self.device} opened no configuration session: {said[0]}", said)
        self.do("rollback clean-config")
        self.copy(f"copy file:{file} session-config")
        self.do("end")  # out of all sub-modes, some of which apply on exit only; the session stays pending
        return self.diff(session)

    def diff(self, session: str) -> str:
        """The device's diff of a session against what runs, secrets masked."""
        answer = self.connection.cli(f"show session-config named {session} diffs", timeout=self._long).text
        if answer.startswith("% "):
            raise DeviceRefusedError(f"{self.device} showed no diff: {answer}", refusals(answer))
        return masked(answer).strip("\n")

    def abort(self, session: str) -> None:
        """Abort a session from exec mode, whatever mode we are in; an armed one returns to the old configuration."""
        if "(config" in self.connection.cli("").prompt:
            self.do("end")
        self.do(f"configure session {session} abort", any_host=True)

    # ----------------------------------------------------------------------------------------------------- flash files

    def put(self, file: str, content: bytes) -> None:
        """Write a file to flash, readable by its owner only; a full flash is said as such."""
        try:
            self.connection.put(file, content, 0o600)
        except FileRefusedError as error:
            free = _FREE.search(self.show("dir flash:"))
            if free and int(free[1]) < len(content):
                raise DeviceError(
                    f"{self.device}: flash is full: {len(content)} bytes do not fit, {free[1]} are free",
                    hint="remove old images or logs from flash",
                ) from error
            raise DeviceError(f"{error.message} (is flash full?)") from error

    def left(self) -> list[str]:
        """The tokens of our files on flash; [] when the switch does not let us look."""
        try:
            names = self.connection.names(FLASH)
        except FileRefusedError:
            return []
        start = "." + PREFIX
        return [
            name.removeprefix(start) for name in names if name.startswith(start) and is_token(name.removeprefix(start))
        ]

    def sweep(self) -> None:
        """Remove our files that an earlier, broken attempt left on flash: they hold secrets."""
        for name in self.connection.names(FLASH):
            if name.startswith("." + PREFIX):
                self.connection.remove(f"{FLASH}/{name}")


def fingerprint(text: str) -> str:
    """What a running configuration is compared by."""
    return hashlib.sha256(text.encode()).hexdigest()


def timer(seconds: int) -> str:
    """Seconds as EOS takes them, HH:MM:SS; at least one second, less than a hundred hours."""
    if not 1 <= seconds < 100 * 3600:
        raise DeviceError(f"a commit timer of {seconds} s is not possible", hint="1 s to 99 h")
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
