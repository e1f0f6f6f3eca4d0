"""One result of one check on one host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"
CRITICAL, WARNING = "critical", "warning"


@dataclass(frozen=True)
class Result:
    """`check` is its id ("gpu.ecc"), `unit` what of the host it is about ("GPU 3", "beth0", "" = the host), `verdict` pass, fail or
    unknown (it could not be seen, `measured` says why), `severity` critical (no job should run) or warning; `action` what to do first.
    """

    check: str
    unit: str
    verdict: str
    severity: str
    measured: str
    expected: str
    action: str = ""

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def clean(text: str, most: int = 160) -> str:
    """What a device said, for one line: printable characters only, runs of white space as one space, cut at `most` characters."""
    flat = " ".join("".join(char if char.isprintable() else " " for char in text[: 8 * most]).split())
    return flat if len(flat) <= most else flat[: most - 3] + "..."


def same_version(want: str, have: str) -> bool:
    """Whether a version fits what is declared: equal, or the declared one with more behind it ("580.126.20" fits "580.126.20-1");
    a "*" at its end stands for anything.

    An epoch ("3:") counts only when it is declared.
    """
    if ":" not in want:
        have = have.partition(":")[2] or have
    if want.endswith("*"):
        return have.startswith(want[:-1])
    return have == want or (have.startswith(want) and re.match(r"[-.~+:]", have[len(want) :]) is not None)


SHOWN = 4
"""Names that one result holds (our choice: a line)."""


def some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
