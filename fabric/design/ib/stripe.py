"""How the uplinks of many lower switches are spread over the switches of the tier above.

Lower switch q (from 0) has `uplinks` links into `above` switches. Uplink k of switch q is number q x uplinks + k of all; switch number
modulo `above` takes it. So every upper switch gets as many links as the next, give or take one, whatever divides, and a further lower
switch moves nothing. Where uplinks divide, this is equally many links to each, and both ends use neighbouring ports, hence one cage.
"""

from __future__ import annotations

from collections.abc import Iterator


def even(fewest: int, uplinks: int) -> int | None:
    """The smallest number of upper switches, not below `fewest`, that `uplinks` divide over; None when there is none."""
    return next((count for count in range(max(1, fewest), uplinks + 1) if uplinks % count == 0), None)


def taken(lower: int, uplinks: int, above: int, upper: int) -> int:
    """Links that the lower switches 0 to `lower` - 1 have to the upper switch `upper`."""
    return max(0, (lower * uplinks - upper + above - 1) // above)


def stripe(lower: int, uplinks: int, above: int) -> Iterator[tuple[int, int, int]]:
    """(uplink, upper switch, its down port), all from 0, of lower switch `lower`, in the order of uplinks."""
    uplink = 0
    for upper in range(above):
        first, last = taken(lower, uplinks, above, upper), taken(lower + 1, uplinks, above, upper)
        for port in range(first, last):
            yield uplink, upper, port
            uplink += 1


def ports_needed(lowers: int, uplinks: int, above: int) -> int:
    """Down ports of the fullest upper switch below which `lowers` switches stand."""
    return taken(lowers, uplinks, above, 0)


def spread(uplinks: int, above: int) -> tuple[int, int]:
    """(smallest, largest) number of links of a lower switch to one of `above` upper switches."""
    return uplinks // above, -(-uplinks // above)
