"""One file on a device against the one we want: which format it has, and what differs."""

from __future__ import annotations

import codecs
import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from fabric.change.diff_json import diff_json, parse_json
from fabric.change.diff_model import LIMIT, MAX_LINES, Change, UnreadableError, printable
from fabric.change.diff_text import diff_text
from fabric.change.mask import mask_lines, same_secrets
from fabric.targets.base import Artifact

Format = Literal["eos", "json", "text"]
FileKind = Literal["same", "new", "changed", "replaced", "removed", "waiting"]
Normalise = Callable[[str, str], str]
"""`RenderJob.normalise`: (target, text) -> text."""

_MAX_UNIFIED = 4_000  # lines on either side, after the equal head and tail: difflib is quadratic
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What has to change in one file. `note` says why a file is replaced as a whole without a diff."""

    path: str
    kind: FileKind
    changes: tuple[Change, ...] = ()
    note: str = ""


def format_of(artifact: Artifact) -> Format:
    """How the file is compared: JSON by its first character (FBOSS calls it .conf), EOS by its target, else line by line."""
    if artifact.content.lstrip()[:1] in (b"{", b"["):
        return "json"
    return "eos" if artifact.target == "eos" else "text"


def comparable(artifact: Artifact, running: bytes) -> bytes:
    """The bytes of a running file that its fingerprint is made of.

    EOS writes comments with the command and the time before its configuration: those, DOS line ends, a closing `end` and the byte
    order mark of an editor do not count.
    """
    if format_of(artifact) != "eos":
        return running
    text = running.removeprefix(codecs.BOM_UTF8)
    text = text.replace(b"\r\n", b"\n") if b"\r" in text else text
    start = 0
    while text.startswith((b"!", b"\n"), start):
        start = text.find(b"\n", start) + 1 or len(text)
    return text[start:].rstrip().removesuffix(b"\nend").rstrip()


def diff_file(artifact: Artifact, running: bytes | None, normalise: Normalise) -> FileDiff:
    """What makes `running` (None: there is no such file) into the artifact. Never raises for what a device holds."""
    if running is None:
        return FileDiff(artifact.path, "new", note=f"{len(artifact.content):,} bytes")
    if running == artifact.content:
        return FileDiff(artifact.path, "same")
    try:
        changes = _changes(artifact, running, normalise)
    except UnreadableError as error:
        return FileDiff(artifact.path, "replaced", note=printable(f"the running file is {error}"))
    except RecursionError:
        return FileDiff(artifact.path, "replaced", note="the running file is nested too deeply to be a configuration")
    if sum(len(change.lines) for change in changes) > MAX_LINES:
        return FileDiff(artifact.path, "replaced", note=f"more than {MAX_LINES:,} lines differ")
    return FileDiff(artifact.path, "changed" if changes else "same", tuple(changes))


def _changes(artifact: Artifact, running: bytes, normalise: Normalise) -> list[Change]:
    if len(running) > LIMIT:
        raise UnreadableError(f"larger than {LIMIT >> 20} MiB")
    kind = format_of(artifact)
    if kind == "json":
        return diff_json(parse_json(running), parse_json(artifact.content))
    old, new = (
        _text(running.removeprefix(codecs.BOM_UTF8) if kind == "eos" else running),
        artifact.content.decode("utf-8", "replace"),
    )
    if kind == "eos":
        return diff_text(old, new, partial(normalise, artifact.target))
    return diff_lines(old, new)


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"not text: byte {error.start} is not UTF-8") from error
    if "\0" in text:
        raise UnreadableError(f"not text: byte {data.index(0)} is NUL")
    return text


def diff_lines(running: str, desired: str) -> list[Change]:
    """The unified diff of any other text, one change a hunk; secrets masked. Raises UnreadableError when both are long and unlike."""
    running, desired = same_secrets(running, desired)
    old, new = running.splitlines(), desired.splitlines()
    head, tail = _equal_ends(old, new)
    if max(len(old), len(new)) - head - tail > _MAX_UNIFIED:
        raise UnreadableError(f"not like ours: more than {_MAX_UNIFIED:,} lines differ")
    first, last = max(0, head - _CONTEXT), max(0, tail - _CONTEXT)
    a, b = old[first : len(old) - last], new[first : len(new) - last]
    shown_a, shown_b = mask_lines(old)[first:], mask_lines(new)[first:]
    changes: list[Change] = []
    for hunk in difflib.SequenceMatcher(None, a, b).get_grouped_opcodes(_CONTEXT):
        lines: list[str] = []
        for tag, i1, i2, j1, j2 in hunk:
            if tag == "equal":
                lines += ["  " + printable(line) for line in shown_a[i1:i2]]
            else:
                lines += ["- " + printable(line) for line in shown_a[i1:i2]]
                lines += ["+ " + printable(line) for line in shown_b[j1:j2]]
        changes.append(Change(tuple(lines)))
    return changes


def _equal_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines are equal at the head, and then at the tail."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail
