"""Reads sources on this host, each in a child with a deadline: what does not answer is Unseen, and the rest goes on."""

from __future__ import annotations

import glob
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fabric.verify.hosts.node import child
from fabric.verify.hosts.node.probe import probe
from fabric.verify.hosts.node.sources import Command, Digest, Files, Probe, Seen, Source, Unseen

FILE_BYTES = 1 << 20
"""Of one file, in bytes; those of /sys and /proc are far smaller."""
DEADLINE_S = 20.0
"""For one source, in seconds (our choice; NHC's watchdog ends a whole check after 30 s)."""


def gather(sources: Iterable[Source], deadline_s: float = DEADLINE_S) -> Seen:
    """Reads them all, several at once; those that are `late` after the others."""
    wanted = list(dict.fromkeys(sources))
    late = [source for source in wanted if isinstance(source, Files) and source.late]
    found = _gather([source for source in wanted if source not in late], deadline_s)
    found.update(_gather(late, deadline_s))
    return Seen(found, time.time())


def _gather(wanted: Sequence[Source], deadline_s: float) -> dict[Source, object]:
    quiet: list[Files | Digest] = [source for source in wanted if isinstance(source, (Files, Digest))]
    loud: list[Command | Probe] = [source for source in wanted if isinstance(source, (Command, Probe))]
    starts = [child.function(_reader(quiet)), *(_start(source) for source in loud)]
    files, *others = child.run_all(starts, deadline_s)
    found: dict[Source, object] = dict(_read_files(quiet, files, deadline_s))
    for source, ended in zip(loud, others):  # noqa: B905 - `strict` came with Python 3.10
        found[source] = _answer(source, ended, deadline_s)
    return found


def _start(source: Command | Probe) -> child.Start:
    if isinstance(source, Command):
        return child.command(source.argv)
    path, host, write = source.path, source.host, source.write
    return child.function(lambda say: say(probe(path, host, write=write).encode()))


def _answer(source: Command | Probe, ended: child.Ended, deadline_s: float) -> object:
    """The text of a command or probe, or Unseen. A probe that does not end has an answer too: "hangs"."""
    if isinstance(source, Probe):
        if ended.late:
            return f"hangs {deadline_s:g}"
        return ended.out.decode("utf-8", "replace") if ended.status == 0 else Unseen("the probe did not end by itself")
    name = source.argv[0]
    if ended.failed:
        return Unseen(f"{name}: {ended.failed}")
    if ended.late:
        return Unseen(f"{name}: no answer in {deadline_s:g} s")
    out, errors = ended.out.decode("utf-8", "replace"), ended.err.decode("utf-8", "replace")
    if ended.status not in source.ok:
        said = [line.strip() for line in (out + "\n" + errors).splitlines() if line.strip()]
        words = "; ".join(said[-2:])[:160]  # nvidia-smi says what is wrong in the last line but one
        return Unseen(f"{name} ended with {ended.status}{': ' + words if words else ''}")
    return out + errors if source.errors else out


def _reader(sources: list[Files | Digest]) -> Callable[[Callable[[bytes], None]], None]:
    """Reads files one after another and tells each source's result in a line, so that a hang costs only what comes after it."""

    def work(say: Callable[[bytes], None]) -> None:
        for source in sources:
            say(
                json.dumps(_digest(source.path) if isinstance(source, Digest) else _files(source.pattern)).encode()
                + b"\n"
            )

    return work


def _files(pattern: str) -> dict[str, str]:
    found = {}
    for path in sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]:  # noqa: PTH207 - absolute patterns
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - quicker, for some hundred files
                found[path] = file.read(FILE_BYTES).decode("utf-8", "replace")
        except OSError:
            continue  # a file that cannot be read says no more than one that is not there
    return found


def _digest(path: str) -> dict[str, str]:
    try:
        return {path: hashlib.sha256(Path(path).read_bytes()).hexdigest()}
    except OSError:
        return {}


def _read_files(
    sources: list[Files | Digest], ended: child.Ended, deadline_s: float
) -> Iterable[tuple[Source, object]]:
    """What the reading child told; the first that is missing is where it hung."""
    lines = ended.out.split(b"\n")
    for place, source in enumerate(sources):
        if place < len(lines) - 1:
            yield source, json.loads(lines[place])
        else:
            at = sources[len(lines) - 1]
            name = at.path if isinstance(at, Digest) else at.pattern
            yield source, Unseen(f"no answer in {deadline_s:g} s while reading {name}" if ended.late else "not read")
