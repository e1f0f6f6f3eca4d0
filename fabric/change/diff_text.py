"""The diff of EOS configurations: a tree by indentation, sections matched by their header, order ignored where EOS ignores it.

For eyes only: a push replaces the whole configuration, and the device's own session diff is the truth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from fabric.change.diff_model import MAX_DEPTH, Change, UnreadableError, printable
from fabric.change.mask import mask_line, same_secrets

Tree = dict[str, "Tree"]
"""Line -> lines below it. A line that stands twice in a section carries its count after a NUL; a banner is one line with newlines."""

_HEREDOC = re.compile(r"banner (?:login|motd|exec)\b")
# A list whose order means something and carries no numbers: the servers of a group are tried in turn, the entries of an
# unnumbered list are matched in turn. Everything else has numbers (seq, permit 10) or is a set.
_ORDERED_SECTION = re.compile(r"aaa group server |ip(?:v6)? access-list |ip(?:v6)? prefix-list |class-map |policy-map ")
_ORDERED_LINES = re.compile(r"(?:tacacs|radius)-server host |ip as-path access-list |ip community-list ")
_SPLIT = re.compile(r"router ")
_INDENT = "   "
_SUBJECT = re.compile(r"(?:no )?(?:neighbor|interface|vlan|username|ip route(?: vrf \S+)?|network|seq|server) (\S+)")


def parse_tree(text: str) -> Tree:
    """Configuration text -> tree; `!` lines, blank lines, trailing blanks and a closing `end` are left out.

    Raises UnreadableError when it is nested deeper than any configuration is.
    """
    root: Tree = {}
    stack: list[tuple[int, Tree]] = [(-1, root)]
    lines = iter(text.split("\n"))
    for raw in lines:
        line = raw.rstrip()
        body = line.lstrip(" ")
        if not body or body[0] == "!" or (line == "end" and not raw.startswith(" ")):
            continue
        indent = len(line) - len(body)
        while indent <= stack[-1][0]:
            stack.pop()
        if len(stack) > MAX_DEPTH:
            raise UnreadableError(f"not a configuration: nested more than {MAX_DEPTH} levels deep")
        if _HEREDOC.match(body):
            body = "\n".join([body, *_until_eof(lines)])
        level = stack[-1][1]
        if body in level:
            body = _numbered(body, level)
        node: Tree = {}
        level[body] = node
        stack.append((indent, node))
    return root


def _until_eof(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line.rstrip("\r")
        if line.strip() == "EOF":
            return


def _numbered(body: str, level: Tree) -> str:
    count = 2
    while f"{body}\0{count}" in level:
        count += 1
    return f"{body}\0{count}"


def diff_text(running: str, desired: str, normalise: Callable[[str], str] | None = None) -> list[Change]:
    """Changes that make `running` into `desired`; none when both declare the same. Raises UnreadableError."""
    if normalise:
        running, desired = normalise(running), normalise(desired)
    running, desired = same_secrets(running, desired)
    if running == desired:
        return []
    return list(_top(parse_tree(running), parse_tree(desired)))


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
    by_stem: dict[str, list[str]] = {}
    for key in gone:
        if not old[key]:
            by_stem.setdefault(_stem(key), []).append(key)
    used: set[str] = set()
    for key, below in new.items():
        if key in old:
            if below or old[key]:
                yield key, key
            continue
        partners = by_stem.get(_stem(key)) if not below else None
        partner = partners.pop(0) if partners else ""
        used.add(partner)
        yield partner, key
    for key in gone:
        if key not in used:
            yield key, ""


def _stem(key: str) -> str:
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


def _show(line: str) -> str:
    return printable(mask_line(line.partition("\0")[0]))


def _subject(key: str) -> str:
    found = _SUBJECT.match(key)
    return printable(found[1]) if found else ""
