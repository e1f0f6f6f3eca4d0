"""nccl-tests' text: every shape gives the same rows; what is cut, mixed or contradicts itself gives none."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.errors import FabricError
from fabric.verify.collectives.nccl_run import NcclRun, busbw_factor, measurement_of
from fabric.verify.collectives.parse_nccl_text import parse_nccl_runs, parse_nccl_text
from tests.verify.collectives import nccl_samples as samples

HOSTS = ("gt0000", "gt0001")
ROWS = samples.rows_of("all_reduce", 16, [301.5, 402.25, 470.1])
SHAPES = ("new", "old", "iter", "stamp", "cpu", "unchecked")
LABELS = {
    "none": "",
    "srun": " 0: ",
    "mpich": "[0] ",
    "ompi": "[1,0]<stdout>:",
    "ompi5": "[prterun-gt0000-17@1,0]<stdout>: ",
    "dated": "2026-11-30T18:00:00.123Z: [1,0]<stdout>:",
    "colour": "\x1b[32m[1,0]<stdout>:\x1b[0m",
}


def sizes_and_speeds(run: NcclRun) -> list[tuple[int, float | None]]:
    return [(row.size, row.busbw) for row in run.rows]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_and_label_gives_the_same_rows(shape: str, label: str) -> None:
    lines = samples.text_of("all_reduce", HOSTS, 8, ROWS, shape=shape)
    run = parse_nccl_text("".join(f"{LABELS[label]}{line}\n" for line in lines), source="out.txt")
    assert sizes_and_speeds(run) == [(row.size, row.oop.busbw) for row in ROWS if row.oop]
    assert (run.complete, run.nranks, run.hosts, run.failures) == (True, 16, HOSTS, ())
    assert run.collective == "all_reduce"  # the old form by its factor
    assert run.wrong == (None if shape in ("old", "unchecked") else 0)
    assert run.version == ("" if shape == "old" else "2.19.6")
    assert {device.bus for device in run.devices} >= {"0x1b" if shape == "old" else "0000:1b:00"}


@pytest.mark.parametrize(
    ("collective", "nranks", "factor"),
    [
        ("all_reduce", 16, 1.875), ("all_reduce", 2, 1.0), ("all_gather", 16, 0.9375), ("reduce_scatter", 8, 0.875),
        ("alltoall", 4, 0.75), ("gather", 4, 0.75), ("scatter", 4, 0.75), ("broadcast", 8, 1.0), ("reduce", 8, 1.0),
        ("sendrecv", 2, 1.0), ("hypercube", 8, 1.0), ("all_reduce", 1, 0.0), ("all_reduce", 0, None), ("unheard_of", 8, None),
    ],
)  # fmt: skip
def test_factors_are_the_documented_ones_and_the_rows_agree(collective: str, nranks: int, factor: float | None) -> None:
    assert busbw_factor(collective, nranks) == factor
    if factor and nranks > 1:
        rows = samples.rows_of(collective, nranks, [12.5, 48.0])
        lines = samples.text_of(collective, [f"gt{n:04d}" for n in range(nranks)], 1, rows)
        run = parse_nccl_text("\n".join(lines) + "\n", source="x")
        assert run.complete and len(run.rows) == 2
        assert run.collective == collective


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("470.10", "47.10"),  # a digit of the bandwidth
        ("250.72", "25.72"),
        ("17130.5", "1713.5"),  # of the time
        ("4294967296 ", "429496729 "),  # of the size
        ("1073741824     float", "107374182     float"),  # of the count
        (" sum ", " s:m "),
        ("  -1  17130.5", "   17130.5"),
    ],
)
def test_a_row_that_lost_a_character_is_no_row(old: str, new: str) -> None:
    text = "\n".join(samples.text_of("all_reduce", HOSTS, 8, ROWS)) + "\n"
    last = text.splitlines()[-5]
    assert last.lstrip().startswith("4294967296") and old in last
    run = parse_nccl_text(text.replace(last, last.replace(old, new, 1)), source="x")
    assert len(run.rows) == 2
    assert not run.complete


@pytest.mark.parametrize(("size", "state", "values"), [(4294967296, "unmade", ()), (1073741824, "ok", (470.1,))])
def test_a_row_lost_on_the_way_blames_nobody_and_only_the_largest_is_missed(
    size: int, state: str, values: tuple[float, ...]
) -> None:
    lines = samples.text_of("all_reduce", HOSTS, 8, ROWS)
    text = (
        "\n".join(line.replace("     0  ", " gt7 ", 1) if line.startswith(f"  {size}") else line for line in lines)
        + "\n"
    )
    run = parse_nccl_text(text, source="x")
    measured = measurement_of(run, stage="pairs")
    assert (run.unreadable, run.ended, measured.state, measured.values) == (1, True, state, values)


@pytest.mark.parametrize("rank", [0, 5, 15])
def test_a_lost_line_of_the_device_list(rank: int) -> None:
    """Without it the hosts are not sure; who started the run knows them."""
    lines = [
        line for line in samples.text_of("all_reduce", HOSTS, 8, ROWS) if not line.startswith(f"#  Rank {rank:2d} ")
    ]
    run = parse_nccl_text("\n".join(lines) + "\n", source="x")
    known = measurement_of(run, stage="pairs", hosts=HOSTS)
    if rank == 5:
        assert (run.listed, run.nranks, known.values) == (False, 0, (470.1,))
        assert measurement_of(run, stage="pairs").state == "unmade"
    else:  # one rank fewer at an end: then bandwidths and times do not agree, and no number is given
        assert (known.state, known.values) == ("unmade", ())


def test_small_bandwidths_come_from_the_time_which_was_printed_more_exactly() -> None:
    row = "    33554432       8388608     float     sum      -1   910842    0.04    0.06       0   910842    0.04    0.06       0"
    lines = samples.text_of("all_reduce", ["h0", "h1", "h2", "h3"], 1, ROWS)
    text = "\n".join([*(line for line in lines if not line.startswith(" ")), row]) + "\n"
    (found,) = parse_nccl_text(text, source="x").rows
    assert found.busbw == pytest.approx(33554432 / 910842 / 1e3 * 1.5)


def test_exponents_and_what_is_not_finite() -> None:
    rows = [
        "           8             2     float     sum      -1  1.0e+03     0.00    0.00     N/A      nan     inf    -nan     N/A",
        "  1073741824     268435456     float     sum      -1   1e+04   107.37  201.33  1e+03   1e+04  107.37  201.33       0",
    ]
    lines = [line for line in samples.text_of("all_reduce", HOSTS, 8, ROWS) if not line.startswith(" ")]
    run = parse_nccl_text("\n".join([*lines, *rows]) + "\n", source="x")
    small, large = run.rows
    assert small.inplace is not None and (small.inplace.time_us, small.inplace.algbw, small.inplace.wrong) == (
        None,
        None,
        None,
    )
    assert large.wrong == 1000
    assert measurement_of(run, stage="pairs").state == "broken"


def split_lines(speeds: dict[int, float]) -> list[str]:
    """Eight groups over two hosts (MOD 8): the first rank of each prints its own row; rank 0 the devices of all."""
    lines = []
    for group, speed in speeds.items():
        rows = samples.rows_of("all_gather", 2, [speed])
        text = samples.text_of("all_gather", HOSTS, 8, rows, split=8, devices=group == 0)
        lines += [f"{group}: {line}" for line in text]
    return lines


def test_groups_that_are_labelled_are_one_run_each_with_their_own_rail() -> None:
    lines = split_lines({group: 48.0 - group for group in range(8)})
    runs = parse_nccl_runs("\n".join(lines) + "\n", source="x")
    measured = [measurement_of(run, stage="rails") for run in runs]
    assert [(m.rails, m.value, m.hosts) for m in measured] == [((g,), 48.0 - g, HOSTS) for g in range(8)]


def test_groups_without_labels_are_not_told_apart() -> None:
    lines = [line.partition(": ")[2] for line in split_lines({0: 48.0, 1: 21.0, 2: 48.0})]
    header = [line for line in lines if not line.startswith("  ")]
    rows = [line for line in lines if line.startswith("  ")]
    (run, *_) = parse_nccl_runs("\n".join([*header[:22], *rows, *header[-4:]]) + "\n", source="x")
    assert (run.groups, run.rows) == (8, ())
    measured = measurement_of(run, stage="rails")
    assert (measured.state, measured.values) == ("unmade", ())
    assert "cannot be told apart" in measured.reason


def test_one_table_of_several_groups_is_of_all_of_them() -> None:
    text = "\n".join(samples.text_of("all_gather", HOSTS, 8, samples.rows_of("all_gather", 2, [44.0]), split=8)) + "\n"
    run = parse_nccl_text(text, source="x")
    assert (run.groups, run.nranks, len(run.devices), run.complete) == (8, 2, 16, True)
    assert measurement_of(run, stage="rails").rails == ()


def test_repeats_stand_one_after_another() -> None:
    parts = [
        samples.text_of("all_reduce", HOSTS, 8, samples.rows_of("all_reduce", 16, [300, speed]))
        for speed in (470, 465, 231)
    ]
    text = "".join(f"{line}\n" for part in parts for line in part)
    runs = parse_nccl_runs(text, source="x")
    assert len(runs) == 3
    measured = measurement_of(runs, stage="pairs")
    assert (measured.values, measured.value, measured.size) == ((470.0, 465.0, 231.0), 465.0, 2 * samples.GIB)
    with pytest.raises(FabricError, match="x: 3 runs of nccl-tests, not one"):
        parse_nccl_text(text, source="x")


def test_the_gate_is_the_largest_size_and_not_the_average() -> None:
    run = parse_nccl_text("\n".join(samples.text_of("all_reduce", HOSTS, 8, ROWS)) + "\n", source="x")
    measured = measurement_of(run, stage="pairs")
    assert measured.value == 470.1
    assert run.average == pytest.approx(391.4, abs=1) and measured.size == ROWS[-1].size


ENDS = {
    "complete": ([], "ok", ""),
    "gt0001: Test NCCL failure common.cu:1051 'remote process exited or there was a network error / '": (
        [],
        "broken",
        "NCCL failure",
    ),
    "gt0001: Test CUDA failure common.cu:295 'an illegal memory access was encountered'": (
        [],
        "broken",
        "CUDA failure",
    ),
    " .. gt0001 pid 14522: Test failure common.cu:447": ([], "broken", "Test failure"),
    "gt0001: Test timeout (600s) common.cu:310": ([], "broken", "timeout"),
    "slurmstepd: error: *** STEP 7.0 ON gt0000 CANCELLED AT 2026-11-30T18:09:00 DUE TO TIME LIMIT ***": (
        [],
        "broken",
        "TIME LIMIT",
    ),
    "Invalid number of GPUs: 8 requested but only 7 were found.": (["rows"], "unmade", "only 7 were found"),
    "bash: all_reduce_perf: command not found": (["rows"], "unmade", "command not found"),
    "": (["rows"], "unmade", "no result"),
}


@pytest.mark.parametrize("end", ENDS)
def test_how_it_ended_says_whether_it_was_broken_or_could_not_be_made(end: str) -> None:
    without, state, reason = ENDS[end]
    lines = samples.text_of("all_reduce", HOSTS, 8, ROWS)
    if without:
        lines = lines[:3]
    elif end != "complete":
        lines = [*lines[:-5], end]
    measured = measurement_of(parse_nccl_text("\n".join([*lines, end]) + "\n", source="x"), stage="pairs")
    assert (measured.state, bool(measured.values)) == (state, state == "ok")
    assert reason in measured.reason


@pytest.mark.parametrize(("wrong", "state"), [(0, "ok"), (3, "broken"), (None, "ok")])
def test_wrong_data_is_fatal_whatever_the_bandwidth(wrong: int | None, state: str) -> None:
    rows = samples.rows_of("all_reduce", 16, [300.0, 470.0], wrong=wrong)
    text = (
        "\n".join(samples.text_of("all_reduce", HOSTS, 8, rows, shape="new" if wrong is not None else "unchecked"))
        + "\n"
    )
    measured = measurement_of(parse_nccl_text(text, source="x"), stage="pairs")
    assert (measured.state, measured.wrong) == (state, None if wrong is None else 4 * wrong)


def test_one_broken_repeat_of_three_is_broken() -> None:
    good = parse_nccl_text("\n".join(samples.text_of("all_reduce", HOSTS, 8, ROWS)) + "\n", source="x")
    cut = parse_nccl_text("\n".join(samples.text_of("all_reduce", HOSTS, 8, ROWS)[:-5]) + "\n", source="x")
    measured = measurement_of((good, cut, good), stage="pairs")
    assert (measured.state, measured.reason) == ("broken", "1 of 3 repeats: it ended before its last lines")
    assert (
        measurement_of((good, cut, good), stage="pairs", whole=False).state == "ok"
    )  # a file may be cut off: that blames nobody
    alone = measurement_of(cut, stage="pairs", whole=False)
    assert (alone.state, alone.reason) == (
        "unmade",
        "it ends before its last lines: cut off, still running, or it hung",
    )
    assert measurement_of((), stage="pairs").state == "unmade"


@pytest.mark.parametrize("shape", ["new", "old", "iter", "stamp"])
def test_cut_at_every_byte_it_is_never_complete_and_never_another_number(shape: str) -> None:
    text = (
        "\n".join(
            samples.text_of("all_reduce", HOSTS, 2, samples.rows_of("all_reduce", 4, [301.5, 402.25]), shape=shape)
        )
        + "\n"
    )
    true = parse_nccl_text(text, source="x")
    bounds = text.index("# Out of bounds")
    for end in range(len(text)):
        for run in parse_nccl_runs(text[:end], source="x"):
            assert sizes_and_speeds(run) == sizes_and_speeds(true)[: len(run.rows)]
            assert run.complete <= (end > bounds + 25)
            assert run.out_of_bounds in (None, true.out_of_bounds) and run.average in (None, true.average)


NOISE = (
    "gt0001:14522:14601 [4] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
    "# Reducing maxBytes to 17179869184 due to memory limitation",
    "17",
    "  1 2 float",
    "slurmstepd: info: something",
)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), shape=st.sampled_from(["new", "iter", "stamp"]), labels=st.booleans())
def test_lines_of_other_ranks_and_logs_between_change_no_number(seed: int, shape: str, labels: bool) -> None:
    """With labels, whole lines of several runs in any order are told apart; without, a noise may break into any line."""
    chance = random.Random(seed)  # noqa: S311 - a test's choice
    speeds = [chance.uniform(1, 480) for _ in range(3)]
    mine = samples.text_of("all_reduce", HOSTS, 8, samples.rows_of("all_reduce", 16, speeds), shape=shape)
    true = parse_nccl_text("\n".join(mine) + "\n", source="x")
    if labels:
        other = samples.text_of("all_reduce", HOSTS, 8, samples.rows_of("all_reduce", 16, speeds[::-1]), shape=shape)
        streams = [[f"0: {line}" for line in mine], [f"9: {line}" for line in other], [f"3: {line}" for line in NOISE]]
        mixed = []
        while any(streams):
            mixed.append(chance.choice([stream for stream in streams if stream]).pop(0))
        runs = [run for run in parse_nccl_runs("\n".join(mixed) + "\n", source="x") if run.rows]
        assert sorted(map(sizes_and_speeds, runs), key=str) == sorted(
            [sizes_and_speeds(true), sizes_and_speeds(parse_nccl_text("\n".join(other) + "\n", source="x"))], key=str
        )
        return
    text = "\n".join(mine) + "\n"
    at = chance.randrange(len(text))
    noise = chance.choice(NOISE) + chance.choice(("", "\n"))
    for run in parse_nccl_runs(text[:at] + noise + text[at:], source="x"):
        known = dict(sizes_and_speeds(true))
        for size, speed in sizes_and_speeds(run):
            assert speed is not None and math.isclose(known[size] or 0.0, speed, rel_tol=0.004)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    for run in parse_nccl_runs(f"# nThread 1 nGpus 1 \n{text}\n{text}", source="x"):
        assert not run.complete


def test_a_hostile_number_of_failures_is_bounded() -> None:
    lines = [f"gt{n:04d}: Test NCCL failure common.cu:1 'x{n}'" for n in range(3000)]
    run = parse_nccl_text("\n".join([*samples.text_of("all_reduce", HOSTS, 8, ROWS)[:-5], *lines]) + "\n", source="x")
    assert len(run.failures) <= 200
