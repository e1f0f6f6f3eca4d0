"""The login shell of a virtual EOS switch: `python -m fabric.lab.eos.cli NODE_DIR [-c COMMAND]`, a terminal of the daemon.

sshd gives the terminal, which echoes and edits lines (Backspace, Ctrl-U); Ctrl-D ends a paste or logs out. `-c` with an scp or sftp
server runs that program, so that files can be copied to flash; anything else is a command of EOS.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WAIT_S = 5.0
"""How long a login waits for a switch that is booting, in seconds."""

_FILE_SERVERS = re.compile(r"(scp( |$)|(/[\w/.-]*/)?sftp-server( |$)|internal-sftp)")
_SFTP_SERVER = "/usr/lib/openssh/sftp-server"


class Terminal:
    """The user's side of one login."""

    def __init__(self, folder: Path) -> None:
        self._peer = _connect(folder / "cli.sock")
        self._stream = self._peer.makefile("rw", encoding="utf-8", errors="surrogateescape")
        self.prompt = str(self._ask({"user": _user(), "tty": _tty()}).get("prompt", ""))
        self._ahead = b""

    def run(self) -> int:
        """Prompt, read, answer, until the user or the switch ends it."""
        ask = self.prompt
        while True:
            _out(ask)
            try:
                line = self._line()
            except KeyboardInterrupt:
                _out("\n")
                continue
            if line is None:
                _out("logout\n")
                return 0
            frame = self._ask({"line": line})
            again = self._act(frame)
            if again is None:
                return 0
            ask = again

    def once(self, commands: str) -> int:
        """The exec form of ssh; 1 when EOS refused one of the commands."""
        code = 0
        # What EOS needs privilege for works at once in the exec form when the account has it.
        self._ask({"line": "enable"})
        for command in commands.splitlines():
            frame = self._ask({"line": command})
            if re.search(r"(?m)^% ", str(frame.get("text", ""))):
                code = 1
            if self._act(frame) is None:
                break
        return code

    def _act(self, frame: dict[str, Any]) -> str | None:
        """Do what the switch says; returns the next prompt, None when the login is over."""
        _out(str(frame.get("text", "")))
        action, argument = frame.get("action", ""), str(frame.get("argument", ""))
        if action == "paste":
            return self._act(self._ask({"paste": self._pasted()}))
        if action == "ask":
            return argument
        if action == "bash":
            _bash(argument)
        elif action == "flood":
            _flood(int(argument))
        elif action == "hang":
            while True:
                signal.pause()
        elif action in ("close", "reload"):
            return None
        self.prompt = str(frame.get("prompt", self.prompt))
        return self.prompt

    def _ask(self, frame: dict[str, Any]) -> dict[str, Any]:
        try:
            self._stream.write(json.dumps(frame) + "\n")
            self._stream.flush()
            answer = self._stream.readline()
        except OSError:
            answer = ""
        if not answer:
            _out("\nConnection to the switch was lost.\n")
            raise SystemExit(255)
        data: dict[str, Any] = json.loads(answer)
        return data

    def _line(self) -> str | None:
        """The next line typed; None at the end of input."""
        while b"\n" not in self._ahead:
            got = os.read(0, 65536)
            if not got:
                if not self._ahead:
                    return None
                break
            self._ahead += got.replace(b"\r", b"\n")
        raw, _, self._ahead = self._ahead.partition(b"\n")
        return raw.decode("utf-8", "replace").replace("\x04", "")

    def _pasted(self) -> str:
        """Everything up to Ctrl-D, read as it comes: a pasted text may be long, and need not end with a line feed."""
        with _unbuffered():
            got = self._ahead
            while _END.search(got) is None:
                more = os.read(0, 65536)
                if not more:
                    break
                got += more.replace(b"\r", b"\n")
        body, *rest = _END.split(got, maxsplit=1)
        self._ahead = rest[0] if rest else b""
        return body.decode("utf-8", "replace")


_END = re.compile(rb"[\x04\x00]")
"""Ctrl-D; a NUL is what the kernel makes of one that was typed before the paste began."""


@contextlib.contextmanager
def _unbuffered() -> Iterator[None]:
    """The terminal gives every byte at once, Ctrl-D among them; without a terminal nothing is done."""
    if not os.isatty(0):
        yield
        return
    before = termios.tcgetattr(0)
    raw = termios.tcgetattr(0)
    raw[3] &= ~termios.ICANON
    termios.tcsetattr(0, termios.TCSANOW, raw)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


def _connect(path: Path) -> socket.socket:
    end = time.monotonic() + WAIT_S
    while True:
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(str(path))
        except OSError:
            peer.close()
            if time.monotonic() > end:
                _out("% System is not ready: the switch is booting\n")
                raise SystemExit(255) from None
            time.sleep(0.1)
        else:
            return peer


def _out(text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    while data:
        data = data[os.write(1, data) :]


def _flood(megabytes: int) -> None:
    block = "".join(f"{place:08d} " * 11 + "\n" for place in range(10_000))
    for _ in range(megabytes):
        _out(block)


def _bash(command: str) -> None:
    """A Linux command or shell on the switch; what the user does there is the user's."""
    environment = {**os.environ, "PS1": r"[\u@\h ~]\$ ", "TERM": "dumb"}
    argv = ["/bin/bash", "-c", command] if command else ["/bin/bash", "--norc", "--noprofile", "-i"]
    subprocess.run(argv, env=environment, check=False)  # noqa: S603 - a login shell that runs what its user typed


def _user() -> str:
    """The account that logged in; the user number does not say it, since operators of a switch share root's."""
    name = os.environ.get("LOGNAME")
    if name:
        return name
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _tty() -> str:
    try:
        return os.ttyname(0).removeprefix("/dev/").replace("pts/", "vty")
    except OSError:
        return "ssh"


def main(arguments: list[str]) -> int:
    """The login shell. `arguments`: NODE_DIR, and `-c COMMAND` for the exec form."""
    folder = Path(arguments[0])
    command = arguments[2] if len(arguments) > 2 and arguments[1] == "-c" else None
    if command is not None and _FILE_SERVERS.match(command):
        if command.startswith("internal-sftp"):
            command = _SFTP_SERVER
        os.execv("/bin/sh", ["/bin/sh", "-c", command])  # noqa: S606 - as sshd does for any login shell
    terminal = Terminal(folder)
    return terminal.run() if command is None else terminal.once(command)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
