"""The answer to a case: bandwidth by message size with its spread, where it goes, which links gate, and what would help first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fabric.errors import FabricError
from fabric.predict.closed_form import analytic
from fabric.predict.flows import sent_bytes
from fabric.predict.latency import Clock, wires
from fabric.predict.load import crossing
from fabric.predict.model import Case, HotLink, Point, Prediction
from fabric.predict.net import Ints, Net
from fabric.predict.notes import notes
from fabric.predict.runs import Asked, band, middle_seed, norms_of, slowest
from fabric.predict.waterfall import Ladder, climb, waterfall
from fabric.words import counted

SIZES = tuple(1 << shift for shift in range(20, 38, 2))
"""Message sizes where a case names none: 1 MiB to 64 GiB, each 4 times the one before; more does not fit into a GPU."""

HOTTEST = 5
PAIRS = 4
MOST_SEEDS, MOST_PAIRS, MOST_CHANNELS = 1000, 128, 32


def predict(net: Net, case: Case, *, gbps: float = 400.0, scale: float = 1.0, advice: bool = True) -> Prediction:
    """What the case reaches on the network.

    `gbps`: rate of a NIC. `scale`: correction of NCCL's latency constants from a measured run. `advice`: look for the first change that
    removes the bottleneck, which costs some more walks. FabricError for a job that cannot be, failures that cut hosts off, zero sizes.
    """
    check(case)
    drawn = _drawn(net, case)
    whole = Asked(net, replace(drawn, failures=()))
    broken = None
    if case.failures:
        from fabric.predict.failures import without

        every = whole if drawn is case else Asked(net, replace(drawn, gpus=None, failures=()))
        broken = Asked(without(net, case.failures, every.order(0)), drawn)
    now = broken or whole
    ladder = climb(whole, broken, case.seeds)
    pattern, order, steps = now.steps(0)
    clock = Clock(wires(case, len(order), net.rails, pattern.steps, scale), gbps, scale)
    found = norms_of(ladder.runs)
    sizes = case.sizes or SIZES
    sent = [sent_bytes(case, size, len(order), net.rails) for size in sizes]
    closed = analytic(now, now.even(steps[0])) if len(steps) == 1 else None
    answer = Prediction(
        case=case,
        gpus=len(order) * net.rails,
        reached=band(100 * found),
        placement_bound=100 * ladder.placement,
        analytic=None if closed is None else 100 * closed,
        points=tuple(_point(clock, size, one, found, pattern.ideal) for size, one in zip(sizes, sent, strict=True)),
        waterfall=waterfall(ladder, clock, max(sent)),
        hot=hottest(now, ladder),
        tiers=_tiers(now, ladder),
        change=None,
        phases=pattern.steps,
        walked=len(pattern.phases),
        notes=notes(case, len(pattern.phases), pattern.steps),
    )
    if not advice:
        return answer
    from fabric.predict.advice import first_change

    return replace(answer, change=first_change(now, whole, ladder, clock, max(sent)))


def _drawn(net: Net, case: Case) -> Case:
    """The case; where each seed draws other hosts of all, without the hosts that the failures cut off, which no job would get."""
    if not case.failures or case.placement != "random" or case.gpus is None or case.hosts:
        return case
    from fabric.predict.failures import hosts_cut

    return replace(case, left_out=(*case.left_out, *hosts_cut(net, case.failures)))


def check(case: Case) -> None:
    """FabricError for numbers that make no case."""
    if any(size < 1 for size in case.sizes):
        raise FabricError(
            f"{case.name}: a message of {min(case.sizes)} bytes moves nothing", hint="sizes from 1 byte on, 1G"
        )
    if not 1 <= case.seeds <= MOST_SEEDS:
        raise FabricError(f"{case.name}: {case.seeds} seeds: 1 to {MOST_SEEDS}", hint="20 give a spread")
    for number, noun, most, why in (
        (case.qps, "queue pair", MOST_PAIRS, "NCCL_IB_QPS_PER_CONNECTION is at most 128"),
        (case.channels, "channel", MOST_CHANNELS, "1 or a few a NIC"),
    ):
        if not 1 <= number <= most:
            raise FabricError(f"{case.name}: {counted(number, noun)}: 1 to {most}", hint=why)


def _point(
    clock: Clock, size: int, sent: float, norms: np.ndarray[tuple[int], np.dtype[np.float64]], ideal: float
) -> Point:
    middle = float(np.median(norms))
    return Point(
        size,
        band(clock.reached(sent, norms)),
        float(clock.reached(sent, np.array([ideal]))[0]),
        band(100 * norms),
        clock.fastest(sent, middle).protocol,
    )


def hottest(asked: Asked, ladder: Ladder, most: int = HOTTEST) -> tuple[HotLink, ...]:
    """The fullest links between switches, or of NICs where these gate: of the median seed, in the phase that takes longest."""
    seed = middle_seed(ladder.runs)
    step = slowest(asked, ladder.runs, seed)
    net, policy = asked.net, asked.policy()
    found = asked.loads(step, policy, seed) / net.capacity
    between = (net.source >= 0) & (net.target >= 0)
    if (found[between] > 0).any():
        found = np.where(between, found, 0.0)
    _, order, _ = asked.steps(seed)
    rank = np.full(len(net.hosts), -1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    plan = asked.plan(step, policy)
    links = []
    for channel in np.argsort(-found, kind="stable")[:most].tolist():
        if found[channel] <= 0:
            break
        src, dst = step.phase.src, step.phase.dst
        near = _near(net, src, dst, channel) if plan is None else np.arange(src.size)
        on = near[crossing(net, src[near], dst[near], policy, seed, channel, plan)]
        pairs = tuple(
            (int(rank[src[f] // net.rails] * net.rails + src[f] % net.rails),
             int(rank[dst[f] // net.rails] * net.rails + dst[f] % net.rails))
            for f in on[:PAIRS].tolist()
        )  # fmt: skip
        links.append(
            HotLink(net.name(channel), net.tiers[int(net.tier[channel])], float(found[channel]), len(on), pairs)
        )
    return tuple(links)


def _near(net: Net, src: Ints, dst: Ints, channel: int) -> Ints:
    """The flows that can be on a channel: those from its leaf up, or to its leaf down; so that few are walked."""
    source, target = int(net.source[channel]), int(net.target[channel])
    if source >= 0 and net.level[source] == 0 and target >= 0:
        return np.flatnonzero(net.leaf_of[src] == source)
    if target >= 0 and net.level[target] == 0 and source >= 0:
        return np.flatnonzero(net.leaf_of[dst] == target)
    return np.arange(src.size)


def _tiers(asked: Asked, ladder: Ladder) -> dict[str, float]:
    peaks = np.median(np.stack([run.tiers for run in ladder.runs]), axis=0)
    return {name: float(peak) for name, peak in zip(asked.net.tiers, peaks, strict=True) if peak > 0}
