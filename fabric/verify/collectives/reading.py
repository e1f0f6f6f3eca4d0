"""What the runs of a task said, as measurements and clues.

A program that never began was `unmade`: no such program, no login, busy hosts. One that began and did not come to its end is `broken`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fabric.design.seats import Seating
from fabric.errors import FabricError
from fabric.verify.collectives.engines import Task
from fabric.verify.collectives.flows import read_flows
from fabric.verify.collectives.launcher_lines import lines_of, untag
from fabric.verify.collectives.model import NOT_BEGUN, Clue, Measurement
from fabric.verify.collectives.nccl_run import NcclRun, measurement_of
from fabric.verify.collectives.parse_dcgm import parse_dcgmi
from fabric.verify.collectives.parse_nccl_log import clean, parse_nccl_log
from fabric.verify.collectives.parse_nccl_text import parse_nccl_runs
from fabric.verify.collectives.parse_perftest import (
    is_perftest,
    parse_ib_write_bw,
    perftest_clues,
    perftest_measurement,
)
from fabric.verify.collectives.processes import FLOODED, Ended
from fabric.verify.collectives.stages import Group
from fabric.verify.collectives.tag_output import untangled
from fabric.words import counted

_STARTS = re.compile(r"mpi_rows: rank (\d{1,7}) on (\S{1,255}), pid \d+: starts")
_WAITS = re.compile(r"mpi_rows: rank (\d{1,7}) on (\S{1,255}) (?:waits|fails) at (.{1,300})")

_DONE = re.compile(r"mpi_rows: rank (\d{1,7}) on (\S{1,255}): done")
_DARK = re.compile(r"mpi_rows: rank (\d{1,7}) on (\S{1,255}): (\S{1,64}) has no link")


def read(task: Task, ended: Sequence[Ended], seating: Seating) -> Iterator[Measurement | Clue]:
    """The results of all groups of a task, whose runs ended like this, in their order; `seating` knows the addresses of hops."""
    ended = [replace(one, out=untangled(one.out), err=untangled(one.err)) for one in ended]
    if task.kind == "rows":
        yield from _rows(task, ended)
    elif task.kind == "perftest":
        yield from _perftest(task, ended)
    elif task.kind == "path":
        text = "\n".join(line.text for line in lines_of(f"{ended[-1].out}\n{ended[-1].err}"))
        yield from read_flows(seating, task.groups[0], text, task.what)
    else:
        yield from _dcgm(task, ended)


def _rows(task: Task, ended: Sequence[Ended]) -> Iterator[Measurement | Clue]:
    texts = [f"{one.out}\n{one.err}" for one in ended]
    runs = [run for text in texts for run in _runs(text, task)]
    if len(task.groups) > 1:  # which group its launcher complains of, nobody can tell: not of one that came to its end
        runs = [replace(run, failures=()) if run.ended and run.groups == 1 else run for run in runs]
    for number, group in enumerate(task.groups):
        mine = [run for run in runs if len(task.groups) == 1 or _group(run) == number]
        yield _measured(group, mine, task, ended)
    yield from _silent(task, texts[-1])
    for text in texts:
        yield from parse_nccl_log(text.splitlines(), task.what)


def _runs(text: str, task: Task) -> Sequence[NcclRun]:
    try:
        return parse_nccl_runs(text, source=task.what, collective=task.groups[0].test)
    except FabricError:
        return ()  # more than is read of a run; the group is told as one that printed no result


def _group(run: NcclRun) -> int:
    return run.devices[0].group if run.devices and run.groups == 1 else -1


def _measured(group: Group, runs: Sequence[NcclRun], task: Task, ended: Sequence[Ended]) -> Measurement:
    last = ended[-1]
    told = measurement_of(
        runs, stage=group.stage, hosts=group.hosts, rails=group.rails, test=group.test, source=task.what
    )
    told = replace(told, by="mpi" if task.by_mpi else "")
    waits = [match[0].removeprefix("mpi_rows: ") for match in map(_WAITS.search, last.err.splitlines()) if match]
    began = bool(waits) or any(run.devices for run in runs)
    if last.cut and told.state == "ok" and len(task.groups) > 1:
        return told  # another group of the split run hung; this one came to its end
    if last.cut.startswith(FLOODED):
        return replace(told, state="unmade", values=(), reason=last.cut)
    if last.cut and began:
        return replace(told, state="broken", values=(), reason=f"it hung: {waits[0] if waits else last.cut}")
    if last.cut:
        return replace(told, state="unmade", values=(), reason=f"{NOT_BEGUN}: {last.cut}")
    if told.state == "unmade" and last.code and began:
        return replace(told, state="broken", reason=clean(waits[0] if waits else f"it ended with status {last.code}"))
    if told.state == "unmade" and last.code and not any(run.failures for run in runs):
        return replace(told, reason=clean(f"it ended with status {last.code}: {_first_words(last)}"))
    return told


def _first_words(one: Ended) -> str:
    """The first line of its errors that tells something: what follows is mostly advice. "" for none."""
    lines = (untag(line)[1].strip(" -") for line in one.err.splitlines())
    return next((line for line in lines if line and not _STARTS.search(line)), "")


def _silent(task: Task, text: str) -> Iterator[Clue]:
    """What ranks say of themselves: a process that was stopped, a NIC without a link. And ranks that say nothing while the others of their
    group wait: they are what is waited for. Not so when many are silent; nor in a split run, where all wait in the end for the slowest
    group, and a rank is ended before it can say so: there, a host is silent only with all its ranks.
    """
    spoke: set[int] = set()
    waiting: set[int] = set()
    for line in lines_of(text):
        if match := _WAITS.search(line.text):
            spoke.add(int(match[1]))
            waiting.add(int(match[1]))
            if match[3].endswith("state T"):
                yield Clue("hang", match[2], f"the process of rank {match[1]} is stopped (state T)", source=task.what)
        elif match := _DONE.search(line.text):
            spoke.add(int(match[1]))
        elif match := _DARK.search(line.text):
            yield Clue("port-error", f"{match[2]}:{match[3]}", "it had no link when the run began", source=task.what)
    total = task.ranks * len(task.hosts)
    silent = sorted(set(range(total)) - spoke)  # also those that did not even say that they start
    if len(task.groups) > 1:
        speaking = {rank // task.ranks for rank in spoke}
        silent = [rank for rank in silent if rank // task.ranks not in speaking]
    if waiting and silent and len(silent) * 2 <= total:
        for rank in silent:
            host = task.hosts[rank // task.ranks]
            said = f"rank {rank} says nothing while {counted(len(waiting), 'rank')} of {total:,} wait"
            yield Clue("hang", host, said, source=task.what)


def _perftest(task: Task, ended: Sequence[Ended]) -> Iterator[Measurement | Clue]:
    """Of each rail what its caller printed; callers are the ranks after the servers."""
    stage = task.groups[0].stage
    for number, rail in enumerate(task.rails):
        texts = [_of_rank(one, task.ranks + number) for one in ended]
        runs = []
        for text in texts:
            if is_perftest(text):
                run = parse_ib_write_bw(text, source=task.what)
                runs.append(run)
                yield from perftest_clues(text, run, host=task.hosts[1])
        if runs:
            made = perftest_measurement(runs, stage=stage, hosts=task.hosts, rails=(rail,), source=task.what)
            hung = made.state != "ok" and ended[-1].cut
            yield replace(made, state="broken", reason=f"it hung: {hung}") if hung else made
        else:
            why = clean(ended[-1].cut or _first_words(ended[-1]) or "it printed no result")
            yield Measurement(stage, "ib_write_bw", task.hosts, (rail,), state="unmade", reason=why, source=task.what)


def _of_rank(one: Ended, rank: int) -> str:
    lines = (line for text in (one.out, one.err) for line in lines_of(text))
    return "\n".join(line.text for line in lines if line.tag == rank) + "\n"


def _dcgm(task: Task, ended: Sequence[Ended]) -> Iterator[Measurement | Clue]:
    """The diagnosis of one host."""
    text = "\n".join(line.text for line in lines_of(ended[-1].out))
    try:
        measurements, clues = parse_dcgmi(text, source=task.what, host=task.hosts[0])
    except FabricError as error:
        measurements, clues = (), ()
        why = clean(ended[-1].cut or _first_words(ended[-1]) or error.message)
        yield Measurement("diag", "dcgm", task.hosts, state="unmade", reason=why, source=task.what)
    yield from measurements
    yield from clues
