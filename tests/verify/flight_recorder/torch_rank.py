"""One rank of a real PyTorch job on CPUs (gloo), which goes wrong as it is told and writes its dump. Needs torch; run by prove_torch.

python torch_rank.py RANK WORLD PORT FOLDER SCENARIO
"""

import os
import sys
import time
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCH_FR_BUFFER_SIZE", "2000")

torch: Any = import_module("torch")  # nothing else of this project needs it, so neither does the type checker
dist: Any = import_module("torch.distributed")

BROKEN = 2  # the rank that goes wrong
ROUND = 3  # in this round


def main() -> None:
    """Five rounds of collectives in the default group and in a half group."""
    rank, world, port, folder, scenario = (
        int(sys.argv[1]),
        int(sys.argv[2]),
        sys.argv[3],
        Path(sys.argv[4]),
        sys.argv[5],
    )
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=timedelta(seconds=8))
    half = world // 2
    groups = [dist.new_group(list(range(first, first + half)), group_desc=f"dp{first // half}") for first in (0, half)]
    try:
        for number in range(5):
            one_round(rank, number, groups[rank // half], scenario)
    except RuntimeError as error:
        print(f"rank {rank}: {str(error)[:120]}", file=sys.stderr)
    finally:
        recorded = torch._C._distributed_c10d
        (folder / f"nccl_trace_rank_{rank}").write_bytes(recorded._dump_fr_trace(True, True, False))
        (folder / f"json_rank_{rank}.json").write_bytes(recorded._dump_fr_trace_json(True, False).encode())
    time.sleep(3)  # the others are to hang by themselves, not on a closed connection


def one_round(rank: int, number: int, group: Any, scenario: str) -> None:
    """What every rank calls, but for the broken one in its round."""
    broken = rank == BROKEN and number == ROUND
    if broken and scenario == "hang":
        hang()
    if broken and scenario == "order":
        gather(dist.group.WORLD)
        dist.all_reduce(torch.ones(1024))
    else:
        dist.all_reduce(torch.ones(1024))
        gather(dist.group.WORLD)
    if broken and scenario == "subgroup":
        hang()
    dist.all_reduce(torch.ones(64), group=group)


def gather(group: Any) -> None:
    """All ranks' 256 numbers."""
    dist.all_gather([torch.empty(256) for _ in range(dist.get_world_size(group))], torch.ones(256), group=group)


def hang() -> None:
    """As a data loader that gives nothing any more."""
    time.sleep(14)
    raise RuntimeError("no data")


if __name__ == "__main__":
    main()
