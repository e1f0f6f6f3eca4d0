"""NCCL's logs: every pattern of the reference, line by line in bounded memory; rank maps; perftest and RAS."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.errors import FabricError
from fabric.verify.collectives import parse_nccl_log as module
from fabric.verify.collectives.causes import BY_NAME, CAUSES, STATUSES, explain
from fabric.verify.collectives.model import Clue
from fabric.verify.collectives.parse_nccl_log import parse_nccl_log
from fabric.verify.collectives.parse_perftest import parse_ib_write_bw, perftest_measurement, perftest_texts
from fabric.verify.collectives.parse_ras import parse_ras
from fabric.verify.collectives.rank_map import ranks_in_log

AT = "gt0001:14519:14601 [4] "
NET = f"{AT}transport/net_ib.cc:1909 NCCL WARN NET/IB : "
HERE, THERE = "::ffff:10.128.0.9", "::ffff:10.128.0.25"
ENDS = f"localGid {HERE} remoteGids{THERE}"


def clues(*lines: str, host: str = "") -> list[Clue]:
    return list(parse_nccl_log(lines, "job.log", host=host))


FORMS = {
    "2.30": f"{NET}Got completion from peer 10.1.3.201<33057> with status={{name}}({{code}}) opcode=.. vendor_err=129 {ENDS} hca mlx5_3",
    "elided": f"{NET}Got completion from peer 10.1.3.201<33057> with status=..({{code}}) opcode=.. vendor_err=129 {ENDS} hca mlx5_3",
    "2.23": f"{NET}Got completion from peer 10.1.3.201<33057> with status={{code}} opcode=0 len=0 vendor err 129 (Send) {ENDS}",
    "error": f"{NET}Got completion from peer 10.1.3.201<33057> with error {{code}}, opcode 0, len 0, vendor err 129 (Recv) {ENDS}",
    "name": f"{NET}Got completion from peer 10.1.3.201<33057> with status={{name}} opcode=.. vendor_err=129 {ENDS} hca mlx5_3",
    "dated": f"[2026-11-30 18:00:00] {NET}Got completion from peer 10.1.3.201<33057> with status={{code}} opcode=0 vendor err 129 {ENDS}",
    "labelled": f"[1,4]<stderr>:{NET}Got completion from peer 10.1.3.201<33057> with status={{code}} opcode=0 vendor err 129 {ENDS}",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", STATUSES)
def test_every_status_in_every_form(code: int, form: str) -> None:
    status = STATUSES[code]
    (clue,) = clues(FORMS[form].format(code=code, name=status.name))
    assert clue.kind == status.kind
    ends = (THERE, HERE) if status.end == "remote" else (HERE, THERE)
    assert (clue.where, clue.peer, clue.source) == (*ends, "job.log:1")
    assert explain(clue) is not None
    assert BY_NAME[status.name] == code


def test_of_flushed_only_the_fact_is_told_and_never_the_cause() -> None:
    flood = [FORMS["2.23"].format(code=5)] * 4000
    first, flushed = clues(FORMS["2.23"].format(code=12), *flood)
    assert (first.kind, first.count, flushed.kind, flushed.count, flushed.source) == (
        "retry-exceeded",
        1,
        "flushed",
        4000,
        "job.log:2",
    )


@pytest.mark.parametrize(
    ("line", "kind", "where", "peer"),
    [
        (f"{NET}Got completion with error 12, opcode 1, len 0, vendor err 129", "retry-exceeded", "gt0001", ""),
        (f"{NET}Got completion from peer 10.1.3.201<1> with error 12, opcode 1 hca mlx5_3", "retry-exceeded", "gt0001:mlx5_3", "10.1.3.201"),
        (f"{NET}Got completion from peer fe80::966d%ib0<33397> with error 4, opcode 32611, len 3, vendor err 81 (Send)", "acs", "gt0001", ""),
        (f"{NET}Got completion with error 4, opcode 1, len 3, vendor err 82", "local-error", "gt0001", ""),
        (f"{NET}Got completion with status=0 opcode=1", "", "", ""),
        (f"{NET}Got completion with status=99 opcode=1", "", "", ""),
        (f"{NET}mlx5_5:1 Got async event : port error", "port-error", "gt0001:mlx5_5", ""),
        (f"{NET}Got async event : port error", "port-error", "gt0001", ""),
        (f"{NET}Got async event : local catastrophic error", "async-event", "gt0001", ""),
        (f"{NET}mlx5_5:1 async fatal event on QP: local access violation work queue error", "async-event", "gt0001:mlx5_5", ""),
        (f"{NET}mlx5_5:1 GID table changed", "gid-changed", "gt0001:mlx5_5", ""),
        (f"{AT}NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1' (no module)", "gdr-disabled", "gt0001:mlx5_1", ""),
        (f"{AT}NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 1 'mlx5_1'", "", "", ""),
        (f"{AT}NCCL INFO GPU Direct RDMA Disabled for GPU 42000 / HCA 0 (distance 6 > 4)", "topology", "gt0001", ""),
        (f"{AT}NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0", "gdr-disabled", "gt0001", ""),
        (f"{AT}NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", "", "", ""),
        (f"{AT}NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_4:1, curr state INIT, next state RTR, "
         f"local GID index 3, local GID {HERE}, remote GID {THERE}", "retry-exceeded", THERE, HERE),
        (f"{AT}NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_4:1, curr state INIT, next state RTR, "
         "local GID index 1, local GID fe80::1, remote GID fe80::2", "gid-index", "gt0001:mlx5_4", ""),
        (f"{AT}NCCL WARN Call to ibv_modify_qp failed with 61 No data available, on dev mlx5_4:1, curr state INIT, next state RTR, "
         "local GID index 3, local GID ::, remote GID ::", "gid-index", "gt0001:mlx5_4", ""),
        (f"{AT}NCCL WARN Call to ibv_modify_qp failed with error Connection timed out", "retry-exceeded", "gt0001", ""),
        (f"{AT}NCCL WARN Call to ibv_modify_qp failed with error Invalid argument", "local-error", "gt0001", ""),
        (f"{AT}NCCL INFO NCCL_P2P_NET_CHUNKSIZE set by environment to 1048576.", "setting", "gt0001", ""),
        (f"{AT}NCCL INFO NCCL_P2P_NET_CHUNKSIZE set by environment to 524288.", "", "", ""),
        (f"{AT}NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.", "", "", ""),
        (f"{AT}NCCL WARN Cuda failure 'an illegal memory access was encountered'", "local-error", "gt0001:gpu4", ""),
        (f"{AT}NCCL WARN Cuda failure 'uncorrectable ECC error encountered'", "ecc", "gt0001:gpu4", ""),
        ("gt0001: Test CUDA failure common.cu:295 'system not yet initialized'", "fabric-manager", "gt0001", ""),
        ("CUDA error 802", "fabric-manager", "", ""),
        ("Failed to initialize NVML: Driver/library version mismatch", "driver-mismatch", "", ""),
        ("Nov 30 18:00:07 gt0001 kernel: NVRM: Xid (PCI:0000:4e:00): 79, pid=1", "xid", "gt0001", ""),
        ("\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+", "acs", "", ""),
        ("\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir-", "", "", ""),
        ('<pci busid="0000:1b:00.0" link_speed="2.5 GT/s PCIe" link_width="1">', "pcie", "", ""),
        ("epoch 3: loss 2.31 NCCL is great", "", "", ""),
    ],
)  # fmt: skip
def test_patterns(line: str, kind: str, where: str, peer: str) -> None:
    assert [(clue.kind, clue.where, clue.peer) for clue in clues(line)] == ([(kind, where, peer)] if kind else [])


def test_what_needs_an_earlier_line() -> None:
    pinned = f"{AT}NCCL INFO NCCL_IB_GID_INDEX set by environment to 3."
    moved = f"{NET}mlx5_5:1 GID table changed"
    assert [clue.kind for clue in clues("NCCL version 2.27.3+cuda12.9", pinned, moved)] == ["gid-changed", "setting"]
    assert [clue.kind for clue in clues("NCCL version 2.19.3+cuda12.3", pinned, moved)] == ["gid-changed"]
    assert not clues("NCCL version 2.27.3+cuda12.9", pinned)  # it works until the index moves
    comm = f"{AT}NCCL INFO ncclCommInitRank comm 0x55 rank 12 nranks 16 cudaDev 0 nvmlDev 6 busId 4e000 commId 0xab - Init START"
    xid = "2026-11-30T18:00:07+00:00 gt0001 kernel: NVRM: Xid (PCI:0000:4e:00): 79, pid=1"
    assert [(clue.kind, clue.where) for clue in clues(comm, xid)] == [("xid", "gt0001:gpu6")]


def test_without_gids_as_on_infiniband_the_bootstrap_address_names_the_peer() -> None:
    lines = [
        "gt9:1:2 [0] NCCL INFO Bootstrap: Using eth0:10.1.3.201<0>",
        "gt8:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.1.3.8<0>",
    ]
    error = f"{NET}Got completion from peer 10.1.3.201<33057> with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_3"
    assert [(clue.kind, clue.where, clue.peer) for clue in clues(*lines, error)] == [
        ("retry-exceeded", "gt9", "gt0001:mlx5_3")
    ]


def test_an_xid_is_of_the_gpu_that_the_spec_has_at_this_address() -> None:
    line = "Nov 30 18:00:07 gt0001 kernel: NVRM: Xid (PCI:0000:4E:00): 79, pid=1"
    found = parse_nccl_log([line], "x", gpu_pci=["0000:1b:00.0", "0000:2c:00.0", "0000:4e:00.0"])
    assert [clue.where for clue in found] == ["gt0001:gpu2"]


def test_one_host_without_gdr_among_its_connections_is_told_with_their_number() -> None:
    channel = "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0"
    lines = [f"gt{n}:1:2 [0] {channel}{'' if n == 2 and k < 3 else '/GDRDMA'}" for n in range(4) for k in range(8)]
    (clue,) = clues(*lines)
    assert (clue.where, clue.count, clue.text) == ("gt2", 3, "3 of 8 connections over NET/IB without GDRDMA")


def test_memory_does_not_grow_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CLUES", 100)

    def endless() -> Iterator[str]:
        for n in range(2_000):
            yield f"gt{n}:1:2 [0] x NCCL WARN NET/IB : mlx5_4:1 Got async event : port error"
            yield f"gt{n}:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0"

    tracemalloc.start()
    found = sum(1 for _ in parse_nccl_log(endless(), "x"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == 2_000 + 100
    assert peak < 1 << 20


HOSTILE = (
    "<script>alert(1)</script>",
    "\x1b[2J\x1b[31m",
    "A" * 100_000,
    "\u202e\u2066",
    "::" * 3000,
    "(" * 5000,
    "a:" * 4000 + "1:1 [0] NCCL",
)


@pytest.mark.parametrize("part", HOSTILE)
def test_what_a_log_says_is_short_printable_and_quick(part: str) -> None:
    for line in (
        f"{NET}Got async event : {part}",
        f"{AT}NCCL WARN {part} illegal memory access",
        part + NET,
        f"{NET}Got completion with error 12 {part} {ENDS}",
    ):
        for clue in clues(line):
            assert len(clue.text) <= 240 and clue.text.isprintable()
            assert len(clue.where) <= 300 and clue.where.isprintable()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                NET,
                AT,
                ENDS,
                "Got completion with status=",
                "12",
                "(5)",
                "Xid (PCI:",
                "GID table changed",
                " ",
                ":",
                "\x00",
                "é",
            ]
        ),
        max_size=8,
    )
)
def test_any_line_is_read(parts: list[str]) -> None:
    for clue in clues("".join(parts)):
        assert explain(clue) is not None


def test_every_kind_of_clue_has_a_cause_without_words() -> None:
    kinds = {cause.kind for cause in CAUSES}
    assert kinds - {cause.kind for cause in CAUSES if not cause.said} == {"setting"}  # settings always say which


COMM = "{host}:1:2 [{dev}] NCCL INFO ncclCommInitRank comm 0x5{rank} rank {rank} nranks {n} cudaDev {dev} nvmlDev {nvml} busId 1b000 commId {id}"


def test_rank_maps_are_of_the_jobs_own_communicator() -> None:
    job = [COMM.format(host=f"gt{r // 2}", dev=0, nvml=r % 2, rank=r, n=4, id="0xaa") for r in (2, 0, 3, 1)]
    groups = [COMM.format(host=f"gt{r // 2}", dev=0, nvml=r % 2, rank=r // 2, n=2, id=f"0xb{r % 2}") for r in range(4)]
    want = {r: (f"gt{r // 2}", r % 2) for r in range(4)}
    assert ranks_in_log(groups + job + groups) == want
    assert ranks_in_log(f"[default{n}]: {line}" for n, line in enumerate(job + job)) == want
    old = "gt5:1:2 [3] NCCL INFO comm 0x7f rank 43 nranks 64 cudaDev 3 busId 1b000 - Init COMPLETE"
    assert ranks_in_log([old]) == {43: ("gt5", 3)}
    newest = "gt5:1:2 [3] NCCL INFO [Rank 43] ncclCommInitRank comm 0x7f rank 43 nranks 64 cudaDev 3 nvmlDev 3 busId 1b000 commId 0x1"
    assert ranks_in_log([newest]) == {43: ("gt5", 3)}
    devices = [
        "#  Rank  0 Group  0 Pid  14519 on  gt0000 device  0 [0000:1b:00] NVIDIA H100",
        "#   Rank  1 Pid 1 on gt0001 device  7 [0x1b] V100",
    ]
    assert ranks_in_log(devices) == {0: ("gt0000", 0), 1: ("gt0001", 7)}


def test_a_rank_in_two_places_is_in_none() -> None:
    lines = [
        COMM.format(host=host, dev=0, nvml=0, rank=rank, n=2, id="0xaa")
        for host, rank in (("a", 0), ("b", 1), ("c", 1))
    ]
    assert ranks_in_log(lines) == {0: ("a", 0)}
    assert ranks_in_log([]) == {}
    assert ranks_in_log(["nothing", AT, "# Rank x"]) == {}


PERFTEST = """                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_3
 #bytes     #iterations    BW peak[{unit}/sec]    BW average[{unit}/sec]   MsgRate[Mpps]
 {row}
---
"""


@pytest.mark.parametrize(
    ("unit", "row", "want"),
    [
        ("Gb", "8388608    5000             392.41             392.36             0.005847", 49.045),
        ("Gb", "65536      5000             0.74               0.48               0.000920", 0.06),
        ("MB", "65536      5000             11025.44           11024.71           0.176395", 11.560),
        ("Gb", "8388608    5000             0.00               392.36             0.005847  3.21", 49.045),
        (
            "Gb",
            "8388608    5000             392.41             39.36              0.005847",
            None,
        ),  # contradicts the message rate
        ("MB", "8388608    5000             392.41             392.36             0.005847", None),
        ("Gb", "8388608    5000             392.41             392.36", None),
        ("Gb", "0          5000             392.41             392.36             0.005847", None),
    ],
)
def test_perftest_in_gigabytes_a_second(unit: str, row: str, want: float | None) -> None:
    run = parse_ib_write_bw(PERFTEST.format(unit=unit, row=row), source="x")
    measured = perftest_measurement((run,), stage="rails", hosts=("a", "b"), rails=(3,))
    assert run.device == "mlx5_3"
    if want is None:
        assert (measured.state, measured.values) == ("broken", ())
    else:
        assert measured.state == "ok" and measured.value == pytest.approx(want, rel=1e-3)


@pytest.mark.parametrize(
    ("end", "state"),
    [
        ("Couldn't connect to gt0001:18515", "unmade"),
        (" IB device mlx5_9 not found", "unmade"),
        (" Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81", "broken"),
        (" Failed to modify QP 1 to RTR", "broken"),
        ("", "unmade"),
    ],
)
def test_perftest_that_never_began_blames_nobody(end: str, state: str) -> None:
    text = PERFTEST.format(unit="Gb", row=end).replace("---", "")
    measured = perftest_measurement((parse_ib_write_bw(text, source="x"),), stage="rails", hosts=("a", "b"))
    assert (measured.state, measured.values) == (state, ())


def test_a_loop_over_nics_is_one_run_each() -> None:
    text = "".join(
        PERFTEST.format(unit="Gb", row=row).replace("mlx5_3", nic)
        for nic, row in (
            ("mlx5_0", "8388608    5000             392.41             392.36             0.005847"),
            ("mlx5_1", "8388608    5000             98.10              98.00              0.001460"),
        )
    )
    runs = [parse_ib_write_bw(part, source="x") for part in perftest_texts(text, source="x")]
    assert [(run.device, round(run.rows[0].average, 2)) for run in runs] == [("mlx5_0", 49.05), ("mlx5_1", 12.25)]
    with pytest.raises(FabricError, match="x: 2 runs of ib_write_bw, not one"):
        parse_ib_write_bw(text, source="x")
    lost = text.replace("RDMA_Write BW Test", "", 1)
    assert parse_ib_write_bw(lost, source="x").rows == ()


@pytest.mark.parametrize("quote", ['"', ""])
def test_perftest_json_quoted_or_not(quote: str) -> None:
    q = quote
    text = (
        f"{{\n{q}test_info{q}: {{\n{q}Device{q}: {q}mlx5_2{q}\n}},\n{q}results{q}: {{\n{q}MsgSize{q}: 8388608,\n"
        f"{q}n_iterations{q}: 5000,\n{q}BW_peak{q}: 392.41,\n{q}BW_average{q}: 392.36,\n{q}MsgRate{q}: 0.005847\n}}\n}}\n"
    )
    run = parse_ib_write_bw(text, source="x")
    assert (run.device, run.state) == ("mlx5_2", "ok")
    assert run.largest is not None and run.largest.average == pytest.approx(49.045)
    for end in range(len(text)):
        try:
            cut = parse_ib_write_bw(text[:end], source="x")
        except FabricError:
            continue
        assert cut.rows in ((), run.rows)


def test_ras_tells_who_does_not_answer_and_nobody_of_a_healthy_job() -> None:
    healthy = "Job summary\n===========\n\nCommunicators... (0.00s)\n\n  0  8  4  1  4  32  RUNNING  OK\n"
    assert parse_ras(healthy, source="x") == ()
    silent = healthy + "Errors\n\nINCOMPLETE\n  Process 7 on node 10.0.0.13 managing GPUs 2,5\n"
    assert [(clue.kind, clue.where) for clue in parse_ras(silent, source="x")] == [
        ("hang", "10.0.0.13:gpu2"),
        ("hang", "10.0.0.13:gpu5"),
    ]
    behind = healthy + "#0-0 (27a0) MISMATCH\n  Rank 0 -- GPU 0 managed by process 4 on node 10.0.0.1\n"
    assert parse_ras(behind, source="x") == ()
    rank = healthy + "#0-0 (cf26) INCOMPLETE\n  Rank 21 -- GPU 0 (NVML 5) managed by process 3 on node 10.0.0.13\n"
    assert [clue.where for clue in parse_ras(rank, source="x")] == ["10.0.0.13:gpu5"]
    for end in range(len(silent)):
        if "Job summary" in silent[:end]:
            assert len(parse_ras(silent[:end], source="x")) in (0, 2)
    with pytest.raises(FabricError, match="x: no output of ncclras"):
        parse_ras("hello", source="x")
