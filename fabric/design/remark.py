"""One remark of `fabric check`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """One remark: where in the spec, a short code, a sentence."""

    path: tuple[str | int, ...]
    code: str
    message: str
