"""From the summaries of all ranks to the ranks that are at fault, or to what is missing to say so.

Culprits are those that somebody waits for and that wait for nobody (reference, section 3). What that rule cannot see is looked for
where it is silent: a mismatch makes all wait in a circle, a GPU that hangs leaves a group in which all called and none ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from fabric.verify.flight_recorder.graph import Waits
from fabric.verify.flight_recorder.groups import groups_of, nameless
from fabric.verify.flight_recorder.mismatch import Mismatch, mismatch_of
from fabric.verify.flight_recorder.model import Analysis, Culprit, Dumps, Group, Joint, Wait
from fabric.verify.flight_recorder.p2p import transfer_waits
from fabric.verify.flight_recorder.spans import spans
from fabric.verify.flight_recorder.waits import hangs_at, lagging, waits_of
from fabric.verify.flight_recorder.worlds import far_apart
from fabric.words import counted, verb

_JOINTS = 4  # groups that stall with all their members and are told of, the smallest first


def analyse(dumps: Dumps) -> Analysis:
    """What the dumps say. Pure; the order of the dumps plays no part."""
    groups = groups_of(dumps)
    trusted = _library(dumps) != "gloo"
    world, missing = _world(dumps, groups)
    waits, joints, unsure = _all_waits(groups, trusted=trusted)
    lags = lagging(group for group in groups if not group.p2p) if trusted else {}
    mismatches = [found for group in groups if (found := mismatch_of(group)) is not None]
    culprits = _culprits(waits, joints, unsure, lags, mismatches)
    hidden = _hidden(dumps, trusted=trusted)
    culprits = [one for one in culprits if one.cause != "stopped" or hidden.isdisjoint(one.ranks)]
    culprits = _unless_most(culprits, len(dumps.ranks), waits)
    if not culprits and (waits or unsure) and missing:
        culprits = _absent_only(waits + unsure, missing)
    return Analysis(
        world, len(dumps.ranks), sum(dump.entries for dump in dumps.ranks.values()),
        tuple(sorted({dump.version for dump in dumps.ranks.values()}, key=_number)), missing, tuple(dumps.unread),
        len(groups), tuple(dict.fromkeys([*(wait.group for wait in waits or unsure), *(joint.group.label for joint in joints)])),
        tuple(culprits), tuple(waits or unsure), lags, tuple(_notes(dumps, missing, waits, unsure, hidden, trusted=trusted)),
        nameless(dumps) > 0 or not groups,
    )  # fmt: skip


def _number(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)


def _library(dumps: Dumps) -> str:
    votes = Counter(dump.library for dump in dumps.ranks.values() if dump.library)
    return votes.most_common(1)[0][0] if votes else ""


def _world(dumps: Dumps, groups: Iterable[Group]) -> tuple[int, tuple[int, ...]]:
    """How many ranks the job has, and which of them have no usable dump."""
    known = set(dumps.ranks)
    if not dumps.members:
        known.update(item.rank for item in dumps.unread)  # else the groups say who there is, and a name may be wrong
    for group in groups:
        known.update(group.members)
    if known and not dumps.members:
        known.update(range(max(known)))  # nobody lists the members of any group: ranks count from 0
    return len(known), tuple(sorted(known - set(dumps.ranks)))


def _all_waits(groups: Iterable[Group], *, trusted: bool) -> tuple[list[Wait], list[Joint], list[Wait]]:
    """Waits, groups that stall although all called, and transfers of which it is not sure who is late."""
    waits, joints, unsure = [], [], []
    for group in groups:
        if group.p2p:
            found = transfer_waits(group)
            waits += [wait for wait in found if wait.sure]
            unsure += [wait for wait in found if not wait.sure]
            continue
        here, joint = waits_of(group, trusted=trusted)
        waits += here
        if joint is not None:
            joints.append(joint)
    return waits, joints, unsure


def _culprits(
    waits: list[Wait],
    joints: list[Joint],
    unsure: list[Wait],
    lags: dict[int, tuple[str, ...]],
    mismatches: list[Mismatch],
) -> list[Culprit]:
    found = [_mismatched(mismatch, Waits(waits)) for mismatch in mismatches]
    held = {rank for mismatch in mismatches for rank in mismatch.group.views}
    for used in (waits, [*waits, *unsure]) if unsure else (waits,):
        graph = Waits(used)
        sinks = [rank for rank in graph.sinks() if rank not in held]
        found += _of_sinks(sinks, graph, joints, lags, sure=used is waits)
        if found:
            return found
    if lags:
        return [_stuck(rank, groups, Waits(waits), confidence=0.7) for rank, groups in sorted(lags.items())]
    smallest = sorted(joints, key=lambda item: len(item.group.members))
    return _merged([_joint(joint, Waits(waits)) for joint in smallest])[:_JOINTS]


def _merged(culprits: list[Culprit]) -> list[Culprit]:
    """Those of equal cause and ranks as one, with the evidence of all."""
    found: dict[tuple[str, tuple[int, ...]], Culprit] = {}
    for culprit in culprits:
        key = (culprit.cause, culprit.ranks)
        first = found.get(key)
        found[key] = culprit if first is None else replace(first, evidence=(*first.evidence, *culprit.evidence))
    return list(found.values())


def _of_sinks(
    sinks: list[int], graph: Waits, joints: list[Joint], lags: dict[int, tuple[str, ...]], *, sure: bool
) -> list[Culprit]:
    """Those that are waited for and wait for nobody. Several that hang together in one group stand or fall with that group."""
    found, rest = [], set(sinks)
    for joint in joints:
        together = rest.intersection(joint.group.views)
        if len(together) > 1 and not together.intersection(lags):
            found.append(_joint(joint, graph, tuple(sorted(together))))
            rest -= together
    for rank in sorted(rest):
        if graph.absent(rank):
            found.append(_absent(rank, graph))
        elif rank in lags:
            found.append(_stuck(rank, lags[rank], graph, confidence=0.95))
        else:
            found.append(_stopped(rank, graph, sure=sure))
    if any(culprit.proven for culprit in found):
        return [culprit for culprit in found if culprit.proven]  # a rank without a dump is told as a fact beside them
    return found


def _unless_most(culprits: list[Culprit], seen: int, waits: list[Wait]) -> list[Culprit]:
    """Where more than half of all ranks would be named as stopped, it may be the few that are ahead: nobody is proven then."""
    stopped = [culprit for culprit in culprits if culprit.cause == "stopped"]
    ranks = tuple(sorted(rank for culprit in stopped for rank in culprit.ranks))
    if len(ranks) < 2 or 2 * len(ranks) <= seen:
        return culprits
    ahead = sorted({waiter for wait in waits for waiter in wait.waiters} - set(ranks))
    told = f"{_who(tuple(ahead))} {verb(len(ahead), 'waits', 'wait')} for {counted(len(ranks), 'other')} of {seen:,} that wait for nobody"
    most = Culprit("most", ranks, stopped[0].group, (told, *stopped[0].evidence), len(ahead), 0.3, proven=False)
    return [culprit for culprit in culprits if culprit.cause != "stopped"] + [most]


def _stopped(rank: int, graph: Waits, *, sure: bool) -> Culprit:
    """Where it is not sure that the other half of a transfer is missing, two ranks that wait are proof: both would have to hang alone."""
    proven = sure or graph.witnesses(rank) > 1
    confidence = 0.95 if sure else 0.8 if proven else 0.5
    return Culprit(
        "stopped", (rank,), graph.group_of(rank), graph.evidence(rank), graph.reach(rank), confidence, proven
    )


def _stuck(rank: int, groups: tuple[str, ...], graph: Waits, *, confidence: float) -> Culprit:
    named = ", ".join(groups[:3]) + (", ..." if len(groups) > 3 else "")
    lag = f"in {counted(len(groups), 'group')} ({named}) it called what most others ended, and did not end it"
    return Culprit("stuck", (rank,), groups[0], (lag, *graph.evidence(rank)), graph.reach(rank), confidence)


def _absent(rank: int, graph: Waits) -> Culprit:
    evidence = (*graph.evidence(rank), "there is no usable dump of it, so what it did is not known")
    return Culprit("no-dump", (rank,), graph.group_of(rank), evidence, graph.reach(rank), 0.5, proven=False)


def _absent_only(waits: list[Wait], missing: tuple[int, ...]) -> list[Culprit]:
    graph = Waits(waits)
    return [_absent(rank, graph) for rank in missing if graph.absent(rank)]


def _mismatched(mismatch: Mismatch, graph: Waits) -> Culprit:
    told = tuple(f"{_who(ranks)} called {what}" for what, ranks in mismatch.sides[:4])
    first = f"in {mismatch.group.label} at number {mismatch.seq} the members differ in {_KIND[mismatch.kind]}"
    named = mismatch.minority
    ranks = named or tuple(sorted(rank for _, side in mismatch.sides for rank in side))
    sure = len(mismatch.sides[0][1]) >= 2 * len(named) if named else False
    reach = len(set(mismatch.group.views) - set(ranks)) + sum(graph.reach(rank) for rank in ranks)
    return Culprit(
        "mismatch", ranks, mismatch.group.label, (first, *told), reach, 0.95 if sure else 0.6, proven=bool(named)
    )


_KIND = {
    "collective": "the collective",
    "size": "its size",
    "type": "its data type",
    "order": "the order of two collectives",
}


def _joint(joint: Joint, graph: Waits, suspects: tuple[int, ...] = ()) -> Culprit:
    label, members = joint.group.label, joint.group.members
    if joint.idle and 2 * len(joint.idle) <= len(members):
        begun = len(members) - len(joint.idle)
        told = (
            f"in {label} {_who(joint.idle)} called number {joint.seq} and did not begin it; {begun:,} others began it"
        )
        return Culprit("not-started", joint.idle, label, (told,), begun, 0.85)
    told = f"in {label} all {len(members):,} members called number {joint.seq}, and none ended it"
    ranks = suspects or members
    return Culprit("joint", ranks, label, (told,), sum(graph.reach(rank) for rank in ranks), 0.3, proven=False)


def _who(ranks: tuple[int, ...]) -> str:
    return f"{verb(len(ranks), 'rank', 'ranks')} {spans(ranks)}"


def _notes(
    dumps: Dumps, missing: tuple[int, ...], waits: list[Wait], unsure: list[Wait], hidden: set[int], *, trusted: bool
) -> Iterable[str]:
    if missing:
        yield f"{counted(len(missing), 'rank')} without a usable dump ({spans(missing)}): a fact about the files, no verdict on the ranks"
    if not trusted:
        yield "gloo counts failed operations as ended: only what was called is judged, not what was ended"
    if unsure and not waits:
        yield "sends and receives in groups of more than two ranks: the other half may also have ended"
    if old := nameless(dumps):
        yield f"{counted(old, 'dump')} before version 1.2 {verb(old, 'does', 'do')} not say who is in a group: only the default group is judged"
        if hidden:
            yield f"evidence not enough: {_who(tuple(hidden))} {verb(len(hidden), 'hangs', 'hang')} in groups whose members are not known"
    yield from far_apart(dumps)
    if newer := {dump.version for dump in dumps.ranks.values() if _number(dump.version) > (2, 10)}:
        yield f"version {', '.join(sorted(newer))} is newer than 2.10, the newest that is known"


def _hidden(dumps: Dumps, *, trusted: bool) -> set[int]:
    """Ranks that hang in a group that only a number names (before 1.2): whom they wait for is not known."""
    return {
        rank
        for rank, dump in dumps.ranks.items()
        if any(view.name.startswith("#") and hangs_at(view, trusted=trusted) is not None for view in dump.views)
    }
