"""Which rank runs where: each way to say it, and what is said wrong in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.design.seats import load_seating
from fabric.errors import FabricError
from fabric.targets.host.hostlist import expand
from fabric.verify.flight_recorder.place import place_ranks
from fabric.verify.flight_recorder.ranks import Spot, in_folders, read_ranks

HOSTS = {"gt0001", "gt0002", "gt0003"}
SUMMARY = """\
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-30_10:00:00
  host      : gt0002.cluster.example
  rank      : 9 (local_rank: 1)
  exitcode  : -6 (pid: 4242)
"""
AGENT = """\
[INFO] [default] Rendezvous complete for workers. Result:
  restart_count=0
  master_addr=gt0001
  group_rank=1
  local_ranks=[0, 1]
  role_ranks=[8, 9]
  global_ranks=[8, 9]
"""
NCCL = """\
0: gt0001:100:200 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0xabc - Init COMPLETE
1: gt0001:101:201 [1] NCCL INFO ncclCommInitRank comm 0x56 rank 1 nranks 4 cudaDev 1 nvmlDev 1 busId 2b000 commId 0xabc - Init COMPLETE
2: gt0002:102:202 [0] NCCL INFO ncclCommInitRank comm 0x57 rank 2 nranks 4 cudaDev 0 nvmlDev 4 busId 1b000 commId 0xabc - Init COMPLETE
3: gt0002:103:203 [1] NCCL INFO ncclCommInitRank comm 0x58 rank 3 nranks 4 cudaDev 1 nvmlDev 5 busId 2b000 commId 0xabc - Init COMPLETE
"""
Seats = dict[int, tuple[str, int | None]]
FOUR: Seats = {0: ("gt0001", None), 1: ("gt0001", None), 2: ("gt0002", None), 3: ("gt0002", None)}
GOOD: dict[str, tuple[str, Seats]] = {
    "rows": ("rank host gpu\n9 gt0002 1\n# two\n10,gt0003,0\n", {9: ("gt0002", 1), 10: ("gt0003", 0)}),
    "rows without a gpu": ("0 gt0001\n1 gt0001\n2 gt0002\n3 gt0002\n", FOUR),
    "openmpi": ("rank 0=gt0001 slot=3\nrank 1=gt0002 slot=0\n", {0: ("gt0001", 3), 1: ("gt0002", 0)}),
    "json": ('{"0": "gt0001", "3": {"host": "gt0002", "gpu": 7}}', {0: ("gt0001", None), 3: ("gt0002", 7)}),
    "slurm": ("SLURM_JOB_NODELIST=gt[0001-0002]\nSLURM_TASKS_PER_NODE=2(x2)\n", FOUR),
    "slurm, uneven": ("SLURM_NODELIST=gt0001,gt0003\nSLURM_TASKS_PER_NODE=1,1\n", {0: ("gt0001", None), 1: ("gt0003", None)}),
    "slurm, cyclic": (
        "SLURM_NODELIST=gt[0001-0002]\nSLURM_NTASKS=4\nSLURM_DISTRIBUTION=cyclic\n",
        {0: ("gt0001", None), 1: ("gt0002", None), 2: ("gt0001", None), 3: ("gt0002", None)},
    ),
    "scontrol": ("JobId=7 JobName=train\n   NodeList=gt[0001-0002]\n   NumNodes=2 NumCPUs=96 NumTasks=4 CPUs/Task=12\n", FOUR),
    "torchrun's summary": (SUMMARY, {9: ("gt0002.cluster.example", 1)}),
    "torchrun's agent": (SUMMARY + AGENT, {8: ("gt0002.cluster.example", 0), 9: ("gt0002.cluster.example", 1)}),
    "nccl": (NCCL, {0: ("gt0001", 0), 1: ("gt0001", 1), 2: ("gt0002", 4), 3: ("gt0002", 5)}),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_each_form(tmp_path: Path, name: str) -> None:
    text, expected = GOOD[name]
    (tmp_path / "ranks").write_text(text)
    assert {rank: (spot.host, spot.gpu) for rank, spot in read_ranks([tmp_path / "ranks"], HOSTS).items()} == expected


def test_torchrun_logs_named_after_their_hosts(tmp_path: Path) -> None:
    for host, ranks in (("gt0001", "[0, 1]"), ("gt0003", "[2, 3]")):
        (tmp_path / f"train-{host}.log").write_text(AGENT.replace("global_ranks=[8, 9]", f"global_ranks={ranks}"))
    found = read_ranks([tmp_path], HOSTS)
    assert [(spot.host, spot.gpu) for spot in found.values()] == [
        ("gt0001", 0),
        ("gt0001", 1),
        ("gt0003", 0),
        ("gt0003", 1),
    ]


BAD = {
    "row": "9 gt0002 one\n",
    "twice": "1 gt0001 0\n1 gt0002 0\n",
    "nothing": "# none\n",
    "json": '{"0": 5}',
    "json-cut": '{"0": "gt0',
    "slurm-no-list": "SLURM_NTASKS=4\n",
    "slurm-no-tasks": "SLURM_NODELIST=gt[0001-0002]\n",
    "slurm-counts": "SLURM_NODELIST=gt[0001-0002]\nSLURM_TASKS_PER_NODE=2(x3)\n",
    "slurm-form": "SLURM_NODELIST=gt[0001-0002]\nSLURM_TASKS_PER_NODE=two\n",
    "slurm-range": "SLURM_NODELIST=gt[0002-0001]\nSLURM_TASKS_PER_NODE=2(x3)\n",
    "slurm-bomb": "SLURM_NODELIST=g[0-9999]t[0-9999]\nSLURM_NTASKS_PER_NODE=8\n",
    "slurm-escape": "SLURM_NODELIST=g\x1b[2J\nSLURM_NTASKS_PER_NODE=8\n",
    "slurm-arbitrary": "SLURM_NODELIST=gt0001\nSLURM_NTASKS=4\nSLURM_DISTRIBUTION=arbitrary\n",
    "agent-without-host": AGENT,
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, golden: Callable[[str, str], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ranks").write_text(BAD[name])
    with pytest.raises(FabricError) as error:
        read_ranks([Path("ranks")], HOSTS)
    assert "\n" not in str(error.value)
    golden(f"flight-recorder/ranks-{name}.txt", f"{error.value}\n")


def test_two_jobs_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1 gt0001 0\n")
    (tmp_path / "b").write_text("1 gt0002 0\n")
    with pytest.raises(FabricError, match=r"rank 1 is on gt0001 by .*, and on gt0002"):
        read_ranks([tmp_path], HOSTS)
    with pytest.raises(FabricError, match="is no file and no folder"):
        read_ranks([tmp_path / "c"], HOSTS)


def test_lists_of_nodes() -> None:
    assert expand("gt[0001-0003,0007],login1") == ["gt0001", "gt0002", "gt0003", "gt0007", "login1"]
    assert expand("r[1-2]n[01-02]x") == ["r1n01x", "r1n02x", "r2n01x", "r2n02x"]


def test_a_rank_becomes_its_seat() -> None:
    seating = load_seating(Path(__file__).parents[3] / "inventories" / "lab" / "cluster.yaml")
    host = next(iter(seating.by_host))
    spots = {
        0: Spot(f"{host.upper()}.example.com", 3, "x"),
        1: Spot(host, None, "x"),
        2: Spot("elsewhere", None, "x"),
        3: Spot(host, 99, "x"),
    }
    placed = place_ranks(spots, seating)
    assert placed[0].seat == seating.by_host[host][3]
    assert (placed[1].gpu, placed[1].seat) == (1, seating.by_host[host][1])  # the second rank of its host
    assert (placed[2].seat, placed[3].seat) == (None, None)
    assert "which the spec does not have" in placed[2].text


def test_folders_named_after_hosts(tmp_path: Path) -> None:
    files = {rank: tmp_path / ("gt0001" if rank < 2 else "other") / f"dump_{rank}" for rank in range(3)}
    assert {rank: spot.host for rank, spot in in_folders(files, HOSTS).items()} == {0: "gt0001", 1: "gt0001"}
