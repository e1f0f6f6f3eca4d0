"""Configuration sessions of EOS, from `show configuration sessions detail | json`, in the forms before and from 4.32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric.targets.answer import child, mapping, text
from fabric.targets.device import Pending
from fabric.targets.eos.read_answer import answer_object

PREFIX = "fabric-"
"""Our sessions, checkpoints and files are named PREFIX + token."""


@dataclass(frozen=True, slots=True)
class Session:
    """One session: `state` in EOS's word (pending, completed, ...), `armed` when its commit timer runs."""

    name: str
    state: str
    armed: bool

    @property
    def ours(self) -> bool:
        """Whether the name has our prefix."""
        return self.name.startswith(PREFIX)


def read_sessions(answer: str) -> list[Session]:
    """All sessions. Before 4.32 an armed one says `pendingCommitTimer`; from then on the top level names it."""
    what = "show configuration sessions detail"
    top = answer_object(answer, what)
    timed = text(top, "commitTimerSessionName")
    found = []
    for name, row in child(top, "sessions", what).items():
        state = text(mapping(row, f"{what}: {name}"), "state") or "unknown"
        found.append(Session(name, state, armed=state == "pendingCommitTimer" or name == timed))
    if timed is not None and all(session.name != timed for session in found):
        found.append(Session(timed, "committed", armed=True))
    return found


def leftover(token: str) -> Pending:
    """The file of a change that no session is left of."""
    return Pending(token, armed=False, ours=True, detail=f"file .{PREFIX}{token} left on flash")


def unfinished(sessions: Sequence[Session]) -> list[Pending]:
    """The sessions that are staged or armed; a finished one is history. `token` has no prefix when the session is ours."""
    return [
        Pending(
            token=session.name.removeprefix(PREFIX),
            armed=session.armed,
            ours=session.ours,
            detail=f"session {session.name}: " + ("commit timer armed" if session.armed else session.state),
        )
        for session in sessions
        if session.armed or session.state == "pending"
    ]
