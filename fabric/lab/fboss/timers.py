"""systemd-run: transient timers that outlive the session, fire once, and can be stopped until they do.

A timer is a process that sleeps, and a file in the state folder's `timers`. Who renames the file first wins, the timer that fires or the
operator who stops it: never both.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from fabric.errors import FabricError
from fabric.lab import proc
from fabric.lab.fboss.node import Node, write_whole

_UNITS = {
    "us": 1e-6, "ms": 1e-3, "": 1.0, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "m": 60.0, "min": 60.0, "minute": 60.0,
    "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip
_SPAN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")
_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]{1,255}").fullmatch
_WITH_VALUE = ("--on-active", "--unit", "--timer-property", "--property", "--description", "--setenv", "--slice")
_ALONE = ("--no-block", "--collect", "--quiet", "--same-dir", "--no-ask-password")
_SHORT = {"-u": "--unit", "-p": "--property", "-E": "--setenv", "-q": "--quiet", "-G": "--collect", "-d": "--same-dir"}
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def seconds(text: str) -> float:
    """A time span of systemd (`300`, `5min`, `1h 30s`) in seconds; FabricError for what is none."""
    total, at = 0.0, 0
    while at < len(text.rstrip()):
        found = _SPAN.match(text, at)
        if not found or found[2] not in _UNITS:
            raise FabricError(f"Failed to parse timer value: {text}")
        total += float(found[1]) * _UNITS[found[2]]
        at = found.end()
    if not at:
        raise FabricError(f"Failed to parse timer value: {text}")
    return total


def _folder(node: Node, kind: str) -> Path:
    folder = node.state(kind)
    folder.mkdir(exist_ok=True)
    return folder


def timers(node: Node) -> dict[str, dict[str, Any]]:
    """The armed timers by unit name without suffix: pid, deadline (monotonic seconds), command."""
    found = {}
    for path in sorted(_folder(node, "timers").glob("*.json")):
        try:
            row = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # it fired, or is being written, at this moment
        if proc.start_time(row["pid"]) == row["start"]:
            found[path.stem] = row
    return found


def running(node: Node, name: str) -> bool:
    """Whether the service that a timer started is still at work."""
    try:
        row = json.loads((_folder(node, "services") / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(proc.start_time(row["pid"]) == row["start"])


def stop(node: Node, name: str) -> bool:
    """Stop an armed timer; False when there is none of that name (it fired, or never was)."""
    path = _folder(node, "timers") / f"{name}.json"
    row = timers(node).get(name)
    if row is None:
        return False
    try:
        path.rename(path.with_suffix(".stopped"))
    except FileNotFoundError:
        return False
    path.with_suffix(".stopped").unlink(missing_ok=True)
    try:
        os.kill(row["pid"], signal.SIGKILL)
    except ProcessLookupError:
        return True  # it woke up, found its file gone and left
    return True


def clear(node: Node) -> None:
    """Transient units do not outlive a reboot: end all timers."""
    for name in timers(node):
        stop(node, name)
    for kind in ("timers", "services"):
        for path in _folder(node, kind).iterdir():
            path.unlink()


class Order:
    """One parsed command line of systemd-run; FabricError in systemd's words for what it would refuse."""

    def __init__(self, words: Sequence[str]) -> None:
        self.after: float | None = None
        self.unit = f"run-r{os.urandom(16).hex()}"
        self.quiet = False
        self.env: dict[str, str] = {}
        at = 0
        while at < len(words) and words[at].startswith("-"):
            if words[at] == "--":
                at += 1
                break
            at += self._option(words, at)
        self.command = list(words[at:])
        if not self.command:
            raise FabricError("Command line to execute required.")

    def _option(self, words: Sequence[str], at: int) -> int:
        """Take one option; returns how many words it was."""
        key, equals, value = words[at].partition("=")
        key = _SHORT.get(key, key)
        if key in _ALONE:
            self.quiet = self.quiet or key == "--quiet"
            return 1
        if key not in _WITH_VALUE:
            raise FabricError(f"systemd-run: unrecognized option '{words[at]}'")
        if not equals:
            if at + 1 >= len(words):
                raise FabricError(f"systemd-run: option '{key}' requires an argument")
            value = words[at + 1]
        self._set(key, value)
        return 1 if equals else 2

    def _set(self, key: str, value: str) -> None:
        if key == "--on-active":
            self.after = seconds(value)
        elif key == "--unit":
            name = re.sub(r"\.(timer|service)$", "", value)
            if not _NAME(name):
                raise FabricError(f"Failed to mangle unit name: Invalid argument: {value}")
            self.unit = name
        elif key == "--setenv":
            name, _, text = value.partition("=")
            self.env[name] = text


def arm(node: Node, order: Order) -> None:
    """Start the timer's process (or, without a delay, the service) and return when it is on record."""
    if order.unit in timers(node):
        raise FabricError(
            f"Failed to start transient timer unit: Unit {order.unit}.timer was already loaded or has a fragment file."
        )
    ready, told = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(ready)
            _sleep_and_run(node, order, told)
        os._exit(0)
    os.close(told)
    os.wait()
    with os.fdopen(ready, "rb") as answer:
        answer.read(1)


def _sleep_and_run(node: Node, order: Order, told: int) -> NoReturn:
    """The timer's own process; it keeps nothing of the session that armed it."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.chdir("/")
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        deadline = time.monotonic() + (order.after or 0.0)
        row = {
            "pid": os.getpid(),
            "start": proc.start_time(os.getpid()),
            "deadline": deadline,
            "command": order.command,
        }
        path = _folder(node, "timers") / f"{order.unit}.json"
        write_whole(path, json.dumps(row))
        os.write(told, b"1")
        os.close(told)
        while (rest := deadline - time.monotonic()) > 0:
            time.sleep(rest)
        path.rename(_folder(node, "services") / f"{order.unit}.json")  # stopped in this moment: FileNotFoundError
        _run(node, order)
    finally:
        os._exit(0)


def _run(node: Node, order: Order) -> None:
    log = os.open(node.state("journal.log"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    node.journal(order.unit, f"Started {' '.join(order.command)}.")
    os.dup2(log, 1)
    os.dup2(log, 2)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    env = {"PATH": _PATH, "HOME": "/root", "LANG": "C.UTF-8", **order.env}
    try:
        os.execvpe(order.command[0], order.command, env)  # noqa: S606 - the operator's own command line, no shell
    except OSError as error:
        node.journal(order.unit, f"Failed to execute {order.command[0]}: {error.strerror}")


def main(argv: list[str]) -> int:
    """`systemd-run` of the box whose folder is the first argument."""
    try:
        node, order = Node(argv[1]), Order(argv[2:])
        arm(node, order)
    except FabricError as error:
        print(error.message, file=sys.stderr)
        return 1
    if not order.quiet:
        if order.after is not None:
            print(f"Running timer as unit: {order.unit}.timer", file=sys.stderr)
            print(f"Will run service as unit: {order.unit}.service", file=sys.stderr)
        else:
            print(f"Running as unit: {order.unit}.service", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
