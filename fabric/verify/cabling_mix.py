"""Cables that are crossed: chains of "declared" and "found" that close are swaps and rotations, each one fault with one repair.

Walking alternately from an end to its declared mate and from there to whom it really meets either closes (a permutation of plugs)
or ends at an end that meets nobody (a moved plug). Two declared cables in a ring are a swap, three or more a rotation.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.verify.cabling_plan import CablePlan, Ears, End, devices_of
from fabric.verify.finding import Finding

NEAR = 64
"""Plugs of a rotation that a repair names one by one; a longer ring is named as such, and its repair is still complete."""


@dataclass(frozen=True, slots=True)
class Ring:
    """A closed chain: even places and the odd ones after them are declared mates; `guessed` when the last step was inferred."""

    chain: tuple[End, ...]
    guessed: bool


def rings(plan: CablePlan, ears: Ears) -> list[Ring]:
    """All closed chains, in order of the links."""
    found: list[Ring] = []
    done: set[End] = set()
    for start in plan.mate:
        if start not in ears.meets or start in done:
            continue
        chain, closed = _walk(plan, ears, start)
        done.update(chain)
        guessed = not closed and _closes(ears, chain)
        if (closed or guessed) and len(chain) >= 4:
            found.append(Ring(chain, guessed))
    return found


def _walk(plan: CablePlan, ears: Ears, start: End) -> tuple[tuple[End, ...], bool]:
    """The chain through `start`, whole: from its one end to the other, or once around."""
    forward, closed = _follow(plan, ears, start)
    if closed:
        return tuple(forward), True
    mate = plan.mate[start]
    back, _ = _follow(plan, ears, mate)
    # both begin with the declared pair of `start`; the second goes the other way
    return (*reversed(back[2:]), *forward), False


def _follow(plan: CablePlan, ears: Ears, start: End) -> tuple[list[End], bool]:
    """From the mate of `start` over `start` on: [mate, start, met, its mate, ...]; and whether it comes back to the mate."""
    chain = [plan.mate[start], start]
    inside = set(chain)
    while True:
        met = ears.meets.get(chain[-1])
        if met is None or ears.meets.get(met) != chain[-1]:
            return chain, False
        if met == chain[0]:
            return chain, True
        mate = plan.mate.get(met)
        if mate is None or met in inside or mate in inside:
            return chain, False
        chain += [met, mate]
        inside.update((met, mate))


def _closes(ears: Ears, chain: tuple[End, ...]) -> bool:
    """Whether the two loose ends must meet each other: one is a port that is up and hears nothing, the other cannot be asked."""
    first, last = chain[0], chain[-1]
    if first in ears.meets or last in ears.meets:
        return False
    for one, other in ((first, last), (last, first)):
        if ears.states.get(one) == "silent" and ears.up(one) is True and ears.states.get(other) == "blind":
            return True
    return False


def ring_finding(plan: CablePlan, ears: Ears, ring: Ring) -> Finding:
    """One finding for a ring, with the plugs to move."""
    chain = ring.chain
    pairs = [(chain[i], chain[(i + 1) % len(chain)]) for i in range(1, len(chain), 2)]
    links = [plan.subject(plan.link_of[chain[i]]) for i in range(0, len(chain), 2)]
    even, odd = chain[0::2], chain[1::2]
    plugs = _handy(even, odd)
    label = plan.label
    if len(plugs) == 2:
        name, action = "swap", f"exchange the plugs in {label(plugs[0])} and {label(plugs[1])}"
        subject = " and ".join(sorted(label(plug) for plug in plugs))
        measured = f"two cables are crossed: {', '.join(_met(plan, pair) for pair in pairs)}"
    else:
        name = "rotation"
        moves = _moves(chain, even=plugs == even)
        action = "move plugs: " + ", ".join(f"{label(a)} to {label(b)}" for a, b in moves[:NEAR])
        subject = ", ".join(label(plug) for plug in plugs[:NEAR])
        measured = f"{len(plugs)} cables are rotated: {', '.join(_met(plan, pair) for pair in pairs[:NEAR])}"
    evidence = [f"{label(end)} hears {ears.said[end]}" for end in chain if end in ears.said]
    if ring.guessed:
        silent = next(end for end in (chain[0], chain[-1]) if ears.states.get(end) == "silent")
        evidence.append(f"inferred: {label(silent)} is up and hears nothing, so the device that tells nothing is there")
    return Finding(
        f"cabling.{name}", subject, "fail", measured, ", ".join(links), action, tuple(evidence), devices_of(chain),
        len(links), tuple(links),
    )  # fmt: skip


def _met(plan: CablePlan, pair: tuple[End, End]) -> str:
    return f"{plan.label(pair[0])} meets {plan.label(pair[1])}"


def _handy(even: tuple[End, ...], odd: tuple[End, ...]) -> tuple[End, ...]:
    """The plugs to move: those that are nearest to each other, that is on the fewest devices; the lower ends when equal."""
    return even if len({end[0] for end in even}) < len({end[0] for end in odd}) else odd


def _moves(chain: tuple[End, ...], *, even: bool) -> list[tuple[End, End]]:
    """(from, to) of every plug. Found cables join chain[i] (odd) and chain[i+1]; the even plug of it belongs to the odd one's mate."""
    size = len(chain)
    if even:
        return [(chain[(i + 1) % size], chain[i - 1]) for i in range(1, size, 2)]
    return [(chain[i], chain[(i + 2) % size]) for i in range(1, size, 2)]
