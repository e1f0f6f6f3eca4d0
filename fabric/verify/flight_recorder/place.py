"""From ranks to GPU, host, NIC, cable and switch port; from culprits to located parts and findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from fabric.design.seats import Seat, Seating
from fabric.verify.collectives.model import Part, PartKind
from fabric.verify.finding import Finding
from fabric.verify.flight_recorder.model import Analysis, Cause, Culprit
from fabric.verify.flight_recorder.ranks import Spot
from fabric.verify.flight_recorder.spans import spans
from fabric.words import counted, verb

_NAMED = 4  # ranks of one part that are placed in words


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a rank runs. `host` as the spec writes it, or as it was said when the spec has no such host; `seat` None when there is none."""

    rank: int
    host: str
    gpu: int
    seat: Seat | None

    @property
    def name(self) -> str:
        """`host:gpu3`."""
        return f"{self.host}:gpu{self.gpu}"

    @property
    def text(self) -> str:
        """Everything from the rank to the switch port."""
        if self.seat is None:
            return f"rank {self.rank} = {self.host} GPU {self.gpu}, which the spec does not have"
        seat = self.seat
        return (
            f"rank {self.rank} = {self.host} GPU {self.gpu}, NIC {seat.nic} ({seat.hca}), switch port {seat.switch}:{seat.port};"
            f" zone {seat.zone}, rack {seat.rack}"
        )


@dataclass(frozen=True, slots=True)
class Located:
    """A culprit with its part; `placed` are those of its ranks whose place is known."""

    culprit: Culprit
    part: Part
    placed: tuple[Placed, ...]


def place_ranks(spots: Mapping[int, Spot], seating: Seating) -> dict[int, Placed]:
    """Each rank's seat. A host's full name counts as its short one. Where no GPU is said, it is the rank's place among its host's ranks."""
    hosts = {name.casefold(): name for name in seating.by_host}
    used: dict[str, int] = {}
    found: dict[int, Placed] = {}
    for rank, spot in sorted(spots.items()):
        said = spot.host.casefold()
        host = hosts.get(said) or hosts.get(said.partition(".")[0]) or spot.host
        gpu = used.get(host, 0) if spot.gpu is None else spot.gpu
        used[host] = used.get(host, 0) + 1
        seats = seating.by_host.get(host, ())
        found[rank] = Placed(rank, host, gpu, next((seat for seat in seats if seat.gpu == gpu), None))
    return found


def locate_culprits(analysis: Analysis, placed: Mapping[int, Placed]) -> tuple[Located, ...]:
    """Each culprit with its part; culprits of one cause that are all ranks of one host are that host."""
    crowd: dict[str, set[int]] = {}
    for rank, place in placed.items():
        crowd.setdefault(place.host, set()).add(rank)
    alike: dict[tuple[Cause, str], list[Culprit]] = {}
    for culprit in analysis.culprits:
        alike.setdefault((culprit.cause, _host_of(culprit, placed)), []).append(culprit)
    merged: list[Culprit] = []
    for culprit in analysis.culprits:
        host = _host_of(culprit, placed)
        like = alike[culprit.cause, host] if host else [culprit]
        ranks = tuple(sorted({rank for other in like for rank in other.ranks}))
        whole = bool(host) and len(ranks) > 1 and set(ranks) == crowd[host]
        if not whole:
            merged.append(culprit)
        elif culprit is like[0]:
            merged.append(replace(culprit, ranks=ranks, waited_by=max(other.waited_by for other in like)))
    return tuple(_located(culprit, placed, crowd) for culprit in merged)


def _host_of(culprit: Culprit, placed: Mapping[int, Placed]) -> str:
    """The one host of all its ranks; empty when there are several, or when one is not known."""
    hosts = {placed[rank].host if rank in placed else "" for rank in culprit.ranks}
    return hosts.pop() if len(hosts) == 1 else ""


def _located(culprit: Culprit, placed: Mapping[int, Placed], crowd: Mapping[str, set[int]]) -> Located:
    places = tuple(placed[rank] for rank in culprit.ranks if rank in placed)
    host = _host_of(culprit, placed)
    whole = len(culprit.ranks) > 1 and bool(host) and set(culprit.ranks) == crowd[host]
    kind: PartKind = _KIND[culprit.cause] if culprit.proven else "undecided"
    name = f"{verb(len(culprit.ranks), 'rank', 'ranks')} {spans(culprit.ranks)}"
    if whole:
        kind, name = ("host" if culprit.proven else "undecided"), host
    elif len(culprit.ranks) == 1 and places:
        name = places[0].name
    told = "; ".join(place.text for place in places[:_NAMED])
    if len(places) > _NAMED:
        told += f"; and {len(places) - _NAMED:,} more"
    part = Part(
        kind, name, culprit.confidence, told, culprit.evidence, _others(culprit, places), _NEXT[culprit.cause],
        tuple(dict.fromkeys(place.host for place in places)),
    )  # fmt: skip
    return Located(culprit, part, places)


def _others(culprit: Culprit, places: tuple[Placed, ...]) -> tuple[str, ...]:
    """What the same evidence fits: behind a GPU that does not end its operation stand its NIC, cable and switch port."""
    if culprit.cause not in ("stuck", "not-started"):
        return ()
    seats = [place.seat for place in places if place.seat is not None]
    return tuple(text for seat in seats[:_NAMED] for text in (f"NIC {seat.name}", f"cable {seat.cable}"))


_KIND: Mapping[Cause, PartKind] = {
    "stopped": "process", "stuck": "gpu", "mismatch": "process", "no-dump": "undecided", "not-started": "gpu", "joint": "undecided",
    "most": "undecided",
}  # fmt: skip
_NEXT: Mapping[Cause, str] = {
    "stopped": "look at this rank's process and log (py-spy dump): it is alive and elsewhere, or it ended before it called; then its "
    "host's kernel log (Xid, out of memory)",
    "stuck": "look at the host's kernel log (Xid), run dcgmi diag on the GPU, and read the counters of the NIC and of its switch port; "
    "fabric validate collectives with a proven partner decides between GPU and NIC",
    "mismatch": "compare program, data and configuration of these ranks: the job's code calls different things; the hardware did as told",
    "no-dump": "look whether the host and the process were alive, and for a dump that stayed on the host: TORCH_FR_DUMP_TEMP_FILE on "
    "shared storage",
    "not-started": "look at what the GPU runs (a kernel of the program that does not end), the host's kernel log (Xid), and run dcgmi "
    "diag on it",
    "most": "look at the ranks that wait: they may have called what the others do not call, or their dumps are later ones; dump once "
    "more and compare",
    "joint": "ask NCCL RAS (ncclras -v) or read the NCCL logs of these ranks; with TORCH_NCCL_ENABLE_TIMING=1 the next dump says who "
    "began; fabric validate collectives on their hosts finds a slow or dead part",
}
_LIMITED = (
    "give the dumps of all ranks, of a PyTorch whose dumps are of version 1.2 or later; else ask NCCL RAS (ncclras -v) or read the NCCL "
    "logs"
)
_FOUND: Mapping[Cause, str] = {
    "stopped": "it did not call the collective in which others wait, and it waits for nobody",
    "stuck": "its GPU or NIC did not end what others ended",
    "mismatch": "it called something else than its group",
    "no-dump": "others wait for it and it has no usable dump: a suspect, not proven",
    "not-started": "it called the collective and its GPU did not begin it",
    "most": "a few ranks wait for most of the others: either side may be wrong",
    "joint": "all members called a collective that none of them ended: the dumps do not tell them apart",
}
_EXPECTED: Mapping[Cause, str] = {
    "stopped": "every rank calls the same collectives in the same order", "stuck": "what is called ends on all ranks",
    "mismatch": "one collective, size, type and order in a group", "no-dump": "a dump of every rank",
    "not-started": "what is called begins on all ranks", "joint": "what all members called ends",
    "most": "every rank calls the same collectives in the same order",
}  # fmt: skip


def findings_of(analysis: Analysis, located: Iterable[Located]) -> list[Finding]:
    """A fail for each proven culprit, an unknown for each suspect, for dumps that could not be used, and when nothing can be said.

    A pass only when no rank waits for another and everything that is needed to say so was seen.
    """
    found = [_finding(item) for item in located]
    unread = {item.rank for item in analysis.unread}
    found += [
        Finding("flight-recorder.dump", item.source, "unknown", item.reason, "a dump that can be read")
        for item in analysis.unread
    ]
    if gone := [rank for rank in analysis.missing if rank not in unread]:
        subject, reason = (
            f"{verb(len(gone), 'rank', 'ranks')} {spans(gone)}",
            "no dump: a fact about the files, no verdict on the rank",
        )
        found.append(
            Finding("flight-recorder.dump", subject, "unknown", reason, "a dump of every rank", count=len(gone))
        )
    if not analysis.culprits:
        found.append(_job(analysis))
    return found


def _job(analysis: Analysis) -> Finding:
    expected = "no rank waits for another"
    ranks = counted(analysis.seen, "rank")
    if analysis.stalled:
        said = f"{counted(len(analysis.stalled), 'group')} {verb(len(analysis.stalled), 'stalls', 'stall')}, and no rank stands out"
        if analysis.limited:
            said = f"evidence not enough: {said}, and not every group can be judged"
        action = _LIMITED if analysis.limited else _NEXT["joint"]
        return Finding("flight-recorder.job", ranks, "unknown", said, expected, action, analysis.notes)
    if analysis.missing or analysis.limited:
        said = f"evidence not enough: no rank is seen to wait{', and not every group can be judged' if analysis.limited else ''}"
        return Finding("flight-recorder.job", ranks, "unknown", said, expected, _LIMITED, analysis.notes)
    return Finding(
        "flight-recorder.job",
        ranks,
        "pass",
        "no rank waits for another when these dumps were made",
        expected,
        count=analysis.seen,
    )


def _finding(item: Located) -> Finding:
    culprit, part = item.culprit, item.part
    waited = (
        f"{counted(culprit.waited_by, 'rank')} {verb(culprit.waited_by, 'waits', 'wait')} for it"
        if culprit.waited_by
        else ""
    )
    measured = "; ".join(text for text in (_FOUND[culprit.cause], waited, part.place) if text)
    ranks = f"{verb(len(culprit.ranks), 'rank', 'ranks')} {spans(culprit.ranks)}"
    subject = part.name if part.name.startswith("rank") else f"{part.name} ({ranks})"
    evidence = (
        *part.evidence,
        f"confidence {part.confidence:.0%}",
        *(f"it may also be {other}" for other in part.others),
    )
    return Finding(
        f"flight-recorder.{culprit.cause}", subject, "fail" if culprit.proven else "unknown", measured, _EXPECTED[culprit.cause],
        part.next, evidence, part.hosts,
    )  # fmt: skip
