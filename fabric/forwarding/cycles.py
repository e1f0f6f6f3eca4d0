"""Deadlock: a cycle of channels, each of which a path leaves for the next, can fill up and stand still (a credit loop).

Seen over one virtual lane: engines that spread paths over several (dfsssp, nue, lash, torus-2QoS) may show cycles that are none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabric.forwarding.walk import Walk
from fabric.forwarding.wiring import Bools


def find_cycle(walked: Walk) -> tuple[int, ...] | None:
    """One cycle of channels (names: `Wiring.channel_name`) in the order of travel, or None when paths cannot wait for each other in a circle.

    Only channels that paths use and only followings that paths make count, so a table entry that no path reaches does no harm.
    """
    wiring = walked.wiring
    before, port = (found.astype(np.int64) for found in np.nonzero(walked.follows))
    after = wiring.far.ravel()[before].astype(np.int64) * wiring.width + port
    left = _peel(before, after, walked.follows.shape[0])
    if not left.any():
        return None
    # Everything left has a channel before it, so going backwards never ends and must come by a channel twice.
    inside = left[before] & left[after]
    source = dict(zip(after[inside].tolist(), before[inside].tolist(), strict=True))
    at = next(iter(source))
    seen: dict[int, int] = {}
    while at not in seen:
        seen[at] = len(seen)
        at = source[at]
    return tuple(channel for channel, when in reversed(seen.items()) if when >= seen[at])


def channels_used(walked: Walk) -> int:
    """Number of channels between switches in the wiring: two a link."""
    return int(np.count_nonzero(walked.wiring.between))


def _peel(before: npt.NDArray[np.int64], after: npt.NDArray[np.int64], channels: int) -> Bools:
    """Takes away channels with nothing before them, again and again; True for what stays: cycles and what follows from them."""
    order = np.argsort(before, kind="stable")
    heads = after[order]
    starts = np.searchsorted(before[order], np.arange(channels + 1))
    waits = np.bincount(after, minlength=channels)
    left = np.zeros(channels, dtype=np.bool_)
    left[before] = left[after] = True
    front = np.flatnonzero(left & (waits == 0))
    while front.size:
        left[front] = False
        counts = starts[front + 1] - starts[front]
        # The places of all edges that leave the front, as one array: runs of `counts` from each start.
        edges = np.repeat(starts[front] - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) + np.arange(
            counts.sum()
        )
        reached = heads[edges]
        waits -= np.bincount(reached, minlength=channels)
        reached = np.unique(reached)
        front = reached[waits[reached] == 0]
    return left
