"""The file: opened, its version checked, its runs listed. Whatever SQLite refuses is one FabricError with the file's name.

Every text stands once, in `texts`; rows hold its number, so that a pass of thousands of links a run stays a few bytes each.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import FabricError

VERSION = 1
"""Version of the tables, SQLite's `user_version`."""
APPLICATION = 0x46414248
"""SQLite's `application_id`: "FABH"."""
WAIT_S = 5.0
"""Seconds to wait for another process that writes (our choice: one run is written in two seconds at most)."""
_CHUNK = 500
"""Values in one `IN (...)`: SQLite before 3.32 takes 999."""

_SCHEMA = f"""
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, at TEXT NOT NULL, tool TEXT NOT NULL, spec TEXT NOT NULL,
  spec_sha256 TEXT NOT NULL, checks TEXT NOT NULL, selection TEXT NOT NULL,
  passed INTEGER NOT NULL, failed INTEGER NOT NULL, unknown INTEGER NOT NULL);
CREATE TABLE specs (sha256 TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE findings (
  run INTEGER NOT NULL REFERENCES runs(id), verdict TEXT NOT NULL, severity TEXT NOT NULL, "check" INTEGER NOT NULL,
  subject INTEGER NOT NULL, devices INTEGER NOT NULL, links INTEGER NOT NULL, measured INTEGER NOT NULL,
  expected INTEGER NOT NULL, action INTEGER NOT NULL, evidence INTEGER NOT NULL, count INTEGER NOT NULL);
CREATE INDEX findings_run ON findings (run, verdict);
CREATE INDEX findings_subject ON findings (subject);
CREATE INDEX findings_devices ON findings (devices) WHERE verdict != 'pass';
CREATE INDEX findings_links ON findings (links) WHERE verdict != 'pass';
CREATE TABLE measurements (
  run INTEGER NOT NULL REFERENCES runs(id), stage TEXT NOT NULL, test TEXT NOT NULL, hosts INTEGER NOT NULL,
  rails TEXT NOT NULL, size INTEGER NOT NULL, "values" TEXT NOT NULL, state TEXT NOT NULL, reason INTEGER NOT NULL,
  wrong INTEGER, trunks INTEGER NOT NULL, source INTEGER NOT NULL, round INTEGER NOT NULL);
CREATE INDEX measurements_run ON measurements (run);
CREATE INDEX measurements_hosts ON measurements (hosts);
CREATE TABLE parts (
  run INTEGER NOT NULL REFERENCES runs(id), kind TEXT NOT NULL, name INTEGER NOT NULL, confidence REAL NOT NULL,
  place INTEGER NOT NULL, evidence INTEGER NOT NULL, others INTEGER NOT NULL, next INTEGER NOT NULL, hosts INTEGER NOT NULL);
CREATE INDEX parts_run ON parts (run);
CREATE INDEX parts_name ON parts (name);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Whose run it is: `run` a name that sorts by time, `at` UTC as `2026-01-31T12:00:05Z`, `tool` fabric's version.

    `spec_text` is kept once for each hash, so that a change can be shown; "" keeps none (it must be free of secrets).
    """

    run: str
    at: str
    tool: str
    spec: str
    spec_sha256: str
    spec_text: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One run as kept. `passed`, `failed` and `unknown` as in its report; an empty `selection` is the whole cluster."""

    id: int
    run: str
    at: str
    tool: str
    spec: str
    spec_sha256: str
    checks: tuple[str, ...]
    selection: tuple[str, ...]
    passed: int
    failed: int
    unknown: int

    @property
    def good(self) -> bool:
        """Something passed and nothing failed."""
        return not self.failed and self.passed > 0

    def covers(self, other: Run) -> bool:
        """Whether it looked at all that the other one did."""
        return set(other.checks) <= set(self.checks) and self.selection in ((), other.selection)


def history_file(state: Path, cluster: str) -> Path:
    """The history of a cluster in its state folder; the name of a cluster is a host label, so it is a file name too."""
    return state / f"{cluster}.history.sqlite"


class History:
    """An open history. Numbers of texts are given out by `number`, and read back by `text`."""

    def __init__(self, path: Path, base: sqlite3.Connection) -> None:
        self.path = path
        self.base = base
        self._numbers: dict[str, int] = {}
        self._texts: dict[int, str] = {}

    @classmethod
    @contextmanager
    def read(cls, path: Path) -> Iterator[History]:
        """The history at `path`, which nothing is written to. FabricError when there is none, and when it cannot be read."""
        if not path.exists():
            raise FabricError(f"there is no history yet: {path} is not there", hint="fabric validate keeps one")
        with cls._opened(path, "ro") as found:
            if found.version() == 0:
                raise FabricError(f"there is no history yet: {path} is empty", hint="fabric validate keeps one")
            yield found

    @classmethod
    @contextmanager
    def write(cls, path: Path) -> Iterator[History]:
        """The history at `path` in one transaction: all of it is kept, or nothing. Made when there is none."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                path.touch(mode=0o600)
        except OSError as error:
            raise FabricError(f"cannot write {path}: {error.strerror}") from error
        with cls._opened(path, "rw") as found:
            found.base.execute("BEGIN IMMEDIATE")
            if found.version() == 0:
                found.create()
            found.know_texts()
            yield found
            found.base.execute("COMMIT")

    @classmethod
    @contextmanager
    def _opened(cls, path: Path, mode: str) -> Iterator[History]:
        if not path.is_file():
            raise FabricError(f"{path} is no regular file, so it is no history")
        with told(path):
            base = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=WAIT_S, isolation_level=None
            )
            try:
                base.execute("PRAGMA trusted_schema = OFF")
                found = cls(path, base)
                found.check()
                yield found
            finally:
                base.close()  # what was not committed is gone with it

    def version(self) -> int:
        """The version of its tables; 0 for an empty file."""
        return int(self.base.execute("PRAGMA user_version").fetchone()[0])

    def check(self) -> None:
        """FabricError unless it is a history that this version understands, or an empty file."""
        (application,) = self.base.execute("PRAGMA application_id").fetchone()
        tables = self.base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION and (application or tables):
            raise FabricError(
                f"{self.path} is a database of another program", hint="move it away: a new history begins"
            )
        if self.version() > VERSION:
            raise FabricError(
                f"{self.path} was written by a newer fabric (tables {self.version()}, this one knows {VERSION})",
                hint="use that version, or move the file away: a new history begins",
            )

    def create(self) -> None:
        """Makes the tables, inside the open transaction."""
        for statement in _SCHEMA.split(";\n"):
            if statement.strip():
                self.base.execute(statement)

    def know_texts(self) -> None:
        """All numbers at once: one question a text would take most of the time of a run with many passes."""
        self._numbers = {str(text): number for number, text in self.base.execute("SELECT id, text FROM texts")}

    def number(self, text: str) -> int:
        """The number of a text, which is put in when it is new."""
        found = self._numbers.get(text)
        if found is None:
            clean = text.encode("utf-8", "replace").decode()
            found = self._numbers.get(clean)
        if found is None:
            found = self.base.execute("INSERT INTO texts (text) VALUES (?)", (clean,)).lastrowid
            if not isinstance(found, int):
                raise FabricError(f"{self.path} is damaged: a text has no number", hint=_AWAY)
            self._numbers[clean] = found
        return found

    def numbers(self, texts: Sequence[str]) -> int:
        """The number of a list of texts."""
        return self.number(json.dumps(list(texts), ensure_ascii=False)) if texts else self.number("")

    def text(self, number: int) -> str:
        """The text of a number."""
        found = self._texts.get(number)
        if found is None:
            row = self.base.execute("SELECT text FROM texts WHERE id = ?", (number,)).fetchone()
            if row is None:
                raise FabricError(f"{self.path} is damaged: text {number} is missing", hint=_AWAY)
            found = self._texts[number] = str(row[0])
        return found

    def texts(self, number: int) -> tuple[str, ...]:
        """The list of a number."""
        text = self.text(number)
        return listed(text, self.path) if text else ()

    def mentions(self, name: str) -> list[tuple[int, str]]:
        """All texts that hold `name` anywhere, with their numbers."""
        clean = name.encode("utf-8", "replace").decode()  # as `number` keeps it
        return self.base.execute("SELECT id, text FROM texts WHERE instr(text, ?) ORDER BY id", (clean,)).fetchall()

    def rows(self, query: str, values: Iterable[Any]) -> Iterator[sqlite3.Row | tuple[Any, ...]]:
        """The rows of a query with one `IN ({})`, for any number of values."""
        all_values = list(values)
        for start in range(0, len(all_values), _CHUNK):
            some = all_values[start : start + _CHUNK]
            yield from self.base.execute(query.replace("{}", ",".join("?" * len(some))), some)

    def spec(self, sha256: str) -> str | None:
        """The text of a spec; None when it was not kept."""
        row = self.base.execute("SELECT text FROM specs WHERE sha256 = ?", (sha256,)).fetchone()
        return None if row is None else str(row[0])

    def runs(self, last: int | None = None) -> list[Run]:
        """The runs, the oldest first; only so many of the last ones."""
        found = self.base.execute("SELECT * FROM runs ORDER BY id DESC LIMIT ?", (-1 if last is None else last,))
        return [self._run(row) for row in found][::-1]

    def _run(self, row: tuple[Any, ...]) -> Run:
        number, run, at, tool, spec, sha, checks, selection, *counts = row
        if not all(isinstance(count, int) for count in (number, *counts)):
            raise FabricError(f"{self.path} is damaged: run {run} has no counts", hint=_AWAY)
        return Run(
            number, str(run), str(at), str(tool), str(spec), str(sha), listed(checks, self.path),
            listed(selection, self.path), *counts,
        )  # fmt: skip


_AWAY = "move the file away: a new history begins"
_REASONS = {
    "database is locked": ("another process is writing to it", "try again"),
    "database or disk is full": ("no space left on the device", None),
    "attempt to write a readonly database": ("it is read-only", None),
    "unable to open database file": ("permission denied", None),
}


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turns what SQLite raises into a FabricError with the file and the reason; a damaged file says what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        reason, hint = _REASONS.get(str(error), (_short(error), None))
        raise FabricError(f"cannot use {path}: {reason}", hint=hint) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise FabricError(f"{path} is damaged: {_short(error)}", hint=_AWAY) from error


def _short(error: Exception) -> str:
    """SQLite's reason in one line, without the statement that it may quote."""
    return " ".join(str(error).split())[:100]


def listed(text: Any, path: Path) -> tuple[str, ...]:
    """A list of texts from its JSON; FabricError when it is none."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise FabricError(f"{path} is damaged: a list is no list", hint=_AWAY)
    return tuple(str(item) for item in found)
