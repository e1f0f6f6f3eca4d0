"""Ranks as people write them: `0-7, 9`."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = 12  # runs that are written out


def spans(ranks: Iterable[int], shown: int = SHOWN) -> str:
    """Runs of consecutive ranks, ascending; after `shown` of them how many ranks more there are."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    told = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:shown]]
    more = sum(last - first + 1 for first, last in runs[shown:])
    return ", ".join([*told, f"and {more:,} more"] if more else told)
