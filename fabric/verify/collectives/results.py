"""The file of results, version `fabric.results/1`: measurements and clues as JSON lines, so that a run can add to it as it goes.

The first line is `{"schema": "fabric.results/1", "cluster": "..."}`; each other line is `{"measurement": {...}}` or `{"clue": {...}}`
with the fields of `Measurement` and `Clue`. Each later run that adds to the file begins with such a first line of its own. A last line
without its line feed was cut off by a kill and is left out. What a file says is untrusted: its size and every line are bounded, types are
strict, and anything else is refused by one line.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import cache
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fabric.errors import FabricError
from fabric.verify.collectives.model import Clue, Measurement

if TYPE_CHECKING:
    from fabric.design.seats import Seating

SCHEMA = "fabric.results/1"
LARGEST = 512 << 20
"""Bytes of a file: about a million results of two hosts."""
HEAD = 4096
"""Bytes in which the first line of a file ends."""
MOST = (1 << 63) - 1
"""Of sizes and counts: what a database keeps."""
FASTEST = 1e9
"""GB/s that are believed: a million times what any host does."""
_DOCUMENT = re.compile(rb'\s*\{\s*"schema":\s*"(fabric\.[a-z.-]+/\d+)"')
LONGEST = 4 << 20
"""Bytes of a line: one result of 3,072 hosts needs less than a tenth."""


def line(one: Measurement | Clue) -> str:
    """One result as a line, with its line feed."""
    noun = "measurement" if isinstance(one, Measurement) else "clue"
    return json.dumps({noun: asdict(one)}, ensure_ascii=False, separators=(",", ":")) + "\n"


class Recorder:
    """A file of results that is open for more: `with Recorder(path, cluster) as file: file.add(one)`.

    Made when there is none; added to when it is one of the same cluster, else refused by FabricError. Each result is with the
    system when `add` returns, so a kill loses nothing, and on disk at the end.
    """

    def __init__(self, path: Path, cluster: str = "") -> None:
        self.path = path
        try:
            self._file = _opened(path)
        except OSError as error:
            raise self._cannot(error) from error
        try:
            self._begin(cluster)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, cluster: str) -> None:
        try:
            first, end = self._file.read(HEAD).partition(b"\n")[0], self._file.seek(0, os.SEEK_END)
            if not end:
                self._write(json.dumps({"schema": SCHEMA, "cluster": cluster}) + "\n")
                return
            head = _header(first)
            if head is None:
                raise FabricError(f"{self.path} is there and no file of results", hint="give another name")
            if cluster and head.get("cluster") not in (None, "", cluster):
                raise FabricError(f"{self.path} holds results of another cluster", hint="give another name")
            self._cut_off(end)
            if end > len(first) + 1:  # results of an earlier run are there
                self._write(first.decode() + "\n")
        except OSError as error:
            raise self._cannot(error) from error

    def _cut_off(self, end: int) -> None:
        """Takes away what a kill left of a line at the end. OSError."""
        start = max(0, end - LONGEST)
        self._file.seek(start)
        tail = self._file.read(end - start)
        whole = tail.rfind(b"\n") + 1
        if not whole:
            self._write("\n")  # only the first line is there, whole but for its line feed
        elif whole != len(tail):
            self._file.truncate(start + whole)

    def add(self, one: Measurement | Clue) -> None:
        """Adds a result."""
        self._write(line(one))

    def _write(self, text: str) -> None:
        view = memoryview(text.encode())
        try:
            while view:
                view = view[self._file.write(view) or 0 :]
        except OSError as error:
            raise self._cannot(error) from error

    def _cannot(self, error: OSError) -> FabricError:
        return FabricError(f"cannot write {self.path}: {error.strerror or error}")

    def __enter__(self) -> Self:
        """The recorder itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Puts everything on disk."""
        with contextlib.suppress(OSError), self._file:
            os.fsync(self._file.fileno())


def _opened(path: Path) -> FileIO:
    """The file for reading and adding; never a device, a pipe or a socket. Raises OSError."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no regular file")
    return FileIO(handle, "r+")


def append(path: Path, found: Iterable[Measurement | Clue], cluster: str = "") -> None:
    """Adds results to a file, which is made when there is none."""
    with Recorder(path, cluster) as file:
        for one in found:
            file.add(one)


def read_all(paths: Iterable[Path], seating: Seating) -> tuple[list[Measurement], list[Clue]]:
    """The results of several files (`read_any`). What stands in more than one, a copy of it say, counts once: it is no more evidence."""
    measurements: Counter[Measurement] = Counter()
    clues: Counter[Clue] = Counter()
    for path in paths:
        found, said = read_any(path, seating)
        measurements |= Counter(found)
        clues |= Counter(said)
    return list(measurements.elements()), list(clues.elements())


def read_any(path: Path, seating: Seating) -> tuple[list[Measurement], list[Clue]]:
    """The results of a file of this kind, or of a tool's output or log, by its content (`sniff.read_results`). FabricError else,
    and for results of another cluster: its hosts may have the same names.
    """
    from fabric.verify.collectives.sniff import read_results

    try:
        _regular(path)
        with path.open("rb") as file:
            begin = file.read(HEAD)
    except OSError as error:
        raise FabricError(f"cannot read {path}: {error.strerror or error}") from error
    if (head := _header(begin.partition(b"\n")[0])) is not None:
        if head.get("cluster") not in (None, "", seating.name):
            raise FabricError(
                f"{path} holds results of another cluster, {str(head['cluster'])[:64]}",
                hint="give the spec of that cluster",
            )
        return read(path)
    other = _DOCUMENT.match(begin)
    if other is not None and (schema := other[1].decode()) != SCHEMA:
        raise FabricError(f"{path} is {schema}; results are {SCHEMA}", hint=_hint_of(schema))
    found = read_results(path, seating=seating)
    return [_believed(one) for one in found.measurements], list(found.clues)


def _hint_of(schema: str) -> str:
    """What to do with another document of ours."""
    if schema.startswith("fabric.results/"):
        return "a newer fabric wrote it: use that one"
    if schema in ("fabric.validate/1", "fabric.flight-recorder/1"):
        return "fabric report draws it; fabric validate collectives --results writes results"
    return "fabric validate collectives --results writes them"


def _believed(one: Measurement) -> Measurement:
    """A tool's result; one with a number that no run can come to says nothing."""
    why = _implausible(one)
    return replace(one, state="unmade", values=(), wrong=None, reason=f"not believed: {why}") if why else one


def is_results(head: bytes) -> bool:
    """Whether a file that begins so is one of these."""
    return _header(head.partition(b"\n")[0]) is not None


def read(path: Path) -> tuple[list[Measurement], list[Clue]]:
    """The results of a file, in its order; FabricError with file and line for what is none.

    What a later run has measured again does not count any more: see `_latest`.
    """
    runs: list[_Run] = [([], [])]
    try:
        _regular(path)
        if path.stat().st_size > LARGEST:
            raise FabricError(f"cannot read {path}: larger than {LARGEST >> 20} MiB")
        with path.open("rb") as file:
            if _header(file.readline(HEAD)) is None:
                raise FabricError(f"{path} is no file of results: its first line does not name the schema {SCHEMA}")
            for number, line in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), 2):
                if not line.endswith(b"\n") and len(line) <= LONGEST:
                    break  # cut off by a kill
                if line.startswith(b'{"schema"') and _header(line) is not None:
                    runs.append(([], []))
                    continue
                one = _parsed(f"{path}:{number}", line)
                if isinstance(one, Measurement):
                    runs[-1][0].append(one)
                elif one is not None:
                    runs[-1][1].append(one)
    except OSError as error:
        raise FabricError(f"cannot read {path}: {error.strerror or error}") from error
    return _latest(runs)


_Run = tuple[list[Measurement], list[Clue]]


def _latest(runs: Sequence[_Run]) -> _Run:
    """Of all runs what no later one has measured again: results whose hosts all took part later, and clues of such a host.

    When all hosts of a run took part later, nothing of it is left, also what logs said of switches. What could not be made measured nobody.
    """
    later: set[str] = set()
    measurements: list[Measurement] = []
    clues: list[Clue] = []
    for made, said in reversed(runs):
        hosts = {host for m in made if m.state != "unmade" for host in m.hosts}
        if not hosts or not hosts <= later:
            measurements[:0] = [m for m in made if not (m.hosts and later.issuperset(m.hosts))]
            clues[:0] = [c for c in said if later.isdisjoint(end.partition(":")[0] for end in (c.where, c.peer))]
        later |= hosts
    return measurements, clues


def _regular(path: Path) -> None:
    """FabricError for what is no regular file: a pipe may never say anything."""
    if not path.is_file():
        raise FabricError(f"cannot read {path}: {'it is no regular file' if path.exists() else 'no such file'}")


def _header(text: bytes) -> dict[str, Any] | None:
    """A first line as data; None for one of another kind."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("schema") == SCHEMA else None


def _parsed(place: str, line: bytes) -> Measurement | Clue | None:
    """One line as what it holds; None for an empty one."""
    from pydantic import ValidationError

    if len(line) > LONGEST:
        raise FabricError(f"{place}: a line is longer than {LONGEST >> 20} MiB")
    if not line.strip():
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise FabricError(f"{place}: this is no line of results") from None
    noun = next(iter(found), None) if isinstance(found, dict) and len(found) == 1 else None
    if noun not in ("measurement", "clue"):
        raise FabricError(f"{place}: this is no line of results: neither a measurement nor a clue")
    try:
        one: Measurement | Clue = _adapter(noun).validate_json(json.dumps(found[noun]), strict=True)
    except (ValidationError, ValueError) as error:
        raise FabricError(f"{place}: {_reason(error)}") from None
    if wrong := _implausible(one):
        raise FabricError(f"{place}: {wrong}")
    return one


def _implausible(one: Measurement | Clue) -> str:
    """What no run can have come to; "" for nothing."""
    if isinstance(one, Clue):
        return "" if 0 < one.count <= MOST else "count: not a number of times"
    if not all(math.isfinite(value) and value >= 0 for value in one.values):
        return "values: must be finite and not negative"
    if any(value > FASTEST for value in one.values):
        return f"values: more than {FASTEST:g} GB/s"
    if not all(0 <= number <= MOST for number in (one.size, one.round, one.wrong or 0, *one.rails)):
        return "a size, round, rail or number of wrong elements is negative or too large"
    return "hosts: one stands twice" if len(set(one.hosts)) < len(one.hosts) else ""


@cache
def _adapter(noun: str) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Measurement if noun == "measurement" else Clue)


def _reason(error: Exception) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return "this is no line of results"
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the line"
    return f"{where}: not a word that is known" if first["type"] == "literal_error" else f"{where}: {first['msg']}"
