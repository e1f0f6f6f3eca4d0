"""A job that is simulated: ranks that call collectives, sends and receives in their groups until a fault stops them.

A rank's CPU calls ahead of its GPU by at most AHEAD operations. An operation ends when all members of the group have it first in
their queues and called the same. Nothing here knows how the analysis works.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

AHEAD = 6
PROGRAM = (
    ("tp", "_all_gather_base", 512), ("tp", "_reduce_scatter_base", 512), ("ep", "all_to_all", 256), ("tp", "all_reduce", 16),
    ("pp", "transfer", 1024), ("dp", "all_reduce", 2048), ("world", "broadcast", 4),
)  # fmt: skip


@dataclass(frozen=True)
class Team:
    """A process group of the job."""

    name: str
    desc: str
    ranks: tuple[int, ...]


@dataclass
class Op:
    """What one rank called. `seq` counts collectives or transfers of the group; `peer` and `sends` are for transfers."""

    team: Team
    call: str
    numel: int
    seq: int
    dtype: str = "BFloat16"
    peer: int | None = None
    sends: bool = False
    started: bool = False
    shown: bool = False
    born: int = 0

    def key(self) -> tuple[object, ...]:
        """What must agree among the members."""
        return ("transfer", self.seq) if self.peer is not None else (self.call, self.numel, self.dtype, self.seq)


@dataclass
class Rank:
    """One process: what it called, in order, and how its faults show."""

    number: int
    steps: Iterator[tuple[Team, str, int]]
    ops: list[Op] = field(default_factory=list)
    counts: dict[tuple[str, bool], int] = field(default_factory=dict)
    queues: dict[str, deque[Op]] = field(default_factory=dict)
    pending: int = 0  # called and not seen to end
    calls: int = 0  # of collectives
    stopped: bool = False
    blind: bool = False  # its GPU reports no end any more
    idle: bool = False  # its GPU begins nothing any more

    def halted(self) -> bool:
        """Whether its CPU calls nothing any more."""
        return self.stopped


Edit = Callable[[Op], None]


@dataclass
class Job:
    """`tp` x `dp` x `pp` ranks. Faults are put in by `stop`, `blind`, `idle` (rank -> its calls until then) and `edits` ((rank, nth call of
    a collective) -> change of it).
    """

    tp: int = 4
    dp: int = 2
    pp: int = 1
    rounds: int = 12
    program: tuple[tuple[str, str, int], ...] = PROGRAM
    stop: dict[int, int] = field(default_factory=dict)
    blind: dict[int, int] = field(default_factory=dict)
    idle: dict[int, int] = field(default_factory=dict)
    edits: dict[tuple[int, int], Edit] = field(default_factory=dict)
    teams: list[Team] = field(default_factory=list)
    ranks: list[Rank] = field(default_factory=list)

    @property
    def world(self) -> int:
        """How many ranks."""
        return self.tp * self.dp * self.pp

    def run(self) -> Job:
        """Until nothing moves any more."""
        self.teams = list(self._teams())
        self.ranks = [Rank(number, self._steps(number)) for number in range(self.world)]
        while self._call_all() | self._end_all():
            pass
        return self

    def _teams(self) -> Iterator[Team]:
        every = range(self.world)
        yield Team("0", "default_pg", tuple(every))
        stage = self.tp * self.dp
        made: list[tuple[str, Callable[[int], object]]] = [
            ("DATA_PARALLEL", lambda rank: (rank // stage, rank % self.tp)),
            ("TENSOR_PARALLEL", lambda rank: rank // self.tp),
            ("EXPERT_PARALLEL", lambda rank: rank // stage),
            ("PIPELINE_PARALLEL", lambda rank: rank % stage),
        ]
        number = 1
        for desc, key in made:
            for value in dict.fromkeys(map(key, every)):
                yield Team(str(number), desc, tuple(rank for rank in every if key(rank) == value))
                number += 1

    def teams_of(self, rank: int) -> list[Team]:
        """Its groups, in the order in which they were made."""
        return [team for team in self.teams if rank in team.ranks]

    def _steps(self, rank: int) -> Iterator[tuple[Team, str, int]]:
        kinds = {"DATA_PARALLEL": "dp", "TENSOR_PARALLEL": "tp", "EXPERT_PARALLEL": "ep", "PIPELINE_PARALLEL": "pp"}
        mine = {kinds.get(team.desc, "world"): team for team in self.teams_of(rank)}
        for _ in range(self.rounds):
            for kind, call, numel in self.program:
                if len(mine[kind].ranks) > 1:
                    yield mine[kind], call, numel

    def _call_all(self) -> bool:
        moved = [self._call(rank) for rank in self.ranks]
        return any(moved)

    def _call(self, rank: Rank) -> bool:
        if rank.stopped or rank.pending >= AHEAD:
            return False
        for fault, name in ((self.stop, "stopped"), (self.blind, "blind"), (self.idle, "idle")):
            if rank.number in fault and len(rank.ops) >= fault[rank.number]:
                setattr(rank, name, True)
        return not rank.halted() and self._take(rank)

    def _take(self, rank: Rank) -> bool:
        step = next(rank.steps, None)
        if step is None:
            return False
        made = list(self._ops(rank, *step))
        for op in made:
            edit = self.edits.get((rank.number, rank.calls))
            if edit is not None and op.peer is None:
                edit(op)
            op.born = len(rank.ops)
            rank.ops.append(op)
            rank.calls += op.peer is None
            rank.pending += 1
            rank.queues.setdefault(op.team.name, deque()).append(op)
        return True

    def _ops(self, rank: Rank, team: Team, call: str, numel: int) -> Iterator[Op]:
        if call != "transfer":
            yield Op(team, call, numel, self._count(rank, team, p2p=False))
            return
        place = team.ranks.index(rank.number)
        if place > 0:
            yield Op(team, "recv", numel, self._count(rank, team, p2p=True), peer=place - 1)
        if place + 1 < len(team.ranks):
            yield Op(team, "send", numel, self._count(rank, team, p2p=True), peer=place + 1, sends=True)

    def _count(self, rank: Rank, team: Team, *, p2p: bool) -> int:
        rank.counts[team.name, p2p] = rank.counts.get((team.name, p2p), 0) + 1
        return rank.counts[team.name, p2p]

    def _end_all(self) -> bool:
        moved = False
        for team in self.teams:
            heads = {rank: self._head(rank, team) for rank in team.ranks}
            for rank in team.ranks:
                moved |= self._start(rank, heads[rank])
            moved |= (
                self._end_transfers(team, heads)
                if any(op and op.peer is not None for op in heads.values())
                else self._end(heads)
            )
        return moved

    def _head(self, rank: int, team: Team) -> Op | None:
        queue = self.ranks[rank].queues.get(team.name)
        return queue[0] if queue else None

    def _start(self, rank: int, op: Op | None) -> bool:
        if op is None or op.started or self.ranks[rank].idle:
            return False
        op.started = True
        return True

    def _end(self, heads: dict[int, Op | None]) -> bool:
        ops = [op for op in heads.values() if op is not None and op.started]
        if len(ops) < len(heads) or len({op.key() for op in ops}) > 1:
            return False
        for rank, op in heads.items():
            if op is not None:
                self._ended(rank, op, shown=not self.ranks[rank].blind)
        return True

    def _end_transfers(self, team: Team, heads: dict[int, Op | None]) -> bool:
        for rank, op in heads.items():
            if op is None or op.peer is None or not op.started or not op.sends:
                continue
            peer = team.ranks[op.peer]
            other = heads[peer]
            if other is not None and other.started and not other.sends and other.peer == team.ranks.index(rank):
                self._ended(rank, op, shown=True)
                self._ended(peer, other, shown=True)
                return True
        return False

    def _ended(self, rank: int, op: Op, *, shown: bool) -> None:
        self.ranks[rank].queues[op.team.name].popleft()
        op.shown = shown
        self.ranks[rank].pending -= shown
