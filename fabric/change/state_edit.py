"""The deployment state of one device in the text of a spec: comments and order stay as they are."""

from __future__ import annotations

import re

_KEY = re.compile(r"^state:[ \t]*(?P<rest>[^\n#]*?)[ \t]*(?:#[^\n]*)?$", re.MULTILINE)


def entry(device: str, state: str) -> str:
    """The entry that we write, as one line of a list."""
    return f"- {{match: {{name: {device}}}, state: {state}}}"


def with_state(text: str, device: str, state: str) -> str | None:
    """The spec's text with the device in this state: our own entry of before is removed, a later entry wins.

    `deployed` is what a device is without an entry. None when `state` is written in a form that we do not edit (`state: [...]`).
    """
    ours = re.compile(rf"^[ \t]*- \{{match: \{{name: {re.escape(device)}\}}, state: \w+\}}[ \t]*\n?", re.MULTILINE)
    text = ours.sub("", text)
    key = _KEY.search(text)
    if key is None:
        lead = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{lead}state:\n  {entry(device, state)}\n"
    if key["rest"] not in ("", "[]", "null", "~"):
        return None
    end = _block_end(text, key.end() + 1)
    indent = _indent(text[key.end() + 1 : end])
    head = text[: key.start()] + "state:" + text[key.end() : end] if key["rest"] else text[:end]
    lead = "" if head.endswith("\n") else "\n"
    return f"{head}{lead}{indent}{entry(device, state)}\n{text[end:]}"


def without_entries(text: str) -> str:
    """The text without a `state:` key that has lost its last entry."""
    key = _KEY.search(text)
    if key is None or key["rest"]:
        return text
    end = _block_end(text, key.end() + 1)
    return text[: key.start()] + text[end:] if not text[key.end() + 1 : end].strip() else text


def removed(text: str, device: str) -> str:
    """The text without our own entries of the device."""
    ours = re.compile(rf"^[ \t]*- \{{match: \{{name: {re.escape(device)}\}}, state: \w+\}}[ \t]*\n?", re.MULTILINE)
    return without_entries(ours.sub("", text))


def _block_end(text: str, start: int) -> int:
    """Where the list under a top-level key ends: after its last line that is indented or begins with a dash."""
    end = at = min(start, len(text))
    for line in text[start:].splitlines(keepends=True):
        at += len(line)
        if line.strip() and not line.lstrip().startswith("#"):
            if not line.startswith((" ", "\t", "- ")):
                break
            end = at
    return end


def _indent(block: str) -> str:
    found = re.search(r"^([ \t]*)- ", block, re.MULTILINE)
    return found[1] if found else "  "
