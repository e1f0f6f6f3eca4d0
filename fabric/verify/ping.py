"""A prober that runs `ping` on hosts by a command the user gives: SSH, or a namespace of the lab."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass

from fabric.errors import FabricError

HOST = "{host}"
WAIT_S = 2
"""Seconds that a ping waits for its answer (our choice: a fabric answers within a millisecond)."""
LIMIT_S = 30.0
_NO_ANSWER = 1
"""Exit status of iputils' ping when no answer came; 2 is another error, and so is what the way to the host returns."""


@dataclass(frozen=True, slots=True)
class CommandProber:
    """Implements `Prober`: `command` begins with the way to the host, in which `{host}` stands for its name."""

    command: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> CommandProber:
        """From one text, split as a shell would, though no shell runs it. Raises FabricError."""
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise FabricError(f"--ping-by {text!r}: {error}") from None
        if not any(HOST in word for word in words):
            raise FabricError(f"--ping-by {text!r} names no {HOST}", hint="for example --ping-by 'ssh root@{host}'")
        return cls(words)

    def ping(self, src_host: str, dst_address: str, size: int, df: bool) -> bool | None:
        """See Prober."""
        words = [word.replace(HOST, src_host) for word in self.command]
        words += ["ping", "-n", "-q", "-c", "1", "-W", str(WAIT_S), "-s", str(size), *(["-M", "do"] if df else [])]
        try:
            ran = subprocess.run(  # noqa: S603 - no shell; the command is the user's, the rest are names of the design
                [*words, dst_address], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=LIMIT_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        return True if ran.returncode == 0 else False if ran.returncode == _NO_ANSWER else None
