"""Which changes are the same: host-specific values are abstracted, then changes are compared by what is left.

So an MTU that changes on every port of 1,536 switches is one change, printed once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabric.change.diff_model import Change

_TOKEN = re.compile(
    r"""
    (?P<mac>\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b|\b[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\b)
  | (?P<addr>\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?:/\d{1,2})?\b
      | (?<![\w:])(?:[0-9a-fA-F]{1,4}:)(?:[0-9a-fA-F]{0,4}:){1,6}[0-9a-fA-F]{0,4}(?:/\d{1,3})?
      | (?<![\w:])::[0-9a-fA-F:]*(?:/\d{1,3})?)
  | (?P<asn>(?<=remote-as\ )[\d.]+|(?<=local-as\ )[\d.]+|(?<=router\ bgp\ )[\d.]+
      | (?<=_as_4_byte:\ )\d+(?:\ ->\ \d+)? | (?<=remote_as:\ )\d+(?:\ ->\ \d+)? | (?<=local_as:\ )\d+(?:\ ->\ \d+)?
      | (?<=_as_4_byte":\ )\d+)
  | (?P<id>(?<=logicalID":\ )\d+|(?<=logicalPort":\ )\d+|(?<=vlanID":\ )\d+|(?<=intfID":\ )\d+|(?<=ingressVlan":\ )\d+
      | (?<=\.ingressVlan:\ )\d+\ ->\ \d+ | (?<=\.vlanID:\ )\d+\ ->\ \d+ | (?<=\.intfID:\ )\d+\ ->\ \d+)
  | (?P<port>\b(?:Ethernet|Et|eth|fab|vlan|Vlan|rif|Port-Channel)\d+(?:/\d+)*(?:\.\d+)?)
  | (?P<word>[A-Za-z][\w-]*(?:\.[A-Za-z0-9][\w-]*)*)
    """,
    re.VERBOSE,
)
_SHOWN = {"mac": "<mac>", "addr": "<addr>", "asn": "<asn>", "id": "<id>", "port": "<port>"}
_PORT = re.compile(r"(?:Ethernet|Et|eth|fab|Port-Channel)\d+(?:/\d+)*(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The same change once: the first one as an example, and every subject (port, peer, ...) that has it."""

    example: Change
    subjects: tuple[str, ...]
    count: int
    key: bytes


class Abstracter:
    """Abstracts text, with a memory: configurations repeat themselves. `names` are the fabric's own (devices and hosts)."""

    _MEMORY = 200_000  # lines; bounds the memory of a worker

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._seen: dict[str, str] = {}

    def text(self, line: str) -> str:
        """`line` with names, addresses, MACs, ASNs, ports and ids replaced by what kind they are."""
        found = self._seen.get(line)
        if found is None:
            found = _TOKEN.sub(self._replace, line)
            if len(self._seen) < self._MEMORY:
                self._seen[line] = found
        return found

    def _replace(self, match: re.Match[str]) -> str:
        kind = match.lastgroup or "word"
        if kind != "word":
            return _SHOWN[kind]
        word = match[0]
        return "<name>" if word in self._names or word.partition(".")[0] in self._names else word

    def key(self, change: Change) -> bytes:
        """Equal for two changes that are the same but for host-specific values; 16 bytes."""
        text = "\n".join([*map(self.text, change.context), "", *map(self.text, change.lines)])
        if change.subject:
            text = text.replace(f"[{change.subject}]", "[<it>]")
            kind = self.text(change.subject)
            if (
                len(kind) > 2 and not kind.isdecimal()
            ):  # a bare number may as well be a value: 3 queues of weight 3 are not "the same"
                text = text.replace(kind, "<it>")
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()

    def where(self, subject: str) -> str:
        """The part of a subject that is the same on like devices: a port's name stays, an address or a name does not."""
        return subject if _PORT.fullmatch(subject) else self.text(subject)


def collapse(changes: Iterable[Change], abstracter: Abstracter) -> list[Collapsed]:
    """Changes of one file, those that are the same but for their subject put together; in the order of the first ones."""
    found: dict[bytes, list[Change]] = {}
    for change in changes:
        found.setdefault(abstracter.key(change), []).append(change)
    return [
        Collapsed(same[0], tuple(c.subject for c in same if c.subject), len(same), key) for key, same in found.items()
    ]


def alone(change: Change) -> Collapsed:
    """A change that stands for itself only, as a full diff shows it."""
    return Collapsed(change, (change.subject,) if change.subject else (), 1, b"")


def group_key(parts: Sequence[tuple[str, str, Sequence[Collapsed]]], abstracter: Abstracter) -> str:
    """The hash of one device's diff, abstracted: `parts` are (path, kind, collapsed changes) of its files."""
    digest = hashlib.blake2b(digest_size=16)
    for path, kind, collapsed in parts:
        digest.update(f"{path}\0{kind}\0".encode())
        for item in collapsed:
            where = "\0".join(map(abstracter.where, item.subjects))
            digest.update(item.key + str(item.count).encode() + where.encode("utf-8", "replace") + b"\1")
    return digest.hexdigest()
