"""From groups to programs: what every rank runs, with which environment. Nothing is started here.

Names come from the spec alone. Where ranks need something of their own, a fixed shell text chooses it from its arguments by the rank's
number: no text is ever built into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from fabric.design.seats import Seat
from fabric.spec.collectives import Collectives, size_bytes
from fabric.verify.collectives.flows import FlowShape, flow_argv
from fabric.verify.collectives.stages import Group, Seats

Kind = Literal["rows", "perftest", "dcgm", "path"]

_LOCAL = "i=${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-0}}"
PER_RANK = f'var=$1; items=$2; shift 2; {_LOCAL}; export "$var=$(echo "$items" | cut -d" " -f$((i + 1)))"; exec "$@"'
"""`sh -c` text: sets the variable $1 to the word of $2 that belongs to the local rank, and becomes the rest."""

_RANK = "rank=${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}"
POINT_TO_POINT = (
    f'{_RANK}; n=$1; peer=$2; hcas=$3; port=$4; cuda=$5; shift 5; i=$((rank % n)); hca=$(echo "$hcas" | cut -d" " -f$((i + 1))); '
    'set -- "$@" -d "$hca" -p $((port + i)); [ -z "$cuda" ] || set -- "$@" "--use_cuda=$(echo "$cuda" | cut -d" " -f$((i + 1)))"; '
    '[ "$rank" -ge "$n" ] || exec "$@"; sleep 3; exec "$@" "$peer"'
)
"""`sh -c` text: the first $1 ranks serve, one a NIC; the others call the host $2 when the servers listen."""

_MARGIN_S = 15
"""Seconds before a run's limit at which the test ends itself, so that it can still say where it stood (our choice)."""


@dataclass(frozen=True, slots=True)
class Task:
    """One parallel program. It measures `groups`: several where it is a split run, of the rails in `rails` (group i is rail `rails[i]`).

    `argv` is the same for all ranks, `ranks` a host. `env` goes to the ranks, `mca` to Open MPI. `gpus`: GPUs that a rank takes, or
    "node": all `cards` of the host for all its ranks. `ordered`: ranks must be on the hosts in this order.
    `mpi`: the program is one of MPI; `by_mpi`: the rows of engine mpi.
    """

    kind: Kind
    groups: tuple[Group, ...]
    hosts: tuple[str, ...]
    argv: tuple[str, ...]
    ranks: int = 1
    rails: tuple[int, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    mca: tuple[tuple[str, str], ...] = ()
    gpus: Literal["none", "rank", "node"] = "none"
    cards: int = 0
    ordered: bool = False
    mpi: bool = True
    by_mpi: bool = False

    @property
    def what(self) -> str:
        """In words, for people: test, stage, hosts."""
        group = self.groups[0]
        hosts = " ".join(self.hosts[:3]) + (f" and {len(self.hosts) - 3:,} more" if len(self.hosts) > 3 else "")
        rails = f", rails {' '.join(map(str, self.rails))}" if self.rails else ""
        return f"{group.stage} {group.test} on {hosts}{rails}"


@dataclass(frozen=True, slots=True)
class Around:
    """What programs need to know of the cluster: front-end interfaces, the IP MTU of the back end, how many flows a group of `paths` is."""

    front_end: tuple[str, ...] = ()
    mtu: int = 9000
    flows: Callable[[tuple[str, ...]], int] = lambda _: 4


def tasks(groups: Iterable[Group], how: Collectives, seats: Seats, around: Around) -> list[Task]:
    """The programs that measure these groups; rails of the same hosts together in one, as they load different cables."""
    together: dict[tuple[str, str, tuple[str, ...], tuple[int, ...]], list[Group]] = {}
    for group in groups:
        alone = len(group.rails) != 1 or group.test == "path"
        key = (group.stage, group.test, group.hosts, group.rails if alone else (-1,))
        together.setdefault(key, []).append(group)
    return [_task(tuple(found), how, seats, around) for found in together.values()]


def _task(groups: tuple[Group, ...], how: Collectives, seats: Seats, around: Around) -> Task:
    first = groups[0]
    if first.test.startswith("dcgm"):
        argv = ("dcgmi", "diag", "-r", str(how.diag.level), "-j")
        return Task("dcgm", groups, first.hosts, argv, gpus="node", cards=len(seats[first.hosts[0]]), mpi=False)
    rails = tuple(group.rails[0] for group in groups) if len(first.rails) == 1 else first.rails
    if first.test == "path":
        return _path(groups, how, seats, around)
    if first.test == "ib_write_bw":
        return _perftest(groups, how, seats, rails)
    if how.engine == "mpi":
        return _mpi(groups, how, seats, rails)
    return _nccl(groups, how, seats, rails, around.front_end)


def _nccl(
    groups: tuple[Group, ...], how: Collectives, seats: Seats, rails: tuple[int, ...], front_end: Sequence[str]
) -> Task:
    """nccl-tests, a rank a GPU. With rails: each GPU by its own NIC alone, and where they are measured apart, a split run."""
    first = groups[0]
    folder = f"{how.programs}/" if how.programs else ""
    argv: tuple[str, ...] = (f"{folder}{first.test}_perf", *_sizes(how), "-g", "1", *_times(how), "-c", "1")
    argv += ("-T", str(max(5, how.limit_s - _MARGIN_S)))
    env = [("NCCL_DEBUG", "WARN")]
    mine = seats[first.hosts[0]]
    gpus: Literal["rank", "node"] = "rank"
    if rails:
        argv = ("sh", "-c", PER_RANK, "sh", "NCCL_IB_HCA", _words(f"={_of(mine, rail).hca}" for rail in rails), *argv)
        if len(rails) < len(mine):
            argv, gpus = ("env", f"CUDA_VISIBLE_DEVICES={','.join(map(str, rails))}", *argv), "node"
        env += _split(groups, rails)
    mca = _bootstrap() + ((("btl_tcp_if_include", ",".join(front_end)),) if front_end else ())
    return Task("rows", groups, first.hosts, argv, len(rails) or len(mine), rails, tuple(env), mca, gpus, len(mine))


_RINGS = (
    ("coll", "^hcoll"),
    ("coll_tuned_use_dynamic_rules", "1"),
    ("coll_tuned_allgather_algorithm", "4"),
    ("coll_tuned_allreduce_algorithm", "4"),
    ("coll_tuned_alltoall_algorithm", "2"),
)
"""Algorithms that load every NIC alike, as NCCL's do: rings, and pairwise exchange (Open MPI 4.1, `ompi_info --param coll tuned`)."""


def _mpi(groups: tuple[Group, ...], how: Collectives, seats: Seats, rails: tuple[int, ...]) -> Task:
    """The same rows by MPI: a rank a NIC."""
    first = groups[0]
    mine = seats[first.hosts[0]]
    used = [seat for seat in mine if not rails or seat.rail in rails]
    argv: tuple[str, ...] = (how.python, "-c", program_text("mpi_rows.py"), "--collective", first.test, *_sizes(how))
    argv += (*_times(how), "-c", "1", "-N", str(how.repeats), "--watchdog", str(_watchdog(how)))
    # UCX: RDMA where the host has it, else TCP, and then from the NIC's own address, by which hosts route; Open MPI's own TCP leaves
    # the choice of the source to the kernel, which takes the first NIC's.
    devices = [f"{seat.hca}:1" + ("" if seat.guid is not None else f",{seat.nic}") for seat in used]
    mca = (("pml", "ucx"), ("pml_ucx_tls", "any"), ("pml_ucx_devices", "any"), ("mpi_yield_when_idle", "1"), *_RINGS)
    env = [
        ("UCX_MAX_RNDV_RAILS", "1"),
        ("UCX_MAX_EAGER_RAILS", "1"),
        ("UCX_LOG_LEVEL", "error"),
        *_split(groups, rails),
    ]
    if len(first.hosts) > 1:
        argv = ("sh", "-c", PER_RANK, "sh", "UCX_NET_DEVICES", _words(devices), *argv)
    return Task("rows", groups, first.hosts, argv, len(used), rails, tuple(env), mca, by_mpi=True)


def _perftest(groups: tuple[Group, ...], how: Collectives, seats: Seats, rails: tuple[int, ...]) -> Task:
    """ib_write_bw on every rail at once, from the second host to the first."""
    server, _client = hosts = groups[0].hosts
    used = [_of(seats[server], rail) for rail in rails] or list(seats[server])
    own = how.perftest
    argv: tuple[str, ...] = (
        "ib_write_bw",
        "-F",
        "--report_gbits",
        "-s",
        str(size_bytes(own.size)),
        "-D",
        str(own.seconds),
    )
    if used[0].guid is None and own.gid_index is not None:
        argv += ("-x", str(own.gid_index))
    cuda = own.cuda and how.engine == "nccl-tests"
    given = (str(len(used)), server, _words(seat.hca for seat in used), str(own.port))
    argv = ("sh", "-c", POINT_TO_POINT, "sh", *given, _words(str(s.gpu) for s in used) if cuda else "", *argv)
    gpus: Literal["none", "node"] = "node" if cuda else "none"
    own_rails = tuple(seat.rail for seat in used)
    return Task(
        "perftest",
        groups,
        hosts,
        argv,
        len(used),
        own_rails,
        gpus=gpus,
        cards=len(seats[server]),
        ordered=True,
        mpi=False,
    )


def _path(groups: tuple[Group, ...], how: Collectives, seats: Seats, around: Around) -> Task:
    """Flows from a NIC of the first host to that of the second; each rank knows by its number which end it is."""
    first = groups[0]
    rail = first.rails[0] if first.rails else seats[first.hosts[0]][0].rail
    sender, receiver = (_of(seats[host], rail) for host in first.hosts)
    shape = FlowShape(around.flows(first.hosts), around.mtu, how.repeats)
    argv = flow_argv((how.python, "-c", program_text("paths.py")), sender, receiver, shape)
    return Task("path", groups, first.hosts, argv, rails=(rail,), ordered=True, mpi=False)


def _bootstrap() -> tuple[tuple[str, str], ...]:
    """Open MPI by TCP alone: mixes of PMIx and UCX versions are what a validation most often failed by (deepops#942, #1179)."""
    return (("pml", "ob1"), ("btl", "tcp,self,vader"), ("coll", "^hcoll"))


def _split(groups: tuple[Group, ...], rails: tuple[int, ...]) -> list[tuple[str, str]]:
    return [("NCCL_TESTS_SPLIT", f"MOD {len(rails)}")] if len(groups) > 1 else []


def _sizes(how: Collectives) -> tuple[str, ...]:
    sizes = how.of_sizes
    return ("-b", sizes.smallest, "-e", sizes.largest, "-f", str(sizes.factor))


def _times(how: Collectives) -> tuple[str, ...]:
    return ("-n", str(how.iterations), "-w", str(how.warmup))


def _watchdog(how: Collectives) -> int:
    return max(5, min(60, how.limit_s - _MARGIN_S))


def _of(seats: Sequence[Seat], rail: int) -> Seat:
    return next(seat for seat in seats if seat.rail == rail)


def _words(items: Iterable[str]) -> str:
    return " ".join(items)


PROGRAMS = ("mpi_rows.py", "paths.py")
"""Programs of ours that run on hosts."""


@cache
def program_text(name: str) -> str:
    """A program of ours that runs on hosts, as text: it travels as an argument, so that nothing has to be installed but mpi4py."""
    return (Path(__file__).parent / "node" / name).read_text(encoding="utf-8")
