"""NCCL's latency constants, corrected by one measured run; and what was measured beside what is predicted.

A run tells the latency only at sizes where latency counts, so the correction is the median over those rows; what larger messages say is
compared, never fitted: the congestion part of a prediction has no knob.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import cast

import numpy as np

from fabric.errors import FabricError
from fabric.predict.answer import predict
from fabric.predict.flows import sent_bytes
from fabric.predict.latency import Clock, wires
from fabric.predict.model import Band, Case, Collective
from fabric.predict.net import Net
from fabric.words import printable

SCHEMA = "fabric.calibration/1"
TESTS: dict[str, Collective] = {
    "all_gather": "all_gather", "reduce_scatter": "reduce_scatter", "all_reduce": "all_reduce", "alltoall": "all_to_all",
    "sendrecv": "send_recv",
}  # fmt: skip
"""nccl-tests' names."""

LEAST_SHARE = 0.5
"""Part of the predicted time that is latency, from which a row says something about latency."""
LOWEST, HIGHEST = 0.01, 100.0
_LARGEST = 1 << 16
_AGAIN = "remove it, or calibrate again: --calibrate RESULTS"


@dataclass(frozen=True, slots=True)
class Measured:
    """One size of a run on several hosts: `gbytes` is the bus bandwidth in GB/s. `rails`: the NICs used, empty = all. `source`: where it stood.
    `names`: cables that are known to have been crossed, or the cable of the one NIC.
    """

    test: str
    hosts: tuple[str, ...]
    size: int
    gbytes: float
    rails: tuple[int, ...] = ()
    source: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Calibration:
    """`scale`: what NCCL's latency constants are multiplied by. `rows`: sizes that it follows from, between `low` and `high`."""

    cluster: str
    scale: float
    low: float
    high: float
    rows: int
    sources: tuple[str, ...]

    @property
    def said(self) -> str:
        """One line for whoever reads a prediction."""
        return (
            f"latency {self.scale:.2f} x NCCL's constants, calibrated by {', '.join(self.sources)} ({self.rows} sizes)"
        )


@dataclass(frozen=True, slots=True)
class Compared:
    """One row beside its prediction, both in GB/s of bus bandwidth; `share` is measured / predicted median."""

    measured: Measured
    predicted: Band
    share: float


Ask = Callable[[Measured], Case]


def calibrate(net: Net, cluster: str, rows: Sequence[Measured], ask: Ask, gbps: float) -> Calibration:
    """The correction that a run says. `ask` gives the case of a row. FabricError when no row is of latency."""
    found: list[float] = []
    sources: list[str] = []
    norms: dict[tuple[str, tuple[str, ...]], float] = {}
    largest = 0.0
    for row in _of_nics(rows):
        case = ask(row)
        key = (row.test, row.hosts)
        if key not in norms:
            norms[key] = predict(net, case, gbps=gbps, advice=False).reached.p50 / 100
        told = _scale_of(net, row, case, gbps, norms[key])
        if told is None:
            continue
        share, scale = told
        largest = max(largest, share)
        if share >= LEAST_SHARE and scale is not None:
            found.append(scale)
            if (
                row.source
                and (where := row.source.rsplit(":", 1)[0] if ":" in row.source else row.source) not in sources
            ):
                sources.append(where)
    if not found:
        raise FabricError(
            f"nothing measured says what latency is: it is at most {100 * largest:.0f} % of a predicted time, of {len(rows)} results",
            hint="measure small messages over many hosts: fabric validate collectives --stage zone --sizes 1M:64M",
        )
    return Calibration(cluster, median(found), min(found), max(found), len(found), tuple(sources[:4]))


def _of_nics(rows: Iterable[Measured]) -> list[Measured]:
    return [row for row in rows if row.test in TESTS and len(row.hosts) > 1 and not row.rails and row.gbytes > 0]


def seconds_of(row: Measured, ranks: int) -> float:
    """Time of a row by its bus bandwidth (nccl-tests' factors)."""
    factor = {"all_reduce": 2 * (ranks - 1) / ranks, "sendrecv": 1.0}.get(row.test, (ranks - 1) / ranks)
    return row.size * factor / (row.gbytes * 1e9)


def _scale_of(net: Net, row: Measured, case: Case, gbps: float, norm: float) -> tuple[float, float | None] | None:
    """(part of latency in the predicted time, scale by which time is as measured); None scale: no scale does."""
    from fabric.predict.flows import order_of, pattern
    from fabric.predict.runs import zones_of

    order = order_of(case, net.hosts, zones_of(net), net.rails, 0)
    steps = pattern(case, order, net.rails).steps
    sent = sent_bytes(case, row.size, len(order), net.rails)
    at = np.array([norm])

    def time(scale: float) -> float:
        return float(Clock(wires(case, len(order), net.rails, steps, scale), gbps).seconds(sent, at)[0])

    share = 1 - time(0) / time(1)
    taken = seconds_of(row, len(order) * net.rails)
    if not time(LOWEST) <= taken <= time(HIGHEST):
        return share, None
    low, high = math.log(LOWEST), math.log(HIGHEST)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if time(math.exp(middle)) < taken else (low, middle)
    return share, math.exp(low)


def compare(net: Net, rows: Sequence[Measured], ask: Ask, gbps: float, scale: float = 1.0) -> list[Compared]:
    """Each row beside its prediction; groups of one form (test, size, number of hosts, leaves and zones) share one, so it stays quick.

    A single NIC between two hosts is expected to reach its line rate: ECMP has nothing to collide with.
    """
    from fabric.predict.runs import zones_of

    zone = zones_of(net)
    known: dict[tuple[object, ...], Band] = {}
    found = []
    for row in rows:
        place = [net.host_index[host] for host in row.hosts if host in net.host_index]
        if len(place) < 2 or len(place) != len(row.hosts) or row.gbytes <= 0:
            continue
        if row.test in ("ib_write_bw", "path"):
            line = gbps / 8 * max(1, len(row.rails))
            found.append(Compared(row, Band(line, line, line), row.gbytes / line))
            continue
        if row.test not in TESTS:
            continue
        leaves = {int(net.leaf_of[index * net.rails]) for index in place}
        form = (row.test, row.size, len(place), len(leaves), len({int(zone[index]) for index in place}))
        if form not in known:
            case = replace(ask(row), sizes=(row.size,))
            known[form] = predict(net, case, gbps=gbps, scale=scale, advice=False).points[0].reached
        nics = 1 if row.test in ("alltoall", "sendrecv") else len(row.rails) or net.rails
        full = gbps / 8 * nics / 100
        band = Band(*(full * one for one in (known[form].p5, known[form].p50, known[form].p95)))
        found.append(Compared(row, band, row.gbytes / band.p50))
    return found


def path_of(folder: Path, cluster: str) -> Path:
    """Where the calibration of a cluster is kept: in its state folder (`.fabric` beside the spec)."""
    return folder / f"{cluster}.calibration.json"


def encode(calibration: Calibration) -> bytes:
    """The file of a calibration, version `fabric.calibration/1`."""
    return (json.dumps({"schema": SCHEMA, **asdict(calibration)}, indent=2) + "\n").encode()


def load(folder: Path, cluster: str) -> Calibration | None:
    """The kept calibration; None when there is none. FabricError for a file that is none of it."""
    path = path_of(folder, cluster)
    if not path.is_file():
        return None
    try:
        with path.open(encoding="utf-8") as file:
            found = json.loads(file.read(_LARGEST))
        made = Calibration(
            str(found["cluster"]), float(found["scale"]), float(found["low"]), float(found["high"]), int(found["rows"]),
            tuple(printable(str(one)[:200]) for one in cast(list[str], found["sources"])[:4]),
        )  # fmt: skip
        sound = LOWEST <= made.scale <= HIGHEST and made.low <= made.scale <= made.high and made.rows > 0
        if found.get("schema") != SCHEMA or not sound:
            raise ValueError
    except OSError as error:
        raise FabricError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise FabricError(f"{path} is no calibration, or that of a newer version", hint=_AGAIN) from None
    if made.cluster != cluster:
        raise FabricError(f"{path} is the calibration of {made.cluster!r}, not of {cluster!r}", hint=_AGAIN)
    return made
