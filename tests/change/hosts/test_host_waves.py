"""Waves over hosts, and which of them may reboot together."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.change.hosts.waves import plan_host_waves, reboot_batches
from fabric.errors import FabricError
from tests.change.hosts.host_scene import host

HOSTS = [host(n, per_rack=4) for n in range(32)]
NAMES = [one.name for one in HOSTS]
BLOCK = {one.name: one.block for one in HOSTS}


def test_canary_first_then_block_after_block() -> None:
    waves = plan_host_waves(HOSTS, NAMES, wave_size=8)
    assert [(w.title, w.canary, len(w.devices)) for w in waves[:2]] == [
        ("canary rack1", True, 1),
        ("rack1 to rack3", False, 8),
    ]
    assert [w.number for w in waves] == [1, 2, 3, 4, 5]
    assert sorted(name for wave in waves for name in wave.devices) == sorted(NAMES)


def test_canaries_by_pattern() -> None:
    assert [w.devices for w in plan_host_waves(HOSTS, NAMES, canary="h0[59]")][:2] == [("h05",), ("h09",)]
    with pytest.raises(FabricError, match="--canary 'x' matches no host that changes"):
        plan_host_waves(HOSTS, NAMES, canary="x")


@given(st.sets(st.sampled_from(NAMES)), st.integers(1, 40), st.integers(1, 5), st.booleans())
def test_every_host_once_and_no_block_as_a_whole(names: set[str], size: int, per_rack: int, reboot: bool) -> None:
    hosts = [host(n, per_rack) for n in range(32)]
    blocks = {one.name: one.block for one in hosts}
    sizes = Counter(blocks.values())
    waves = plan_host_waves(hosts, names, wave_size=size, reboot=reboot)
    assert Counter(name for wave in waves for name in wave.devices) == Counter(names)
    for wave in waves:
        assert len(wave.devices) <= size
        taken = Counter(blocks[name] for name in wave.devices)
        if reboot:
            assert all(count <= max(1, sizes[block] // 2) for block, count in taken.items())


@given(st.lists(st.sampled_from(NAMES), unique=True), st.sets(st.sampled_from(NAMES)), st.integers(1, 9))
def test_no_reboot_takes_the_rest_of_a_block(names: list[str], away: set[str], most: int) -> None:
    names = [name for name in names if name not in away]
    batches, held = reboot_batches(names, HOSTS, away, most)
    assert sorted([name for batch in batches for name in batch] + held) == sorted(names)
    gone = Counter(BLOCK[name] for name in away)
    for batch in batches:
        taken = Counter(BLOCK[name] for name in batch)
        assert 0 < len(batch) <= most
        assert all(count + gone[block] < 4 for block, count in taken.items())
    assert all(gone[BLOCK[name]] >= 3 for name in held)
