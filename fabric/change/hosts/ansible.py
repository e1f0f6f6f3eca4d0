"""One run of ansible-playbook: started, followed, ended when asked; its output is not kept."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from fabric.change.hosts.tally import LIMIT, Tally
from fabric.change.hosts.work import HostOutcome, Work
from fabric.change.mask import mask_lines
from fabric.errors import FabricError
from fabric.resources import resource
from fabric.targets.host.playbook import (
    end,
    environment,
    folder_of_playbooks,
    inventory,
    joined,
    limit,
    playbook,
    program,
    reason,
    start,
)
from fabric.targets.host.scratch import Scratch, scratch

EVENTS = "FABRIC_EVENTS_FD"
_TICK_S = 0.2
_SAID = 64 << 10
"""Bytes of standard error that are looked at for the reason of a failure."""


def run_work(work: Work, stop: Callable[[], bool] = lambda: False) -> dict[str, HostOutcome]:
    """Runs it to its end, or until `stop()` or its deadline. Every host of `work` is in the result.

    Raises FabricError when Ansible could not begin: no program, no playbook, a mistake in one.
    """
    ansible, book = program(), playbook(work.playbook)
    tally = Tally(work.hosts)
    with scratch("hosts") as held:
        folder = held.path
        source = inventory(Path(work.spec) if work.spec else None, work.spec_text, folder)
        argv = [ansible, "-i", str(source), "--limit", limit(work.hosts, folder)]
        argv += ["--forks", str(work.forks), *(("--check", "--diff") if work.check else ())]
        if work.concern:
            argv += ["--extra-vars", f"fabric_concern={work.concern}"]
        argv.append(str(book))
        with (folder / "said").open("w+b") as said:
            code, cut = _follow(argv, held, said.fileno(), tally, (work.deadline_s, stop))
            said.seek(max(0, said.seek(0, os.SEEK_END) - _SAID))
            told = reason(mask_lines(said.read().decode("utf-8", "replace").splitlines()))
    why = cut or f"ansible-playbook ended with code {code}{f': {told}' if told else ''}"
    if code and not cut and not tally.task:
        raise FabricError(why)
    return tally.outcomes(why)


def require_concern(concern: str) -> None:
    """Raises FabricError when no playbook does this concern alone."""
    folder = folder_of_playbooks()
    known = sorted({p.name for p in (folder / "roles").glob("*") if (folder / f"{p.name}.yml").is_file()})
    if concern not in known:
        raise FabricError(f"--concern {concern!r} is none of {', '.join(known) or 'the playbooks'}")


def _environment(events: int, folder: Path) -> dict[str, str]:
    ours = str(resource("playbooks") / "plugins" / "callback")
    return environment(
        {
            "ANSIBLE_CALLBACK_PLUGINS": joined("ANSIBLE_CALLBACK_PLUGINS", ours, ":"),
            "ANSIBLE_STDOUT_CALLBACK": "fabric_events",
            EVENTS: str(events),
        },
        folder,
    )


def _follow(
    argv: list[str], held: Scratch, said: int, tally: Tally, until: tuple[float, Callable[[], bool]]
) -> tuple[int, str]:
    """Its exit code, and why it was ended by us ("" when it was not)."""
    reader, writer = os.pipe()
    try:
        process = start(
            argv, _environment(writer, held.path), held, out=subprocess.DEVNULL, err=said, pass_fds=(writer,)
        )
    except FabricError:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    try:
        return _read(process, reader, tally, until)
    finally:
        end(process)
        os.close(reader)


def _read(
    process: subprocess.Popen[bytes], reader: int, tally: Tally, until: tuple[float, Callable[[], bool]]
) -> tuple[int, str]:
    deadline, stop = time.monotonic() + until[0], until[1]
    rest, cut = b"", ""
    while True:
        ended = process.poll() is not None
        ready, _, _ = select.select([reader], [], [], 0 if ended else _TICK_S)
        data = os.read(reader, 1 << 20) if ready else b""
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            tally.line(line)
        rest = rest if len(rest) <= LIMIT else b""
        if ended and not data:
            return process.returncode, cut
        if not ended and not cut and (stop() or time.monotonic() > deadline):
            cut = "it was stopped by the operator" if stop() else f"no end after {until[0]:g} s"
            end(process)
        elif not ended and not ready and not data:
            continue
