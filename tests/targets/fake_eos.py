"""A switch that answers as EOS does in a configuration session: enough for the driver, with the faults that it must survive."""

from __future__ import annotations

import asyncio
import difflib
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

DONE = "Copy completed successfully."


@dataclass
class Session:
    text: str
    state: str = "pending"


@dataclass
class FakeEos:
    """`root` holds mnt/flash. `from_432` picks the form of an armed commit; `answers` overrides the answer to a command."""

    root: Path
    host: str = "ctsw1"
    chassis: str = ""
    from_432: bool = True
    running: str = "hostname ctsw1\nend\n"
    startup: str = "hostname ctsw1\nend\n"
    sessions: dict[str, Session] = field(default_factory=dict)
    checkpoints: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    armed: tuple[str, float, str] | None = None
    silent: str = ""
    flood: str = ""
    drop_on: str = ""
    duplicate_echo: bool = False
    unprivileged: bool = False

    async def shell(self, process: asyncssh.SSHServerProcess[Any]) -> None:
        mode = ""
        end = ">" if self.unprivileged else "#"
        process.stdout.write("Last login: Thu Jan  1 00:00:00 2026 from 192.0.2.200\r\n" + self.prompt(mode, end))
        while line := await process.stdin.readline():
            line = line.strip()
            self.log.append(line)
            if self.drop_on and line.startswith(self.drop_on):
                self.drop_on = ""
                process.channel.get_connection().abort()
            if line == "enable":
                end = "#"
            if self.silent and line.startswith(self.silent):
                await asyncio.sleep(30)
            if self.flood and line.startswith(self.flood):
                while True:
                    process.stdout.write("x" * 60000 + "\r\n")
                    await process.stdout.drain()
            mode, answer = self.command(mode, line)
            if self.duplicate_echo and line.startswith("show"):
                process.stdout.write(self.prompt(mode, end) + line + "\r\n")
            answer = answer.rstrip("\n").replace("\n", "\r\n")
            process.stdout.write((answer + "\r\n" if answer else "") + self.prompt(mode, end))

    def prompt(self, mode: str, end: str) -> str:
        return f"{self.host}{self.chassis}" + (f"(config-s-{mode[:6]})" if mode else "") + end

    def expire(self) -> None:
        """The commit timer runs out: the old configuration returns."""
        if self.armed:
            name, _, old = self.armed
            self.running, self.armed, self.sessions[name].state = old, None, "completed"

    def command(self, mode: str, line: str) -> tuple[str, str]:
        if self.armed and time.monotonic() > self.armed[1]:
            self.expire()
        if line in self.answers:
            return mode, self.answers[line]
        words = line.split()
        if line == "end":
            return "", ""
        if words[:2] == ["configure", "session"]:
            return self.session(words[2], words[3:])
        if mode:
            done = self.in_session(mode, line)
            if done is not None:
                return mode, done
        return mode, self.exec(line, words)

    def session(self, name: str, rest: list[str]) -> tuple[str, str]:
        if not rest:
            if sum(s.state == "pending" for s in self.sessions.values()) >= 5:
                return "", "Maximum number of pending sessions has been reached"
            self.sessions[name] = Session(self.running)
            return name, ""
        if rest == ["abort"]:
            if self.armed and self.armed[0] == name:
                self.expire()
            self.sessions.pop(name, None)
        elif rest == ["commit"]:
            self.armed = None
            self.sessions[name].state = "completed"
        elif rest[:2] == ["commit", "timer"]:
            hours, minutes, seconds = (int(part) for part in rest[2].split(":"))
            self.armed = (name, time.monotonic() + hours * 3600 + minutes * 60 + seconds, self.running)
            self.running, self.sessions[name].state = self.sessions[name].text, "committed"
            self.host = next(row.split()[1] for row in self.running.splitlines() if row.startswith("hostname "))
        return "", ""

    def in_session(self, name: str, line: str) -> str | None:
        if line == "rollback clean-config":
            self.sessions[name].text = "end\n"
            return ""
        if line.startswith("copy file:"):
            file = self.root / line.split()[1].removeprefix("file:/")
            if not file.is_file():
                return f"% Error copying {file.name} (No such file or directory)"
            text = file.read_text()
            bad = [
                f"> {row}% Invalid input (at token 2: '{row.split()[-1]}') at line {n}"
                for n, row in enumerate(text.splitlines(), 1)
                if row.startswith("bogus")
            ]
            self.sessions[name].text = "".join(
                row + "\n" for row in text.splitlines() if not row.startswith(("bogus", "!"))
            )
            return "\n".join([*bad, DONE])
        return None

    def exec(self, line: str, words: list[str]) -> str:
        header = f"! device: {self.host} (cEOSLab, EOS-4.34.1F)\n!\n"
        shown = {
            "show running-config": f"! Command: show running-config\n{header}{self.running}",
            "show startup-config": f"! Command: show startup-config\n! Startup-config last modified at  Thu\n{header}{self.startup}",
            "show configuration sessions detail | json": self.detail(),
            "show configuration checkpoints | json": json.dumps(
                {"checkpoints": {name: {} for name in self.checkpoints}}
            ),
            "dir flash:": "Directory of flash:/\n\n1000 bytes total (16 bytes free)",
            "terminal width 511": "Width set to 511 columns.",
            "terminal length 0": "Pagination disabled.",
            "": "",
        }
        if line in shown:
            return shown[line]
        if line.startswith("show session-config named"):
            return self.diff(words[3])
        if line == "write memory":
            self.startup = self.running
            return DONE
        if words[:2] == ["configure", "checkpoint"]:
            return self.checkpoint(words[2], words[3])
        return f"% Invalid input (at token 0: '{words[0]}')"

    def checkpoint(self, verb: str, name: str) -> str:
        if verb == "save":
            self.checkpoints[name] = self.running
        else:
            self.running = self.checkpoints[name]
        return ""

    def diff(self, name: str) -> str:
        one, two = self.running.splitlines(), self.sessions[name].text.splitlines()
        names = ("system:/running-config", f"session:/{name}-session-config")
        return "\n".join(difflib.unified_diff(one, two, *names, lineterm=""))

    def detail(self) -> str:
        rows: dict[str, Any] = {}
        for name, session in self.sessions.items():
            rows[name] = {"state": session.state, "commitUser": "", "description": "", "instances": {}}
        top: dict[str, Any] = {"sessions": rows, "maxSavedSessions": 1, "maxOpenSessions": 5}
        if self.armed and self.from_432:
            top |= {"commitTimerSessionName": self.armed[0], "commitTimerExpireTime": 86640.25}
        elif self.armed:
            rows[self.armed[0]] |= {"state": "pendingCommitTimer", "commitBy": 1767312240.5}
        return json.dumps(top, indent=4)
