"""Words for numbers: "1 wave", "2 waves", "1,708 devices". Every message that counts something says it through this."""

from __future__ import annotations


def counted(number: int, noun: str, nouns: str = "") -> str:
    """The number with thousands separated, and the noun in the number's form; `nouns` when the plural is not `noun` + s."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def verb(number: int, one: str, many: str) -> str:
    """`one` or `many`, whichever goes with so many: "is" or "are"."""
    return one if number == 1 else many
