"""The nouns of this room. Of a dump of thousands of entries only these few numbers are kept, so that 24,576 ranks fit in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Cause = Literal["stopped", "stuck", "mismatch", "no-dump", "not-started", "joint", "most"]
"""`stopped`: never called the collective that others wait in. `stuck`: called it, but its own GPU or NIC did not finish what others did.
`mismatch`: called another collective, size or type. `no-dump`: others wait, and of this rank nothing is known.
`not-started`: it called as all others, but alone did not begin. `joint`: a whole group called and nothing ended; none of it stands out.
`most`: a few ranks wait for most of the others, and it may as well be the few that are wrong."""

KEPT = 8
"""Calls of each group that are kept, from the oldest that has not ended: what stalls is the first of them."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a rank called: `name` without the library (`all_reduce`, `send 0->1`), elements in and out (summed over tensors), types."""

    name: str
    numel_in: int
    numel_out: int
    dtypes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Transfer:
    """A send or receive that has not ended. `me` and `peer` count within the group; `seq` is its P2P sequence number in that group."""

    sends: bool
    me: int
    peer: int
    seq: int


@dataclass(frozen=True, slots=True)
class View:
    """How one rank sees one process group.

    `members` names the membership in `Dumps.members`; 0 when the dump does not say who is in it. `enqueued`, `started` and `completed`
    are the last sequence numbers, None when not known (-1 of the recorder counts as not known for `started`). `calls`: (sequence
    number, call) of at most KEPT collectives, ascending. `transfers`: pending ones. `p2p`: it carried sends or receives.
    `last_p2p`: the highest P2P sequence number among its entries.
    """

    name: str
    desc: str
    members: int
    enqueued: int | None = None
    started: int | None = None
    completed: int | None = None
    calls: tuple[tuple[int, Call], ...] = ()
    transfers: tuple[Transfer, ...] = ()
    p2p: bool = False
    last_p2p: int = 0


@dataclass(frozen=True, slots=True)
class RankDump:
    """What is kept of one rank's dump. `library`: `nccl`, `gloo`, ... or empty when it has no entries.

    `ids`: pg_id by name of the group, `loose`: counters (enqueued, started, completed) whose group the dump itself does not tell, by
    pg_id. `newest_ns`: when its last entry was made.
    """

    rank: int
    source: str
    version: str
    entries: int
    library: str
    views: tuple[View, ...]
    ids: tuple[tuple[str, int], ...] = ()
    loose: tuple[tuple[int, tuple[int | None, int | None, int | None]], ...] = ()
    newest_ns: int = 0


@dataclass(frozen=True, slots=True)
class Unread:
    """A dump that could not be used, and why: a fact about the file, no verdict on the rank."""

    rank: int
    source: str
    reason: str


@dataclass(slots=True)
class Dumps:
    """All ranks of a job. `members`: the ranks of each membership, by its key in `View.members`, ascending."""

    ranks: dict[int, RankDump] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    members: dict[int, tuple[int, ...]] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """One process group over all ranks: `views` of the members with a dump; `absent` are the members without one."""

    name: str
    desc: str
    members: tuple[int, ...]
    views: dict[int, View]
    absent: tuple[int, ...]
    p2p: bool

    @property
    def label(self) -> str:
        """Its description and name, as people know it."""
        return f"{self.desc} ({self.name})" if self.desc and self.desc != self.name else f"group {self.name}"


@dataclass(frozen=True, slots=True)
class Wait:
    """In `group`, `waiters` hang in operation `seq` because `waited` have not called it. `how`: by the counters of collectives, by a
    send or receive without its other half, or by a member without a dump. `sure`: False for what may also have ended at the other side.
    """

    group: str
    seq: int
    waiters: tuple[int, ...]
    waited: tuple[int, ...]
    how: Literal["collective", "transfer", "no-dump"]
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Joint:
    """A group of which every member called operation `seq`, none ended it, and who alone did not begin it (`idle`), where that is known."""

    group: Group
    seq: int
    idle: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Culprit:
    """A rank that is named, or several of equal standing (`ranks`) when the evidence does not tell them apart.

    `waited_by`: how many ranks wait for it, directly or through others. `proven`: False when it is only the best suspect.
    """

    cause: Cause
    ranks: tuple[int, ...]
    group: str
    evidence: tuple[str, ...]
    waited_by: int
    confidence: float
    proven: bool = True


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the dumps say. `world`: how many ranks the job has as far as is known. `missing`: ranks without a usable dump.

    `waits`: only direct ones. `lagging`: groups in which a rank alone did not end what others ended. `notes`: what limits the evidence;
    `limited`: so much that silence proves nothing.
    """

    world: int
    seen: int
    entries: int
    versions: tuple[str, ...]
    missing: tuple[int, ...]
    unread: tuple[Unread, ...]
    groups: int
    stalled: tuple[str, ...]
    culprits: tuple[Culprit, ...]
    waits: tuple[Wait, ...]
    lagging: dict[int, tuple[str, ...]]
    notes: tuple[str, ...]
    limited: bool = False
