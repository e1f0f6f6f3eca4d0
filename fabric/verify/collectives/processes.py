"""Programs side by side: started, bounded in time and in what they say, and ended when we end, however that happens."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from fabric.errors import FabricError
from fabric.targets.host import leash
from fabric.targets.host.scratch import Scratch
from fabric.verify.collectives.engines import PROGRAMS, program_text

K = TypeVar("K")

MOST_BYTES = 64 << 20
"""Of a program's output that are read: 24,576 lines of devices are 3 MB, and each rank may add some lines of log."""
FLOOD = 1 << 30
"""Bytes from which a program that still runs is ended: an endless one would fill the disk."""
FLOODED = "ended, as it said more than"
_TICK_S = 0.05
_GRACE_S = 15.0
"""Seconds between SIGTERM, which launchers hand on to their ranks, and SIGKILL (our choice)."""


@dataclass(frozen=True, slots=True)
class Command:
    """`argv[0]` is looked for in PATH. `env` is added to ours. `limit_s`: seconds, then it is ended. `after_kill` ends what may be left.

    `files`: name -> text, written beside each other before the start; in `argv` and `env` stands FOLDER for their folder.
    """

    argv: tuple[str, ...]
    limit_s: float
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    after_kill: tuple[str, ...] = ()


FOLDER = "@FOLDER@"
"""In a command: the folder of its files."""


def shell_line(argv: Sequence[str], env: Mapping[str, str]) -> str:
    """A command as a line for a shell, to be shown. The text of a program of ours, which travels as an argument, is shown by its file."""
    texts = {program_text(name): f'"$(cat {name})"' for name in PROGRAMS}
    words = [f"{name}={shlex.quote(value)}" for name, value in env.items()]
    return " ".join([*words, *(texts.get(word) or shlex.quote(word) for word in argv)])


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its exit status (None: ended by us), all that it said, and why it was ended by us ("" when it was not)."""

    code: int | None
    out: str
    err: str = ""
    cut: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class _Running(Generic[K]):
    key: K
    command: Command
    process: subprocess.Popen[bytes]
    folder: Path
    began: float


class Pool(Generic[K]):
    """Programs of ours that run at once; leaving it ends those that are left. `held`: a folder of ours for their files."""

    def __init__(self, held: Scratch) -> None:
        self._held = held
        self._running: list[_Running[K]] = []
        self._count = 0

    def __enter__(self) -> Pool[K]:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        try:
            _end([one.process for one in self._running])
        finally:
            for one in self._running:
                _sweep_up(one.command)
            self._running = []

    def __len__(self) -> int:
        return len(self._running)

    def start(self, key: K, command: Command) -> None:
        """Starts one. Raises FabricError when there is no such program on this machine."""
        program = shutil.which(command.argv[0])
        if program is None:
            raise FabricError(f"there is no program {command.argv[0]} on this machine")
        folder = self._held.path / str(self._count)
        self._count += 1
        folder.mkdir()
        for name, text in command.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        argv = [program, *(word.replace(FOLDER, str(folder)) for word in command.argv[1:])]
        env = {**os.environ, **{name: text.replace(FOLDER, str(folder)) for name, text in command.env.items()}}
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            try:
                process = subprocess.Popen(  # noqa: S603 - names and numbers of the spec as arguments, no shell
                    [sys.executable, "-I", "-S", leash.__file__, str(os.getpid()), *argv],
                    stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, pass_fds=(self._held.lock,),
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise FabricError(f"{command.argv[0]} cannot be started: {error.strerror}") from error
        self._running.append(_Running(key, command, process, folder, time.monotonic()))

    def ended(self) -> Iterator[tuple[K, Ended]]:
        """Those that have ended meanwhile; waits a moment when there are none."""
        found = False
        late: list[tuple[_Running[K], str]] = []
        for one in list(self._running):
            if one.process.poll() is not None:
                found = True
                self._running.remove(one)
                yield one.key, _result(one, "")
            elif why := _too_much(one):
                late.append((one, why))
        if late:
            _end([one.process for one, _ in late])
            for one, why in late:
                self._running.remove(one)
                _sweep_up(one.command)
                yield one.key, _result(one, why)
        elif not found:
            time.sleep(_TICK_S)


def _too_much(one: _Running[Any]) -> str:
    """Why it is to be ended: too long, or it says so much that the disk would fill; "" for neither."""
    if time.monotonic() - one.began > one.command.limit_s:
        return f"no end after {one.command.limit_s:g} s"
    if any((one.folder / name).stat().st_size > FLOOD for name in ("out", "err")):
        return f"{FLOODED} {FLOOD >> 20} MiB"
    return ""


def _result(one: _Running[Any], cut: str) -> Ended:
    code = None if cut else one.process.returncode
    out, err = (_read(one.folder / name) for name in ("out", "err"))
    shutil.rmtree(one.folder)
    return Ended(code, out, err, cut, time.monotonic() - one.began)


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MOST_BYTES).decode("utf-8", "replace")


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """SIGTERM to all, one time of grace for all together, then SIGKILL to their sessions; that at once when somebody interrupts us again."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    until = time.monotonic() + _GRACE_S
    try:
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
    finally:
        for process in processes:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _sweep_up(command: Command) -> None:
    """What a launcher may have left when it was ended: a job of Slurm."""
    if command.after_kill and shutil.which(command.after_kill[0]):
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603 - our own arguments
                command.after_kill, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=30, check=False,
            )  # fmt: skip
