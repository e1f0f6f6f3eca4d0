"""Configuration sessions, the commit timer and checkpoints: what stands between an operator's lines and the running-config."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fabric.lab.eos.tree import Node

MAX_SAVED = 1
MAX_CHECKPOINTS = 20
"""Completed sessions and automatic checkpoints that EOS keeps (recorded `maxSavedSessions`; operators' notes)."""


class SessionError(Exception):
    """EOS does not do it; `str()` is what it says."""


@dataclass(slots=True)
class Session:
    """One configuration session. `state` is "pending", "armed" or "completed"; `users` are the open CLIs in it."""

    name: str
    tree: Node
    description: str = ""
    state: str = "pending"
    completed: float = 0.0
    user: str = ""
    users: dict[int, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Armed:
    """A commit that is undone at `deadline` (clock seconds) unless confirmed."""

    name: str
    deadline: float
    before: Node


@dataclass(slots=True)
class Checkpoint:
    """A saved running-config."""

    name: str
    taken: float
    user: str
    tree: Node


class Sessions:
    """The running-config and everything that may replace it.

    `changed(tree)` is called after each change of the running-config, `log(message)` for the system log; `clock` gives seconds
    since 1970.
    """

    def __init__(
        self,
        running: Node,
        changed: Callable[[Node], None],
        log: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.running = running
        self.by_name: dict[str, Session] = {}
        self.armed: Armed | None = None
        self.checkpoints: dict[str, Checkpoint] = {}
        self._changed, self._log, self.clock = changed, log, clock

    @property
    def limit(self) -> int:
        """How many sessions may be pending: 5, or what the configuration says."""
        return int(self.running.value("service", "configuration", "session", "max", "pending") or 5)

    def open(self, name: str, description: str = "") -> Session:
        """`configure session NAME`: go on with a pending session, or make one as a copy of the running-config."""
        session = self.by_name.get(name)
        if session is not None and session.state == "pending":
            session.description = description or session.description
            return session
        if session is not None and session.state == "armed":
            raise SessionError(f"% Cannot open session {name}: its commit timer is pending")
        if sum(one.state == "pending" for one in self.by_name.values()) >= self.limit:
            raise SessionError("% Maximum number of pending sessions has been reached")
        session = self.by_name[name] = Session(name, self.running.clone(), description)
        return session

    def abort(self, name: str) -> None:
        """Forget a session; an armed one is undone at once."""
        if self.armed is not None and self.armed.name == name:
            self._revert()
        elif self.by_name.pop(name, None) is None:
            raise SessionError(f"% Session {name} does not exist")
        else:
            self._log(f"%SYS-5-CONFIG_SESSION_ABORTED: session {name} aborted")

    def commit(self, name: str, user: str, timer_s: float | None = None) -> None:
        """Put a session in force, for good or until the timer ends; on an armed one: confirm it, or start its timer anew."""
        session = self.by_name.get(name)
        if session is None or session.state == "completed":
            raise SessionError(f"% Session {name} does not exist")
        if self.armed is not None and self.armed.name != name:
            raise SessionError(f"% Cannot commit session {name}: session {self.armed.name} has a pending commit timer")
        before = self.armed.before if self.armed else self.running
        if self.armed is None:
            self.save_checkpoint(self._automatic_name(), user)
            self._replace(session.tree.clone())
        session.completed, session.user = self.clock(), user
        if timer_s is None:
            self.armed = None
            session.state = "completed"
            self._log(f"%SYS-5-CONFIG_SESSION_COMMIT_SUCCESS: session {name} committed by {user}")
            self._drop_old(name)
        else:
            self.armed = Armed(name, self.clock() + timer_s, before)
            session.state = "armed"
            self._log(f"%SYS-5-CONFIG_SESSION_COMMIT_TIMER_STARTED: session {name}, {timer_s:g} s")

    def tick(self) -> float | None:
        """Undo what has run out; returns the seconds to the next deadline, None when nothing is armed."""
        if self.armed is None:
            return None
        left = self.armed.deadline - self.clock()
        if left > 0:
            return left
        self._revert()
        return None

    def replace(self, tree: Node, user: str) -> None:
        """`configure replace`, `configure checkpoint restore`: at once, without a timer."""
        if self.armed is not None:
            raise SessionError(f"% Cannot commit: session {self.armed.name} has a pending commit timer")
        self.save_checkpoint(self._automatic_name(), user)
        self._replace(tree)

    def edited(self) -> None:
        """The running-config was changed in place (`configure terminal`)."""
        self._changed(self.running)

    def save_checkpoint(self, name: str, user: str) -> None:
        """Keep the running-config under `name`; automatic ones push out the oldest of their kind."""
        self.checkpoints[name] = Checkpoint(name, self.clock(), user, self.running.clone())
        own = [one for one in self.checkpoints if one.startswith("ckp-")]
        for old in own[:-MAX_CHECKPOINTS]:
            del self.checkpoints[old]

    def _automatic_name(self) -> str:
        day = time.strftime("%Y%m%d", time.gmtime(self.clock()))
        numbers = [int(name.rpartition("-")[2]) for name in self.checkpoints if name.startswith(f"ckp-{day}-")]
        return f"ckp-{day}-{max(numbers, default=-1) + 1}"

    def _replace(self, tree: Node) -> None:
        self.running = tree
        self._changed(tree)

    def _revert(self) -> None:
        if self.armed is None:
            return
        armed, self.armed = self.armed, None
        self.by_name.pop(armed.name, None)
        self._log("%SYS-5-CONFIG_SESSION_COMMIT_TIMER_CANCELED: The system configuration has been rolled back.")
        self._replace(armed.before)

    def _drop_old(self, newest: str) -> None:
        done = [name for name, one in self.by_name.items() if one.state == "completed" and name != newest]
        for name in done[: max(0, len(done) + 1 - MAX_SAVED)]:
            del self.by_name[name]

    def as_json(self, release: tuple[int, int]) -> dict[str, object]:
        """`show configuration sessions detail | json`, in the form of the release (an armed commit is told otherwise from 4.32)."""
        new = release >= (4, 32)
        names = {"pending": "pending", "completed": "completed", "armed": "committed" if new else "pendingCommitTimer"}
        out: dict[str, object] = {
            "sessions": {one.name: self._one(one, names[one.state], new=new) for one in self.by_name.values()},
            "maxSavedSessions": MAX_SAVED,
            "maxOpenSessions": self.limit,
            "mergeOnCommit": False,
            "saveToStartupConfigOnCommit": False,
        }
        if new and self.armed is not None:
            out |= {"commitTimerSessionName": self.armed.name, "commitTimerExpireTime": self.armed.deadline}
        return out

    def _one(self, session: Session, state: str, *, new: bool) -> dict[str, object]:
        out: dict[str, object] = {"state": state}
        if session.state != "pending":
            out["completedTime"] = session.completed
        users = session.users.items()
        out |= {
            "commitUser": session.user,
            "description": session.description,
            "instances": {
                str(cli): {"user": user, "terminal": terminal, "currentTerminal": False}
                for cli, (user, terminal) in users
            },
        }
        if session.state == "armed" and not new and self.armed is not None:
            out["commitBy"] = self.armed.deadline
        return out
