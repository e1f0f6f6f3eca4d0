"""Edge colouring of flows: the path plan that a controller would compute.

A flow from one leaf to another is an edge of a bipartite multigraph (sending leaf, receiving leaf); its colour is the path that it
takes. Every vertex has each colour at most ceil(degree / colours) times, so no link of a full-bisection tier carries more than it must
(König 1916). Euler splits halve all degrees at once (Gabow 1976), vectorised by pointer jumping; the few edges beyond a number of
colours that is no power of two are put in by alternating paths.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def edge_colours(
    left: Ints, right: Ints, colours: int, *, left_kind: Ints | None = None, right_kind: Ints | None = None
) -> Ints:
    """The colour, 0 to colours - 1, of each edge (left[i], right[i]); both count from 0 and are two kinds of vertices.

    `*_kind` (one number an edge): at a vertex, edges of one kind are split among themselves first, so that each kind is spread as evenly
    as can be without disturbing the whole: the flows that leave the zone, for example.
    """
    if colours < 1:
        raise ValueError("no colours")
    if not left.size:
        return np.zeros(0, dtype=np.int64)
    lefts, rights = _parts(left, left_kind, colours), _parts(right, right_kind, colours)
    degree = max(int(np.bincount(lefts).max()), int(np.bincount(rights).max()))
    classes = _split(lefts, rights, left_kind, right_kind, (degree - 1).bit_length())
    found = _largest_first(classes)
    if 1 << (degree - 1).bit_length() > colours:
        _insert(lefts, rights, found, colours)
    return found


def _parts(vertex: Ints, kind: Ints | None, most: int) -> Ints:
    """Vertices divided into parts of at most `most` edges each, neighbours in kind together; numbered densely."""
    order = np.lexsort((vertex,) if kind is None else (kind, vertex))
    rank = np.empty(len(vertex), dtype=np.int64)
    rank[order] = _rank_in_group(vertex[order])
    key = vertex * (int(rank.max()) // most + 1) + rank // most
    found: Ints = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return found


def _rank_in_group(grouped: Ints) -> Ints:
    """0, 1, 2, ... within each run of equal numbers."""
    starts = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
    sizes = np.diff(np.r_[starts, len(grouped)])
    return np.arange(len(grouped)) - np.repeat(starts, sizes)


def _split(left: Ints, right: Ints, left_kind: Ints | None, right_kind: Ints | None, times: int) -> Ints:
    """2^times classes: each vertex has at most ceil(degree / 2^times) edges of a class."""
    classes = np.zeros(len(left), dtype=np.int64)
    for _ in range(times):
        classes = 2 * classes + _halves(classes, left, right, left_kind, right_kind)
    return classes


def _halves(classes: Ints, left: Ints, right: Ints, left_kind: Ints | None, right_kind: Ints | None) -> Ints:
    """One Euler split of every class at once: 0 or 1 an edge.

    The edges of a vertex are paired, an odd one with an added edge. Going to the partner at the left, then to that one's partner at the
    right, is then a permutation whose orbits come in twos, an edge in the one and its partners in the other: the halves.
    """
    count = len(left)
    at_left, at_right = _partners(classes, left, left_kind), _partners(classes, right, right_kind)
    odd_left, odd_right = np.flatnonzero(at_left < 0), np.flatnonzero(at_right < 0)
    # One added edge for each odd end. They meet in pairs at one added vertex of the far side; where both sides have an odd number of
    # them (both always have the same parity), one more edge joins the two added vertices.
    total = count + len(odd_left) + len(odd_right) + len(odd_left) % 2
    lefts, rights = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    lefts[:count], rights[:count] = at_left, at_right
    new_left, new_right = count + np.arange(len(odd_left)), count + len(odd_left) + np.arange(len(odd_right))
    lefts[odd_left], lefts[new_left] = new_left, odd_left
    rights[odd_right], rights[new_right] = new_right, odd_right
    joint = np.arange(total - len(odd_left) % 2, total)
    _pair_up(rights, np.r_[new_left, joint])
    _pair_up(lefts, np.r_[new_right, joint])
    return _orbits(lefts, rights)[:count]


def _partners(classes: Ints, vertex: Ints, kind: Ints | None) -> Ints:
    """The edge that each edge is paired with at its vertex; -1 for an odd one."""
    order = np.lexsort((vertex, classes) if kind is None else (kind, vertex, classes))
    group = classes[order] * (int(vertex.max()) + 1) + vertex[order]
    rank = _rank_in_group(group)
    partner = np.full(len(vertex), -1, dtype=np.int64)
    second = np.flatnonzero(rank % 2)
    partner[order[second]], partner[order[second - 1]] = order[second - 1], order[second]
    return partner


def _pair_up(partner: Ints, edges: Ints) -> None:
    """Pairs added edges in their order; they are even in number."""
    first, second = edges[0::2], edges[1::2]
    partner[first], partner[second] = second, first


def _orbits(lefts: Ints, rights: Ints) -> Ints:
    """Which of the two orbits of its walk an edge is in: 1 where the partner's orbit has the lower number."""
    step = rights[lefts]
    lowest = np.arange(len(step))
    while True:
        lower = np.minimum(lowest, lowest[step])
        if np.array_equal(lower, lowest):  # labels are distinct, so only a window over the whole orbit stops falling
            break
        lowest, step = lower, step[step]
    return (lowest > lowest[lefts]).astype(np.int64)


def _largest_first(classes: Ints) -> Ints:
    """Classes renumbered: the largest is 0. So the fewest edges are in those beyond the number of colours."""
    sizes = np.bincount(classes)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    found: Ints = rank[classes]
    return found


def _insert(left: Ints, right: Ints, found: Ints, colours: int) -> None:
    """Recolours the edges of classes beyond `colours` by alternating paths (in place); no vertex has more edges than colours."""
    at_left: list[dict[int, int]] = [{} for _ in range(int(left.max()) + 1)]
    at_right: list[dict[int, int]] = [{} for _ in range(int(right.max()) + 1)]
    ends = (left.tolist(), right.tolist())
    colour = found.tolist()
    later, every = [], set(range(colours))
    for edge, (u, v, c) in enumerate(zip(*ends, colour, strict=True)):
        if c < colours:
            at_left[u][c] = at_right[v][c] = edge
        else:
            later.append(edge)
    for edge in later:
        u, v = ends[0][edge], ends[1][edge]
        free_u, free_v = at_left[u].keys() ^ every, at_right[v].keys() ^ every
        both = free_u & free_v
        chosen = min(both or free_u)
        if not both:
            _swap(v, chosen, min(free_v), (at_right, at_left), ends[::-1], colour)
        at_left[u][chosen] = at_right[v][chosen] = edge
        colour[edge] = chosen
    found[:] = colour


def _swap(
    start: int,
    wanted: int,
    other: int,
    sides: tuple[list[dict[int, int]], ...],
    ends: tuple[list[int], ...],
    colour: list[int],
) -> None:
    """Exchanges two colours on the path from `start` that begins with `wanted`; it never reaches the other end of the new edge."""
    path, vertex, side, old = [], start, 0, wanted
    while (edge := sides[side][vertex].get(old)) is not None:
        path.append(edge)
        side, old = 1 - side, other if old == wanted else wanted
        vertex = ends[side][edge]
    for edge in path:
        for side in (0, 1):
            del sides[side][ends[side][edge]][colour[edge]]
    for edge in path:
        colour[edge] = other if colour[edge] == wanted else wanted
        for side in (0, 1):
            sides[side][ends[side][edge]][colour[edge]] = edge
