"""A job's hosts in rank order, in the forms that launchers read; and whether the order of names is the order of the fabric."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

HOSTFILE, SLURM_HOSTS, SLURM_BATCH, TORCHRUN = "hostfile", "slurm-hosts", "slurm.sh", "torchrun.txt"
_NUMBER = re.compile(r"(\d+)")


def rank_files(hosts: Sequence[str], gpus: int, nodelist: str) -> dict[str, str]:
    """File name -> text. `gpus`: ranks of a host; `nodelist`: the hosts in Slurm's short form, which carries no order.

    `hostfile`: Open MPI's, ranks fill the hosts in this order (`--map-by slot`, its default with a hostfile of slots).
    `slurm-hosts`: one line a task, for SLURM_HOSTFILE with `--distribution=arbitrary` (srun's manual). `torchrun.txt`: node ranks.
    """
    total = len(hosts)
    batch = (
        "#!/bin/bash\n"
        f"#SBATCH --nodes={total}\n#SBATCH --ntasks={total * gpus}\n#SBATCH --nodelist={nodelist}\n"
        f"# Hand in with the program behind it: sbatch {SLURM_BATCH} python train.py\n"
        f'export SLURM_HOSTFILE="${{SLURM_HOSTFILE:-$SLURM_SUBMIT_DIR/{SLURM_HOSTS}}}"\n'
        'exec srun --distribution=arbitrary "$@"\n'
    )
    start = (
        f"# On each host: torchrun --nnodes={total} --nproc-per-node={gpus} --node-rank=N "
        f"--master-addr={hosts[0]} --master-port=29500 ...\n# N and host:\n"
    )
    return {
        HOSTFILE: "".join(f"{host} slots={gpus}\n" for host in hosts),
        SLURM_HOSTS: "".join(f"{host}\n" * gpus for host in hosts),
        SLURM_BATCH: batch,
        TORCHRUN: start + "".join(f"{rank} {host}\n" for rank, host in enumerate(hosts)),
    }


def by_name(names: Iterable[str]) -> list[str]:
    """Names as Slurm sorts nodes without a topology: runs of digits compare as numbers (`scontrol show hostlistsorted`)."""
    return sorted(names, key=_key)


def _key(name: str) -> tuple[tuple[str, int], ...]:
    parts = _NUMBER.split(name)
    return tuple((parts[i], int(parts[i + 1]) if i + 1 < len(parts) else -1) for i in range(0, len(parts), 2))


def changes(order: Sequence[str], part_of: Mapping[str, object]) -> int:
    """How often a ring over hosts in this order goes from one part (zone, rack) to another."""
    if not order:
        return 0
    return sum(part_of[a] != part_of[b] for a, b in pairwise([*order, order[0]]))
