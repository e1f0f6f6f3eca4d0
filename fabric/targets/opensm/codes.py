"""MTU and rate as InfiniBand's attributes carry them: codes (reference: the codes that opensm and the path records use)."""

from __future__ import annotations

from collections.abc import Mapping

MTU_CODES: Mapping[int, int] = {2048: 4, 4096: 5}
"""MTU in bytes -> code."""
RATE_CODES: Mapping[float, int] = {
    2.5: 2, 10: 3, 30: 4, 5: 5, 20: 6, 40: 7, 60: 8, 80: 9, 120: 10, 14: 11, 56: 12, 112: 13, 168: 14, 25: 15, 100: 16,
    200: 17, 300: 18, 28: 19, 50: 20, 400: 21, 600: 22, 800: 23, 1200: 24,
}  # fmt: skip
"""Rate in Gb/s -> code. 23 and 24 need opensm 3.3.24."""
NEWEST_RATE = 22
"""The highest code that opensm 3.3.23 knows."""


def mtu_code(mtu: int) -> int:
    """The code of an MTU in bytes; KeyError for one that InfiniBand has not."""
    return MTU_CODES[mtu]


def rate_code(gbps: float) -> int:
    """The code of a rate in Gb/s; KeyError for one that InfiniBand has not."""
    return RATE_CODES[gbps]
