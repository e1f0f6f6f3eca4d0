"""nccl-tests' JSON (`-J FILE`) -> NcclRun, also of a file without its end; the environment in it is never kept.

Facts: reference hosts.md section 3.2. Booleans are strings there, `nan` is a string, counts that were not checked are null.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from fabric.errors import FabricError
from fabric.verify.collectives.json_salvage import read_json
from fabric.verify.collectives.nccl_run import UNKNOWN, Device, Half, NcclRun, Row, busbw_factor, group_size
from fabric.verify.collectives.row_checks import Printing, fits, guess

_PROGRAM = re.compile(r"(?:^|[\\/])(\w{1,40})_perf(?:\.exe)?\Z")
_SLACK = 2e-3
"""Bandwidths and times are printed with six decimals; small times leave an error of a thousandth."""
_FLOOR = 2e-6

KEPT_KEYS = (
    "version", "start_time", "args", "nccl_version", "config", "results", "out_of_bounds", "average_bus_bandwidth", "errors",
    "end_time",
)  # fmt: skip
"""The keys of a document that may be kept in a file or shown: all but `env`."""


def parse_nccl_json(text: str, *, source: str, collective: str = "") -> NcclRun:
    """The run of a document; FabricError when it is none of nccl-tests.

    Rows that are not whole, or contradict themselves, are dropped, and `complete` is False.
    """
    document, whole = read_json(text, source=source)
    if not is_nccl_json(document):
        raise FabricError(f"{source}: JSON, but not of nccl-tests -J (no config and results)")
    config = _object(document.get("config"))
    devices = _devices(config)
    groups = len({device.group for device in devices}) or 1
    nranks = group_size(devices)
    said = _objects(document.get("results"))
    rows = [row for item in said if (row := _row(item)) is not None]
    told = collective or _program(document)
    known = (told or UNKNOWN) if nranks else UNKNOWN
    timed = not any("cpu_time" in _object(item.get("out_of_place")) for item in said)
    kept = [row for row in rows if fits(row, known, nranks, Printing(_SLACK, _FLOOR, timed))]
    failures = [error[:400] for error in _list(document.get("errors")) if isinstance(error, str) and error]
    bounds = _bounds(document)
    average = _number(_object(document.get("average_bus_bandwidth")).get("bandwidth"))
    return NcclRun(
        told or guess(rows, nranks), nranks, devices, tuple(kept), bounds, average, whole and bounds is not None, len(said) - len(kept),
        tuple(failures), _count(config.get("maximum_bytes")) or 0, source=source, groups=groups,
    )  # fmt: skip


def is_nccl_json(document: Any) -> bool:
    """Whether a document has the keys of nccl-tests."""
    if not isinstance(document, dict) or not isinstance(document.get("version"), int):
        return False
    return "nccl_version" in document or ("config" in document and "results" in document)


def scrub(text: str, *, source: str = "JSON") -> str:
    """The same document without the environment and with secrets in the arguments masked; what is not whole of it is left out."""
    document, _ = read_json(text, source=source)
    if not isinstance(document, dict):
        raise FabricError(f"{source}: JSON, but not of nccl-tests -J (no config and results)")
    kept = {key: document[key] for key in KEPT_KEYS if key in document}
    if "args" in kept:
        kept["args"] = [_masked(word) for word in _list(kept["args"])]
    return json.dumps(kept, indent=1) + "\n"


def _masked(word: Any) -> str:
    text = word if isinstance(word, str) else ""
    name, equals, _ = text.partition("=")
    return f"{name}=***" if equals and re.search(r"token|secret|passw|key|cred", name, re.IGNORECASE) else text


def _program(document: dict[str, Any]) -> str:
    """The collective that was started: by the program's name, or by `--collective NAME` of our own."""
    args = [word for word in _list(document.get("args")) if isinstance(word, str)]
    found = _PROGRAM.search(args[0]) if args else None
    if found:
        return found[1]
    named = args[args.index("--collective") + 1 :][:1] if "--collective" in args else []
    return next((name for name in named if busbw_factor(name, 2) is not None), "")


def _devices(config: dict[str, Any]) -> tuple[Device, ...]:
    found = []
    for item in _objects(config.get("devices")):
        rank, group, device = (_count(item.get(key)) for key in ("rank", "group", "device"))
        host, bus = item.get("hostname"), item.get("device_hex")
        if rank is not None and device is not None and isinstance(host, str) and host:
            found.append(Device(rank, group or 0, host[:255], device, bus[:40] if isinstance(bus, str) else ""))
    return tuple(found)


def _row(item: dict[str, Any]) -> Row | None:
    """None unless every number of both halves is there."""
    size, count = _count(item.get("size")), _count(item.get("count"))
    if size is None or count is None or "out_of_place" not in item or "in_place" not in item:
        return None
    halves = []
    for key in ("out_of_place", "in_place"):
        value = item[key]
        if value is not None and not _is_half(value):
            return None
        halves.append(None if value is None else _half(value))
    if halves == [None, None]:
        return None
    return Row(size, count, str(item.get("type", ""))[:20], str(item.get("redop", ""))[:20], halves[0], halves[1])


def _is_half(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"alg_bw", "bus_bw", "nwrong"} <= value.keys()
        and bool({"time", "cpu_time"} & value.keys())
    )


def _half(value: dict[str, Any]) -> Half:
    wrong = _number(value["nwrong"])
    time_us = _number(value.get("time", value.get("cpu_time")))
    return Half(time_us, _number(value["alg_bw"]), _number(value["bus_bw"]), None if wrong is None else round(wrong))


def _bounds(document: dict[str, Any]) -> tuple[int, bool] | None:
    bounds = _object(document.get("out_of_bounds"))
    count, okay = _count(bounds.get("count")), bounds.get("okay")
    if count is None or okay not in ("true", "false", True, False):
        return None
    return count, okay in ("true", True)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]
