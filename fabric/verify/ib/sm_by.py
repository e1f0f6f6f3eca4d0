"""What an SM wrote, by a command that the user gives to run something on its host: SSH, most likely."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass

from fabric.design.ib.model import SubnetManager
from fabric.errors import FabricError
from fabric.verify.ib.live import MOST_BYTES
from fabric.verify.ib.reads import SmText, Unread
from fabric.verify.lldp_names import printable

HOST, ADDRESS = "{host}", "{address}"
LOG = ("tail", "-c", str(MOST_BYTES), "/var/log/opensm.log")
STDOUT = ("journalctl", "--unit=opensm", "--boot", "--output=cat", "--no-pager", "--lines=100000")
"""Standard output of a systemd service is in the journal; the unit is Debian's."""
LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class CommandTexts:
    """Texts of SM hosts: `command` begins with the way to a host, in which `{host}` stands for its name and `{address}` for its address."""

    command: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> CommandTexts:
        """From one text, split as a shell would, though no shell runs it here. Raises FabricError."""
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise FabricError(f"--sm-by {text!r}: {error}") from None
        if not any(HOST in word or ADDRESS in word for word in words):
            raise FabricError(
                f"--sm-by {text!r} names neither {HOST} nor {ADDRESS}", hint="for example --sm-by 'ssh root@{host}'"
            )
        return cls(words)

    def __call__(self, manager: SubnetManager) -> SmText:
        """The texts of one host."""
        return SmText(self._run(manager, STDOUT), self._run(manager, LOG))

    def _run(self, manager: SubnetManager, command: tuple[str, ...]) -> str | Unread:
        words = [
            word.replace(HOST, manager.host).replace(ADDRESS, manager.address or manager.host) for word in self.command
        ]
        try:
            ran = subprocess.run(  # noqa: S603 - no shell; the command is the user's, the rest is ours
                [*words, *command], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            why = "no answer in time" if isinstance(error, subprocess.TimeoutExpired) else str(error.strerror)
            return Unread(f"{words[0]}: {why}")
        if ran.returncode != 0:
            said = ran.stderr.decode("utf-8", "replace").strip().splitlines()
            return Unread(
                f"{command[0]} on {manager.host} ended with {ran.returncode}{f': {printable(said[-1], 160)}' if said else ''}"
            )
        return ran.stdout[-MOST_BYTES:].decode("utf-8", "replace")
