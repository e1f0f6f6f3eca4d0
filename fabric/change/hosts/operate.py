"""Runs on hosts from the outside: apply a plan, resume a run. The lock, the journal and the runs are those of every other change.

There is no `rollback`: a host has no old state of ours to return to. It goes back by applying the spec of an earlier run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from fabric import __version__
from fabric.change.clock import Clock, SystemClock, stamp
from fabric.change.control import Control, Stream
from fabric.change.events import GOOD, Ended, Note, Observer, RunEnded, RunStarted, WaveEnded, WaveStarted
from fabric.change.hosts.drain import Drainer
from fabric.change.hosts.health import Look
from fabric.change.hosts.held import Held
from fabric.change.hosts.options import HostOptions
from fabric.change.hosts.planning import HostPlanner
from fabric.change.hosts.runner import Runner
from fabric.change.hosts.wave_run import WaveRun
from fabric.change.hosts.work import Work
from fabric.change.journal import Journal
from fabric.change.keep import without_secrets
from fabric.change.lock import locked
from fabric.change.plan import DevicePlan, Plan
from fabric.change.pool import Progress
from fabric.change.runs import RunRecord, list_runs, load_run, new_run, open_journal
from fabric.change.waves import Wave
from fabric.design.hosts.model import HostPlan
from fabric.errors import FabricError
from fabric.words import counted

Waves = Callable[[Collection[str]], Sequence[Wave]]
FINE: frozenset[str] = GOOD | {"pending"}
_HARMLESS = ("refused", "not-started")


@dataclass(slots=True)
class HostOperator:
    """Everything that a run on hosts needs. `hosts` are all of the cluster; `names` its names of devices and hosts; `declared` those
    of the spec's secrets. `spec` is the spec's path; `lies_at` another place of it, where its text is not what stands there now.
    """

    hosts: Sequence[HostPlan]
    names: frozenset[str]
    declared: frozenset[str]
    spec: str
    spec_text: str
    spec_sha256: str
    state: Path
    runner: Runner
    drainer: Drainer
    look: Look
    waves: Waves
    options: HostOptions = field(default_factory=HostOptions)
    observers: Sequence[Observer] = ()
    clock: Clock = field(default_factory=SystemClock)
    control: Control = field(default_factory=Control)
    lies_at: str = ""

    def plan(self, names: Sequence[str], *, full: bool = False, progress: Progress | None = None) -> Plan:
        """What would change on these hosts: check mode. Raises FabricError when Ansible cannot begin."""
        planner = HostPlanner(
            self.runner, lambda hosts, check: self.work("hosts_apply.yml", hosts, check), self.names, self.spec,
            self.spec_sha256, full,
        )  # fmt: skip
        made = planner.plan(names, progress, self.control.stopping)
        if self.control.stopping():
            raise FabricError("interrupted: nothing was sent")
        return made

    def apply(self, plan: Plan) -> dict[str, Ended]:
        """Applies the hosts of a plan that change. Raises FabricError before any host is touched: stale plan, lock, disk."""
        self.require_current(plan)
        planned = {device.name: device for device in plan.devices if device.kind == "changed"}
        waves = self.waves(planned.keys())
        with locked(self.state, f"fabric apply --hosts of {self.spec}", stamp(self.clock.now())) as stale:
            run, folder = new_run(self.state, plan, self.clock, without_secrets(self.spec_text, self.declared))
            journal = open_journal(folder, self.clock)
            try:
                engine = self._engine(run, journal, planned)
                return self._go(engine, self._started(run, "apply", list(planned), waves), waves, stale)
            finally:
                journal.close()

    def resume(self, name: str) -> dict[str, Ended]:
        """Goes on with the hosts of a run that are not through: each is asked first, whatever the journal says of it."""
        with locked(self.state, f"fabric resume --hosts of {self.spec}", stamp(self.clock.now())) as stale:
            record = load_run(self.state, name)
            todo = [device for device in record.devices.values() if device.result not in GOOD]
            known = {host.name for host in self.hosts}
            gone = [device.name for device in todo if device.name not in known]
            if gone:
                raise FabricError(f"the spec has no host {gone[0]} any more", hint="apply the spec as it is now")
            journal = open_journal(record.folder, self.clock)
            try:
                engine = self._engine(record.id, journal, {})
                engine.held = {device.name: Held.of(device.facts) for device in todo}
                waves = self.waves({device.name for device in todo})
                started = self._started(record.id, "resume", [device.name for device in todo], waves)
                return self._go(engine, started, waves, stale)
            finally:
                journal.close()

    def require_current(self, plan: Plan) -> None:
        """Refuses a plan of another version, another spec, or not of hosts. Raises FabricError."""
        if plan.tool_version != __version__:
            made = f"the plan was made by fabric {plan.tool_version}, this is {__version__}"
            raise FabricError(made, hint="make a new plan")
        if plan.spec_sha256 != self.spec_sha256:
            raise FabricError("the spec has changed since the plan was made", hint="make a new plan")
        known = {host.name for host in self.hosts}
        for device in plan.devices:
            if device.role != "host" or device.name not in known:
                raise FabricError(
                    f"the plan's {device.name} is no host of the spec", hint="make a new plan, with --hosts"
                )

    def work(self, playbook: str, hosts: Sequence[str], check: bool) -> Work:
        """A run of Ansible over some hosts."""
        options = self.options
        return Work(
            self.spec_text, self.lies_at or self.spec, playbook, tuple(hosts), check, options.forks, options.run_s, options.concern
        )  # fmt: skip

    def _engine(self, run: str, journal: Journal, planned: Mapping[str, DevicePlan]) -> WaveRun:
        stream = Stream(journal, self.observers, self.control)
        return WaveRun(
            run, self.hosts, self.work, self.runner, self.drainer, self.look, stream, self.control, self.clock, self.options,
            planned,
        )  # fmt: skip

    def _started(self, run: str, verb: str, names: Sequence[str], waves: Sequence[Wave]) -> RunStarted:
        return RunStarted(
            run, verb, self.spec, self.spec_sha256, __version__, tuple(names), tuple(w.devices for w in waves), 0,
            kind="hosts", options=asdict(self.options),
        )  # fmt: skip

    def _go(self, engine: WaveRun, started: RunStarted, waves: Sequence[Wave], stale: str) -> dict[str, Ended]:
        stream = engine.stream
        if stale:
            stream.tell(Note(stale))
        stream.tell(started)
        for wave in waves:
            if self.control.stopping():
                break
            stream.tell(WaveStarted(wave.number, wave.title, wave.devices, wave.canary))
            engine.wave(wave.devices)
            stream.tell(WaveEnded(wave.number))
            self._rules(engine, wave)
        for name in started.hosts:
            if name not in engine.ended:
                engine.ended[name] = Ended(name, "not-started", self.control.reason)
                stream.tell(engine.ended[name])
        counts: Counter[str] = Counter(ended.result for ended in engine.ended.values())
        stream.tell(RunEnded(started.run, dict(counts), self.control.reason))
        return engine.ended

    def _rules(self, engine: WaveRun, wave: Wave) -> None:
        canaries = [n for n in wave.devices if wave.canary and engine.ended[n].result not in FINE]
        failed = [n for n, ended in engine.ended.items() if ended.result not in FINE and ended.result not in _HARMLESS]
        if canaries:
            self.control.halt(f"canary {canaries[0]}: {engine.ended[canaries[0]].result}")
        elif len(failed) >= self.options.max_failed:
            self.control.halt(f"{counted(len(failed), 'host')} failed")


def options_of(record: RunRecord, changes: Mapping[str, Any]) -> HostOptions:
    """The options that a run was started with, some of them changed; what this version does not know is left out."""
    known = {f.name for f in fields(HostOptions)}
    kept = {key: value for key, value in record.started.options.items() if key in known}
    return HostOptions(**{**kept, **changes})


def way_back(record: RunRecord, runs: Iterable[RunRecord]) -> FabricError:
    """Why a run on hosts is not rolled back by itself, and which spec brings its hosts back."""
    earlier = [
        r for r in runs if r.of_hosts and r.id < record.id and r.started.spec_sha256 != record.started.spec_sha256
    ]
    message = (
        f"run {record.id} is of hosts, which keep no old state: they go back by applying the spec of an earlier run"
    )
    for run in reversed(earlier):
        if run.spec_text() is not None:
            where = f"fabric apply --hosts {run.folder / 'spec.yaml'} --state {run.folder.parent.parent}"
            return FabricError(message, hint=where)
    return FabricError(message, hint="there is none with a kept spec: take yours from version control")


def earlier_runs(state: Path) -> list[RunRecord]:
    """All runs on a cluster that can be read."""
    return list(list_runs(state))
