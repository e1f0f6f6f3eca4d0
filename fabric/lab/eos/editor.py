"""Takes configuration lines one by one, as an operator types them, into a tree: modes, `no`, `default`, `exit`, hidden defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fabric.lab.eos import grammar
from fabric.lab.eos.grammar import Match, Refused
from fabric.lab.eos.tree import Key, Node, stored_key
from fabric.lab.eos.values import short_name

DEFAULT_CLASS = {dscp: cls for low, cls in ((0, 1), (8, 0), (24, 3), (48, 6)) for dscp in range(low, low + 8)}
"""The DSCP -> traffic class entries that EOS has by default and hides: 0-7 -> 1, 8-15 -> 0, 24-31 -> 3, 48-55 -> 6 (EOS manual,
quoted in public)."""


@dataclass(frozen=True, slots=True)
class Level:
    """One mode that the editor stands in."""

    mode: str
    key: Key
    node: Node


def _never(_: str) -> bool:
    return False


class Editor:
    """Where an operator stands in a configuration.

    `refuse` and `keep` are faults: lines that are refused although they are right, and lines that are taken but not stored (what
    `running` holds in their place stays).
    """

    def __init__(
        self,
        root: Node,
        running: Node | None = None,
        refuse: Callable[[str], bool] = _never,
        keep: Callable[[str], bool] = _never,
    ) -> None:
        self.root = root
        self._running = running or root
        self._refuse, self._keep = refuse, keep
        self._levels = [Level("global", (), root)]
        self._before: Node | None = None

    @property
    def depth(self) -> int:
        """How many sub-modes deep; 0 = top level."""
        return len(self._levels) - 1

    @property
    def seen(self) -> Node:
        """The tree as the rest of the device sees it: a mode that takes effect when it is left does not show yet."""
        return self._before if self._before is not None else self.root

    @property
    def prompt(self) -> str:
        """The mode's part of the prompt: "" or "-if-Et3/1/1"."""
        if self.depth == 0:
            return ""
        level = self._levels[-1]
        words = level.node.words
        if level.mode == "interface":
            return f"-if-{short_name(words[1])}"
        if level.mode == "router-bgp":
            return "-router-bgp"
        if level.mode == "bgp-af":
            return "-router-bgp-af"
        return f"-{level.mode}-{words[-1]}" if len(words) > 1 else f"-{level.mode}"

    def top(self) -> None:
        """Leave all sub-modes."""
        while self.depth:
            self.leave()

    def leave(self) -> None:
        """`exit`: leave the innermost mode."""
        level = self._levels.pop()
        if level.node.row is not None and "late" in level.node.row.flags:
            self._before = None

    def feed(self, raw: str) -> None:
        """One line. Raises Refused with EOS's words; nothing is changed then."""
        line = raw.strip()
        if not line or line.startswith("!"):
            return
        first, _, rest = line.partition(" ")
        if self._refuse(line):
            raise grammar.invalid(0, first)
        if line == "exit":
            if self.depth:
                self.leave()
            return
        if first in ("no", "default"):
            self._negate(first, rest.strip(), line)
            return
        self._enter(*self._read(line))

    def _read(self, line: str) -> tuple[int, Match]:
        """The line read in the innermost mode that knows it. Raises the refusal that got furthest."""
        worst: Refused | None = None
        for place in range(self.depth, -1, -1):
            try:
                return place, grammar.read(self._levels[place].mode, line)
            except Refused as error:
                worst = error if worst is None or _further(error, worst) else worst
        raise worst or Refused("% Invalid input")

    def _to(self, place: int) -> Node:
        while self.depth > place:
            self.leave()
        return self._levels[place].node

    def _enter(self, place: int, match: Match) -> None:
        parent = self._to(place)
        flags, key = match.row.flags, stored_key(match.key)
        if match.words[:2] == ("router", "bgp"):
            _one_as(parent, key)
        if self._keep(match.line) and not match.row.opens:
            self._keep_old(parent, key)
        elif "hidden" in flags:
            parent.children.pop(key, None)
        elif "dscp" in flags:
            _map_dscps(parent, match)
        else:
            if match.row.opens and "late" in flags:
                self._before = self.root.clone()
            node = parent.put(key, match.words, match.row)
            if match.row.opens:
                self._levels.append(Level(match.row.opens, key, node))

    def _keep_old(self, parent: Node, key: Key) -> None:
        old: Node | None = self._running
        for level in self._levels[1:]:
            old = old.children.get(level.key) if old else None
        found = old.children.get(key) if old else None
        if found is not None and found.row is not None:
            parent.put(key, found.words, found.row)

    def _negate(self, word: str, rest: str, line: str) -> None:
        if not rest:
            raise grammar.incomplete(0, word)
        if word == "no":
            try:
                self._enter(*self._read(line))
            except Refused:
                pass
            else:
                return
        for place in range(self.depth, -1, -1):
            targets = grammar.beginnings(self._levels[place].mode, rest)
            if len(targets) > 1:
                raise Refused(f"% Ambiguous command (at token 1: '{rest.split(maxsplit=1)[0]}')")
            if targets:
                _remove(self._to(place), targets[0])
                return
        try:
            self._read(rest)
        except Refused as error:
            raise _shifted(error) from None


def _shifted(error: Refused) -> Refused:
    """The refusal of what follows `no`, counted from the `no`."""
    head, mark, tail = str(error).partition("(at token ")
    number, colon, word = tail.partition(":")
    return Refused(f"{head}{mark}{int(number) + 1}{colon}{word}") if mark else error


def _further(one: Refused, two: Refused) -> bool:
    return _token(one) > _token(two)


def _token(error: Refused) -> int:
    tail = str(error).partition("(at token ")[2].partition(":")[0]
    return int(tail) if tail.isdigit() else -1


def _one_as(parent: Node, key: Key) -> None:
    others = [node for found, node in parent.children.items() if found[:2] == ("router", "bgp") and found != key]
    if others:
        raise Refused(f"% BGP is already running with AS number {others[0].words[2]}")


def _map_dscps(parent: Node, match: Match) -> None:
    """Each DSCP has one class; lines of one class are one line, and default entries are not shown."""
    dscps, target = {int(word) for word in match.words[3:-3]}, int(match.words[-1])
    classes = _dscp_classes(parent)
    classes |= dict.fromkeys(dscps, target)
    _store_dscps(parent, classes, match)


def _dscp_classes(parent: Node) -> dict[int, int]:
    return {int(word): int(node.words[-1]) for node in parent.find("qos", "map", "dscp") for word in node.words[3:-3]}


def _store_dscps(parent: Node, classes: dict[int, int], match: Match) -> None:
    for node in parent.find("qos", "map", "dscp"):
        del parent.children[node.words]
    for target in sorted(set(classes.values())):
        shown = [str(dscp) for dscp, cls in sorted(classes.items()) if cls == target != DEFAULT_CLASS.get(dscp)]
        if shown:
            words = ("qos", "map", "dscp", *shown, "to", "traffic-class", str(target))
            parent.put(words, words, match.row)


def _remove(parent: Node, words: Sequence[str]) -> None:
    """Take out the line, or every line that begins so; hardware stays, at its defaults."""
    target = tuple(words)
    exact = [key for key, node in parent.children.items() if stored_key(node.words) == target]
    found = exact or [key for key, node in parent.children.items() if stored_key(node.words)[: len(target)] == target]
    if not found:
        found = [key for key in parent.children if key and target[: len(key)] == key]
    for key in found:
        node = parent.children[key]
        if node.row is not None and "fixed" in node.row.flags:
            node.children.clear()
        else:
            del parent.children[key]
    if target[0] == "neighbor" and (len(target) == 2 or (exact and target[2:] == ("peer", "group"))):
        _forget_peer(parent, target[1])


def _forget_peer(parent: Node, peer: str) -> None:
    """A neighbour or peer group that is gone takes its lines in every address family and its memberships along."""
    for key, node in list(parent.children.items()):
        words = stored_key(node.words)
        if words[:2] == ("neighbor", peer) or words[2:] == ("peer", "group", peer):
            del parent.children[key]
        elif node.opens:
            _forget_peer(node, peer)
