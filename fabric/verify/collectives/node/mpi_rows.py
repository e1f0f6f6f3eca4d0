"""Collectives without GPUs: the same rows and the same JSON as nccl-tests 2.19.6, made by MPI over whatever network MPI was given.

    mpirun ... python mpi_rows.py --collective all_gather -b 1M -e 4M -f 2 -n 5 -w 1 -c 1 -J out.json

The file stands alone: it is copied to hosts as it is. Sizes, columns and bus bandwidth are those of nccl-tests (all_reduce:
2(n-1)/n; all_gather, reduce_scatter, alltoall: (n-1)/n; sendrecv: 1). All data is compared, bit for bit, with what it must
be: the values are small whole numbers, which a sum in any order keeps exact. `-N` repeats everything and prints each cycle, `-I 1`
puts the time of each process and iteration into the JSON. NCCL_TESTS_SPLIT ("MOD 8", "DIV 2") makes several groups.

What happens to a rank it says on stderr, a line each that begins with `mpi_rows:`. A rank that waits for longer than `--watchdog` seconds
says where and in which state it is, and ends: state T is a process that was stopped; what says nothing is on a host that hangs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import select
import signal
import socket
import sys
import time
from array import array
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

VERSION = "2.19.6"
"""Of nccl-tests, whose shape this is."""

COLLECTIVES = ("all_gather", "all_reduce", "reduce_scatter", "alltoall", "sendrecv")
PERIOD = 1021
"""Elements after which the pattern comes again: a prime, so that a piece in the wrong place shows."""

WIDTH = 4
"""Bytes of a float, the type that nccl-tests takes when none is named."""

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
GRACE_S = 1.0
"""Between a rank's last word and the end of the job, in seconds: others want to say theirs."""

SPLIT_GRACE_S = 5.0
"""The same in a split run, whose end ends the other groups too. It is less than what launchers leave beyond `--watchdog` (15 s)."""


class Shape(NamedTuple):
    """Of one row: elements that a rank sends and receives, the `count` column, and the bytes that are its size."""

    send: int
    receive: int
    shown: int
    size: int


class Half(NamedTuple):
    """Out of place or in place: microseconds, GB/s, elements that were wrong (None: not checked), and each iteration's times by rank."""

    time: float
    alg: float
    bus: float
    wrong: int | None
    each: list[list[float]]


def say(text: str) -> None:
    """One line to stderr, in one write, so that ranks do not cut each other's."""
    os.write(2, f"mpi_rows: {text}\n".encode())


def parse_size(text: str) -> int:
    """`64`, `8K`, `1M`, `2G` (powers of 1024) -> bytes."""
    unit = text[-1:].upper() if text[-1:].isalpha() else ""
    try:
        number = int(text[: len(text) - len(unit)]) * UNITS[unit]
    except (ValueError, KeyError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size like 8M") from None
    if not 0 < number <= 1 << 40:
        raise argparse.ArgumentTypeError(f"{text!r} is out of range")
    return number


def sizes(first: int, last: int, factor: int) -> list[int]:
    """All sizes of a run in bytes, the last one at most `last`."""
    found = [first]
    while factor > 1 and found[-1] * factor <= last:
        found.append(found[-1] * factor)
    return found


def bus_factor(collective: str, ranks: int) -> float:
    """Bus bandwidth / algorithm bandwidth, as nccl-tests' PERFORMANCE.md has it."""
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return 1.0 if collective == "sendrecv" else (ranks - 1) / ranks


def shape(collective: str, size: int, ranks: int) -> Shape:
    """The elements of a row of `size` bytes; a size that does not divide is rounded down, as nccl-tests does."""
    whole = max(1, size // WIDTH)
    part = max(1, whole // ranks)
    if collective == "all_gather":
        return Shape(part, part * ranks, part, part * ranks * WIDTH)
    if collective == "reduce_scatter":
        return Shape(part * ranks, part, part, part * ranks * WIDTH)
    if collective == "alltoall":
        return Shape(part * ranks, part * ranks, part, part * ranks * WIDTH)
    return Shape(whole, whole, whole, whole * WIDTH)


def pattern(seed: int, start: int, count: int) -> bytes:
    """`count` floats from element `start` of the endless pattern of a rank."""
    base = array("f", [float((index * 7 + seed * 13) % 251) for index in range(PERIOD)])
    return _piece(base, start, count)


def summed(ranks: int, start: int, count: int) -> bytes:
    """The same of the sum of all ranks' patterns."""
    base = array("f", [float(sum((index * 7 + rank * 13) % 251 for rank in range(ranks))) for index in range(PERIOD)])
    return _piece(base, start, count)


def _piece(base: array[float], start: int, count: int) -> bytes:
    skip = start % PERIOD
    return (base.tobytes() * ((skip + count) // PERIOD + 1))[skip * WIDTH : (skip + count) * WIDTH]


def wrong_elements(got: bytes, wanted: bytes) -> int:
    """Elements whose bits differ."""
    if got == wanted:
        return 0
    return sum(got[place : place + WIDTH] != wanted[place : place + WIDTH] for place in range(0, len(wanted), WIDTH))


class Watch:
    """Says where this rank waits when it does for too long, and ends it.

    A child does that: MPI_Init gives nothing else a chance, and a rank that was stopped cannot speak for itself.
    """

    def __init__(self, limit_s: float, who: str) -> None:
        self._pipe = -1
        self.place = "the start"
        if limit_s <= 0:
            return
        reader, self._pipe = os.pipe()
        os.set_inheritable(self._pipe, False)
        if os.fork() == 0:
            os.close(self._pipe)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            look(reader, os.getppid(), limit_s, who)
        os.close(reader)

    def at(self, place: str) -> None:
        """The rank has come to `place`."""
        self.place = place
        if self._pipe >= 0:
            with contextlib.suppress(OSError):
                os.write(self._pipe, f"{place}\n".encode())


def look(reader: int, rank: int, limit_s: float, who: str) -> NoReturn:
    """The child: ends with the rank whose pipe `reader` is, or when nothing comes for `limit_s`."""
    place = "the start"
    while select.select([reader], [], [], limit_s)[0]:
        text = os.read(reader, 65536).decode()
        if not text:
            os._exit(0)
        place = text.splitlines()[-1]
    say(f"{who} waits at {place} for {limit_s:g} s, state {state_of(rank)}")
    time.sleep(SPLIT_GRACE_S if os.environ.get("NCCL_TESTS_SPLIT") else GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.kill(rank, signal.SIGKILL)
    os._exit(0)


def state_of(pid: int) -> str:
    """State of a process as `ps` has it: R, S, D, T (stopped), Z; "?" where that cannot be seen."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "?"


class Bench:
    """One group of ranks with its buffers."""

    def __init__(self, mpi: Any, group: Any, options: argparse.Namespace, watch: Watch) -> None:
        self.mpi, self.group, self.options, self.watch = mpi, group, options, watch
        self.rank, self.ranks = group.Get_rank(), group.Get_size()

    def row(self, size: int) -> tuple[Shape, Half, Half]:
        """Measure one size."""
        made = shape(self.options.collective, size, self.ranks)
        return made, self.half(made, in_place=False), self.half(made, in_place=True)

    def half(self, made: Shape, *, in_place: bool) -> Half:
        """Warm up, measure, check."""
        send = bytearray(self.sent(made))
        receive = bytearray(made.receive * WIDTH)
        where = f"{self.options.collective}, {made.size} bytes{', in place' if in_place else ''}"
        for number in range(self.options.w):
            self.watch.at(f"{where}, warm-up {number}")
            self.step(send, receive, in_place=in_place)
        times: list[float] = []
        self.group.Barrier()
        for number in range(self.options.n):
            self.watch.at(f"{where}, iteration {number}")
            if in_place:
                self.fill(send, receive, made)
            begin = time.perf_counter()
            self.step(send, receive, in_place=in_place)
            times.append((time.perf_counter() - begin) * 1e6)
        self.watch.at(f"{where}, after the last iteration")
        each = self.group.allgather(times)
        # The slowest process of each iteration is when the collective was over.
        mean = max(sum(slowest(each)) / self.options.n, 1e-3)
        alg = made.size / mean / 1e3
        return Half(mean, alg, alg * bus_factor(self.options.collective, self.ranks), self.wrong(receive, made), each)

    def sent(self, made: Shape) -> bytes:
        """What this rank sends."""
        return pattern(self.rank, 0, made.send)

    def fill(self, send: bytearray, receive: bytearray, made: Shape) -> None:
        """What an operation in place finds in its buffer."""
        kind = self.options.collective
        if kind == "all_gather":
            receive[self.rank * made.send * WIDTH : (self.rank + 1) * made.send * WIDTH] = send
        elif kind != "reduce_scatter":
            receive[:] = send

    def step(self, send: bytearray, receive: bytearray, *, in_place: bool) -> None:
        """The collective once. In place, reduce_scatter keeps its own copy: MPI wants the whole input where the result goes."""
        kind, real = self.options.collective, self.mpi.FLOAT
        source = self.mpi.IN_PLACE if in_place else [send, real]
        target = [receive, real]
        if kind == "all_gather":
            self.group.Allgather(source, target)
        elif kind == "all_reduce":
            self.group.Allreduce(source, target, op=self.mpi.SUM)
        elif kind == "alltoall":
            self.group.Alltoall(source, target)
        elif kind == "reduce_scatter":
            self.group.Reduce_scatter_block([send, real], target, op=self.mpi.SUM)
        else:
            after, before = (self.rank + 1) % self.ranks, (self.rank - 1) % self.ranks
            if in_place:
                self.group.Sendrecv_replace(target, dest=after, source=before)
            else:
                self.group.Sendrecv([send, real], dest=after, recvbuf=target, source=before)

    def wrong(self, receive: bytearray, made: Shape) -> int | None:
        """Elements with wrong bits over all ranks of the group, after the last iteration."""
        if not self.options.c:
            return None
        return int(self.group.allreduce(wrong_elements(bytes(receive), self.wanted(made))))

    def wanted(self, made: Shape) -> bytes:
        """What this rank must have received."""
        kind = self.options.collective
        if kind == "all_gather":
            return b"".join(pattern(rank, 0, made.send) for rank in range(self.ranks))
        if kind == "all_reduce":
            return summed(self.ranks, 0, made.receive)
        if kind == "reduce_scatter":
            return summed(self.ranks, self.rank * made.receive, made.receive)
        if kind == "alltoall":
            return b"".join(pattern(rank, self.rank * made.shown, made.shown) for rank in range(self.ranks))
        return pattern((self.rank - 1) % self.ranks, 0, made.receive)


def number_text(value: float, width: int) -> str:
    """A number in so many columns, as nccl-tests has it: digits after the point as long as there is room for them."""
    power = len(str(int(value))) if value >= 1 else 0
    digits = 2 if power < width - 2 else 1 if power < width - 1 else 0
    return f"{value:{width}.{digits}f}" if power < width + 1 else f"{value:{width}.1e}"


def row_text(made: Shape, halves: tuple[Half, Half], redop: str) -> str:
    """A row of the table: 13 columns."""
    parts = [f"{made.size:>12}  {made.shown:>12}  {'float':>8}  {redop:>6}  {-1:>6}"]
    for half in halves:
        wrong = "N/A" if half.wrong is None else str(half.wrong)
        fast = (
            f"{number_text(half.alg, 7)} {number_text(half.bus, 7)}"
            if half.bus >= 1
            else f"{half.alg:7.4f} {half.bus:7.4f}"
        )
        parts.append(f"  {number_text(half.time, 8)} {fast} {wrong:>6}")
    return "".join(parts)


HEADER = """#
#{:>58}                       {:>8}
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""


def head(options: argparse.Namespace, devices: list[dict[str, Any]]) -> str:
    """Everything above the rows."""
    lines = [
        f"# nccl-tests version {VERSION} nccl-headers=0 nccl-library=0",
        f"# Collective test starting: {options.collective}_perf",
        f"# nThread 1 nGpus 1 minBytes {options.b} maxBytes {options.e} step: {options.f}(factor) warmup iters: {options.w} "
        f"iters: {options.n} agg iters: 1 validation: {options.c} graph: 0 unalign: 0",
        "#",
        "# Using devices",
    ]
    lines += [
        f"#  Rank {item['rank']:2} Group {item['group']:2} Pid {item['pid']:6} on {item['hostname']:>10} device "
        f"{item['device']:2} [{item['device_hex']}] {item['device_info']}"
        for item in devices
    ]
    return "\n".join(lines) + "\n" + HEADER.format("out-of-place", "in-place").rstrip("\n")


def half_json(half: Half) -> dict[str, Any]:
    """A half as the JSON has it."""
    found: dict[str, Any] = {"time": half.time, "alg_bw": half.alg, "bus_bw": half.bus}
    return {**found, "nwrong": "N/A" if half.wrong is None else half.wrong}


def slowest(each: list[list[float]]) -> list[float]:
    """Of each iteration the longest time of a rank."""
    return [max(times[number] for times in each) for number in range(len(each[0]))]


def times_json(half: Half) -> dict[str, Any]:
    """The times of all iterations, by process."""
    times = slowest(half.each)
    mean = sum(times) / len(times)
    spread = math.sqrt(sum((value - mean) ** 2 for value in times) / len(times)) / mean * 100
    return {
        "min_us": min(times), "max_us": max(times), "p99_us": sorted(times)[int(0.99 * (len(times) - 1))],
        "cv_pct": spread, "times_us": times, "per_process_max_times_us": half.each,
    }  # fmt: skip


def row_json(made: Shape, halves: tuple[Half, Half], redop: str, options: argparse.Namespace) -> dict[str, Any]:
    """A row as the JSON has it."""
    found: dict[str, Any] = {"size": made.size, "count": made.shown, "type": "float", "redop": redop, "root": -1}
    found.update(out_of_place=half_json(halves[0]), in_place=half_json(halves[1]))
    if options.I:
        found.update(out_of_place_per_iter=times_json(halves[0]), in_place_per_iter=times_json(halves[1]))
    return {**found, "actual_iterations": options.n}


def document(
    options: argparse.Namespace, devices: list[dict[str, Any]], begun: str, rows: list[dict[str, Any]]
) -> dict[str, Any]:
    """The whole JSON. `env` is left empty: it would hold secrets."""
    found = [row[half] for row in rows for half in ("out_of_place", "in_place")]
    wrong = sum(half["nwrong"] for half in found if half["nwrong"] != "N/A")
    config = {
        "nthreads": 1, "ngpus": 1, "minimum_bytes": options.b, "maximum_bytes": options.e, "step_factor": options.f,
        "warmup_iters": options.w, "iterations": options.n, "aggregated_iterations": 1, "validation": options.c,
        "devices": devices,
    }  # fmt: skip
    return {
        "version": 3, "start_time": begun, "args": sys.argv, "env": [], "nccl_version": "0", "config": config, "results": rows,
        "out_of_bounds": {"count": wrong, "okay": "true" if wrong == 0 else "false"},
        "average_bus_bandwidth": {"bandwidth": sum(half["bus_bw"] for half in found) / len(found), "okay": "unchecked"},
        "errors": [], "end_time": _now(),
    }  # fmt: skip


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")  # noqa: UP017 - Python 3.9


def write_json(path: str, made: dict[str, Any]) -> None:
    """To a new file, as nccl-tests does: `path`, or `path.0` when that is there."""
    for name in (path, f"{path}.0"):
        with contextlib.suppress(FileExistsError), open(name, "x", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(made, file)
            return
    say(f"{path} and {path}.0 exist: the JSON is not written")


def group_of(rank: int, split: str) -> int:
    """The group of a rank, by NCCL_TESTS_SPLIT: `MOD N` or `DIV N`."""
    word, _, text = split.strip().partition(" ")
    if not split.strip():
        return 0
    if word.upper() not in ("MOD", "DIV") or not text.strip().isdigit() or int(text) == 0:
        raise SystemExit(f"mpi_rows: NCCL_TESTS_SPLIT={split!r} is not MOD N or DIV N")
    return rank % int(text) if word.upper() == "MOD" else rank // int(text)


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    """The command line, in nccl-tests' letters."""
    parser = argparse.ArgumentParser(prog="mpi_rows", description="nccl-tests' rows, by MPI.")
    parser.add_argument("--collective", choices=COLLECTIVES, default="all_reduce")
    parser.add_argument("-b", type=parse_size, default=32 << 20, metavar="SIZE", help="smallest size")
    parser.add_argument(
        "-e", type=parse_size, default=None, metavar="SIZE", help="largest size (default: the smallest)"
    )
    parser.add_argument("-f", type=int, default=2, metavar="FACTOR", help="from one size to the next")
    parser.add_argument("-n", type=int, default=20, metavar="COUNT", help="iterations")
    parser.add_argument("-w", type=int, default=1, metavar="COUNT", help="warm-up iterations")
    parser.add_argument("-c", type=int, default=1, choices=(0, 1), help="check the data")
    parser.add_argument("-N", type=int, default=1, metavar="COUNT", help="cycles: everything again, each printed")
    parser.add_argument("-I", type=int, default=0, choices=(0, 1), help="times of each iteration in the JSON")
    parser.add_argument("-J", default="", metavar="FILE", help="write the JSON here, on rank 0")
    parser.add_argument(
        "--name", default="", metavar="HOST", help="what this host calls itself (default: its host name)"
    )
    parser.add_argument(
        "--watchdog", type=float, default=60.0, metavar="SECONDS", help="longest wait of a rank, 0 = no limit"
    )
    options = parser.parse_args(arguments)
    options.e = options.b if options.e is None else options.e
    if options.n < 1 or options.w < 0 or options.N < 1 or options.e < options.b:
        parser.error("-n and -N are at least 1, -w at least 0, -e at least -b")
    return options


def main(arguments: list[str] | None = None) -> int:
    """The program of one rank; 0 when all data was right."""
    options = options_of(arguments)
    host = options.name or socket.gethostname()
    said = (
        os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMIX_RANK") or os.environ.get("SLURM_PROCID") or "?"
    )
    say(f"rank {said} on {host}, pid {os.getpid()}: starts")
    for nic in dark():
        say(f"rank {said} on {host}: {nic} has no link")
    device = int(os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK") or os.environ.get("SLURM_LOCALID") or 0)
    watch = Watch(options.watchdog, f"rank {said} on {host}")
    watch.at("MPI_Init")
    try:
        from mpi4py import MPI
    except ImportError as error:
        say(f"rank {said} on {host}: no mpi4py here ({error})")
        return 127
    try:
        wrong = measure(MPI, watch, options, host, device)
    except Exception as error:  # whatever MPI says: one line, and the other groups come to their end
        say(f"rank {said} on {host} fails at {watch.place}: {' '.join(str(error).split())[:200]}")
        sys.stdout.flush()
        time.sleep(options.watchdog + SPLIT_GRACE_S if os.environ.get("NCCL_TESTS_SPLIT") else 0)
        os._exit(1)
    say(f"rank {said} on {host}: done")
    watch.at("the end")
    return 0 if wrong == 0 else 1


def measure(mpi: Any, watch: Watch, options: argparse.Namespace, host: str, device: int) -> int:
    """Everything that needs MPI. Returns the number of wrong elements."""
    world = mpi.COMM_WORLD
    watch.at("the first words between ranks")
    split = os.environ.get("NCCL_TESTS_SPLIT", "")
    color = group_of(world.Get_rank(), split)
    # Made by its members alone: a group that hangs holds up no other one.
    group = world.Create_group(
        world.Get_group().Incl(ring(color, world.Get_size(), locals_of(world.Get_size()), split)), tag=color
    )
    mine = {
        "rank": world.Get_rank(), "group": color, "pid": os.getpid(), "hostname": host, "device": device,
        "device_hex": "0x00", "device_info": "MPI",
    }  # fmt: skip
    devices = sorted(group.allgather(mine), key=lambda item: item["rank"])
    return run(Bench(mpi, group, options, watch), devices)


def dark() -> list[str]:
    """Those of UCX_NET_DEVICES that are there and have no link."""
    found = []
    for name in os.environ.get("UCX_NET_DEVICES", "").split(","):
        device, _, port = name.partition(":")
        place = Path("/sys/class/infiniband", device, "ports", port) if port else Path("/sys/class/net", device)
        lit = "ACTIVE" in text_of(place / "state") if port else text_of(place / "carrier") == "1"
        if device and place.is_dir() and not lit:
            found.append(device)
    return found


def text_of(path: Path) -> str:
    """A file of /sys, "" when it cannot be read, as with an interface that is switched off."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def locals_of(ranks: int) -> int:
    """Ranks on each host."""
    text = os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE") or os.environ.get("SLURM_NTASKS_PER_NODE") or ""
    return int(text) if text.isdecimal() and int(text) else ranks


def ring(color: int, ranks: int, on_host: int, split: str) -> list[int]:
    """The ranks of a group so that neighbours are on different hosts: first all of local rank 0, then all of local rank 1...

    Launchers put ranks host by host, `on_host` on each.
    """
    mine = [rank for rank in range(ranks) if group_of(rank, split) == color]
    return sorted(mine, key=lambda rank: (rank % on_host, rank))


def run(bench: Bench, devices: list[dict[str, Any]]) -> int:
    """All cycles and sizes; the group's rank 0 prints. Returns the number of wrong elements."""
    options, begun = bench.options, _now()
    redop = "sum" if options.collective in ("all_reduce", "reduce_scatter") else "none"
    rows: list[dict[str, Any]] = []
    if bench.rank == 0:
        print(head(options, devices), flush=True)
    for _ in range(options.N):
        for size in sizes(options.b, options.e, options.f):
            made, *halves = bench.row(size)
            pair = (halves[0], halves[1])
            rows.append(row_json(made, pair, redop, options))
            if bench.rank == 0:
                print(row_text(made, pair, redop), flush=True)
    whole = document(options, devices, begun, rows)
    wrong = int(whole["out_of_bounds"]["count"])
    if bench.rank == 0:
        print(f"# Out of bounds values : {wrong} {'OK' if wrong == 0 else 'FAILED'}")
        print(f"# Avg bus bandwidth    : {whole['average_bus_bandwidth']['bandwidth']:.6g}")
        print("#", f"# Collective test concluded: {options.collective}_perf", sep="\n", flush=True)
        if options.J:
            write_json(options.J, whole)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
