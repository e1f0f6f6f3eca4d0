"""What is expected of each test here, and what the results and the located parts are as findings.

The gate is the bus bandwidth at the largest size: absolute where catalog or spec know a value, else against the median of peers
(`fabric.verify.locate.gates`). Wrong data is fatal. What could not be run is unknown, and nobody's fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabric.catalog import catalog
from fabric.catalog.collectives import ExpectedRate
from fabric.design.seats import Seating
from fabric.spec.collectives import Collectives, size_bytes
from fabric.verify.collectives.model import Measurement, Part, PartKind
from fabric.verify.finding import Finding
from fabric.verify.locate.gates import Gate, Judged, judge, made
from fabric.verify.locate.places import Places
from fabric.words import counted


@dataclass(frozen=True, slots=True)
class Expected:
    """Least GB/s of a test in a stage, and who says so."""

    least: float
    source: str


Key = tuple[str, str]
"""Stage and test."""


def expected_rates(seating: Seating, how: Collectives) -> dict[Key, Expected]:
    """What is known for this cluster's GPUs and NICs at the sizes that are run; the spec's own values come first."""
    found: dict[Key, Expected] = {}
    for rate in catalog().collectives().expected:
        if _applies(rate, seating, how):
            found.update({(stage, rate.test): Expected(rate.least, rate.source) for stage in rate.stages})
    for own in how.expected:
        found.update({(stage, own.test): Expected(own.least, "collectives.expected") for stage in own.stages})
    return found


def _applies(rate: ExpectedRate, seating: Seating, how: Collectives) -> bool:
    perftest = rate.test == "ib_write_bw"
    if not perftest and how.engine != "nccl-tests":
        return False  # no GPU takes part
    gpu = catalog().host(seating.cluster.spec.hosts.platform).gpu.split()[0]
    seats = next(iter(seating.by_host.values()), ())
    size = size_bytes(how.perftest.size) if perftest else how.of_sizes.bytes[-1]
    return (
        rate.gpu in (None, gpu)
        and rate.nics in (None, len(seats))
        and all(rate.nic_gbps in (None, seat.speed_gbps) for seat in seats)
        and size >= rate.size_from
    )


def least(expected: Mapping[Key, Expected]) -> dict[Key, float]:
    """The bare numbers, as `locate` takes them."""
    return {key: one.least for key, one in expected.items()}


def findings(
    places: Places, measurements: Iterable[Measurement], parts: Iterable[Part], expected: Mapping[Key, Expected]
) -> list[Finding]:
    """Faults first, as located; then what could not be made; then one pass for all good results of a stage and test."""
    judged, _ = judge(places, made(measurements), least(expected), Gate())
    found = [finding_of(part) for part in parts]
    return [*found, *_unmade(judged), *_passes(judged, expected)]


WORDS: Mapping[PartKind, str] = {
    "gpu": "a GPU as fast as the others", "nic": "a NIC as fast as the others", "cable": "a cable as fast as the others",
    "host": "a host as fast as the others", "switch": "hosts of this switch as fast as others",
    "trunk": "flows over this cable as fast as over others", "zone-uplinks": "flows out of this zone as fast as out of others",
    "path": "two hosts that are each good with others are good together", "setting": "no such setting",
    "undecided": "every group as fast as its peers",
}  # fmt: skip


def finding_of(part: Part) -> Finding:
    """A located part as a finding. A collision on a path is nobody's fault, and what is undecided blames nobody: warnings."""
    evidence = (*part.evidence, *(f"as likely: {other}" for other in part.others), f"confidence {part.confidence:.0%}")
    named = part.kind in ("gpu", "nic", "cable", "host", "switch", "trunk", "path")
    ends = {name.partition(":")[0] for name in part.name.split(" <-> ")} if named else set()
    return Finding(
        f"collectives.{part.kind}",
        part.name,
        "fail",
        f"{part.evidence[0] if part.evidence else 'slow or broken'}{f' ({part.place})' if part.place else ''}",
        WORDS[part.kind],
        part.next,
        evidence,
        tuple(dict.fromkeys((*part.hosts, *sorted(ends - set(part.hosts))))),
        links=(part.name,) if " <-> " in part.name else (),
        severity="warning" if part.kind in ("path", "undecided") else "critical",
    )


def _unmade(judged: Sequence[Judged]) -> Iterator[Finding]:
    """Each group whose test could not be made: unknown, with the reason."""
    for one in judged:
        m = one.measurement
        if m.state == "unmade":
            yield Finding(
                f"collectives.{m.stage}", _subject(m), "unknown", f"{m.test} could not be made: {m.reason}",
                "a result", "make the test possible, then run it again", devices=m.hosts, evidence=(m.source,),
            )  # fmt: skip


def _passes(judged: Sequence[Judged], expected: Mapping[Key, Expected]) -> Iterator[Finding]:
    """One finding for all good results of a stage and test, with the range of what was measured.

    Where there was neither a value nor a peer to compare with, the finding says so: that the data was right is all that is proven.
    """
    good: dict[tuple[Key, bool], list[Measurement]] = {}
    for one in judged:
        if one.verdict in ("good", "grey"):
            test = (one.measurement.stage, one.measurement.test)
            good.setdefault((test, one.verdict == "good" or one.ratio is not None), []).append(one.measurement)
    for (key, compared), found in good.items():
        values = sorted(value for m in found if (value := m.value) is not None)
        known = expected.get(key) if not found[0].by else None
        peers = f"at least {known.least:.4g} GB/s ({known.source})" if known else "as fast as its peers"
        yield Finding(
            f"collectives.{key[0]}",
            f"{key[1]} of {counted(len(found), 'group')}",
            "pass",
            _range(values) + ("" if compared or not values else "; there is nothing to compare it with"),
            peers if compared else "right data to the end",
            count=len(found),
        )


def _range(values: Sequence[float]) -> str:
    if not values:
        return "no fault found"
    return f"{values[0]:.4g} to {values[-1]:.4g} GB/s, median {values[len(values) // 2]:.4g}"


def _subject(m: Measurement) -> str:
    hosts = " and ".join(m.hosts) if len(m.hosts) < 4 else f"{m.hosts[0]} and {len(m.hosts) - 1:,} more"
    return f"{hosts}{f', rail {m.rails[0]}' if len(m.rails) == 1 else ''}"
