"""journalctl of an SM host: what opensm printed, with the options that matter (`-u UNIT`, `-n LINES`); others are taken and mean nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fabric.lab.ib.places import SmPlace


def main(argv: Sequence[str]) -> int:
    """`journalctl` of the host whose folder is the first argument."""
    words = list(argv[2:])
    unit, lines = "opensm", 0
    for at, word in enumerate(words):
        value = words[at + 1] if at + 1 < len(words) else ""
        if word in ("-u", "--unit"):
            unit = value
        elif word.startswith("--unit="):
            unit = word.partition("=")[2]
        elif word in ("-n", "--lines"):
            lines = int(value) if value.isdigit() else 10
        elif word.startswith("--lines="):
            lines = int(word.partition("=")[2])
    if unit.removesuffix(".service") != "opensm":
        print("-- No entries --")
        return 0
    text = (
        SmPlace(Path(argv[1])).out.read_text(encoding="utf-8", errors="replace")
        if SmPlace(Path(argv[1])).out.exists()
        else ""
    )
    found = text.splitlines()[-lines:] if lines else text.splitlines()
    print("\n".join(found) if found else "-- No entries --")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
