"""The graph of all waits. One wait has many at both its ends, so that 24,575 ranks that wait for one are one edge."""

from __future__ import annotations

from collections.abc import Iterable

from fabric.verify.flight_recorder.model import Wait
from fabric.verify.flight_recorder.spans import spans
from fabric.words import counted, verb

_TOLD = 3  # waits that are told of a rank


class Waits:
    """Looks into a list of waits."""

    def __init__(self, waits: Iterable[Wait]) -> None:
        self._waits = list(waits)
        self._waiting: set[int] = set()
        self._for: dict[int, list[int]] = {}
        for place, wait in enumerate(self._waits):
            self._waiting.update(wait.waiters)
            for rank in wait.waited:
                self._for.setdefault(rank, []).append(place)

    def sinks(self) -> list[int]:
        """Ranks that somebody waits for and that wait for nobody."""
        return sorted(rank for rank in self._for if rank not in self._waiting)

    def absent(self, rank: int) -> bool:
        """Whether it is waited for because it has no dump."""
        return any(self._waits[place].how == "no-dump" for place in self._for.get(rank, ()))

    def reach(self, rank: int) -> int:
        """How many ranks wait for it, directly or through others."""
        seen: set[int] = {rank}
        todo, used = [rank], set[int]()
        while todo:
            for place in self._for.get(todo.pop(), ()):
                if place not in used:
                    used.add(place)
                    fresh = set(self._waits[place].waiters) - seen
                    seen |= fresh
                    todo += fresh
        return len(seen) - 1

    def witnesses(self, rank: int) -> int:
        """How many ranks wait for it directly."""
        return len({waiter for place in self._for.get(rank, ()) for waiter in self._waits[place].waiters})

    def group_of(self, rank: int) -> str:
        """The group in which most wait for it."""
        return max((self._waits[place] for place in self._for.get(rank, ())), key=lambda wait: len(wait.waiters)).group

    def evidence(self, rank: int) -> tuple[str, ...]:
        """One sentence for each group in which ranks wait for it, the most waiters first."""
        found = sorted((self._waits[place] for place in self._for.get(rank, ())), key=lambda wait: -len(wait.waiters))
        told = [_sentence(wait, rank) for wait in found[:_TOLD]]
        if len(found) > _TOLD:
            told.append(f"so it is in {counted(len(found) - _TOLD, 'more case')}")
        return tuple(told)


def _sentence(wait: Wait, rank: int) -> str:
    many = len(wait.waiters)
    who = f"{verb(many, 'rank', 'ranks')} {spans(wait.waiters, 4)} {verb(many, 'waits', 'wait')}"
    if wait.how == "transfer":
        return f"in {wait.group} {who} in transfer {wait.seq}, of which rank {rank} has not called its half"
    if wait.how == "no-dump":
        return f"in {wait.group} {who} in number {wait.seq}, which all others with a dump called"
    others = len(wait.waited) - 1
    also = f" (nor {verb(others, 'has', 'have')} {counted(others, 'other')})" if others else ""
    return f"in {wait.group} {who} in number {wait.seq}, which rank {rank} has not called{also}"
