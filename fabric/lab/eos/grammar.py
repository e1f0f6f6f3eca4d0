"""Reads configuration lines by the table: which form a line has, its full words, its key; or where EOS would point at as wrong."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fabric.lab.eos.exec_table import EXEC
from fabric.lab.eos.grammar_table import TABLE
from fabric.lab.eos.values import Check, check_of

_WORD = re.compile(r"\S+")


class Refused(Exception):  # noqa: N818 - EOS's own word for what it is
    """A line that EOS does not take; `str()` is EOS's answer: "% Invalid input (at token 0: 'ruter')"."""


def invalid(token: int, word: str) -> Refused:
    """The refusal that names a token, counted from 0."""
    return Refused(f"% Invalid input (at token {token}: '{word}')")


def incomplete(token: int, word: str) -> Refused:
    """The refusal of a line cut short."""
    return Refused(f"% Incomplete command (at token {token}: '{word}')")


@dataclass(frozen=True, slots=True)
class Part:
    """One element of a form: `kind` is word, value, text, choice, option or key (the `=`)."""

    kind: str
    word: str = ""
    check: Check | None = None
    many: bool = False
    free: bool = False
    inner: tuple[tuple[Part, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table. `rank` is its place in a running-config, `group` grows at each `!` between groups."""

    mode: str
    form: str
    evidence: str
    opens: str
    flags: frozenset[str]
    rank: int
    group: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A line read by a row: its words in full, and the key under which a later line replaces it."""

    row: Row
    words: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def line(self) -> str:
        """The line as the running-config shows it."""
        return " ".join(self.words)


@dataclass(slots=True)
class _Attempt:
    """What one try of a row has found: how far it got, and the words when the line ended too early."""

    text: str
    words: list[str]
    starts: list[int]
    far: int = 0
    cut: bool = False
    partial: tuple[str, ...] | None = None
    found: tuple[tuple[str, ...], tuple[str, ...], int] | None = None
    shortened: int = 0
    trail: list[tuple[str, bool]] = field(default_factory=list)

    def walk(self, parts: tuple[Part, ...], at: int, open_key: bool) -> bool:
        """Whether `parts` match the words from `at` on."""
        if not parts:
            self.far = max(self.far, at)
            if at < len(self.words):
                return False
            words = tuple(word for word, _ in self.trail)
            self.found = words, tuple(word for word, keyed in self.trail if keyed), self.shortened
            return True
        part, rest = parts[0], parts[1:]
        if part.kind == "key":
            return self.walk(rest, at, open_key=False)
        if part.kind == "option":
            return self.walk((*part.inner[0], *rest), at, open_key) or self.walk(rest, at, open_key)
        if part.kind == "choice":
            # written out in full first, so that `priority` is never taken for a shortened `priority-flow-control`
            return any(self.walk((*branch, *rest), at, open_key) for branch in part.inner)
        return self._token(part, rest, at, open_key)

    def _token(self, part: Part, rest: tuple[Part, ...], at: int, open_key: bool) -> bool:
        self.far = max(self.far, at)
        if at >= len(self.words):
            self.cut = True
            if self.partial is None or len(self.trail) > len(self.partial):
                self.partial = tuple(word for word, _ in self.trail)
            return False
        word = self.words[at]
        if part.kind == "text":
            return self._push(self.text[self.starts[at] :].rstrip(), rest, len(self.words), open_key)
        if part.kind == "word":
            if not part.word.startswith(word):
                return False
            short = int(part.word != word)
            self.shortened += short
            if self._push(part.word, rest, at + 1, open_key):
                return True
            self.shortened -= short
            return False
        shown = part.check(word) if part.check else None
        if shown is None:
            return False
        again = (part, *rest) if part.many else None
        keyed = open_key and not part.free
        return (again is not None and self._push(shown, again, at + 1, keyed)) or self._push(
            shown, rest, at + 1, keyed, open_key
        )

    def _push(self, word: str, rest: tuple[Part, ...], at: int, keyed: bool, open_key: bool | None = None) -> bool:
        self.trail.append((word, keyed))
        if self.walk(rest, at, keyed if open_key is None else open_key):
            return True
        self.trail.pop()
        return False


def split(line: str) -> tuple[list[str], list[int]]:
    """The words of a line and where each starts."""
    found = list(_WORD.finditer(line))
    return [match[0] for match in found], [match.start() for match in found]


@functools.lru_cache(maxsize=8192)
def read(mode: str, line: str) -> Match:
    """The line in `mode`. Raises Refused with EOS's words."""
    words, starts = split(line)
    best: list[tuple[int, Match]] = []
    far, cut = 0, False
    for row in _candidates(mode, words[0]):
        attempt = _Attempt(line, words, starts)
        attempt.walk(row.parts, 0, open_key=True)
        if attempt.found:
            best.append((attempt.found[2], Match(row, attempt.found[0], attempt.found[1])))
            if attempt.found[2] == 0:
                return best[-1][1]
        elif attempt.far >= far:
            cut = attempt.cut and attempt.far >= len(words) if attempt.far > far else cut or attempt.cut
            far = attempt.far
    if not best:
        raise (
            incomplete(len(words) - 1, words[-1])
            if cut and far >= len(words)
            else invalid(far, words[min(far, len(words) - 1)])
        )
    best.sort(key=lambda entry: entry[0])
    _unambiguous(words, [match for score, match in best if score == best[0][0]])
    return best[0][1]


def _unambiguous(words: list[str], matches: list[Match]) -> None:
    for other in matches[1:]:
        for place, (one, two) in enumerate(zip(matches[0].words, other.words, strict=False)):
            if one != two:
                raise Refused(f"% Ambiguous command (at token {place}: '{words[place]}')")


@functools.lru_cache(maxsize=1024)
def beginnings(mode: str, line: str) -> tuple[tuple[str, ...], ...]:
    """The full words of every form that `line` is a beginning of (or the whole): what `no` and `default` take. Empty: none."""
    words, starts = split(line)
    out: list[tuple[str, ...]] = []
    for row in _candidates(mode, words[0]):
        attempt = _Attempt(line, words, starts)
        if attempt.walk(row.parts, 0, open_key=True) and attempt.found:
            out.append(attempt.found[0])
        elif attempt.partial is not None and len(attempt.partial) == len(words):
            out.append(attempt.partial)
    exact = [found for found in out if list(found) == words]
    return tuple(dict.fromkeys(exact or out))


def _candidates(mode: str, word: str) -> Sequence[Row]:
    first = _index().get(mode, {})
    rows = list(first.get("", ()))
    for literal, found in first.items():
        if literal and literal.startswith(word):
            rows += found
    return rows


@functools.cache
def rows() -> tuple[Row, ...]:
    """The whole table, read."""
    out: list[Row] = []
    rank = group = 0
    for raw in [*TABLE.strip().splitlines(), *EXEC.strip().splitlines()]:
        if raw == "-":
            group += 1
            continue
        columns = [column.strip() for column in re.split(r" \|(?= |$)", raw)] + ["", "", ""]
        flags = frozenset(columns[4].split())
        rank += "same" not in flags
        parts = _parse(columns[1])
        out.append(Row(columns[0], columns[1], columns[2], columns[3], flags, rank, group, parts))
    return tuple(out)


@functools.cache
def _index() -> dict[str, dict[str, list[Row]]]:
    out: dict[str, dict[str, list[Row]]] = {}
    for row in rows():
        first = row.parts[0]
        out.setdefault(row.mode, {}).setdefault(first.word if first.kind == "word" else "", []).append(row)
    return out


_PIECE = re.compile(r"\[|\]|\{[^}]*\}\+?|<[^>]+>\+?|=|[^\s\[\]]+")


def _parse(form: str) -> tuple[Part, ...]:
    """The form as parts. Options do not nest deeper than one in another."""
    stack: list[list[Part]] = [[]]
    for piece in _PIECE.findall(form):
        if piece == "[":
            stack.append([])
        elif piece == "]":
            inner = tuple(stack.pop())
            stack[-1].append(Part("option", inner=(inner,)))
        else:
            stack[-1].append(_part(piece))
    return tuple(stack[0])


def _part(piece: str) -> Part:
    if piece == "=":
        return Part("key")
    many = piece.endswith("+") and len(piece) > 1 and piece[-2] in ">}"
    body = piece.removesuffix("+") if many else piece
    if body.startswith("{"):
        names = body[1:-1].split("|")
        if many:  # a list of fixed words: a value that is one of them
            return Part("value", check=functools.partial(_one_of, frozenset(names)), many=True)
        return Part("choice", inner=tuple((_part(name),) for name in names))
    if body == "<text>":
        return Part("text")
    if body.startswith("<"):
        kind = body[1:-1]
        return Part("value", check=check_of(kind.removesuffix("!")), many=many, free=kind.endswith("!"))
    return Part("word", word=body)


def _one_of(names: frozenset[str], token: str) -> str | None:
    return token if token in names else None
