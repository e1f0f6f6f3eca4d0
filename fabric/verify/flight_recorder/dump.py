"""One dump, of any version from 1.0 to 2.10, as the few numbers that the analysis needs.

What the versions have in common is read from the fields themselves, not from the version: a field that is not there is not known. The
JSON twin differs in types only (counters as texts, 0 for a time that is not known, lists for pairs).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from fabric.errors import FabricError
from fabric.verify.flight_recorder.fields import entry_list, group_of, known_version, number, section, text
from fabric.verify.flight_recorder.memberships import Memberships
from fabric.verify.flight_recorder.model import KEPT, Call, RankDump, Transfer, View

_LAST = 2  # calls that ended and are kept: what gloo calls ended may have failed
_TRANSFERS = 64  # pending transfers of a group that are kept
_TRANSFER = re.compile(r"(send|recv) (\d{1,7})(?:->|<-)(\d{1,7})")
Counters = tuple[int | None, int | None, int | None]


@dataclass(slots=True)
class _Seen:
    """What the entries of one group said so far."""

    desc: str
    pg_id: int
    enqueued: int | None = None
    started: int | None = None
    completed: int | None = None
    pending: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    ended: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    p2p: bool = False
    last_p2p: int = 0


def summary_of(data: Any, rank: int, source: str, memberships: Memberships) -> RankDump:
    """What is kept of `data`, as `load_pickle` or `load_json` gave it; FabricError when it is no dump of a known version."""
    if not isinstance(data, dict):
        raise FabricError("is no flight-recorder dump: it has no version")
    version = known_version(data.get("version"))
    entries = entry_list(data.get("entries"))
    config = section(data, "pg_config")
    names = {name: conf for key, conf in config.items() if (name := _name(key, conf))}
    status = {number(key, "pg_status") or 0: _counters(value) for key, value in section(data, "pg_status").items()}
    seen = _read_entries(entries, _by_order(names, _ids_alone(entries)))
    ids = _ids(names, seen, status)
    views = tuple(
        _view(name, names.get(name), seen.get(name), status.get(ids.get(name, -1)), memberships)
        for name in dict.fromkeys([*names, *seen])
    )
    used = set(ids.values())
    return RankDump(
        rank, source, version, len(entries), _library(entries), views, tuple(sorted(ids.items())),
        tuple((key, value) for key, value in status.items() if key not in used),
        (number(entries[-1].get("time_created_ns"), "time_created_ns") or 0) if entries else 0,
    )  # fmt: skip


def _ids_alone(entries: list[dict[str, Any]]) -> set[Any]:
    """The pg_ids, where entries have no names of groups (before 2.x)."""
    if not entries or "process_group" in entries[0]:
        return set()
    return {pg_id for entry in entries if type(pg_id := entry.get("pg_id")) is int}


def _name(key: Any, conf: Any) -> str:
    return text(conf["name"] if isinstance(conf, dict) and conf.get("name") else key, "name of a group")


def _counters(value: Any) -> Counters:
    if not isinstance(value, dict):
        raise FabricError("pg_status does not hold three counters for each group")
    enqueued, started, completed = (
        number(value.get(f"last_{what}_collective"), "pg_status") for what in ("enqueued", "started", "completed")
    )
    return enqueued, None if started in (None, -1) else started, completed


def _by_order(names: Mapping[str, Any], ids: set[Any]) -> dict[int, str]:
    """Which name each pg_id has, by order alone: both count in the order in which the groups were made. Empty when they do not fit.

    A group of one rank is often never used and then has no pg_id: where all do not fit, those of two ranks and more may.
    """
    if not all(name.isdecimal() for name in names) or not all(type(pg_id) is int for pg_id in ids):
        return {}
    for some in (list(names), [name for name, conf in names.items() if _several(conf)]):
        if len(some) == len(ids):
            return dict(zip(sorted(ids), sorted(some, key=int), strict=True))
    return {}


def _several(conf: Any) -> bool:
    ranks = conf.get("ranks") if isinstance(conf, dict) else conf
    return isinstance(ranks, str | list) and ("," in ranks if isinstance(ranks, str) else len(ranks) > 1)


def _ids(names: Mapping[str, Any], seen: Mapping[str, _Seen], status: Mapping[Any, Any]) -> dict[str, int]:
    """Name -> pg_id, of the entries; of the order of both for what has none, where that contradicts no entry."""
    ids = {name: group.pg_id for name, group in seen.items()}
    ordered = {name: pg_id for pg_id, name in _by_order(names, set(status)).items()}
    if all(ordered.get(name, pg_id) == pg_id for name, pg_id in ids.items()):
        ids.update(ordered)
    return ids


def _read_entries(entries: list[dict[str, Any]], by_order: Mapping[int, str]) -> dict[str, _Seen]:
    """By the name of the group. Of what has ended only the last two of each group are looked at: nearly all entries have."""
    found: dict[str, _Seen] = {}
    last: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for entry in entries:
        get = entry.get
        if get("retired") is True:
            group = get("process_group")
            if type(group) is tuple and len(group) == 2 and type(group[0]) is str:
                kept = last.get((group[0], get("is_p2p") is True))
                if kept is not None:
                    kept[0], kept[1] = kept[1], entry
                    continue
                last[group[0], get("is_p2p") is True] = [entry, entry]
        _take(found, entry, by_order)
    for some in last.values():
        for entry in some:
            _take(found, entry, by_order)
    return found


def _take(found: dict[str, _Seen], entry: Mapping[str, Any], by_order: Mapping[int, str]) -> None:
    group = entry.get("process_group")
    pg_id = number(entry.get("pg_id"), "pg_id") or 0
    name, desc = group_of(group) if group is not None else (by_order.get(pg_id, f"#{pg_id}" if pg_id else "0"), "")
    seen = found.get(name)
    if seen is None:
        seen = found[name] = _Seen(desc, pg_id)
    is_p2p = entry.get("is_p2p")
    if is_p2p is None:
        is_p2p = _TRANSFER.search(text(entry.get("profiling_name"), "profiling_name")) is not None
    if is_p2p:
        _transfer(seen, entry)
    else:
        _collective(seen, entry)


def _ended(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("retired") or entry.get("time_discovered_completed_ns")) or entry.get("state") == "completed"


def _collective(seen: _Seen, entry: Mapping[str, Any]) -> None:
    seq = entry.get("collective_seq_id", entry.get("seq_id"))
    if type(seq) is not int:
        seq = number(seq, "sequence number")
        if seq is None:
            return
    seen.enqueued = max(seq, seen.enqueued or 0)
    if _ended(entry):
        seen.completed = max(seq, seen.completed or 0)
        seen.ended = sorted({**dict(seen.ended), seq: entry}.items(), key=lambda item: item[0])[-_LAST:]
        return
    if entry.get("state") == "started" or entry.get("time_discovered_started_ns"):
        seen.started = max(seq, seen.started or 0)
    if len(seen.pending) < KEPT:
        seen.pending.append((seq, entry))


def _transfer(seen: _Seen, entry: Mapping[str, Any]) -> None:
    seen.p2p = True
    seq = number(entry.get("p2p_seq_id", entry.get("seq_id")), "p2p_seq_id") or 0
    seen.last_p2p = max(seen.last_p2p, seq)
    said = _TRANSFER.search(text(entry.get("profiling_name"), "profiling_name"))
    if said and not _ended(entry) and len(seen.transfers) < _TRANSFERS:
        seen.transfers.append(Transfer(said[1] == "send", int(said[2]), int(said[3]), seq))


def _view(name: str, conf: Any, seen: _Seen | None, status: Counters | None, memberships: Memberships) -> View:
    members = memberships.key_of(conf.get("ranks") if isinstance(conf, dict) else conf)
    name, desc = intern(name), intern(seen.desc) if seen else ""
    if not desc and isinstance(conf, dict):
        desc = intern(text(conf.get("desc", ""), "desc"))
    if seen is None:
        return View(name, desc, members, *(status or (None, None, None)))
    enqueued, started, completed = status or (seen.enqueued, None, _completed(seen))
    return View(
        name, desc, members, enqueued, seen.started if started is None else started, completed,
        tuple((seq, _call(entry)) for seq, entry in [*seen.ended, *seen.pending]),
        tuple(seen.transfers), seen.p2p, seen.last_p2p,
    )  # fmt: skip


def _completed(seen: _Seen) -> int | None:
    """Before 2.x there are no counters: what stands before the first that has not ended."""
    return seen.pending[0][0] - 1 if seen.pending else seen.completed


def _call(entry: Mapping[str, Any]) -> Call:
    name = text(entry.get("profiling_name"), "profiling_name")
    return Call(
        name.partition(":")[2] or name,
        _numel(entry.get("input_sizes")),
        _numel(entry.get("output_sizes")),
        tuple(
            dict.fromkeys(
                text(kind, "dtype") for way in ("input", "output") for kind in _list(entry.get(f"{way}_dtypes"))
            )
        ),
    )


def _list(value: Any) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    raise FabricError("sizes and types of a call are not lists")


def _numel(sizes: Any) -> int:
    """Elements of all tensors together; 0 without any."""
    total = 0
    for shape in _list(sizes):
        if not isinstance(shape, list | tuple):
            raise FabricError("the sizes of a call are not lists of numbers")
        elements = 1
        for dimension in shape:
            if type(dimension) is not int or not 0 <= dimension < 1 << 48:
                raise FabricError("the sizes of a call are not lists of numbers")
            elements *= dimension
        total += elements
    return total


def _library(entries: list[dict[str, Any]]) -> str:
    """`nccl`, `gloo`: what the last entry begins with."""
    if not entries:
        return ""
    name, colon, _ = text(entries[-1].get("profiling_name"), "profiling_name").partition(":")
    return name if colon else ""
