"""journalctl of an SM host: what opensm printed, with the options that matter.

`-u UNIT`, `-n LINES`, `-q`, `--show-cursor`, `--after-cursor`; others are taken and mean nothing. Nothing printed has a time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fabric.lab.ib.places import SmPlace

CURSOR = "-- cursor: "
_VALUED = ("-u", "--unit", "-n", "--lines", "--after-cursor", "--since", "-o", "--output")
"""Options that take a value, in the next word or after `=`."""


def main(argv: Sequence[str]) -> int:
    """`journalctl` of the host whose folder is the first argument."""
    values, flags = _options(argv[2:])
    units = values["-u"] + values["--unit"]
    wanted = not units or any(unit.removesuffix(".service") == "opensm" for unit in units)
    out = SmPlace(Path(argv[1])).out
    data = out.read_bytes() if wanted and out.exists() else b""
    after = values["--after-cursor"]
    text = data[int(after[-1]) :] if after and after[-1].isdigit() else data
    found = text.decode("utf-8", "replace").splitlines()
    lines = values["-n"] + values["--lines"]
    if lines:
        count = int(lines[-1]) if lines[-1].isdigit() else 10
        found = found[len(found) - count :] if count < len(found) else found
    if found or "-q" not in flags:
        print("\n".join(found) if found else "-- No entries --")
    if "--show-cursor" in flags:
        print(f"{CURSOR}{len(data)}")
    return 0


def _options(words: Sequence[str]) -> tuple[dict[str, list[str]], set[str]]:
    """The values of each option that takes one, and the other words."""
    values: dict[str, list[str]] = {name: [] for name in _VALUED}
    flags: set[str] = set()
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in values:
            values[name].append(value if equals else next(rest, ""))
        else:
            flags.add(word)
    return values, flags


if __name__ == "__main__":
    sys.exit(main(sys.argv))
