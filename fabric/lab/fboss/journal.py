"""journalctl, as far as one looks at a unit: `journalctl -u UNIT [-n N] [-p PRIORITY] [--since WHEN] [--no-pager]`.

Priorities and times are not kept: -p, --since, -o are taken and change nothing.
"""

from __future__ import annotations

import sys

from fabric.errors import FabricError
from fabric.lab.fboss.node import Node

_WITH_VALUE = ("-u", "--unit", "-n", "--lines", "-p", "--priority", "--since", "--until", "-o", "--output")
_ALONE = ("--no-pager", "-q", "--quiet", "-b", "-x", "-e", "-r")


def main(argv: list[str]) -> int:
    """Print the lines of the units asked for, all when none is."""
    units: set[str] = set()
    last: int | None = None
    words = iter(argv[2:])
    try:
        node = Node(argv[1])
        for word in words:
            key, equals, value = word.partition("=")
            if key in _ALONE:
                continue
            if key not in _WITH_VALUE:
                raise FabricError(f"journalctl: unrecognized option '{word}'")
            value = value if equals else next(words, "")
            if key in ("-u", "--unit"):
                units.add(value.removesuffix(".service"))
            elif key in ("-n", "--lines") and value.isdigit():
                last = int(value)
    except (FabricError, IndexError) as error:
        print(error, file=sys.stderr)
        return 1
    lines = _lines(node, units)
    print("\n".join(lines[-last:] if last else lines) or "-- No entries --")
    return 0


def _lines(node: Node, units: set[str]) -> list[str]:
    path = node.state("journal.log")
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    rows = [line.partition("\t") for line in text.splitlines()]
    return [text or unit for unit, _, text in rows if not units or unit in units]


if __name__ == "__main__":
    sys.exit(main(sys.argv))
