"""Device names: chosen by pattern, and written short."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Sequence

from fabric.errors import FabricError
from fabric.targets.base import DeviceRef
from fabric.words import counted

_DIGITS = re.compile(r"(\d+)")
_MANY = 20_000


def select_devices(devices: Sequence[DeviceRef], patterns: Sequence[str]) -> list[DeviceRef]:
    """The devices whose names match any of the shell patterns, in their own order.

    Raises FabricError for a pattern that matches none, with names that are near to it.
    """
    chosen: set[str] = set()
    names = [device.name for device in devices]
    for pattern in patterns:
        matched = set(fnmatch.filter(names, pattern))
        if not matched:
            raise FabricError(
                f"--device {pattern!r} matches none of {counted(len(names), 'device')}", hint=_near(pattern, names)
            )
        chosen |= matched
    return [device for device in devices if device.name in chosen]


def _near(pattern: str, names: Sequence[str]) -> str:
    plain = pattern.strip("*?")
    near = difflib.get_close_matches(plain, names[:_MANY], n=3, cutoff=0.5) if plain else []
    if near:
        return "did you mean " + ", ".join(near) + "?"
    return "names look like " + ", ".join(names[:3]) if names else "the spec has no device of this target"


def compress_names(names: Iterable[str], limit: int = 8) -> str:
    """Names as ranges: `z01..08-rtsw001..192, z09-rtsw001`; after `limit` ranges, how many names are left."""
    parts = sorted({tuple(_DIGITS.split(name)) for name in names}, key=_natural)
    total = len(parts)
    rows: list[tuple[tuple[str, ...], int]] = [(part, 1) for part in parts]
    places = max((len(part) for part in parts), default=1)
    for place in range(places - 2, 0, -2):
        rows = _merge(rows, place)
    shown = ["".join(part) for part, _ in rows[:limit]]
    left = total - sum(count for _, count in rows[:limit])
    return ", ".join(shown) + (f", ... and {left:,} more" if left else "")


def _natural(parts: tuple[str, ...]) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, int(p), p) if p.isdecimal() else (1, 0, p) for p in parts)


def _merge(rows: list[tuple[tuple[str, ...], int]], place: int) -> list[tuple[tuple[str, ...], int]]:
    """Runs of rows that differ only in the number at `place`, as one row each."""
    groups: dict[tuple[object, ...], list[tuple[tuple[str, ...], int]]] = {}
    for row in rows:
        part = row[0]
        fits = len(part) > place and part[place].isdecimal()
        key = (*part[:place], len(part[place]), *part[place + 1 :]) if fits else (*part, "alone")
        groups.setdefault(key, []).append(row)
    merged: list[tuple[tuple[str, ...], int]] = []
    for group in groups.values():
        run = [group[0]]
        for row in group[1:]:
            if int(row[0][place]) == int(run[-1][0][place]) + 1:
                run.append(row)
            else:
                merged.append(_range(run, place))
                run = [row]
        merged.append(_range(run, place) if len(run) > 1 else run[0])
    return merged


def _range(run: list[tuple[tuple[str, ...], int]], place: int) -> tuple[tuple[str, ...], int]:
    first, last = run[0][0], run[-1][0]
    if len(run) == 1:
        return run[0]
    text = f"{first[place]}..{last[place]}"
    return (*first[:place], text, *first[place + 1 :]), sum(count for _, count in run)
