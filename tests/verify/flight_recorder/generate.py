"""Dumps of a simulated job in every format version, as pickles and as JSON.

The fields of each version are those of flight-recorder.md, section 1; which version of 2.x brought `pg_status`, sizes as shapes and
`is_p2p` is not written there for each number, so 2.0 and 2.1 are made without counters, the later ones with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.verify.flight_recorder.job import Job, Op, Rank, Team
from tests.verify.flight_recorder.torch_pickle import TorchPickler

VERSIONS = ("1.0", "1.1", "1.2", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "2.10")
START = 1_796_000_000_000_000_000


def since(version: str, first: str) -> bool:
    """Whether `version` is `first` or later."""
    return tuple(map(int, version.split("."))) >= tuple(map(int, first.split(".")))


def dump_of(job: Job, rank: int, version: str, *, active: bool = False) -> dict[str, Any]:
    """The dump of one rank as plain data. `active`: only what has not ended, as with the recorder's onlyActive."""
    process = job.ranks[rank]
    teams = job.teams_of(rank)
    ids = {team.name: 2 * place for place, team in enumerate(teams)}  # a process counts also groups that it is not in
    data: dict[str, Any] = {"version": version}
    if since(version, "1.2"):
        data["pg_config"] = {team.name: _config(team) for team in teams}
    if since(version, "2.10"):
        data["comm_lib_version"] = "2.30.7"
    elif since(version, "2.6"):
        data["nccl_version"] = "2.27.3"
    if since(version, "2.2"):
        data["pg_status"] = {str(ids[team.name]): _status(process, team) for team in teams}
    numbered = [(number, op) for number, op in enumerate(process.ops) if not (active and op.shown)]
    data["entries"] = [_entry(number, op, ids, version) for number, op in numbered][-2000:]
    return data


def _config(team: Team) -> dict[str, str]:
    return {"name": team.name, "desc": team.desc, "ranks": str(list(team.ranks))}


def _status(rank: Rank, team: Team) -> dict[str, int]:
    ops = [op for op in rank.ops if op.team is team]
    return {
        "last_enqueued_collective": ops[-1].seq if ops else -1,
        "last_started_collective": max((op.seq for op in ops if op.started and op.peer is None), default=-1),
        "last_completed_collective": max((op.seq for op in ops if op.shown), default=-1),
    }


def _entry(number: int, op: Op, ids: dict[str, int], version: str) -> dict[str, Any]:
    arrow = f" {op.team.ranks.index(_owner(op))}{'->' if op.sends else '<-'}{op.peer}" if op.peer is not None else ""
    made: dict[str, Any] = {"record_id": number, "pg_id": ids[op.team.name]}
    if since(version, "2.0"):
        made["process_group"] = (op.team.name, op.team.desc)
    if since(version, "2.9"):
        made |= {"thread_name": "python3", "thread_id": "23456244340032"}
    if since(version, "2.2"):
        p2p = op.peer is not None
        made |= {"collective_seq_id": 0 if p2p else op.seq, "p2p_seq_id": op.seq if p2p else 0, "op_id": number}
    else:
        made["seq_id"] = op.seq
    made |= {"profiling_name": f"nccl:{op.call}{arrow}", "time_created_ns": START + 1_000_000 * number}
    made |= {
        "input_sizes": [[op.numel]],
        "input_dtypes": [op.dtype],
        "output_sizes": [[op.numel]],
        "output_dtypes": [op.dtype],
    }
    made["state"] = "completed" if op.shown else "started" if op.started else "scheduled"
    if since(version, "1.1"):
        made |= {
            "time_discovered_started_ns": START if op.started else None,
            "time_discovered_completed_ns": START if op.shown else None,
        }
    if since(version, "2.2"):
        made |= {"retired": op.shown, "timeout_ms": 600_000, "is_p2p": op.peer is not None}
    return made


def _owner(op: Op) -> int:
    """The rank of a transfer: the one next to its peer."""
    assert op.peer is not None
    return op.team.ranks[op.peer - 1 if op.sends else op.peer + 1]


def as_json(data: dict[str, Any]) -> bytes:
    """The JSON twin: counters as texts, 0 for no time, a list for a pair."""
    data = dict(data)
    if "pg_status" in data:
        data["pg_status"] = {
            key: {name: str(value) for name, value in status.items()} for key, status in data["pg_status"].items()
        }
    times = ("time_discovered_started_ns", "time_discovered_completed_ns")
    data["entries"] = [
        {key: 0 if key in times and value is None else value for key, value in entry.items()}
        for entry in data["entries"]
    ]
    return json.dumps(data).encode()


def write(
    job: Job,
    folder: Path,
    version: str = "2.9",
    *,
    form: str = "pickle",
    active: bool = False,
    without: Iterable[int] = (),
) -> Path:
    """The dumps of all ranks but `without` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in set(range(job.world)) - set(without):
        data = dump_of(job, rank, version, active=active)
        if form == "json":
            (folder / f"nccl_trace_rank_{rank}.json").write_bytes(as_json(data))
        else:
            (folder / f"nccl_trace_rank_{rank}").write_bytes(TorchPickler().dump(data))
    return folder
