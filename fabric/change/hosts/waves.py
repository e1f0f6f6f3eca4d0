"""Which hosts are changed together. Pure.

1. Canaries: one host, alone; or those of a pattern, one at a time.
2. The rest, block after block (a rack, or the hosts of one leaf group: `HostPlan.block`). Where a reboot is possible a wave holds at most
   half of a block, at least one: so no rack is ever away as a whole, but one of a single host.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from fabric.change.waves import Wave
from fabric.design.hosts.model import HostPlan
from fabric.errors import FabricError

WAVE_SIZE = 64
"""Most hosts in one wave unless asked for otherwise: about one in 48 of a cluster of 3,072 hosts (our choice)."""


def block_sizes(hosts: Iterable[HostPlan]) -> Counter[str]:
    """Block -> its hosts that are installed."""
    return Counter(host.block for host in hosts if host.state != "planned")


def plan_host_waves(
    hosts: Sequence[HostPlan],
    names: Collection[str],
    *,
    wave_size: int = WAVE_SIZE,
    canary: str | None = None,
    reboot: bool = False,
) -> tuple[Wave, ...]:
    """Waves over the hosts of these names, each exactly once, in the order of the fabric; `hosts` are all of the cluster.

    Raises FabricError when `canary` matches none of them.
    """
    todo = [host for host in hosts if host.name in names]
    if not todo:
        return ()
    first = todo[:1]
    if canary is not None:
        first = [host for host in todo if fnmatch.fnmatchcase(host.name, canary)]
        if not first:
            raise FabricError(f"--canary {canary!r} matches no host that changes")
    chosen = {host.name for host in first}
    rest = [host for host in todo if host.name not in chosen]
    packed: list[tuple[str, bool, tuple[str, ...]]] = [(f"canary {host.block}", True, (host.name,)) for host in first]
    bounds = {block: max(1, size // 2) for block, size in block_sizes(hosts).items()} if reboot else {}
    packed += [(_title(wave), False, tuple(host.name for host in wave)) for wave in _pack(rest, bounds, wave_size)]
    return tuple(
        Wave(number, title, members, is_canary) for number, (title, is_canary, members) in enumerate(packed, 1)
    )


def _pack(hosts: Sequence[HostPlan], bounds: Mapping[str, int], size: int) -> list[list[HostPlan]]:
    """First fit, one wave at a time, so that neighbouring blocks go together and the earliest wave is the fullest."""
    waves: list[list[HostPlan]] = []
    left = list(hosts)
    while left:
        taken: Counter[str] = Counter()
        wave: list[HostPlan] = []
        rest: list[HostPlan] = []
        for index, host in enumerate(left):
            if len(wave) == size:
                rest += left[index:]
                break
            if taken[host.block] < bounds.get(host.block, size):
                taken[host.block] += 1
                wave.append(host)
            else:
                rest.append(host)
        waves.append(wave)
        left = rest
    return waves


def _title(wave: Sequence[HostPlan]) -> str:
    blocks = list(dict.fromkeys(host.block for host in wave))
    return blocks[0] if len(blocks) == 1 else f"{blocks[0]} to {blocks[-1]}"


def reboot_batches(
    names: Sequence[str], hosts: Sequence[HostPlan], away: Collection[str], most: int
) -> tuple[list[list[str]], list[str]]:
    """(batches of at most `most` hosts that may reboot one after another, hosts that must not).

    `away` are hosts that this run has left unhealthy or unreachable: with them no block may be away as a whole. A block of one host is
    its only exception.
    """
    blocks = {host.name: host.block for host in hosts}
    sizes = block_sizes(hosts)
    gone = Counter(blocks[name] for name in away if name in blocks)
    held = [name for name in names if sizes[blocks[name]] > 1 and gone[blocks[name]] >= sizes[blocks[name]] - 1]
    left = [name for name in names if name not in set(held)]
    batches: list[list[str]] = []
    while left:
        taken: Counter[str] = Counter()
        batch: list[str] = []
        for name in left:
            block = blocks[name]
            room = max(1, sizes[block] - 1 - gone[block])
            if len(batch) < most and taken[block] < room:
                taken[block] += 1
                batch.append(name)
        batches.append(batch)
        left = [name for name in left if name not in set(batch)]
    return batches, held
