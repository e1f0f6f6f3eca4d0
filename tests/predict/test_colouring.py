"""Edge colouring: each vertex has each colour at most ceil(degree / colours) times, whatever the multigraph."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.predict.colouring import edge_colours

Ints = npt.NDArray[np.int64]


def worst(vertex: Ints, colour: Ints, colours: int) -> int:
    """How many edges of one colour any vertex has beyond its fair share."""
    held = np.zeros((int(vertex.max()) + 1, colours), dtype=np.int64)
    np.add.at(held, (vertex, colour), 1)
    return int((held.max(axis=1) - -(-held.sum(axis=1) // colours)).max())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=60),
    st.integers(1, 7),
    st.booleans(),
)
def test_any_multigraph(edges: list[tuple[int, int]], colours: int, kinds: bool) -> None:
    left, right = np.array(edges, dtype=np.int64).T
    kind = {"left_kind": right // 3, "right_kind": left // 3} if kinds else {}
    found = edge_colours(left, right, colours, **kind)
    assert set(found.tolist()) <= set(range(colours))
    assert (worst(left, found, colours), worst(right, found, colours)) == (0, 0)


@pytest.mark.parametrize("colours", [16, 18, 28, 12])
def test_a_shuffled_ring_of_24576_gpus(colours: int) -> None:
    left = np.repeat(np.arange(1536), 16)
    right = np.random.default_rng(1).permutation(left)
    found = edge_colours(left, right, colours)
    assert (worst(left, found, colours), worst(right, found, colours)) == (0, 0)


def test_kinds_are_spread_each_for_itself() -> None:
    """Of 8 edges from each of 64 vertices, half go to the far zone: then each colour of a zone carries as many far ones as the others."""
    left = np.repeat(np.arange(64), 8)
    right = np.tile(np.r_[np.arange(4), 4 + np.arange(4)], 64) * 8 + left // 8
    far = (right >= 32).astype(np.int64)
    found = edge_colours(left, right, 4, left_kind=far, right_kind=far)
    assert np.bincount(found[far == 1]).tolist() == [64] * 4


def test_no_edges() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert edge_colours(none, none, 3).size == 0
