"""Whole configuration texts: load one into a tree with EOS's complaints, print one with EOS's header, compare two as EOS does."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabric.lab.eos import grammar
from fabric.lab.eos.editor import Editor
from fabric.lab.eos.grammar import Refused
from fabric.lab.eos.tree import Node, render


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the box is: its ports always stand in its configuration. `model` and `version` as `show version` says them."""

    ports: tuple[str, ...]
    model: str
    version: str


def clean(hardware: Hardware) -> Node:
    """What `rollback clean-config` leaves: the hardware's interfaces, without a line."""
    root = Node()
    for port in hardware.ports:
        match = grammar.read("global", f"interface {port}")
        root.put(match.key, match.words, match.row)
    return root


def load(editor: Editor, lines: Iterable[str]) -> list[str]:
    """Feed `lines`; returns EOS's complaints, one a refused line: "> ruter bgp 1% Invalid input (at token 0: 'ruter') at line 6"."""
    complaints: list[str] = []
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if line == "end":
            editor.top()
            continue
        try:
            editor.feed(line)
        except Refused as error:
            complaints.append(f"> {line}{error} at line {number}")
    editor.top()
    return complaints


def text_of(root: Node) -> str:
    """The bare configuration, ending with `end`: what a file on flash holds."""
    return "".join(f"{line}\n" for line in [*render(root), "!", "end"])


def shown(root: Node, hostname: str, hardware: Hardware, command: str, *, extra: Sequence[str] = ()) -> list[str]:
    """The answer of `show running-config` or `show startup-config`, with its header."""
    return [
        f"! Command: {command}",
        *extra,
        f"! device: {hostname} ({hardware.model}, EOS-{hardware.version})",
        "!",
        f"! boot system flash:/EOS64-{hardware.version}.swi",
        "!",
        *render(root),
        "!",
        "end",
    ]


def diffs(old: Node, new: Node, name: str) -> list[str]:
    """`show session-config diffs`: a unified diff against the running-config; no line when nothing differs."""
    before, after = render(old), render(new)
    if before == after:
        return []
    return list(
        difflib.unified_diff(
            before, after, "system:/running-config", f"session:/{name}-session-config", n=3, lineterm=""
        )
    )
