"""The diff of EOS configurations: a tree by indentation, sections matched by their header, order ignored where EOS ignores it.

For eyes only: a push replaces the whole configuration, and the device's own session diff is the truth.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

from fabric.change.diff_model import MAX_DEPTH, Change, UnreadableError, printable
from fabric.change.mask import mask_line, same_secrets

Tree = dict[str, "Tree"]
"""Line -> lines below it. A line that stands twice carries its count after a NUL; a banner is one line with newlines in it."""

V = TypeVar("V")
_NOTHING: Tree = {}  # shared, never changed
_BANNER = re.compile(r"^banner [^\n]*\n.*?(?:^EOF[ \t]*(?:\n|\Z)|\Z)", re.MULTILINE | re.DOTALL)
_TOP = re.compile(r"\n(?=[^ \t\n])")
# A list whose order means something and carries no numbers: the servers of a group are tried in turn, the entries of an
# unnumbered list are matched in turn. Everything else has numbers (seq, permit 10) or is a set.
_ORDERED_SECTION = re.compile(r"aaa group server |ip(?:v6)? access-list |ip(?:v6)? prefix-list |class-map |policy-map ")
_ORDERED_LINES = re.compile(r"(?:tacacs|radius)-server host |ip as-path access-list |ip community-list ")
_SPLIT = re.compile(r"router ")
_INDENT = "   "
_SUBJECT = re.compile(r"(?:no )?(?:neighbor|interface|vlan|username|ip route(?: vrf \S+)?|network|seq|server) (\S+)")


def sections(text: str) -> dict[str, str]:
    """The lines of the top level, each with the text of what is below it, not yet read: most of it is equal on both sides.

    `!` lines, blank lines, trailing blanks and a closing `end` are left out; a banner is one line with newlines in it.
    """
    found: dict[str, str] = {}
    if "banner " in text:
        for match in _BANNER.finditer(text):
            _put(found, "\n".join(line.rstrip("\r") for line in match[0].rstrip("\n").split("\n")), "")
        text = _BANNER.sub("", text)
    for chunk in _TOP.split(text):
        header, _, body = chunk.partition("\n")
        header = header.strip()
        if not header or header[0] == "!":
            if not body.strip():
                continue
            header = "!"  # lines that are below nothing: a device would not write them, but they must not be lost
        elif header == "end" and not body.strip():
            continue
        _put(found, header, body)
    return found


def parse_tree(text: str) -> Tree:
    """The text below a header -> tree, by indentation. Raises UnreadableError when it is deeper than any configuration is."""
    if not text:
        return _NOTHING
    text = text.rstrip("\n")
    newlines = text.count("\n")
    if "\n    " not in text and "!" not in text and text[:3] == "   " != text[1:4] and text.count("\n   ") == newlines:
        lines = [line.strip() for line in text.split("\n")]
        flat = dict.fromkeys(filter(None, lines), _NOTHING)
        if len(flat) == len(lines) - lines.count(""):
            return flat
    return _by_indent(text)


def _by_indent(text: str) -> Tree:
    root: Tree = {}
    stack: list[tuple[int, Tree]] = [(-1, root)]
    for line in text.split("\n"):
        body = line.strip()
        if not body or body[0] == "!":
            continue
        indent = len(line) - len(line.lstrip())
        while indent <= stack[-1][0]:
            stack.pop()
        if len(stack) > MAX_DEPTH:
            raise UnreadableError(f"not a configuration: nested more than {MAX_DEPTH} levels deep")
        node: Tree = {}
        _put(stack[-1][1], body, node)
        stack.append((indent, node))
    return root


def _put(level: dict[str, V], key: str, value: V) -> None:
    """Adds a line; one that is there already gets its count, so that neither is lost."""
    if key in level:
        key = f"{key}\0{_free_count(level, key)}"
    level[key] = value


def _free_count(level: dict[str, V], key: str) -> int:
    """The first count from 2 that is free; counts have no gaps, so it is looked for by halving (a file may hold a million equal lines)."""
    high = 2
    while f"{key}\0{high}" in level:
        high *= 2
    low = high // 2  # taken, or the line itself
    while high - low > 1:
        middle = (low + high) // 2
        if f"{key}\0{middle}" in level:
            low = middle
        else:
            high = middle
    return high


def diff_text(running: str, desired: str, normalise: Callable[[str], str] | None = None) -> list[Change]:
    """Changes that make `running` into `desired`; none when both declare the same. Raises UnreadableError."""
    running, desired = running.replace("\r\n", "\n"), desired.replace("\r\n", "\n")
    if normalise:
        running, desired = normalise(running), normalise(desired)
    running, desired = same_secrets(running, desired)
    if running == desired:
        return []
    old, new = sections(running), sections(desired)
    return list(_top(_read(old, new), _read(new, old)))


def _read(these: dict[str, str], others: dict[str, str]) -> Tree:
    """The tree of one side; sections that are equal on both are left closed."""
    return {key: _NOTHING if others.get(key) == body else parse_tree(body) for key, body in these.items()}


def _top(old: Tree, new: Tree) -> Iterator[Change]:
    moved = _moved([k for k in old if _ORDERED_LINES.match(k)], [k for k in new if _ORDERED_LINES.match(k)])
    for removed, added in _pairs(old, new):
        if removed == added:
            if added not in moved:
                yield from _section(added, old[removed], new[added])
            continue
        yield Change((*_whole("-", removed, old), *_whole("+", added, new)), _subject(added or removed))
    if moved:
        yield Change(tuple(_reordered(old, new, moved, 0)))


def _section(header: str, old: Tree, new: Tree) -> Iterator[Change]:
    """A section on both sides: one change for all of it, or one for each subject where a section is a list of many (router bgp)."""
    ordered = _ORDERED_SECTION.match(header) is not None
    if old == new and not ordered:
        return
    split = _SPLIT.match(header) is not None
    below = _below(old, new, 1, split=split)
    if ordered and (moved := _moved(list(old), list(new))):
        below.append(("", _reordered(old, new, moved, 1)))
    context = ("  " + _show(header),)
    if not split:
        lines = [line for _, part in below for line in part]
        if lines:
            yield Change(tuple(lines), _subject(header), context)
        return
    by_subject: dict[str, list[str]] = {}
    for index, (subject, part) in enumerate(below):
        by_subject.setdefault(subject or f"\0{index}", []).extend(part)
    for subject, lines in by_subject.items():
        yield Change(tuple(lines), "" if subject[0] == "\0" else subject, context)


def _below(old: Tree, new: Tree, depth: int, *, split: bool) -> list[tuple[str, list[str]]]:
    """(subject, lines) of each difference inside a section; with `split`, each difference in a section below stands alone too."""
    found: list[tuple[str, list[str]]] = []
    for removed, added in _pairs(old, new):
        if removed != added:
            lines = [*_whole("-", removed, old, depth), *_whole("+", added, new, depth)]
            found.append((_subject(added or removed), lines))
        elif old[removed] != new[added]:
            header = f"  {_INDENT * depth}{_show(added)}"
            inner = _below(old[removed], new[added], depth + 1, split=split)
            if split:
                found.extend((subject, [header, *lines]) for subject, lines in inner)
            else:
                found.append((_subject(added), [header, *(line for _, lines in inner for line in lines)]))
    return found


def _pairs(old: Tree, new: Tree) -> Iterator[tuple[str, str]]:
    """(removed, added) in the order of `new`: a line that replaces another (equal but for the last word) stands with it.

    Both are the same key for what is on both sides and has lines below it; either is "" where there is no partner.
    """
    gone = [key for key in old if key not in new]
    by_stem: dict[str, deque[str]] = {}
    for key in gone:
        if not old[key]:
            by_stem.setdefault(_stem(key), deque()).append(key)
    used: set[str] = set()
    for key, below in new.items():
        if key in old:
            if below or old[key]:
                yield key, key
            continue
        partners = by_stem.get(_stem(key)) if not below else None
        partner = partners.popleft() if partners else ""
        used.add(partner)
        yield partner, key
    for key in gone:
        if key not in used:
            yield key, ""


def _stem(key: str) -> str:
    if "\n" in key:  # a banner
        return key.partition("\n")[0]
    bare = key.removeprefix("no ")
    return bare.rpartition(" ")[0] or bare


def _reordered(old: Tree, new: Tree, moved: frozenset[str], depth: int) -> list[str]:
    """The old order, then the new one."""
    before = [line for key in old if key in moved for line in _whole("-", key, old, depth)]
    return before + [line for key in new if key in moved for line in _whole("+", key, new, depth)]


def _moved(old: list[str], new: list[str]) -> frozenset[str]:
    """Keys on both sides whose order among themselves differs; all of them, because a part of an order says nothing."""
    left, right = set(old), set(new)
    both_old, both_new = [k for k in old if k in right], [k for k in new if k in left]
    return frozenset() if both_old == both_new else frozenset(both_old)


def _whole(sign: str, key: str, tree: Tree, depth: int = 0) -> Iterator[str]:
    """A line or section that is only on one side, with all below it."""
    if not key:
        return
    for line in key.partition("\0")[0].split("\n"):
        yield f"{sign} {_INDENT * depth}{_show(line)}"
    for below in tree[key]:
        yield from _whole(sign, below, tree[key], depth + 1)


@lru_cache(1 << 15)
def _show(line: str) -> str:
    return printable(mask_line(line.partition("\0")[0]))


def _subject(key: str) -> str:
    found = _SUBJECT.match(key)
    return printable(found[1]) if found else ""
