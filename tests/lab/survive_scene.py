"""The scene of tests/lab/test_survive.py: a small lab, the real command line in processes that are stopped or killed at a step of
their journal, and what the switches hold, read past the product: from their disks and from the daemons that imitate them.

A process stops itself when the wanted step is in its journal, so that a fault can be made exactly there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from fabric.cli.main import cli
from fabric.lab import control
from fabric.lab.fboss import client
from fabric.lab.fboss.node import Node
from fabric.lab.state import Lab
from tests.conftest import edited
from tests.lab.survive_start import Started, Starter

ROOT = Path(__file__).resolve().parents[2]
RTSW, CTSW, CTSW2 = "z01-rtsw001", "z01-ctsw01", "z01-ctsw02"
SWITCHES = (RTSW, CTSW, CTSW2)
EOS = frozenset({CTSW, CTSW2})
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "9000": {},
    "8192": {"mtu.ip": 8192, "management.ntp": ["10.0.0.21"]},  # two things on EOS, so that one of them can be kept
    "rack ASN": {"bgp.asn.rtsw": 64610},  # the far ends expect the old one
    "cluster ASN": {"bgp.asn.ctsw": 64710},
}
OLD = frozenset({"not-started", "refused", "failed", "rolled-back", "reverted"})
WELL = frozenset({"done", "unchanged"})
LONG_S = 150.0
"""Most seconds that anything here may take, on a busy machine."""

State = tuple[str, ...]


def poll(what: Callable[[], bool], words: str, timeout: float = LONG_S, every: float = 0.2) -> None:
    """Wait until `what` is true; a failure, with what did not come about, when it never is."""
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, f"not so after {timeout:g} s: {words}"
        time.sleep(every)


def together(work: Callable[[str], object], switches: Sequence[str] = (RTSW, CTSW)) -> None:
    """The same on several switches at once, each with a state folder of its own; the first failure is raised."""
    failures: list[BaseException] = []

    def one(switch: str) -> None:
        try:
            work(switch)
        except BaseException as error:  # raised below
            error.add_note(f"on {switch}")
            failures.append(error)

    threads = [threading.Thread(target=one, args=(switch,)) for switch in switches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@dataclass
class Finished:
    """What a `fabric` process said: `events` are its JSON lines."""

    code: int
    out: str
    err: str

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines() if line.startswith('{"event"')]

    @property
    def ended(self) -> dict[str, dict[str, Any]]:
        """Switch -> its last end."""
        return {event["device"]: event for event in self.events if event["event"] == "ended"}

    def result(self, switch: str) -> str:
        return str(self.ended[switch]["result"]) if switch in self.ended else ""

    def said(self, *words: str) -> None:
        """All of `words` are in what was said."""
        for word in words:
            assert word in self.out + self.err, f"{word!r} is not in: {self}"

    def __str__(self) -> str:
        told = [
            {k: v for k, v in event.items() if v and (k != "detail" or len(v) < 500)}
            for event in self.events
            if event["event"] in ("ended", "note", "run-ended")
        ]
        return f"exit {self.code}, {told}, {self.err[-1500:]}"


@dataclass
class Running:
    """A `fabric` process in the lab; `state` is its state folder."""

    scene: Scene
    state: Path
    process: Started
    texts: list[str] = field(default_factory=lambda: ["", ""])

    def __post_init__(self) -> None:
        self.pid = self.process.pid
        streams = (self.process.stdout, self.process.stderr)
        self._readers = [threading.Thread(target=self._read, args=item, daemon=True) for item in enumerate(streams)]
        for reader in self._readers:
            reader.start()

    def _read(self, index: int, stream: Any) -> None:
        for line in stream:
            self.texts[index] += line

    def stopped(self) -> None:
        """Wait until it has stopped itself where it was told to."""
        end = time.monotonic() + LONG_S
        while Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "T":
            assert self.process.poll() is None, f"it ended before: {self.finish()}"
            assert time.monotonic() < end, "it never came there"
            time.sleep(0.01)

    def signal(self, number: int) -> None:
        """Send a signal to the process."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def go(self) -> None:
        """Let it go on."""
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        self.finish()

    def finish(self, timeout: float = LONG_S) -> Finished:
        """Its end."""
        code = self.process.wait(timeout)
        for reader in self._readers:
            reader.join(10)
        return Finished(code, *self.texts)


class Scene:
    """A running lab of three switches, and their states by variant."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.spec = folder, folder / "cluster.yaml"
        self.old = self.new = ""
        self.states: dict[str, dict[str, State]] = {}
        self.starter: Starter | None = None
        self._showing = threading.Lock()
        """The runner of commands takes this process's standard output."""

    # ------------------------------------------------------------------------------------------------------- the lab

    def boot(self) -> None:
        """Boot the lab and learn what each switch holds in both variants."""
        self.declare("9000")
        words = [word for name in SWITCHES for word in ("--subset", name)]
        self._tool("lab", "up", self.spec, *words, timeout=300)
        lab = Lab.find(self.spec)
        assert lab is not None
        self.lab, self.root = lab, Path(f"/proc/{lab.first_process()}/root")
        text = self._tool("lab", "exec", self.spec, "--", "env", "-0").stdout
        self.env = dict(item.split("=", 1) for item in text.split("\0") if "=" in item)
        enter = ("nsenter", "-t", str(lab.first_process()), "-m", "-n", "-p", "-u", "-i", f"--wd={ROOT}", "--")
        self.starter = Starter(enter, self.env, self.spec)
        for variant in ("8192", "9000"):
            self.declare(variant)
            together(lambda switch: self.apply(self.state(), switch), SWITCHES)
            self.states[variant] = {name: self.holds(name) for name in SWITCHES}
        for name in SWITCHES:
            assert self.states["8192"][name] != self.states["9000"][name]

    def down(self) -> None:
        """End the lab."""
        if self.starter is not None:
            self.starter.close()
        self._tool("lab", "down", self.spec)

    def _tool(self, *words: object, timeout: float = LONG_S) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fabric", *map(str, words)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done

    def ready(self, switches: Sequence[str] = SWITCHES) -> None:
        """No fault is on, these switches hold one variant, and the spec declares the other. What no test of these asks for is left as it is."""
        for name in SWITCHES:
            self.mend(name)
        self.restore()
        now = {name: self._variant(name) for name in switches}
        self.old = max(self.states, key=[*now.values()].count)
        self.new = next(name for name in self.states if name != self.old)
        soiled = [name for name, variant in now.items() if not variant]
        others = [name for name, variant in now.items() if variant != self.old]
        for variant, chosen in (
            (self.new, soiled),
            (self.old, others),
        ):  # nothing is cleared from one that does not change
            self.declare(variant)
            together(lambda switch: self.apply(self.state(), switch), chosen)
        assert [self._variant(name) for name in others] == [self.old] * len(others), others
        self.declare(self.new)

    def _variant(self, switch: str) -> str:
        """What a switch holds when nothing is left on it; "" for anything else."""
        now = self.holds(switch)
        found = next((variant for variant, states in self.states.items() if states[switch] == now), "")
        return "" if self.leftovers(switch) else found

    def declare(self, variant: str) -> None:
        """Write the spec."""
        self.spec.write_text(_declared(variant), encoding="utf-8")

    # -------------------------------------------------------------------------------------------------------- faults

    def fault(self, kind: str, **arguments: Any) -> None:
        """A fault of the lab, as `fabric lab fault` makes it."""
        control.ask(self.lab.folder, "fault", kind=kind, arguments=arguments)

    def restore(self) -> None:
        """Undo all faults of the lab."""
        control.ask(self.lab.folder, "restore", id=None)

    def spoil(self, switch: str, **fault: Any) -> None:
        """A fault of the switch itself."""
        part = self.node(switch) / "faults.part"
        part.write_text(json.dumps(fault), encoding="utf-8")
        part.replace(self.node(switch) / "faults.json")

    def mend(self, switch: str) -> None:
        """End it."""
        (self.node(switch) / "faults.json").unlink(missing_ok=True)

    def on_small_disk(self, folder: Path, size: str) -> None:
        """From now on a folder is a small file system of its own, as the lab sees it, with what was in it."""
        script = 'cp "$1/known_hosts" /run/known_hosts && mount -t tmpfs -o size="$2" small "$1" && cp /run/known_hosts "$1/"'
        self._tool("lab", "exec", self.spec, "--", "sh", "-ec", script, "sh", folder, size)

    def fill(self, folder: Path) -> None:
        """Fill that file system."""
        with contextlib.suppress(OSError), (self.root / str(folder).lstrip("/") / "filler").open("wb", 0) as out:
            while True:
                out.write(bytes(4096))

    def in_switch(self, switch: str, *command: str) -> None:
        """A command in a switch's own shell."""
        self._tool("lab", "exec", self.spec, switch, "--", *command)

    def sessions_are_back(self) -> None:
        """Wait until every BGP session is established, and with them the routes are there."""

        def back() -> bool:
            return not control.ask(self.lab.folder, "converged", nodes=SWITCHES, daemons_only=False)["missing"]

        poll(back, "all BGP sessions are established")

    # ------------------------------------------------------------------------------------------------------ the tool

    def state(self) -> Path:
        """A new state folder with the lab's host keys."""
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix="state-"))
        shutil.copy(self.lab.folder / "fabric" / "known_hosts", folder / "known_hosts")
        return folder

    def start(
        self,
        state: Path,
        *words: object,
        env: Mapping[str, str | None] | None = None,
        stop_at: tuple[str, str] = ("", ""),
    ) -> Running:
        """`fabric WORDS` with a state folder, as a process at the operator's seat.

        It stops itself when `stop_at`, an event of no device or a step of one, is in its journal.
        """
        wanted = {**self.env, "FABRIC_STATE": str(state), **(env or {})}
        given = {key: value for key, value in wanted.items() if value is not None}
        assert self.starter is not None
        return Running(self, state, self.starter.start([*map(str, words)], given, stop_at))

    def run(self, state: Path, *words: object, env: Mapping[str, str | None] | None = None) -> Finished:
        """The same, to its end."""
        return self.start(state, *words, env=env).finish()

    def start_apply(
        self,
        state: Path,
        *switches: str,
        timer: int = 120,
        options: Sequence[object] = (),
        stop_at: tuple[str, str] = ("", ""),
    ) -> Running:
        """`fabric apply` on some of the switches."""
        chosen = [word for name in switches for word in ("--device", name)]
        run = ("--auto-approve", "--json", "--commit-timer", timer, "--gate-timeout", 60)
        return self.start(state, "apply", self.spec, *chosen, *run, *options, stop_at=stop_at)

    def apply(self, state: Path, *switches: str) -> Finished:
        """An apply that must succeed."""
        done = self.start_apply(state, *switches).finish()
        assert done.code == 0, done
        return done

    def again(self, state: Path, verb: str) -> Finished:
        """`fabric runs resume last` or `rollback last`."""
        return self.run(state, "runs", verb, "last", "--spec", self.spec, "--auto-approve", "--json")

    def show(self, state: Path) -> dict[str, Any]:
        """`fabric runs show last --json`, in this process, as it asks no device."""
        words = ("runs", "show", "last", "--spec", str(self.spec), "--state", str(state), "--json")
        with self._showing:
            done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0, done.output
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    # -------------------------------------------------------------------------------------------------- the switches

    def node(self, switch: str) -> Path:
        """The folder of a switch in the lab, outside of the lab's own mounts."""
        return self.lab.node_folder(switch)

    def disk(self, switch: str) -> Path:
        """What is on a switch's disk now."""
        return self.root / str(self.node(switch)).lstrip("/") / "disk"

    def eos(self, switch: str, *commands: str) -> str:
        """What an EOS switch says on its console."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(LONG_S)
            link.connect(str(self.node(switch) / "cli.sock"))
            with link.makefile("rw", encoding="utf-8", errors="surrogateescape") as stream:
                asked: list[dict[str, str]] = [{"user": "admin", "tty": ""}, {"line": "enable"}]
                answers = [_asked(stream, frame) for frame in asked + [{"line": command} for command in commands]]
        said = "\n".join(answers[2:])
        assert not re.search(r"(?m)^% ", said), said
        return said

    def holds(self, switch: str) -> State:
        """EOS: running and startup configuration; FBOSS: the files, and what the agent has loaded. Waits while it boots."""
        if switch not in EOS:
            coop = self.disk(switch) / "coop"
            files = ("agent.conf", "bgpcpp/bgpcpp.conf", "qsfp.conf", "fsdb/current", "led.conf")
            loaded: list[dict[str, Any]] = []
            poll(lambda: self._ask_agent(switch, loaded), f"the agent of {switch} answers")
            return (*((coop / name).read_text() for name in files), json.dumps(loaded[0], sort_keys=True))
        poll(lambda: self._eos_answers(switch), f"{switch} answers")
        running = self.eos(switch, "show running-config")
        return (_plain(running), _plain((self.disk(switch) / "flash" / "startup-config").read_text()))

    def _eos_answers(self, switch: str) -> bool:
        try:
            return "hostname" in self.eos(switch, "show running-config")
        except (OSError, ValueError):  # it boots
            return False

    def _ask_agent(self, switch: str, loaded: list[dict[str, Any]]) -> bool:
        try:
            loaded.append(client.ask(Node(self.node(switch)), {"op": "state"})["conf"])
        except client.ThriftError:
            return False
        return True

    def leftovers(self, switch: str) -> list[str]:
        """What is left of a change of ours: sessions, timers, files. EOS's checkpoints stay on purpose: a rollback restores them."""
        if switch not in EOS:
            timers = (self.node(switch) / "fboss" / "timers").glob("*.json")
            files = [path for path in (self.disk(switch) / "coop").rglob("*fabric*") if ".fabric-" in path.name]
            return [path.name for path in (*timers, *files)]
        sessions = json.loads(self.eos(switch, "show configuration sessions detail | json"))
        found = [name for name, it in sessions["sessions"].items() if _open(name, it, sessions)]
        return found + [path.name for path in (self.disk(switch) / "flash").iterdir() if "fabric-" in path.name]

    def is_at(self, switch: str, variant: str) -> bool:
        """Whether a switch holds exactly a variant."""
        return self.holds(switch) == self.states[variant][switch]

    def is_in_force(self, switch: str, variant: str) -> bool:
        """The same, whatever it would boot: between commit and confirmation EOS has not saved it."""
        first, last = self.holds(switch), self.states[variant][switch]
        return first[0] == last[0] and (switch in EOS or first == last)

    def reverts(self, switch: str) -> None:
        """Wait until the switch has returned to the old state by itself."""
        poll(lambda: self.is_at(switch, self.old), f"{switch} reverts", every=0.5)

    # ------------------------------------------------------------------------------------------------------ the truth

    def require(self, state: str, *switches: str, clean: bool = True) -> None:
        """These switches hold exactly the old or the new state, and nothing of ours is left on them."""
        for name in switches:
            assert self.is_at(name, self.old if state == "old" else self.new), f"{name} does not hold its {state} state"
            assert not clean or self.leftovers(name) == [], name

    def require_true(self, done: Finished, state: Path | None = None) -> None:
        """Every switch that the run is about is either old or new, and the report says which; so does the journal in `state`."""
        back = any(event.get("verb") == "rollback" for event in done.events)
        results = {name: ended["result"] for name, ended in done.ended.items()}
        for name, result in results.items():
            assert result in OLD | WELL, f"{name}: {done}"
            assert self.is_at(name, self.new if result in WELL else self.old), f"{name} is not {result}: {done}"
        well = all(result == "rolled-back" if back else result in WELL for result in results.values())
        assert done.code == (0 if well else 1), done
        if state is not None:
            shown = self.show(state)
            for name, result in results.items():
                assert shown["devices"][name]["result"] == result, (name, shown, str(done))
            whole = well and all(one["result"] in WELL for one in shown["devices"].values())
            assert (shown["status"] == "complete") == whole, shown


@cache
def _declared(variant: str) -> str:
    return yaml.safe_dump(edited("lab", dict(VARIANTS[variant])), sort_keys=False)


def limit_files(pid: int, size: int) -> None:
    """From now on no file of the process can grow beyond `size` bytes: as on a full disk, its writes fail."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@contextlib.contextmanager
def held(processes: Iterable[Running]) -> Iterator[None]:
    """Nothing that was started goes on after the test."""
    try:
        yield
    finally:
        for running in processes:
            running.signal(signal.SIGKILL)


def _asked(stream: Any, frame: Mapping[str, str]) -> str:
    stream.write(json.dumps(frame) + "\n")
    stream.flush()
    return str(json.loads(stream.readline())["text"])


def _plain(text: str) -> str:
    """A configuration without the lines in which EOS says when and by which command it came about."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(("! Command", "! device", "! Startup")))


def _open(name: str, session: Mapping[str, Any], top: Mapping[str, Any]) -> bool:
    armed = session["state"] == "pendingCommitTimer" or top.get("commitTimerSessionName") == name
    return name.startswith("fabric-") and (armed or session["state"] == "pending")
