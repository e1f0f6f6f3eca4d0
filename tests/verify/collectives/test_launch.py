"""Programs side by side, and what they said as results: hangs, refusals, wrong data, silent ranks, several rails of one run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.design.seats import Seating, load_seating
from fabric.errors import FabricError
from fabric.spec.collectives import Collectives
from fabric.targets.host.scratch import scratch
from fabric.verify.collectives import processes
from fabric.verify.collectives.engines import Around, Task, tasks
from fabric.verify.collectives.job import make_job
from fabric.verify.collectives.launch import CommandLauncher
from fabric.verify.collectives.launch_ansible import AnsibleLauncher
from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.nccl_run import measurement_of
from fabric.verify.collectives.parse_nccl_text import parse_nccl_runs
from fabric.verify.collectives.processes import FOLDER, Command, Ended, Pool
from fabric.verify.collectives.reading import read
from fabric.verify.collectives.stages import Group
from tests.verify.locate.simulate import places_of

LAB = places_of("lab")
PAIR = tuple(LAB.seats)[:2]
GROUP = Group("pairs", "all_gather", PAIR)
HEAD = "# nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=22907\n# Collective test starting: all_gather_perf\n# nThread 1 nGpus 1\n"
STARTS = "".join(f"[1,{rank}]<stderr>:mpi_rows: rank {rank} on h{rank}, pid 1: starts\n" for rank in (0, 1))
NO_MPI4PY = "[1,0]<stderr>:mpi_rows: rank 0 on h0: no mpi4py here (x)\n"
WAITS = "[1,0]<stderr>:mpi_rows: rank 0 on h0 waits at MPI_Init for 60.0 s\n"
COUNT = 1 << 20


def ended(*commands: Command) -> list[Ended]:
    with scratch("test") as held, Pool[int](held) as pool:
        for number, command in enumerate(commands):
            pool.start(number, command)
        found: list[Ended] = []
        while len(pool):
            found += [one for _, one in pool.ended()]
        return found


def test_a_program_with_its_files_and_environment() -> None:
    command = Command(
        ("sh", "-c", f'cat {FOLDER}/list "$PLACE/list"; echo no >&2; exit 3'), 20, {"PLACE": FOLDER}, {"list": "a\n"}
    )
    (one,) = ended(command)
    assert (one.code, one.out, one.err, one.cut) == (3, "a\na\n", "no\n", "")


def test_a_late_one_is_ended_and_what_it_left_is_swept_up(tmp_path: Path) -> None:
    mark = tmp_path / "swept"
    began = time.monotonic()
    (one,) = ended(Command(("sh", "-c", "echo begun; sleep 60"), 8, after_kill=("touch", str(mark))))
    assert (one.code, one.out, one.cut) == (None, "begun\n", "no end after 8 s")
    assert mark.exists()
    assert time.monotonic() - began < 50


def test_leaving_ends_everything(tmp_path: Path) -> None:
    numbers = []
    with scratch("test") as held, Pool[int](held) as pool:
        for key in range(3):
            path = tmp_path / f"pid{key}"
            pool.start(key, Command(("sh", "-c", f"echo $$ >{path}; exec sleep 60"), 60))
            while not (path.exists() and path.read_text()):
                time.sleep(0.01)
            numbers.append(int(path.read_text()))
    for number in numbers:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_a_second_interrupt_kills_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "pid"
    wait = subprocess.Popen.wait
    interrupts = iter([True])

    def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if timeout is not None and next(interrupts, False):
            raise KeyboardInterrupt
        return wait(process, timeout)

    with pytest.raises(KeyboardInterrupt), scratch("test") as held, Pool[int](held) as pool:
        pool.start(0, Command(("sh", "-c", f"trap '' TERM; echo $$ >{mark}; while :; do sleep 60; done"), 600))
        while not (mark.exists() and mark.read_text()):
            time.sleep(0.01)
        monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    assert not alive(int(mark.read_text()))


def test_a_launcher_that_ignores_sigterm_is_killed_after_a_grace_when_its_parent_is(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    stubborn = f"trap '' TERM; echo $$ >{mark}.new; mv {mark}.new {mark}; while :; do sleep 60; done"
    leashed = f"from fabric.targets.host import leash; leash.GRACE_S = 0.1; leash.main([sys.argv[1], '/bin/sh', '-c', {stubborn!r}])"
    start = (
        f"import os, subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import sys; ' + {leashed!r}, str(os.getpid())], "
        "start_new_session=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", start]) as parent:
        while not mark.exists():
            time.sleep(0.01)
        parent.kill()
    pid = int(mark.read_text())
    while alive(pid):
        time.sleep(0.01)  # for ever when it is not killed; the suite's own limit ends it


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie that nobody buries."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_no_such_program() -> None:
    with pytest.raises(FabricError, match="there is no program no-such-launcher on this machine"):
        ended(Command(("no-such-launcher",), 5))


def rows(*rates: float, wrong: int = 0, tag: str = "", devices: str = "", end: bool = True) -> str:
    """What a run of two ranks prints, one row a rate, its sizes growing."""
    text = HEAD + (
        devices or "".join(f"#  Rank  {r} Group  0 Pid  1 on  h{r} device  0 [0000:1b:00] H100\n" for r in (0, 1))
    )
    for number, rate in enumerate(rates):
        count = COUNT << number
        micros = count * 8 / (rate * 2) / 1e3
        half = f"{micros:.2f} {rate * 2:.2f} {rate:.2f} {wrong}"
        text += f"{count * 8} {count} float none -1 {half} {half}\n"
    text += (
        f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}\n# Avg bus bandwidth    : 1\n" if end else ""
    )
    return "".join(f"{tag}{line}\n" for line in text.splitlines())


def task_of(*groups: Group, engine: str = "nccl-tests") -> Task:
    (task,) = tasks(groups or (GROUP,), Collectives.model_validate({"engine": engine}), LAB.seats, Around())
    return task


def results(task: Task, *runs: Ended) -> tuple[list[Measurement], list[Clue]]:
    found = list(read(task, runs, LAB.seating))
    return [m for m in found if isinstance(m, Measurement)], [c for c in found if isinstance(c, Clue)]


def test_the_largest_size_counts_and_repeats_are_kept() -> None:
    (m,), clues = results(task_of(), *(Ended(0, rows(90.0, value)) for value in (340.0, 350.0, 360.0)))
    assert (m.state, m.value, len(m.values), m.size, m.by) == ("ok", 350.0, 3, COUNT * 16, "")
    assert clues == []


def test_rows_without_a_gpu_say_so_also_offline() -> None:
    (run,) = parse_nccl_runs(
        rows(1.0, devices="#  Rank  0 Group  0 Pid  1 on  h0 device  0 [0x00] MPI\n"), source="file"
    )
    assert measurement_of(run, stage="pairs").by == "mpi"


@pytest.mark.parametrize(
    ("one", "state", "reason"),
    [
        (Ended(1, "", "srun: error: Unable to allocate resources: busy\n"), "unmade", "srun: error: Unable to allocate"),
        (Ended(127, "", "sh: 1: exec: all_gather_perf: not found\n"), "unmade", "it ended with status 127: sh: 1: exec"),
        (Ended(None, "", cut="no end after 5 s"), "unmade", "it did not begin: no end after 5 s"),
        (Ended(None, rows(end=False), cut="no end after 5 s"), "broken", "it hung: no end after 5 s"),
        (Ended(0, rows(300.0, wrong=7)), "broken", "14 elements with wrong data"),
        (Ended(1, rows(300.0, end=False)), "broken", "it ended before its last lines"),
        (Ended(1, rows(end=False)), "broken", "it ended before its last lines"),
        (Ended(1, "", STARTS + NO_MPI4PY), "unmade", "it ended with status 1: mpi_rows: rank 0 on h0: no mpi4py"),
        (Ended(75, "", STARTS + WAITS), "broken", "rank 0 on h0 waits at MPI_Init"),
    ],
)  # fmt: skip
def test_what_was_not_made_and_what_broke(one: Ended, state: str, reason: str) -> None:
    (m,), _ = results(task_of(), one)
    assert (m.state, m.values) == (state, ())
    assert m.reason.startswith(reason)


def test_the_rank_that_says_nothing_hangs() -> None:
    task = replace(task_of(engine="mpi"), ranks=1)
    (m,), (clue,) = results(task, Ended(75, "", STARTS + WAITS))
    assert m.state == "broken"
    assert (clue.kind, clue.where, clue.text) == ("hang", PAIR[1], "rank 1 says nothing while 1 rank of 2 wait")


def test_when_all_wait_no_rank_is_named() -> None:
    waits = "".join(f"[1,{r}]<stderr>:mpi_rows: rank {r} on h{r} waits at all_gather for 60.0 s\n" for r in (0, 1))
    assert results(task_of(engine="mpi"), Ended(75, "", STARTS + waits))[1] == []


@pytest.mark.parametrize(("quiet", "named"), [((9,), []), (range(8, 16), [PAIR[1]])], ids=["one rank", "a host"])
def test_in_a_split_run_others_wait_for_a_slow_group(quiet: Sequence[int], named: list[str]) -> None:
    groups = [Group("rails", "all_gather", PAIR, (rail,)) for rail in range(8)]
    waiting = sorted({*range(16)} - {*quiet})
    waits = "".join(f"[1,{r}]<stderr>:mpi_rows: rank {r} on h{r // 8} waits at the end for 30 s\n" for r in waiting)
    _, clues = results(task_of(*groups, engine="mpi"), Ended(75, "", STARTS + waits))
    assert sorted({clue.where for clue in clues}) == named


def test_what_a_launcher_says_of_a_split_run_does_not_break_groups_that_ended() -> None:
    groups = [Group("rails", "all_gather", PAIR, (rail,)) for rail in range(3)]
    devices = "".join(
        f"#  Rank {host * 3 + rail:2} Group {rail} Pid 1 on h{host} device {rail} [0000:1b:00] H100\n"
        for host in (0, 1)
        for rail in range(3)
    )
    text = rows(40.0, tag="0: ", devices=devices)
    for rail in (1, 2):
        text += rows(41.0, tag=f"{rail}: ", end=rail == 2).split("H100\n")[-1]
    text += "mpirun noticed that process rank 1 with PID 7 on node h0 exited on signal 9 (Killed).\n"
    found, _ = results(task_of(*groups), Ended(137, text))
    assert [(m.rails, m.state) for m in found] == [((0,), "ok"), ((1,), "broken"), ((2,), "ok")]


def test_rails_of_one_run_are_told_apart() -> None:
    groups = [Group("rails", "all_gather", PAIR, (rail,)) for rail in range(8)]
    devices = "".join(
        f"#  Rank {host * 8 + rail:2} Group {rail} Pid 1 on h{host} device {rail} [0000:1b:00] H100\n"
        for host in (0, 1)
        for rail in range(8)
    )
    text = rows(40.0, tag="0: ", devices=devices)
    text += "".join(rows(40.0 + rail, tag=f"{rail}: ").split("H100\n")[-1].join(("", "")) for rail in range(1, 8))
    found, _ = results(task_of(*groups), Ended(0, text))
    assert [(m.rails, m.value) for m in found] == [((rail,), 40.0 + rail) for rail in range(8)]


def perftest(rate: float | None, tag: str) -> str:
    lines = [
        "                    RDMA_Write BW Test",
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
    ]
    if rate is not None:
        lines.append(
            f" 8388608    5000             {rate:.2f}             {rate:.2f}              {rate * 1e9 / 8 / 8388608 / 1e6:.6f}"
        )
    return "".join(f"{tag}{line}\n" for line in lines)


def test_ib_write_bw_of_each_rail_is_what_its_caller_said() -> None:
    groups = [Group("rails", "ib_write_bw", PAIR, (rail,)) for rail in (0, 1, 2)]
    said = perftest(10.0, "0: ") + perftest(392.0, "3: ") + perftest(200.0, "4: ")
    found, _ = results(task_of(*groups), Ended(0, said, "5: Couldn't connect to z01-r001-h1:18517\n"))
    assert [(m.rails, m.state, m.value) for m in found] == [
        ((0,), "ok", 49.0),
        ((1,), "ok", 25.0),
        ((2,), "unmade", None),
    ]
    assert "Couldn't connect" in found[2].reason


def test_ib_write_bw_that_hangs_is_broken() -> None:
    (m,), _ = results(
        task_of(Group("rails", "ib_write_bw", PAIR, (0,))), Ended(None, perftest(None, "1: "), cut="no end after 5 s")
    )
    assert (m.state, m.reason) == ("broken", "it hung: no end after 5 s")


def test_a_diagnosis_that_was_not_made() -> None:
    (m,), _ = results(task_of(Group("diag", "dcgm", PAIR[:1])), Ended(127, "", "sh: dcgmi: not found\n"))
    assert (m.stage, m.state, m.reason) == ("diag", "unmade", "sh: dcgmi: not found")


class Printer:
    """A way whose command prints a recorded run."""

    name = "printer"

    def __init__(self, text: str, code: int = 0) -> None:
        self.text, self.code = text, code

    def command(self, _: Task, limit_s: float) -> Command:
        return Command(("sh", "-c", f"cat {FOLDER}/text; exit {self.code}"), limit_s, files={"text": self.text})


@pytest.mark.parametrize(("code", "state", "values"), [(0, "ok", (300.0, 300.0, 300.0)), (2, "ok", (300.0,))])
def test_a_launcher_repeats_until_one_fails(code: int, state: str, values: tuple[float, ...]) -> None:
    how = Collectives(parallel=2, repeats=3)
    launcher = CommandLauncher(how, LAB.seats, Printer(rows(300.0), code), LAB.seating, Around())
    groups = [Group("pairs", "all_gather", tuple(LAB.seats)[place : place + 2]) for place in (0, 2, 4)]
    found = list(launcher.run(groups))
    assert sorted(m.hosts for m in found if isinstance(m, Measurement)) == [group.hosts for group in groups]
    assert {(m.state, m.values) for m in found if isinstance(m, Measurement)} == {(state, values)}


class Torn(Printer):
    """One that fails once as Open MPI does when another run removes its session folder."""

    def __init__(self, text: str, mark: Path) -> None:
        super().__init__(text)
        self.mark = mark

    def command(self, _: Task, limit_s: float) -> Command:
        box = f"{'-' * 74}\\nA call to mkdir was unable to create the desired directory:\\n"
        line = f"[ -e {self.mark} ] && exec cat {FOLDER}/text; touch {self.mark}; printf %b '{box}' >&2; exit 1"
        return Command(("sh", "-c", line), limit_s, files={"text": self.text})


def test_open_mpi_is_started_once_more_when_its_session_folder_vanished(tmp_path: Path) -> None:
    how = Collectives(engine="mpi")
    launcher = CommandLauncher(how, LAB.seats, Torn(rows(300.0), tmp_path / "mark"), LAB.seating, Around())
    (found,) = launcher.run([GROUP])
    assert isinstance(found, Measurement) and found.values == (300.0,)


ANSIBLE = """#!{python}
import json, os, sys
folder = os.environ["ANSIBLE_CALLBACK_TREE_DIR"]
os.makedirs(folder, exist_ok=True)
given = json.loads(sys.argv[sys.argv.index("--extra-vars") + 1])["fabric_expect"]
for host in os.listdir(given):
    runs = json.load(open(os.path.join(given, host)))
    if host != {mute!r}:
        answers = [dict(rc=0, stdout=open({text!r}).read(), stderr="", item=argv) for argv in runs]
        json.dump({{"results": answers}}, open(os.path.join(folder, host), "w"))
"""


def test_ansible_runs_each_group_from_its_first_host(
    tmp_path: Path, spec_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, program = tmp_path / "text", tmp_path / "ansible-playbook"
    text.write_text(rows(300.0))
    program.write_text(ANSIBLE.format(python=sys.executable, text=str(text), mute="z01-r002-h1"))
    program.chmod(0o755)
    monkeypatch.setenv("FABRIC_ANSIBLE_PLAYBOOK", str(program))
    job = make_job(spec_file("lab"), {"launcher": "ansible", "repeats": 2}, ("z01-*",), (), {})
    assert isinstance(job.launcher, AnsibleLauncher)
    (groups,) = job.plan().stages[1].rounds
    found = measured(job.launcher.run(groups))
    assert [(m.hosts[0], m.state, m.values) for m in found] == [
        ("z01-r001-h1", "ok", (300.0, 300.0)),
        ("z01-r002-h1", "unmade", ()),
    ]
    assert found[1].reason == "it ended with status 1: Ansible had no answer"


def measured(found: Iterable[Measurement | Clue]) -> Sequence[Measurement]:
    return [one for one in found if isinstance(one, Measurement)]


LOCAL_AGENT = '#!/bin/sh\nshift\nexec sh -c "$*"\n'
LOCAL_PYTHON = '#!/bin/sh\nexport UCX_NET_DEVICES=lo\nexec {python} "$@"\n'


def two_nics(spec: Path) -> Seating:
    """The seating of hosts with two NICs each: so many ranks, on a machine with few cores."""
    seating = load_seating(spec)
    vars(seating)["by_host"] = {host: seats[:2] for host, seats in seating.by_host.items()}
    return seating


@pytest.mark.lab
def test_real_mpirun_from_the_command_to_the_result(
    tmp_path: Path, spec_file: Callable[..., Path], fabric_cli: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hosts of the spec, played by this machine: an agent in the place of ssh starts Open MPI's own daemons here."""
    if shutil.which("mpirun") is None:
        pytest.skip("Open MPI is not installed")
    for name, script in (("agent", LOCAL_AGENT), ("python", LOCAL_PYTHON.format(python=sys.executable))):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("OMPI_MCA_oob_tcp_if_include", "lo")
    monkeypatch.setattr("fabric.verify.collectives.job.load_seating", two_nics)
    own = {"engine": "mpi", "python": str(tmp_path / "python"), "mpirun": {"rsh_agent": str(tmp_path / "agent")}, "repeats": 2,
           "launcher": "mpirun", "sizes": {"smallest": "64K", "largest": "256K"}, "iterations": 2, "warmup": 1}  # fmt: skip
    spec, kept = spec_file("lab", {"collectives": own}), tmp_path / "results.jsonl"
    chosen = ("--stage", "pairs", "--device", "z01-r001-*", "--limit", "60")
    done = fabric_cli("validate", "collectives", spec, *chosen, "--no-history", "--json", "--results", kept)
    document = json.loads(done.stdout)  # type: ignore[attr-defined]
    assert document["unknown"] == 0, document["findings"]
    (m,) = (json.loads(line)["measurement"] for line in kept.read_text().splitlines()[1:])
    assert (m["state"], len(m["values"]), m["wrong"], m["by"]) == ("ok", 2, 0, "mpi")
    assert m["hosts"] == list(PAIR)


SLURM = """ClusterName=x
SlurmctldHost=localhost
SlurmctldPort=1
AuthType=auth/none
CredType=cred/none
GresTypes=gpu
SelectType=select/cons_tres
MessageTimeout=2
NodeName={hosts} CPUs=64 Gres=gpu:8
PartitionName=burnin Nodes=ALL
"""


@pytest.mark.lab
def test_real_srun_takes_every_command(tmp_path: Path, spec_file: Callable[..., Path]) -> None:
    """As far as to ask a controller, which is not there: srun refuses before that what it does not understand."""
    if shutil.which("srun") is None:
        pytest.skip("Slurm's commands are not installed")
    (tmp_path / "slurm.conf").write_text(SLURM.format(hosts=",".join(LAB.seats)))
    own = {"partition": "burnin", "account": "a", "qos": "q", "reservation": "r", "mpi": "none", "wait_s": 1}
    job = make_job(
        spec_file("lab", {"collectives": {"slurm": own}}),
        {"stages": ("pairs", "rails", "diag")},
        ("z01-r001-*",),
        (),
        {},
    )
    commands = [command for one in job.plan().stages for groups in one.rounds for _, command in job.commands(groups)]
    assert {command.argv[0] for command in commands} == {"srun"}
    env = {"SLURM_CONF": str(tmp_path / "slurm.conf")}
    for one in ended(*(replace(command, limit_s=60, env={**command.env, **env}) for command in commands)):
        assert "Unable to contact slurm controller" in one.err, one


def test_endless_output_is_ended_before_it_fills_the_disk_and_blames_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "FLOOD", 1 << 20)
    (one,) = ended(Command(("yes", WAITS), 60))
    assert (one.code, one.cut, one.seconds < 50) == (None, "ended, as it said more than 1 MiB", True)
    short = replace(one, out="", err=WAITS)
    (task,) = tasks([GROUP], Collectives(), {host: LAB.seats[host] for host in PAIR}, Around())
    (found,) = (m for m in read(task, [short], LAB.seating) if isinstance(m, Measurement))
    assert (found.state, found.reason) == ("unmade", one.cut)
