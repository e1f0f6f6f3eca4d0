"""Hosts that a fake ansible-playbook changes: each is a JSON file `{"has": N, "wants": N, ...}` in a folder, and so is what must go wrong.

Keys of a host: `has` and `wants` (equal: nothing to do); `fail`, `unreachable`: in which kinds of run ("check", "apply", "reboot", "");
`reboot`: it waits for a reboot once it has what it wants; `sticky`: a difference remains; `sick`: problems after the change;
`hang`: seconds that a run takes.
"""

from __future__ import annotations

import json
import stat
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.change.control import Control
from fabric.change.events import Ended, Event
from fabric.change.hosts.drain import NoDrain
from fabric.change.hosts.health import HostHealth
from fabric.change.hosts.operate import HostOperator
from fabric.change.hosts.options import HostOptions
from fabric.change.hosts.runner import LocalRunner, Lost, Runner
from fabric.change.hosts.tally import Tally
from fabric.change.hosts.waves import plan_host_waves
from fabric.change.hosts.work import HostOutcome, Work
from fabric.change.plan import Plan
from fabric.change.waves import Wave
from fabric.design.hosts.model import HostPlan
from tests.change.fake_fleet import FakeClock
from tests.change.hosts import fake_ansible

FAKE = Path(__file__).with_name("fake_ansible.py")
TEXT = "schema: 1\nname: fake\n"


def host(number: int, per_rack: int = 2, state: Any = "deployed") -> HostPlan:
    rack, unit = divmod(number, per_rack)
    return HostPlan(f"h{number:02d}", f"h{number:02d}.example.net", 1, rack + 1, unit, f"rack{rack + 1}", state, ())


def install_fake(folder: Path, env: Any) -> None:
    """A program `ansible-playbook`, and a folder of playbooks that it does not read."""
    program = folder / "ansible-playbook"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I {FAKE} {folder} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    for name in ("hosts_apply.yml", "hosts_reboot.yml"):
        (folder / name).write_text("---\n")
    (folder / "hosts").mkdir(exist_ok=True)
    env.setenv("FABRIC_ANSIBLE_PLAYBOOK", str(program))
    env.setenv("FABRIC_PLAYBOOKS", str(folder))


class Inside:
    """Runs the fake in this process: hundreds of times faster than as a program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, work: Work, _lost: Lost) -> Mapping[str, HostOutcome]:
        kind = "reboot" if work.playbook == "hosts_reboot.yml" else "check" if work.check else "apply"
        fake_ansible.note(self.folder, kind=kind, hosts=work.hosts)
        tally = Tally(work.hosts)
        fake_ansible.perform(self.folder, work.hosts, kind, lambda record: tally.line(json.dumps(record).encode()))
        return tally.outcomes("it was cut off")

    def close(self) -> None:
        pass


@dataclass
class Slurm:
    """A scheduler: who is out, why, and who runs jobs (the number of looks until they end)."""

    out: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    broken: bool = False

    def drain(self, hosts: Sequence[str], run: str) -> frozenset[str]:
        self.calls.append(("drain", tuple(hosts)))
        ours = [name for name in hosts if self.out.get(name, run) == run]
        self.out.update(dict.fromkeys(ours, run))
        return frozenset(ours)

    def busy(self, hosts: Sequence[str]) -> frozenset[str]:
        found = frozenset(name for name in hosts if self.jobs.get(name, 0) > 0)
        for name in found:
            self.jobs[name] -= 1
        return found

    def undrain(self, hosts: Sequence[str], run: str) -> frozenset[str]:
        self.calls.append(("undrain", tuple(hosts)))
        for name in hosts:
            if self.out.get(name) == run:
                del self.out[name]
        return frozenset(name for name in hosts if name in self.out)


@dataclass
class Scene:
    """A cluster of fake hosts, an operator over it, and what it said."""

    folder: Path
    count: int = 6
    per_rack: int = 2
    options: HostOptions = field(default_factory=HostOptions)
    wave_size: int = 4
    canary: str | None = None
    control: Control = field(default_factory=Control)
    slurm: Any = field(default_factory=Slurm)
    events: list[Event] = field(default_factory=list)
    clock: Any = field(default_factory=FakeClock)
    runner: Runner | None = None
    drained: Collection[str] = ()

    def __post_init__(self) -> None:
        (self.folder / "hosts").mkdir(exist_ok=True)
        self.hosts = [
            host(n, self.per_rack, "drained" if f"h{n:02d}" in self.drained else "deployed") for n in range(self.count)
        ]
        for one in self.hosts:
            self.set(one.name, has=1, wants=2)

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.hosts]

    def path(self, name: str) -> Path:
        return self.folder / "hosts" / f"{name}.json"

    def get(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path(name).read_text())
        return found

    def set(self, name: str, **values: Any) -> None:
        old = self.get(name) if self.path(name).exists() else {}
        aside = self.path(name).with_suffix(".set")
        aside.write_text(json.dumps({**old, **values}))
        aside.replace(self.path(name))  # whoever looks meanwhile reads the old or the new

    def runs(self) -> list[dict[str, Any]]:
        """The runs of Ansible that there were: kind and hosts."""
        path = self.folder / "runs.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def look(self, hosts: Sequence[str]) -> Mapping[str, HostHealth]:
        found = {}
        for name in hosts:
            state = self.get(name)
            sick = state.get("ill", []) + (state.get("sick", []) if state["has"] == state["wants"] else [])
            found[name] = HostHealth({key: f"{name}: {key}" for key in sick}, state.get("unseen", ""))
        return found

    def waves(self, names: Collection[str]) -> Sequence[Wave]:
        return plan_host_waves(
            self.hosts, names, wave_size=self.wave_size, canary=self.canary, reboot=self.options.allow_reboot
        )

    def operator(self) -> HostOperator:
        return HostOperator(
            self.hosts, frozenset(self.names), frozenset(), "cluster.yaml", TEXT, "0" * 64, self.folder / "state",
            self.runner or Inside(self.folder), self.slurm or NoDrain(), self.look, self.waves, self.options,
            [self.events.append], self.clock, self.control,
        )  # fmt: skip

    def by_program(self) -> Scene:
        self.runner = LocalRunner(self.control.abandoned)
        return self

    def plan(self) -> Plan:
        return self.operator().plan(self.names)

    def apply(self) -> dict[str, Ended]:
        return self.operator().apply(self.plan())


def until(what: Callable[[], Any], seconds: float = 60) -> Any:
    """What it gives once that is something."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)
    return found


def results(ended: Mapping[str, Ended]) -> dict[str, str]:
    return {name: one.result for name, one in ended.items()}
