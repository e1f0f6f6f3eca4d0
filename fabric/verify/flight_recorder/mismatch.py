"""Members of one group that called different things under one number: another collective, size, type or order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fabric.verify.flight_recorder.model import Call, Group

Kind = Literal["collective", "size", "type", "order"]
SAME_SIZE = frozenset(
    (
        "all_reduce",
        "_all_gather_base",
        "_reduce_scatter_base",
        "all_gather_into_tensor",
        "reduce_scatter_tensor",
        "broadcast",
        "reduce",
    )
)
"""Collectives in which every member gives, and gets, equally much; others may differ by rank (all_to_all, lists of tensors)."""

_EXCHANGE = ("all_to_all", "alltoall")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first number at which the members of `group` differ. `sides`: what was called, with the ranks, the most first."""

    group: Group
    seq: int
    kind: Kind
    sides: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def minority(self) -> tuple[int, ...]:
        """Everyone but the largest side; empty when there is no largest."""
        if len(self.sides) < 2 or len(self.sides[0][1]) == len(self.sides[1][1]):
            return ()
        return tuple(sorted(rank for _, ranks in self.sides[1:] for rank in ranks))


def mismatch_of(group: Group) -> Mismatch | None:
    """The first difference; None where all that is known agrees."""
    calls: dict[int, dict[int, Call]] = {}
    for rank, view in group.views.items():
        for seq, call in view.calls:
            calls.setdefault(seq, {})[rank] = call
    for seq in sorted(calls):
        if len(calls[seq]) > 1 and (kind := _difference(calls[seq])) is not None:
            return _mismatch(group, seq, kind, calls)
        if (unequal := _unequal(group, seq, calls[seq])) is not None:
            return unequal
    return None


def _difference(calls: Mapping[int, Call]) -> Kind | None:
    compared = [call for call in dict.fromkeys(calls.values()) if "coalesced" not in call.name]
    if len(compared) < 2:
        return None
    if len({call.name for call in compared}) > 1:
        return "collective"
    if len({call.dtypes[0] for call in compared if call.dtypes}) > 1:
        return "type"
    if compared[0].name not in SAME_SIZE:
        return None
    return "size" if len({(call.numel_in, call.numel_out) for call in compared}) > 1 else None


def _unequal(group: Group, seq: int, calls: Mapping[int, Call]) -> Mismatch | None:
    """An exchange in which all members together give another number of elements than they take: who is wrong cannot be said."""
    if len(calls) < len(group.members) or not all(call.name.startswith(_EXCHANGE) for call in calls.values()):
        return None
    given, taken = (sum(getattr(call, way) for call in calls.values()) for way in ("numel_in", "numel_out"))
    if given == taken:
        return None
    return Mismatch(
        group, seq, "size", ((f"exchanges that give {given:,} and take {taken:,} elements", tuple(sorted(calls))),)
    )


def _mismatch(group: Group, seq: int, kind: Kind, calls: Mapping[int, Mapping[int, Call]]) -> Mismatch:
    sides: dict[str, list[int]] = {}
    for rank, call in calls[seq].items():
        sides.setdefault(_told(call, kind), []).append(rank)
    ranked = sorted(sides.items(), key=lambda side: (-len(side[1]), side[0]))
    found = Mismatch(group, seq, kind, tuple((told, tuple(sorted(ranks))) for told, ranks in ranked))
    if kind == "collective" and len(ranked) == 2 and _swapped(ranked[0][1], ranked[1][1], seq, calls):
        return Mismatch(group, seq, "order", found.sides)
    return found


def _swapped(some: list[int], others: list[int], seq: int, calls: Mapping[int, Mapping[int, Call]]) -> bool:
    """What the ones call first the others call next, and the other way round."""
    following = calls.get(seq + 1, {})
    ahead = {following[rank].name for rank in some if rank in following}
    behind = {following[rank].name for rank in others if rank in following}
    here, there = calls[seq][some[0]].name, calls[seq][others[0]].name
    return ahead == {there} and behind == {here}


def _told(call: Call, kind: Kind) -> str:
    if kind == "size":
        return f"{call.name} of {call.numel_in:,} -> {call.numel_out:,} elements"
    if kind == "type":
        return f"{call.name} of {', '.join(call.dtypes) or 'no type'}"
    return call.name
