"""Writes output in the shapes of nccl-tests (hosts.md 3.1, 3.2), from numbers that agree with each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fabric.verify.collectives.nccl_run import SUMMED, Half, Row, busbw_factor

GIB = 1 << 30


def half(size: int, busbw: float, factor: float, wrong: int | None = 0) -> Half:
    """A half with that bus bandwidth, and the time that follows from it, both rounded as they are printed."""
    algbw = busbw / factor
    return Half(round(size / algbw / 1e3, 1), round(algbw, 2), round(busbw, 2), wrong)


def rows_of(
    collective: str, nranks: int, speeds: Sequence[float], *, first: int = GIB, wrong: int | None = 0
) -> list[Row]:
    """Rows of doubling size, one a bandwidth in GB/s."""
    factor = busbw_factor(collective, nranks) or 1.0
    redop = "sum" if "reduce" in collective else "none"
    first -= first % (4 * nranks)
    made = []
    for index, speed in enumerate(speeds):
        size = first << index
        count = size // 4 // (nranks if collective in SUMMED else 1)
        made.append(
            Row(
                size,
                count,
                "float",
                redop,
                half(size, speed, factor, wrong),
                half(size, speed * 1.001, factor, wrong),
            )
        )
    return made


def device_lines(hosts: Sequence[str], each: int, *, split: int = 1, old: bool = False) -> list[str]:
    """The lines of `Using devices`; `split`: ranks modulo that many groups."""
    lines = []
    for rank in range(len(hosts) * each):
        host, gpu = hosts[rank // each], rank % each
        group = "" if old else f"Group {rank % split:2d} "
        bus = f"[0x{0x1B + gpu:02x}]" if old else f"[0000:{0x1B + gpu:02x}:00]"
        lines.append(
            f"#  Rank {rank:2d} {group}Pid {14519 + rank:6d} on {host:>10s} device {gpu:2d} {bus} NVIDIA H100 80GB HBM3"
        )
    return lines


def text_of(
    collective: str,
    hosts: Sequence[str],
    each: int,
    rows: Sequence[Row],
    *,
    shape: str = "new",
    split: int = 1,
    devices: bool = True,
) -> list[str]:
    """The lines of one run. `shape`: `new`, `old` (12 columns, error), `iter` (-I), `stamp` (-S), `cpu` (-C), `unchecked`."""
    old = shape == "old"
    lines = (
        []
        if old
        else [
            "# nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=22907",
            f"# Collective test starting: {collective}_perf",
        ]
    )
    lines += [
        f"# nThread 1 nGpus 1 minBytes {rows[0].size} maxBytes {rows[-1].size} step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1",
        "#",
    ]
    if devices:
        lines += ["# Using devices", *device_lines(hosts, each, split=split, old=old), "#"]
    last = "error" if old else "#wrong"
    time = "cputime" if shape == "cpu" else "time"
    four = f"{time:>9}   algbw   busbw  {last}" + ("    i_min    i_max    i_p99    i_cv%" if shape == "iter" else "")
    lines.append(
        f"#       size         count      type   redop {'' if old else '   root'}{four}{four}{' timestamp' if shape == 'stamp' else ''}"
    )
    lines += [row_line(row, shape) for row in rows]
    bad = sum(row.wrong or 0 for row in rows)
    speeds = [half.busbw or 0.0 for row in rows for half in (row.oop, row.inplace) if half]
    lines += [
        f"# Out of bounds values : {bad} {'FAILED' if bad else 'OK'}",
        f"# Avg bus bandwidth    : {sum(speeds) / max(len(speeds), 1):g} ",
        "#",
    ]
    return lines if old else [*lines, f"# Collective test concluded: {collective}_perf"]


def row_line(row: Row, shape: str = "new") -> str:
    """One data row."""
    old = shape == "old"
    text = f"{row.size:12d}  {row.count:12d}  {row.type:>8}  {row.redop:>6}" + ("" if old else f"  {-1:6d}")
    for half in (row.oop, row.inplace):
        assert half is not None
        time = 17.25 if shape == "cpu" else half.time_us
        wrong = "  5e-07" if old else "    N/A" if shape == "unchecked" else f"  {half.wrong or 0:6g}"
        text += f"  {time:7.1f}  {half.algbw:6.2f}  {half.busbw:6.2f}{wrong}"
        if shape == "iter":
            text += f"  {half.time_us:7.1f}  {half.time_us:7.1f}  1.0e+05     0.31"
    return text + ("  2026-11-30 18:00:00" if shape == "stamp" else "")


def json_of(collective: str, hosts: Sequence[str], each: int, rows: Sequence[Row], *, secret: str = "") -> str:
    """The document of -J."""
    devices = [
        {"rank": r, "group": 0, "pid": 14519 + r, "hostname": hosts[r // each], "device": r % each,
         "device_hex": f"0000:{0x1B + r % each:02x}:00", "device_info": "NVIDIA H100 80GB HBM3"}
        for r in range(len(hosts) * each)
    ]  # fmt: skip
    bad = sum(row.wrong or 0 for row in rows)
    document = {
        "version": 3, "start_time": "2026-11-30 18:00:00", "args": [f"/opt/nccl-tests/build/{collective}_perf", "-b", "1G"],
        "env": ["PATH=/usr/bin", f"API_TOKEN={secret}", 'ODD="results":[{"size":1}]'], "nccl_version": 22907,
        "config": {
            "nthreads": 1, "ngpus": 1, "minimum_bytes": rows[0].size, "maximum_bytes": rows[-1].size, "blocking_collectives": "false",
            "devices": devices,
        },
        "results": [_result(row) for row in rows],
        "out_of_bounds": {"count": bad, "okay": "false" if bad else "true"},
        "average_bus_bandwidth": {"bandwidth": 461.46, "okay": "unchecked"}, "errors": [], "end_time": "2026-11-30 18:01:00",
    }  # fmt: skip
    return json.dumps(document, separators=(",", ":"))


def _result(row: Row) -> dict[str, Any]:
    def one(half: Half | None) -> dict[str, Any] | None:
        if half is None:
            return None
        return {
            "time": half.time_us,
            "alg_bw": half.algbw,
            "bus_bw": "nan" if half.busbw is None else half.busbw,
            "nwrong": half.wrong,
        }

    return {
        "size": row.size, "count": row.count, "type": row.type, "redop": row.redop, "root": "    -1",
        "out_of_place": one(row.oop), "in_place": one(row.inplace), "actual_iterations": 20, "experiment_name": "",
    }  # fmt: skip
