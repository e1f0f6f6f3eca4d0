"""One wave of hosts, from check mode to its end. Every step is in the journal before it is taken; every host has an end after it.

1. ask: Ansible in check mode, and which reboots are waited for. Nothing to do: `unchanged`, the scheduler never hears of it.
2. look at its health, drain it, wait for its jobs. Jobs that do not end: given back, `refused`.
3. configure: the same playbook for real. Then reboots where they are allowed: some at a time, each configured once more after it.
4. read back: check mode must find nothing. Look at its health: nothing may be worse than before.
5. give back to the scheduler what we had taken, if it is well. A host that is not stays drained.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric.change.clock import Clock
from fabric.change.control import Control, Stream
from fabric.change.events import GOOD, Ended, Note, Result, Step
from fabric.change.gates import summary
from fabric.change.hosts.drain import Drainer
from fabric.change.hosts.health import HostHealth, Look, wait_well
from fabric.change.hosts.held import Held
from fabric.change.hosts.options import HostOptions
from fabric.change.hosts.planning import difference, fingerprint, idle, moved
from fabric.change.hosts.runner import Runner
from fabric.change.hosts.waves import reboot_batches
from fabric.change.hosts.work import HostOutcome, Work
from fabric.change.plan import DevicePlan
from fabric.design.hosts.model import HostPlan
from fabric.errors import FabricError
from fabric.words import counted

DRAIN_POLL_S = 10.0
APPLY = "hosts_apply.yml"
REBOOT = "hosts_reboot.yml"
_SHORT: Mapping[str, tuple[Result, Result]] = {
    "unreachable": ("refused", "lost"),
    "failed": ("failed", "broken"),
    "unknown": ("not-started", "unknown"),
}
"""How a host ends that check mode did not get through: when nothing was sent to it yet, and when an earlier part of the run has changed it."""
_ASKED: Mapping[str, str] = {"unreachable": "it is not reached: ", "failed": "check mode: "}


@dataclass(slots=True)
class WaveRun:
    """Takes waves through. `hosts` are all of the cluster; `planned` what a plan says of them; missing for a host without one."""

    run: str
    hosts: Sequence[HostPlan]
    make: Callable[[str, Sequence[str], bool], Work]
    runner: Runner
    drainer: Drainer
    look: Look
    stream: Stream
    control: Control
    clock: Clock
    options: HostOptions
    planned: Mapping[str, DevicePlan] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    ended: dict[str, Ended] = field(default_factory=dict)

    def wave(self, names: Sequence[str]) -> None:
        """All of it. Whatever cannot be done: each host of the wave has an end afterwards."""
        for name in names:
            self.held.setdefault(name, Held())
        try:
            left = self._drain(self._ask(names))
            if left and not self.control.stopping():
                left = self._configure(left)
                self._finish_all(left)
        except FabricError as error:  # the journal cannot be written any more: no further step
            self.control.halt(error.message)
        self._let_go([name for name in names if name not in self.ended])

    def _ask(self, names: Sequence[str]) -> list[str]:
        """Those that have something to do, or that an earlier part of this run has left in the middle."""
        self._announce("asking", names)
        todo: list[str] = []
        for name, outcome in self._run(APPLY, names, check=True).items():
            held = self.held[name]
            held.reboot = outcome.reboot
            was = self.planned.get(name)
            if outcome.outcome in _SHORT:
                before, after = _SHORT[outcome.outcome]
                detail = f"{_ASKED.get(outcome.outcome, '')}{outcome.detail}"
                if held.configured:
                    self._end(name, after, detail)
                else:
                    self._let_go([name], detail, before)
            elif idle(outcome) and not held.drained and not held.configured:
                self._end(name, "unchanged")
            elif was and was.fingerprint and fingerprint(outcome) != was.fingerprint and not held.drained:
                what = moved(outcome, was.desired)
                self._end(name, "refused", f"it would change in other things than planned, it has moved since: {what}")
            else:
                todo.append(name)
        return todo

    def _drain(self, names: Sequence[str]) -> list[str]:
        if not names or self.control.stopping():
            return []
        seen = self.look(names)
        for name in names:
            held = self.held[name]
            if held.before is None:
                held.before = seen.get(name, HostHealth(unseen="it was not seen"))
            held.drained = (
                True  # in the journal before it is so: whoever goes on gives it back, if it carries our reason
            )
        self._announce("draining", names)
        declared = {host.name for host in self.hosts if host.state == "drained"}
        try:
            ours = self.drainer.drain([name for name in names if name not in declared], self.run)
            for name in names:
                self.held[name].drained = name in ours
            busy = self._wait_idle(names)
        except FabricError as error:
            self.control.halt(f"the scheduler: {error.message}")
            return []
        late = [name for name in names if name in busy]
        if not self.control.stopping():
            self._let_go(late, f"its jobs did not end in {self.options.drain_s:g} s", "refused")
        return [name for name in names if name not in busy]

    def _wait_idle(self, names: Sequence[str]) -> frozenset[str]:
        until = self.clock.now() + self.options.drain_s
        while True:
            busy = self.drainer.busy(names)
            if not busy or self.clock.now() >= until or self.control.stopping():
                return busy
            self.clock.sleep(DRAIN_POLL_S)

    def _configure(self, names: Sequence[str]) -> list[str]:
        """Those on which all of it went well."""
        for name in names:
            self.held[name].configured = True
        self._announce("configuring", names)
        return self._went_well(self._run(APPLY, names, check=False))

    def _went_well(self, outcomes: Mapping[str, HostOutcome]) -> list[str]:
        good: list[str] = []
        for name, outcome in outcomes.items():
            if outcome.outcome in ("unchanged", "changed"):
                self.held[name].reboot = outcome.reboot
                good.append(name)
            elif outcome.outcome == "unreachable":
                self._end(name, "lost", f"it is not reached any more: {outcome.detail}")
            else:
                self._end(name, "unknown" if outcome.outcome == "unknown" else "broken", outcome.detail)
        return good

    def _finish_all(self, names: Sequence[str]) -> None:
        """First those that need no reboot, then batches of the others; a batch that ends badly is the last one."""
        waiting = [name for name in names if self.held[name].reboot]
        if not self.options.allow_reboot:
            self._finish(names)
            return
        self._finish([name for name in names if name not in set(waiting)])
        while waiting:
            batches, refused = reboot_batches(waiting, self.hosts, self._away(), self.options.reboots)
            for name in refused:
                self.held[name].why_not = "the rest of its block is away"
            if self._failures() >= self.options.max_failed or self.control.stopping():
                batches, refused = [], waiting
                for name in waiting:
                    self.held[name].why_not = self.control.reason or f"{counted(self._failures(), 'host')} failed"
            self._finish(refused)
            batch = batches[0] if batches else []
            self._finish(self._reboot(batch))
            waiting = [name for name in waiting if name not in {*batch, *refused}]

    def _reboot(self, names: Sequence[str]) -> list[str]:
        """Those that are back, and configured once more: what could not be done before the reboot."""
        if not names:
            return []
        self._announce("rebooting", names, lambda name: _reasons(self.held[name].reboot))
        back = self._went_well(self._run(REBOOT, names, check=False))
        again = self._went_well(self._run(APPLY, back, check=False)) if back else []
        for name in again:
            if self.held[name].reboot:
                self._end(
                    name, "broken", f"after a reboot it waits for another one: {_reasons(self.held[name].reboot)}"
                )
        return [name for name in again if name not in self.ended]

    def _finish(self, names: Sequence[str]) -> None:
        """Reads back, looks, gives back."""
        if not names:
            return
        self._announce("examining", names)
        remaining = self._run(APPLY, names, check=True)
        left = self._went_well(remaining)
        until = self.clock.now() + self.options.gate_s
        known = {name: was for name in left if (was := self.held[name].before) is not None}
        health = wait_well(self.look, known, left, self.clock, until, self.control.abandoned) if left else {}
        well: list[tuple[str, Result, str]] = []
        for name in left:
            result, detail = self._verdict(name, remaining[name], health[name])
            if result in ("done", "pending"):
                well.append((name, result, detail))
            else:
                self._end(name, result, detail)
        self._give_back(well)

    def _verdict(self, name: str, remaining: HostOutcome, health: HostHealth) -> tuple[Result, str]:
        held = self.held[name]
        if health.problems:
            return "broken", f"unhealthy: {summary(list(health.problems.values()))}"
        if health.unseen:
            return "unknown", f"its health could not be seen: {health.unseen}"
        if remaining.reboot:
            why = held.why_not or "not allowed (--allow-reboot)"
            return "pending", f"waits for a reboot: {_reasons(remaining.reboot)}; {why}"
        if remaining.tasks:
            return "broken", f"applied, but a difference remains: {difference(remaining)}"
        before = held.before.problems if held.before is not None else {}
        return "done", f"unhealthy as before: {summary(list(before.values()))}" if before else ""

    def _give_back(self, ends: Iterable[tuple[str, Result, str]]) -> None:
        rows = list(ends)
        ours = [name for name, _, _ in rows if self.held[name].drained]
        failed = ""
        left_alone: Collection[str] = ()
        if ours:
            self._announce("returning", ours)
            try:
                left_alone = self.drainer.undrain(ours, self.run)
            except FabricError as error:
                failed = error.message
        for name, result, detail in rows:
            if name not in ours:
                self._end(name, result, detail)
            elif failed:
                self._end(name, "broken", f"configured and well, but it stays drained: {failed}")
            else:
                self.held[name].drained = False
                more = "somebody else has drained it, so it stays drained" if name in left_alone else ""
                self._end(name, result, "; ".join(filter(None, (detail, more))))

    def _let_go(self, names: Sequence[str], why: str = "", result: Result = "not-started") -> None:
        """Hosts on which nothing was changed: given back."""
        mine = [name for name in names if self.held[name].drained and not self.held[name].configured]
        stays = ""
        if mine:
            try:
                self.drainer.undrain(mine, self.run)
            except FabricError as error:
                stays = f"; it may still be drained: {error.message}"
        for name in names:
            held = self.held[name]
            if name in mine and not stays:
                held.drained = False
            if held.configured:
                self._end(name, "unknown", "an earlier part of the run has changed it; it was not come to again")
            else:
                self._end(name, result, f"{why or self.control.reason}{stays if name in mine else ''}")

    def _run(self, playbook: str, names: Sequence[str], *, check: bool) -> Mapping[str, HostOutcome]:
        """One run over some hosts; one that could not begin stops everything, and says nothing of a host."""
        if self.control.abandoned():
            return {name: HostOutcome(name, "unknown", "left: nobody waits for it any more") for name in names}
        try:
            return self.runner.run(self.make(playbook, names, check), self._lost)
        except FabricError as error:
            self.control.halt(error.message)
            return {name: HostOutcome(name, "unknown", error.message) for name in names}

    def _lost(self, names: Sequence[str], why: str) -> None:
        self.stream.tell(
            Note(f"{why}: {counted(len(names), 'host')} unknown ({', '.join(names[:3])}{', ...' if names[3:] else ''})")
        )
        for name in names:
            self.stream.tell(
                Step(name, "unknown", why, {"facts": self.held[name].facts()} if name in self.held else {})
            )

    def _announce(self, step: str, names: Sequence[str], detail: Callable[[str], str] = lambda _name: "") -> None:
        for name in names:
            self.stream.announce(Step(name, step, detail(name), {"facts": self.held[name].facts()}))

    def _end(self, name: str, result: Result, detail: str = "") -> None:
        held = self.held[name]
        if held.drained and "drained" not in detail:
            detail += "; it stays drained"
        self.ended[name] = Ended(name, result, detail)
        self.stream.tell(self.ended[name])

    def _failures(self) -> int:
        return sum(ended.result not in GOOD | {"pending", "refused", "not-started"} for ended in self.ended.values())

    def _away(self) -> set[str]:
        """Hosts that this run has left in no good state: they count as away where whole blocks are looked at."""
        return {name for name, ended in self.ended.items() if ended.result in ("broken", "lost", "unknown")}


def _reasons(reboot: Mapping[str, str]) -> str:
    return ", ".join(f"{concern} ({why})" if why else concern for concern, why in reboot.items())
