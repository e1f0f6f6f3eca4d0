"""All stages one after the other: what is fixed, then what the results ask for; then the explanation."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from fabric.verify.collectives.budget import Plan, StagePlan
from fabric.verify.collectives.gates import Expected, Key, findings, least
from fabric.verify.collectives.launch import Launcher
from fabric.verify.collectives.looks import looks
from fabric.verify.collectives.model import NOT_BEGUN, Clue, Measurement, Part, Stage
from fabric.verify.collectives.stages import Group, Round, Seats, rounds
from fabric.verify.collectives.symptoms import symptoms
from fabric.verify.finding import Finding
from fabric.verify.locate import locate, next_round
from fabric.verify.locate.gates import Gate, judge, pooled
from fabric.verify.locate.places import Places
from fabric.words import counted

MOST_FOLLOW_UPS = 16
"""Rounds for suspects after each block of fixed rounds; the plan ends by itself long before (`fabric.verify.locate.plan`)."""
LOOKS_AGAIN = 2
"""With the first, three runs, of which the median is taken (OCI, Azure and Imbue: run each at least three times)."""
_TRUST = 0.25
"""The plan's own estimate weighs as much as this share of it done (our choice)."""
_FIRST: tuple[Stage, ...] = ("node", "pairs", "rails")
_FOLLOWED: tuple[Stage, ...] = ("node", "retest", "rails", "paths", "zones")


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands: `done` of `total` groups of this round are measured. `left_s`: seconds to the end, estimated."""

    stage: Stage
    test: str
    round: int
    done: int
    total: int
    left_s: float


@dataclass(slots=True)
class Results:
    """Everything that was measured and heard, and what it comes to."""

    measurements: list[Measurement] = field(default_factory=list)
    clues: list[Clue] = field(default_factory=list)
    parts: tuple[Part, ...] = ()
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Run:
    """What a run needs. `tests`: by stage. `now`: a clock in seconds; with `until`, no round begins after it. `observe` is told progress.
    `gpus`: whether GPUs and RDMA carried the tests, so that numbers may be held against perftest's.

    `keep` gets each result as it comes, so that nothing is lost when the run is ended.
    """

    places: Places
    seats: Seats
    tests: dict[Stage, tuple[str, ...]]
    launcher: Launcher
    expected: dict[Key, Expected]
    now: Callable[[], float]
    until: float | None = None
    gpus: bool = True
    observe: Callable[[Progress], None] = lambda _: None
    keep: Callable[[Measurement | Clue], None] = lambda _: None


def run(job: Run, plan: Plan) -> Results:
    """Makes the plan, follows suspects up, and explains. FabricError when the launcher cannot start anything."""
    made = _Running(job, plan)
    made.fixed(one for one in plan.stages if one.stage in _FIRST)
    made.follow_up()
    made.look()
    suspected = made.blamed()
    made.fixed(_without(one, suspected, job) for one in plan.stages if one.stage not in _FIRST)
    if any(one.stage not in _FIRST and one.rounds for one in plan.stages):
        made.follow_up()
        made.look()
    made.settle()
    results = made.results
    if job.gpus:
        results.clues += symptoms(results.measurements)
    results.parts = made.parts()
    results.findings = findings(job.places, results.measurements, results.parts, job.expected)
    results.findings += [*made.cut_short(), *_left_out(suspected, plan)]
    return results


class _Running:
    """A run under way."""

    def __init__(self, job: Run, plan: Plan) -> None:
        self.job, self.plan = job, plan
        self.results = Results()
        self.number = 0
        self.began = self.round_began = job.now()
        self.reckoned, self.pace = 0.0, 1.0
        self.open_s = sum(one.seconds for one in plan.stages if not one.rounds)
        self.looked: set[tuple[str, ...]] = set()
        self.skipped: list[tuple[Stage, int]] = []

    def fixed(self, stages: Iterable[StagePlan]) -> None:
        """The rounds of stages, as planned."""
        for one in stages:
            share = one.seconds / max(1, len(one.rounds))
            for groups in one.rounds:
                if self._late():
                    self.skipped.append((one.stage, len(groups)))
                else:
                    self._round(groups)
                    self.reckoned += share

    def follow_up(self) -> None:
        """Rounds for suspects, until there is nothing left to ask."""
        job, wanted = self.job, [stage for stage in _FOLLOWED if stage in self.plan.names]
        if not {"retest", "rails", "paths"} & set(wanted):
            return
        test = next(iter(job.tests.get("pairs", ())), "all_gather")
        for _ in range(MOST_FOLLOW_UPS):
            groups = next_round(
                job.places, self.results.measurements, hosts=list(job.seats), stages=wanted, test=test, expected=least(job.expected)
            )  # fmt: skip
            if not groups:
                return
            if self._late():
                self.skipped.append((groups[0].stage, len(groups)))
                return
            self._round(groups)
            part = self.open_s / 2  # how many rounds there will be, nobody knows
            self.reckoned, self.open_s = self.reckoned + part, self.open_s - part

    def look(self) -> None:
        """Single flows where runs broke off, once for each pair."""
        found = self.results
        groups = (
            looks(found.measurements, found.clues, self.job.seats, self.looked) if "paths" in self.plan.names else ()
        )
        if groups and self._late():
            self.skipped.append(("paths", len(groups)))
        elif groups:
            self.looked.update(group.hosts for group in groups)
            self._round(groups)

    def settle(self) -> None:
        """What only single slow results say, which blame no part, is measured twice more: the median of all then counts."""
        for _ in range(LOOKS_AGAIN):
            groups = self._doubtful()
            if not groups or self._late():
                return
            for disjoint in _disjoint(groups):
                self._round(disjoint)

    def _doubtful(self) -> list[Group]:
        """The groups behind parts that are nobody's fault or undecided."""
        hosts = [set(part.hosts) for part in self.parts() if part.kind in ("path", "undecided")]
        if not hosts:
            return []
        judged, _ = judge(self.job.places, pooled(self.results.measurements), least(self.job.expected), Gate())
        slow = [one.measurement for one in judged if one.verdict == "bad" and one.measurement.values]
        groups = [Group(m.stage, m.test, m.hosts, m.rails) for m in slow]
        return list(dict.fromkeys(group for group in groups if any(some.issuperset(group.hosts) for some in hosts)))

    def _late(self) -> bool:
        return self.job.until is not None and self.job.now() > self.job.until

    def _round(self, groups: Sequence[Group]) -> None:
        """Measures them; those that did not begin in time once more, so that a busy machine leaves no gap in the evidence."""
        begin = len(self.results.measurements)
        self._once(groups)
        late = {
            (m.stage, m.test, m.hosts, m.rails)
            for m in self.results.measurements[begin:]
            if m.state == "unmade" and m.reason.startswith(NOT_BEGUN)
        }
        again = [group for group in groups if (group.stage, group.test, group.hosts, group.rails) in late]
        if again and not self._late():
            self._once(again)

    def _once(self, groups: Sequence[Group]) -> None:
        self.number += 1
        done = 0
        self._reckon()
        self._tell(groups, 0)
        with closing(_generator(self.job.launcher, groups)) as coming:
            for said in coming:
                one = said if isinstance(said, Clue) else replace(said, round=self.number)
                self.job.keep(one)
                if isinstance(one, Clue):
                    self.results.clues.append(one)
                else:
                    self.results.measurements.append(one)
                    done = min(done + 1, len(groups))  # flows of one group are several
                    self._tell(groups, done)

    def _tell(self, groups: Sequence[Group], done: int) -> None:
        self.job.observe(Progress(groups[0].stage, groups[0].test, self.number, done, len(groups), self._left()))

    def _reckon(self) -> None:
        """How much longer than reckoned all takes: the plan's word counts as well, so that one short round does not turn it over."""
        self.round_began = self.job.now()
        plan = max(1.0, self.plan.seconds) * _TRUST
        self.pace = (self.round_began - self.began + plan) / (self.reckoned + plan)

    def _left(self) -> float:
        """Seconds of what is planned and not done, at this pace; less with every second of this round."""
        return max(0.0, (self.plan.seconds - self.reckoned) * self.pace - (self.job.now() - self.round_began))

    def parts(self) -> tuple[Part, ...]:
        """The explanation of all so far."""
        return locate(self.job.places, self.results.measurements, self.results.clues, expected=least(self.job.expected))

    def blamed(self) -> frozenset[str]:
        """Hosts with a fault of their own: in larger groups they would only hide what else there is."""
        own = ("gpu", "nic", "cable", "host")
        return frozenset(
            host for part in self.parts() if part.kind in own and len(part.hosts) == 1 for host in part.hosts
        )

    def cut_short(self) -> list[Finding]:
        """What there was no time for."""
        return [
            Finding(
                f"collectives.{stage}", counted(number, "group"), "unknown", "not measured: the budget was used up", "a result",
                "a larger --budget, or fewer stages",
            )
            for stage, number in self.skipped
        ]  # fmt: skip


def _disjoint(groups: Sequence[Group]) -> list[list[Group]]:
    """The same groups in rounds of one stage each, in which no host has two partners."""
    found: list[list[Group]] = []
    for group in groups:
        for some in found:
            if some[0].stage == group.stage and not any(_meet(group, other) for other in some):
                some.append(group)
                break
        else:
            found.append([group])
    return found


def _meet(one: Group, other: Group) -> bool:
    return one.hosts != other.hosts and not set(one.hosts).isdisjoint(other.hosts)


def _generator(launcher: Launcher, groups: Sequence[Group]) -> Generator[Measurement | Clue, None, None]:
    """One that can be closed, whatever a launcher gives."""
    yield from launcher.run(groups)


def _without(one: StagePlan, suspected: frozenset[str], job: Run) -> StagePlan:
    """A stage without the hosts that have a fault already."""
    if not suspected or not one.rounds:
        return one
    seats = {host: seats for host, seats in job.seats.items() if host not in suspected}
    made: tuple[Round, ...] = rounds(one.stage, job.tests.get(one.stage, ()), seats)
    return StagePlan(one.stage, made, one.seconds)


def _left_out(suspected: frozenset[str], plan: Plan) -> list[Finding]:
    later = [one.stage for one in plan.stages if one.stage in ("groups", "zone", "zones")]
    if not suspected or not later:
        return []
    return [
        Finding(
            f"collectives.{later[0]}", host, "unknown", "left out of larger groups, as it has a fault of its own", "a result",
            "repair it, then measure again", devices=(host,),
        )
        for host in sorted(suspected)
    ]  # fmt: skip
