"""Files of results of any kind that these tools write, told apart by their content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from fabric.design.seats import Seating
from fabric.errors import FabricError
from fabric.verify.collectives.json_salvage import read_json
from fabric.verify.collectives.launcher_lines import whole_lines
from fabric.verify.collectives.model import Clue, Measurement, Stage
from fabric.verify.collectives.nccl_run import NcclRun, measurement_of
from fabric.verify.collectives.parse_dcgm import is_dcgm, parse_dcgmi
from fabric.verify.collectives.parse_nccl_json import is_nccl_json, parse_nccl_json
from fabric.verify.collectives.parse_nccl_log import parse_nccl_log
from fabric.verify.collectives.parse_nccl_text import is_nccl_text, parse_nccl_runs
from fabric.verify.collectives.parse_perftest import (
    PerftestRun,
    is_perftest,
    parse_ib_write_bw,
    perftest_clues,
    perftest_measurement,
    perftest_texts,
)
from fabric.verify.collectives.parse_ras import is_ras, parse_ras
from fabric.verify.collectives.symptoms import joined

Kind = Literal["nccl-tests", "nccl-tests -J", "ib_write_bw", "dcgmi diag", "ncclras", "log"]
MAX_FILE = 64 << 20
"""Bytes of a file that is read at once; a log may be longer: it is read line by line."""
HINT = "read are: nccl-tests text and -J JSON, ib_write_bw text and JSON, dcgmi diag -j, ncclras, and logs of NCCL or the kernel"


@dataclass(frozen=True, slots=True)
class Results:
    """What one file holds."""

    kind: Kind
    measurements: tuple[Measurement, ...] = ()
    clues: tuple[Clue, ...] = ()


def read_results(path: Path, *, seating: Seating | None = None, stage: Stage | None = None, host: str = "") -> Results:
    """The measurements and clues of a file; FabricError in one line for a file that cannot be read or is of no known kind.

    `seating` turns addresses into hosts and rails. `stage` is that of collectives; else it follows from the hosts. `host`: whose
    file it is, where its content does not say so; else the host's name in the file's name.
    """
    try:
        return _read(path, seating, stage, host)
    except FabricError as error:  # `source` is the bare name, as reports have it: here it must be found
        rest = error.message.removeprefix(f"{path.name}:")
        raise error if rest == error.message else FabricError(f"{path}:{rest}", hint=error.hint) from None


def _read(path: Path, seating: Seating | None, stage: Stage | None, host: str) -> Results:
    source = path.name
    text = _text(path)
    if text is None:
        return _log(path, source, host or _owner(path, seating), seating)
    return read_text(text, source=source, seating=seating, stage=stage, host=host or _owner(path, seating))


def read_text(
    text: str, *, source: str, seating: Seating | None = None, stage: Stage | None = None, host: str = ""
) -> Results:
    """The same of a text that is already there."""
    kind = kind_of(text)
    if kind is None:
        raise FabricError(f"{source}: not a file of results that is known", hint=HINT)
    if kind == "nccl-tests":
        measured = _grouped(parse_nccl_runs(text, source=source), seating, stage)
        return Results(kind, measured, _clues(whole_lines(text).splitlines(), source, host, seating))
    if kind == "nccl-tests -J":
        return Results(kind, _grouped((parse_nccl_json(text, source=source),), seating, stage))
    if kind == "ib_write_bw":
        return _perftest(text, source, seating, host)
    if kind == "dcgmi diag":
        return Results(kind, *parse_dcgmi(text, source=source, host=host))
    if kind == "ncclras":
        return Results(kind, clues=parse_ras(text, source=source))
    return Results(kind, clues=_clues(whole_lines(text).splitlines(), source, host, seating))


def kind_of(text: str) -> Kind | None:
    """What a text is; None for nothing that is read. Text of a program goes before a log, whose lines may stand between."""
    tests: Sequence[tuple[Kind, Callable[[str], bool]]] = (
        ("dcgmi diag", is_dcgm), ("ncclras", is_ras), ("ib_write_bw", is_perftest), ("nccl-tests -J", _is_nccl_document),
        ("nccl-tests", is_nccl_text), ("log", is_log),
    )  # fmt: skip
    return next((kind for kind, test in tests if test(text)), None)


def is_log(text: str) -> bool:
    """Whether a text looks like a log of NCCL, or of the kernel or a driver with words that are a clue."""
    return any(
        words in text
        for words in (
            "NCCL INFO",
            "NCCL WARN",
            "NCCL version",
            "NVRM: ",
            "NVML: ",
            "ACSCtl:",
            " kernel: ",
            'link_speed="',
        )
    )


def _is_nccl_document(text: str) -> bool:
    if '"nccl_version"' not in text and '"results"' not in text:
        return False
    try:
        return is_nccl_json(read_json(text, source="")[0])
    except FabricError:
        return False


def _text(path: Path) -> str | None:
    """The file's text; None for one too long to be read at once. Refuses what is no text."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise FabricError(f"{path}: cannot be read: {os.strerror(error.errno or 0)}") from None
    if not data.strip():
        raise FabricError(f"{path}: the file is empty")
    if b"\0" in data:
        raise FabricError(f"{path.name}: not a file of results that is known", hint=HINT)
    return data.decode("utf-8", "replace") if len(data) <= MAX_FILE else None


def _log(path: Path, source: str, host: str, seating: Seating | None) -> Results:
    with path.open("rb") as file:
        head = file.read(1 << 20).decode("utf-8", "replace")
    if not is_log(head):
        raise FabricError(f"{source}: longer than {MAX_FILE >> 20} MiB, and no log", hint=HINT)
    return Results("log", clues=_clues(_lines(path), source, host, seating))


def _clues(lines: Iterable[str], source: str, host: str, seating: Seating | None) -> tuple[Clue, ...]:
    """The clues of a log, with hosts as the seating names them and GPUs by the spec's PCI addresses."""
    hosts = seating.cluster.spec.hosts if seating else None
    network = hosts.network if hosts else None
    found = parse_nccl_log(lines, source, host=host, gpu_pci=(network.gpu_pci if network else None) or ())
    return joined(
        tuple(replace(clue, where=_named(clue.where, seating), peer=_named(clue.peer, seating)) for clue in found),
        seating,
    )


def _named(where: str, seating: Seating | None) -> str:
    """`host` or `host:part` with the host's name in the seating: a log may have its full domain name."""
    name, colon, part = where.partition(":")
    if seating is None or name in seating.by_host or "." not in name:
        return where
    short = name.partition(".")[0]
    return f"{short}{colon}{part}" if short in seating.by_host else where


def _lines(path: Path) -> Iterator[str]:
    """Lines of bounded length: a log without line ends does not fill the memory."""
    with path.open("rb") as file:
        while line := file.readline(1 << 16):
            if line.endswith(b"\n") or len(line) == 1 << 16:
                yield line.decode("utf-8", "replace")


def _owner(path: Path, seating: Seating | None) -> str:
    """The host whose name the file's name begins with; without a seating, the name up to its first dot."""
    stem = path.name.partition(".")[0]
    if seating is None:
        return stem
    words = stem.replace("_", "-").split("-")
    return next((name for at in range(len(words), 0, -1) if (name := "-".join(words[:at])) in seating.by_host), "")


def stage_of(hosts: Sequence[str], rails: Sequence[int], seating: Seating | None) -> Stage:
    """The stage that a run of these hosts is of."""
    if len(hosts) < 2:
        return "node"
    if len(hosts) == 2:
        return "rails" if rails else "pairs"
    if seating is None or any(host not in seating.by_host for host in hosts):
        return "groups"
    zones = {seats[0].zone for host in hosts if (seats := seating.by_host[host])}
    if len(zones) > 1:
        return "zones"
    whole = sum(1 for seats in seating.by_host.values() if seats and seats[0].zone in zones)
    return "zone" if whole == len(hosts) else "groups"


def _grouped(runs: Sequence[NcclRun], seating: Seating | None, stage: Stage | None) -> tuple[Measurement, ...]:
    """Runs of the same collective, hosts and rails are repeats of one measurement."""
    same: dict[tuple[object, ...], list[NcclRun]] = {}
    for run in runs:
        same.setdefault((run.collective, run.devices, run.groups), []).append(run)
    found = []
    for repeats in same.values():
        hosts = _hosts(repeats[0].hosts, seating)
        found.append(
            measurement_of(
                repeats,
                stage=stage or stage_of(hosts, repeats[0].rails, seating),
                hosts=hosts if all(run.listed for run in repeats) else (),
                whole=False,
            )
        )
    return tuple(found)


def _hosts(names: Sequence[str], seating: Seating | None) -> tuple[str, ...]:
    """Names as the seating has them: a program may print a full domain name."""
    if seating is None:
        return tuple(names)
    return tuple(name if name in seating.by_host else name.partition(".")[0] for name in names)


def _perftest(text: str, source: str, seating: Seating | None, host: str) -> Results:
    """Every run of a text; runs between the same NICs are repeats of one measurement."""
    same: dict[tuple[tuple[str, ...], tuple[int, ...]], list[PerftestRun]] = {}
    clues: list[Clue] = []
    for part in perftest_texts(text, source=source):
        run = parse_ib_write_bw(part, source=source)
        same.setdefault(_between(run, seating, host), []).append(run)
        clues += perftest_clues(part, run, host=host)
    measured = [
        perftest_measurement(runs, stage="rails", hosts=hosts, rails=rails) for (hosts, rails), runs in same.items()
    ]
    nobody = "it does not say between which hosts it ran"
    named = tuple(one if one.hosts else replace(one, state="unmade", values=(), reason=nobody) for one in measured)
    return Results("ib_write_bw", named, tuple(clues))


def _between(run: PerftestRun, seating: Seating | None, host: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The hosts and rails of a run, by its GIDs; without them, by the device of the host whose file it is."""
    gids = (run.local, run.remote)
    seats = [seating.seat_at(gid) if seating and gid else None for gid in gids]
    ends = [seat.host if seat else _bare(gid) for seat, gid in zip(seats, gids, strict=True)]
    hosts = tuple(end for end in (ends[0] or host, ends[1]) if end)
    rails = tuple({seat.rail: None for seat in seats if seat})
    if not rails and seating and host in seating.by_host:
        rails = tuple(seat.rail for seat in seating.by_host[host] if seat.hca == run.device)
    return hosts, rails


def _bare(gid: str) -> str:
    """An address without the prefix that maps it to IPv6."""
    if not gid:
        return ""
    address = ip_address(gid)
    return str(getattr(address, "ipv4_mapped", None) or address)
