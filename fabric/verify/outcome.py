"""What one `fabric validate` came to, of whatever kind: the one thing that the report, the history and the HTML page are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric.verify.collectives.model import Clue, Measurement, Part
from fabric.verify.finding import Finding


@dataclass(frozen=True, slots=True)
class Outcome:
    """`checks` are the kinds that were made (`cabling`, `hosts`, `collectives`), `selection` the patterns and zones that narrowed them.

    An empty selection is the whole cluster. `measurements`, `clues` and `parts` are of collectives; every part is a finding too.
    """

    cluster: str
    checks: Sequence[str]
    findings: Sequence[Finding]
    selection: Sequence[str] = ()
    measurements: Sequence[Measurement] = ()
    clues: Sequence[Clue] = ()
    parts: Sequence[Part] = ()
