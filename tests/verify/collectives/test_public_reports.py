"""The public failure reports of the reference (hosts.md section 4): for each, what the tool says when it sees the symptom.

The lines are written by us in the shapes that the reports show.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from fabric.design.seats import Seating, load_seating
from fabric.verify.collectives.causes import CAUSES, ELSEWHERE, explain
from fabric.verify.collectives.causes import REPORTS as PUBLIC
from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.sniff import read_results, read_text
from fabric.verify.collectives.symptoms import joined, symptoms
from fabric.verify.locate import locate
from tests.verify.collectives import nccl_samples as samples

H1, H2, H3, H4 = "z01-r001-h1", "z01-r001-h2", "z01-r002-h1", "z01-r002-h2"
WARN = f"{H1}:14519:14601 [4] transport/net_ib.cc:1909 NCCL WARN "
INFO = f"{H1}:14519:14601 [4] NCCL INFO "
GIDS = "localGid ::ffff:10.128.0.9 remoteGids::ffff:10.128.0.25 hca mlx5_4"


@pytest.fixture(scope="session")
def lab_seating() -> Seating:
    return load_seating(Path(__file__).resolve().parents[3] / "inventories" / "lab" / "cluster.yaml")


@dataclass(frozen=True)
class Report:
    number: int
    text: str
    kind: str
    where: str
    cause: str
    do: str


def modify_qp(rails: tuple[int, int], host: int) -> str:
    """A QP of host 1's rail to a rail of another host that timed out."""
    here, there = f"::ffff:10.128.0.{1 + 2 * rails[0]}", f"::ffff:10.128.0.{16 * host + 1 + 2 * rails[1]}"
    return (
        f"{H1}:1:2 [{rails[0]}] misc/ibvwrap.cc:309 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev "
        f"mlx5_{rails[0]}:1, curr state INIT, next state RTR, local GID index 3, local GID {here}, remote GID {there}\n"
    )


GOT = "NET/IB : Got completion from peer 10.1.3.201<33057> with "
REPORTS = (
    Report(
        1, f"{WARN}{GOT}status=12 opcode=0 len=0 vendor err 129 (Recv) localGid fe80::4ebb:47ff:fe2e:5fa6 remoteGidsfe80::1 hca mlx5_4",
        "gid-index", f"{H1}:mlx5_4", "not that of the IPv4 RoCE v2 GID", "NCCL_IB_GID_INDEX",
    ),
    Report(2, f"{WARN}NET/IB : mlx5_4:1 GID table changed", "gid-changed", f"{H1}:mlx5_4", "pinned index moved", "do not pin"),
    Report(
        2, f"NCCL version 2.27.3+cuda12.9\n{INFO}NCCL_IB_GID_INDEX set by environment to 3.\n{WARN}{GOT}status=12 {GIDS}",
        "setting", H1, "NCCL chooses it by itself from 2.21", "remove NCCL_IB_GID_INDEX",
    ),
    Report(3, f"{WARN}{GOT}status=IBV_WC_LOC_LEN_ERR(1) opcode=.. {GIDS}", "mtu", "::ffff:10.128.0.9", "the MTU differs", "compare active_mtu"),
    Report(3, f"{WARN}{GOT}status=9 opcode=0 len=0 vendor err 138 (Send) {GIDS}", "mtu", "::ffff:10.128.0.25", "the MTU differs", "every port"),
    Report(4, f"{WARN}{GOT}error 4, opcode 1, len 21938, vendor err 81 (Send) {GIDS}", "acs", "::ffff:10.128.0.9", "ACS is on", "ECAP_ACS"),
    Report(4, f"Nov 30 18:00:00 {H1} kernel: x\n\tACSCtl: SrcValid+ TransBlk-", "acs", "", "ACS is on", "at each boot"),
    Report(
        5, f"{INFO}NET/IB : GPU Direct RDMA Disabled for HCA 4 'mlx5_4' (no module)",
        "gdr-disabled", f"{H1}:mlx5_4", "GPUDirect RDMA is off", "nvidia_peermem",
    ),
    Report(
        5, f"{INFO}Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n{INFO}Channel 01/0 : 8[0] -> 0[0] [receive] via NET/IB/0",
        "gdr-disabled", H1, "GPUDirect RDMA is off", "alike for all NICs",
    ),
    Report(
        6, f"Nov 30 18:00:00 {H1} nv-fabricmanager[9]: fabric manager NVIDIA GPU driver interface version 530.30.02 don't match with driver "
        "version 530.41.03\nNVML: x", "fabric-manager", H1, "must be equal to that of the driver", "fabric manager of exactly",
    ),
    Report(
        6, f"# nThread 1 nGpus 1 \n{H1}: Test CUDA failure common.cu:295 'system not yet initialized'",
        "fabric-manager", H1, "CUDA error 802", "start it",
    ),
    Report(7, f"{WARN}Driver/library version mismatch", "driver-mismatch", H1, "without a reboot", "hold or black-list"),
    Report(8, f"{WARN}NET/IB : mlx5_4:1 Got async event : port error", "port-error", f"{H1}:mlx5_4", "it flaps", "lost carriers"),
    Report(12, "".join(modify_qp((rail, rail ^ 1), 1) for rail in range(7)), "topology", "::ffff:10.128.0.19", "not joined", "CROSS_NIC=0"),
    Report(14, f"{INFO}GPU Direct RDMA Disabled for GPU 42000 / HCA 0 (distance 6 > 4)", "topology", H1, "wrong NUMA", "NCCL_TOPO_FILE"),
    Report(14, f'{INFO}x\n<pci busid="0000:1b:00.0" link_speed="2.5 GT/s PCIe" link_width="1">', "pcie", "", "slower or narrower", "LnkSta"),
    Report(16, f"{INFO}NCCL_P2P_NET_CHUNKSIZE set by environment to 1048576.", "setting", H1, "wrong data and Xid 31", "remove the *_CHUNKSIZE"),
)  # fmt: skip


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: f"{report.number}-{report.kind}")
def test_a_log_that_shows_it_names_the_cause(report: Report, lab_seating: Seating) -> None:
    found = read_text(report.text + "\n", source="job.log", seating=lab_seating).clues
    clue = next(clue for clue in found if clue.kind == report.kind)
    cause = explain(clue)
    assert cause is not None
    assert (clue.kind, clue.where, cause.report) == (report.kind, report.where, report.number)
    assert report.cause in cause.cause and report.do in cause.do


def test_all_sixteen_have_a_place() -> None:
    assert {cause.report for cause in CAUSES} - {0} | set(ELSEWHERE) == set(range(1, 17))
    assert set(PUBLIC) == set(range(1, 17))
    shown = {report.number for report in REPORTS} | {9, 10, 11, 15, 16}
    assert shown | {13} == set(
        range(1, 17)
    )  # 13, a cable in the wrong rail or port, is what `cabling` finds, from LLDP


def pair(hosts: tuple[str, str], speed: float, *, wrong: int = 0) -> Measurement:
    """Two hosts of eight GPUs, as nccl-tests prints it."""
    rows = samples.rows_of("all_gather", 16, [speed * 0.8, speed], wrong=wrong)
    text = "\n".join(samples.text_of("all_gather", hosts, 8, rows)) + "\n"
    (measured,) = read_text(text, source="pair.txt").measurements
    return measured


def nic(hosts: tuple[str, str], rail: int, gbytes: float) -> Measurement:
    return Measurement("rails", "ib_write_bw", hosts, (rail,), 8 << 20, (gbytes,))


WIRE = [nic((H1, H2), rail, 49.0) for rail in range(8)]


def test_8_the_port_that_flaps_is_named_and_the_errors_that_follow_add_no_other(lab_seating: Seating) -> None:
    data = Path(__file__).parent / "data" / "nccl-peer-gone.log"
    parts = locate(lab_seating, [], read_results(data, seating=lab_seating).clues)
    assert [(part.kind, part.name) for part in parts] == [("cable", "z01-rtsw001:eth3/9/1 <-> z01-r001-h2:beth4")]


def test_9_collapsed_between_hosts_is_no_lossless_class() -> None:
    (clue,) = symptoms([*WIRE, pair((H1, H2), 0.4)])
    cause = explain(clue)
    assert cause is not None and (cause.report, clue.where) == (9, "")
    assert "without a lossless class" in cause.cause and "fabric validate qos" in cause.do
    assert symptoms([pair((H1, H2), 0.4)]) == ()  # a lab of slow links: nothing says that more was to be expected
    assert (
        symptoms([Measurement("node", "all_reduce", (h,), values=(470.0,)) for h in (H1, H2)] + [pair((H1, H2), 0.4)])
        != ()
    )


def test_10_a_host_that_is_slow_with_every_partner_is_named(lab_seating: Seating) -> None:
    """88 against 49 GB/s: one host slow with every partner."""
    fast = [pair(hosts, 88.0) for hosts in ((H1, H2), (H1, H3), (H2, H3))]
    slow = [pair((host, H4), 49.0) for host in (H1, H2, H3)]
    parts = locate(lab_seating, [*fast, *slow])
    assert [(part.kind, part.name) for part in parts][:1] == [("host", H4)]
    assert all(part.name == H4 or not part.hosts or H4 in part.hosts for part in parts)


def test_11_a_slow_pair_of_hosts_that_are_fast_with_others_blames_no_host(lab_seating: Seating) -> None:
    """1-2 slow, 1-3 and 2-4 fast."""
    measured = [
        pair((H1, H3), 49.0),
        pair((H1, H2), 88.0),
        pair((H3, H4), 88.0),
        pair((H1, H4), 88.0),
        pair((H2, H3), 88.0),
    ]
    assert not [part for part in locate(lab_seating, measured) if part.kind in ("host", "gpu", "nic", "cable")]


def test_12_one_rail_that_does_not_answer_is_no_matter_of_crossing_rails(lab_seating: Seating) -> None:
    text = modify_qp((0, 1), 1) + modify_qp((2, 1), 1) + modify_qp((4, 1), 1) + modify_qp((1, 1), 1)
    assert {clue.kind for clue in read_text(text, source="x", seating=lab_seating).clues} == {"retry-exceeded"}
    crossing = read_text(modify_qp((0, 1), 1) + modify_qp((2, 3), 1), source="x", seating=lab_seating).clues
    assert {clue.kind for clue in crossing} == {"retry-exceeded"}  # two are too few
    unknown = (Clue("retry-exceeded", "10.9.9.9", "x", "10.9.9.8"),)
    assert joined(unknown, lab_seating) == joined(unknown, None) == unknown


@pytest.mark.parametrize(
    "end",
    [
        "bash: all_gather_perf: command not found",
        "srun: error: Unable to create step for job 7",
        "mpirun was unable to launch the application",
    ],
)
def test_15_what_could_not_run_drains_no_host(end: str, lab_seating: Seating) -> None:
    lines = samples.text_of("all_gather", (H1, H2), 8, samples.rows_of("all_gather", 16, [370.0]))
    made = read_text("\n".join([lines[2], end]) + "\n", source="x").measurements
    assert [measured.state for measured in made] == ["unmade"]
    unmade = [Measurement("pairs", "all_gather", (H1, H2), state="unmade", reason=made[0].reason)]
    assert locate(lab_seating, [*unmade, pair((H3, H4), 370.0)]) == ()


def test_16_good_cables_and_slow_nccl_is_a_setting_and_wrong_data_is_fatal() -> None:
    (clue,) = symptoms([*WIRE, pair((H1, H2), 216.0)])
    cause = explain(clue)
    assert cause is not None and cause.report == 16 and "perftest alone is not enough" in cause.cause
    assert clue.text == f"all_gather between {H1}, {H2} is 216 GB/s; perftest reaches 392 GB/s over the same NICs"
    assert symptoms([*WIRE, pair((H1, H2), 372.0)]) == ()
    assert symptoms([pair((H1, H2), 216.0)]) == ()
    wrong = pair((H1, H2), 372.0, wrong=1)
    assert (wrong.state, wrong.values, wrong.wrong) == ("broken", (), 4)
