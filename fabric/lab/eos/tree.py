"""A configuration as a tree of lines, and how EOS prints it: in running-config order, whatever the order in which it was entered."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, field

from fabric.lab.eos.grammar import Row, rows
from fabric.lab.eos.values import natural

Key = tuple[str, ...]
SortKey = tuple[int, tuple[tuple[int, int, str], ...], int, int]


@dataclass(slots=True)
class Node:
    """One line and what stands under it. `words` is the line in full; `row` is None only for the root."""

    words: tuple[str, ...] = ()
    row: Row | None = None
    order: int = 0
    children: dict[Key, Node] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The line without its indent."""
        return " ".join(self.words)

    @property
    def opens(self) -> str:
        """The mode that the line opens; "" for a plain line."""
        return self.row.opens if self.row else "global"

    def clone(self) -> Node:
        """A deep copy."""
        copied = {key: child.clone() for key, child in self.children.items()}
        return Node(self.words, self.row, self.order, copied)

    def put(self, key: Key, words: tuple[str, ...], row: Row) -> Node:
        """Enter a line; one with the same key is replaced, what stands under it stays. Returns its node."""
        node = self.children.get(key)
        if node is None:
            order = max((child.order for child in self.children.values()), default=0) + 1
            node = self.children[key] = Node(words, row, order)
        node.words, node.row = words, row
        return node

    def sorted(self) -> list[Node]:
        """The children in running-config order."""
        return sorted(self.children.values(), key=_sort_key)

    def find(self, *words: str) -> list[Node]:
        """The children whose line begins with `words`, in running-config order."""
        return [node for node in self.sorted() if node.words[: len(words)] == words]

    def value(self, *words: str) -> str | None:
        """What follows `words` on the first child that begins so; None when there is none."""
        found = self.find(*words)
        return " ".join(found[0].words[len(words) :]) if found else None


def stored_key(words: tuple[str, ...]) -> Key:
    """The key under which a line stands: `no shutdown` and `shutdown` exclude each other."""
    return words[1:] if words and words[0] == "no" else words


@functools.cache
def _peer_rank(mode: str) -> int:
    return min(row.rank for row in rows() if row.mode == mode and "peer" in row.flags)


def _sort_key(node: Node) -> SortKey:
    row = node.row
    if row is None:
        return (0, (), 0, node.order)
    if "peer" in row.flags:
        return (_peer_rank(row.mode), _peer_key(stored_key(node.words)[1]), row.rank, node.order)
    if row.flags & {"natural", "dscp"}:
        return (row.rank, natural(" ".join(stored_key(node.words))), 0, node.order)
    return (row.rank, (), 0, node.order)


@functools.lru_cache(maxsize=4096)
def _peer_key(peer: str) -> tuple[tuple[int, int, str], ...]:
    """Peer groups by name, then IPv4 peers by address, then IPv6 peers."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return ((0, 0, ""), *natural(peer))
    return ((address.version, int(address), ""),)


def render(root: Node) -> list[str]:
    """The configuration as lines, without header and without the closing `end`; groups and blocks are parted by `!`."""
    out: list[str] = []
    before: Node | None = None
    for node in root.sorted():
        if before is not None and (before.opens or node.opens or _group(before) != _group(node)):
            out.append("!")
        out.append(node.line)
        out += _inside(node, _indent(node, ""))
        before = node
    return out


def _group(node: Node) -> int:
    return node.row.group if node.row else 0


def _indent(node: Node, indent: str) -> str:
    return indent + ("    " if node.row is not None and "indent4" in node.row.flags else "   ")


def _inside(node: Node, indent: str) -> Iterator[str]:
    for place, child in enumerate(node.sorted()):
        if child.opens and place:
            yield f"{indent}!"
        yield indent + child.line
        yield from _inside(child, _indent(child, indent))
