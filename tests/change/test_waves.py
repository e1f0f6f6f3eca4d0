"""Waves: every device exactly once, and no failure domain loses more than it can spare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.change.waves import WAVE_SIZE, plan_waves, spares
from fabric.design.fabric import Fabric
from fabric.design.model import Switch
from fabric.errors import FabricError


def a_switch(role: str, zone: int, number: int, plane: int = 0, nos: str = "eos", state: str = "deployed") -> Switch:
    name = f"z{zone:02}-{role}{number:03}"
    return Switch(name, role, zone, number, plane, "m", None, nos, "p", 1, 1, None, 1, state)  # type: ignore[arg-type]


fabrics = st.builds(
    lambda zones, racks, ctsws, planes, drained: [
        *[a_switch("rtsw", z, r, nos="fboss" if z % 2 else "eos") for z in range(1, zones + 1) for r in range(1, racks + 1)],
        *[
            a_switch("ctsw", z, c, state="drained" if c in drained else "deployed")
            for z in range(1, zones + 1)
            for c in range(1, ctsws + 1)
        ],
        *[a_switch("atsw", 0, n * planes + p + 1, p) for n in range(2) for p in range(planes)],
    ],
    st.integers(1, 3), st.integers(0, 12), st.integers(0, 9), st.integers(1, 3), st.sets(st.integers(1, 9)),
)  # fmt: skip


@given(fabrics, st.data(), st.integers(1, 20), st.integers(-1, 4), st.booleans())
def test_bounds(switches: list[Switch], data: st.DataObject, size: int, spare: int, some: bool) -> None:
    chosen = data.draw(st.lists(st.sampled_from(switches), unique=True)) if some else switches
    waves = plan_waves(chosen, dict.fromkeys(range(1, 4), spare), wave_size=size)
    by_name = {s.name: s for s in switches}
    assert sorted(n for w in waves for n in w.devices) == sorted(s.name for s in chosen)
    assert [w.number for w in waves] == list(range(1, len(waves) + 1))
    for wave in waves:
        members = [by_name[n] for n in wave.devices]
        assert 1 <= len(members) <= size
        assert len({s.role for s in members}) == 1
        racks = {(s.zone, s.number) for s in members if s.role == "rtsw"}
        assert not any((zone, rack + 1) in racks for zone, rack in racks)
        away = Counter(s.zone for s in members if s.role == "ctsw" and s.state != "drained")
        assert all(count <= max(1, spare) for count in away.values())
        planes = Counter(s.plane for s in members if s.role == "atsw")
        assert all(count == 1 for count in planes.values())
    canaries = [w for w in waves if w.canary]
    assert list(waves[: len(canaries)]) == canaries
    assert len(canaries) == len({(s.role, s.nos) for s in chosen})
    assert all(len(w.devices) == 1 for w in canaries)


def test_the_order_of_the_input_does_not_matter() -> None:
    switches = [a_switch("rtsw", 1, n) for n in range(1, 9)] + [a_switch("ctsw", 1, n) for n in range(1, 5)]
    assert plan_waves(switches, {1: 2}) == plan_waves(reversed(switches), {1: 2})


def test_spare_of_a_zone_counts_what_is_drained(make_fabric: Callable[..., Fabric]) -> None:
    big = make_fabric("roce-24k")
    free = spares(big)
    drained = {
        "match": {"role": "ctsw", "name": next(s.name for s in big.switches if s.role == "ctsw")},
        "state": "drained",
    }
    less = spares(make_fabric("roce-24k", {"state": [drained]}))
    assert sum(free.values()) - sum(less.values()) == 1
    assert min(free.values()) >= 1


def test_the_whole_of_a_large_cluster(make_fabric: Callable[..., Fabric]) -> None:
    fabric = make_fabric("roce-24k")
    waves = plan_waves(fabric.switches, spares(fabric))
    assert sum(len(w.devices) for w in waves) == len(fabric.switches)
    assert max(len(w.devices) for w in waves) == WAVE_SIZE


def test_chosen_canaries() -> None:
    switches = [a_switch("rtsw", 1, n) for n in range(1, 6)]
    waves = plan_waves(switches, {}, canary="*rtsw00[23]")
    assert [(w.devices, w.canary) for w in waves[:2]] == [(("z01-rtsw002",), True), (("z01-rtsw003",), True)]
    with pytest.raises(FabricError, match="matches no device"):
        plan_waves(switches, {}, canary="x*")
