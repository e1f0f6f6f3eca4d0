"""The driver of FBOSS: a Linux box whose files we swap under a dead-man timer of our own (see `fabric.targets.swap_box`).

FBOSS has no commit timer, and can compute no diff: the device's diff is our unified diff of each file in force against the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.connect import Connection
from fabric.targets.device import DeviceRefusedError, Login, Pending, Staged
from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, Route, Version
from fabric.targets.fboss import device_files, device_scripts, in_force
from fabric.targets.fboss.device_facts import FbossFacts, failure_words
from fabric.targets.fboss.device_files import COOP
from fabric.targets.fboss.read_pending import SESSIONS_SCRIPT, read_sessions
from fabric.targets.swap_box import Change, SwapBox


class FbossDevice:
    """One FBOSS switch. `fill` puts the secrets into a file just before it is sent; `coop` is FBOSS's configuration folder."""

    def __init__(self, ref: DeviceRef, login: Login, fill: Callable[[bytes], bytes], *, coop: str = COOP) -> None:
        self.ref = ref
        self._fill, self._coop = fill, coop
        self._connection = Connection(login, "linux", ref.name, cli=False)
        self._facts = FbossFacts(self._connection)
        self._box = SwapBox(self._connection, coop, failure_words)

    def reconnect(self) -> None:
        """See Device."""
        self._connection.reconnect()

    def close(self) -> None:
        """See Device."""
        self._connection.close()

    # -------------------------------------------------------------------------------------------------------- change

    def read(self, paths: Sequence[str]) -> dict[str, bytes | None]:
        """The files as they are on the box; links are followed."""
        return self._box.files(paths)

    def stage(self, artifacts: Sequence[Artifact], token: str, absent: Sequence[str] = ()) -> Staged:
        """See Device. The strict check of the files is ours: the daemons skip in silence what they do not know."""
        new = {artifact.path: self._filled(artifact) for artifact in artifacts}
        for path, content in new.items():
            device_files.check(self.ref.name, path, device_files.kind_of(path, self._coop), content)
        self._box.clear_way()
        old = self.read([*new, *absent])
        wanted: dict[str, bytes | None] = {**new, **dict.fromkeys(absent)}
        changed = [path for path, content in wanted.items() if old[path] != content]
        hooks = device_scripts.hooks(self._actions(changed, wanted), self._actions(changed, old))
        modes = {artifact.path: artifact.mode for artifact in artifacts}
        self._box.stage(token, Change(old, wanted, modes, hooks))
        diffs = [device_files.diff(path, old[path], wanted[path]) for path in changed]
        return Staged(self.ref.name, token, "\n".join(diff for diff in diffs if diff))

    def commit(self, staged: Staged, timer_s: int) -> None:
        """See Device."""
        self._box.commit(staged.token, timer_s, self._box.long)

    def confirm(self, staged: Staged) -> None:
        """See Device. The files are what the box boots with, so that there is nothing more to save."""
        self._must_run_its_file()
        self._box.confirm(staged.token)

    def finish(self, staged: Staged) -> None:
        """See Device. Where nothing is left of the change only the agent is asked what it runs."""
        left = self._box.is_left(staged.token)
        self._must_run_its_file()
        if left:
            self._box.confirm(staged.token)

    def rollback(self, staged: Staged) -> None:
        """See Device. After a confirmation there is nothing left to return to: the old files are gone from the box."""
        self._box.rollback(staged.token)

    def run_files(self) -> None:
        """See Reloads."""
        try:
            self._must_run_its_file()
        except DeviceRefusedError:
            self._connection.run("fboss2-dev config reload", timeout=self._box.long)
            self._must_run_its_file()

    def discard(self, staged: Staged) -> None:
        """See Device."""
        self._box.discard(staged.token)

    def pending(self) -> list[Pending]:
        """See Device. Also sessions of FBOSS's own tool, which are somebody else's."""
        return [*self._box.pending(), *read_sessions(self._box.must_run(SESSIONS_SCRIPT).text)]

    def _filled(self, artifact: Artifact) -> bytes:
        return self._fill(artifact.content) if artifact.secret else artifact.content

    def _actions(self, paths: Sequence[str], files: Mapping[str, bytes | None]) -> dict[str, bool]:
        """What puts these files in force -> whether one of them is not there."""
        found: dict[str, bool] = {}
        for path in paths:
            action = device_files.kind_of(path, self._coop).action
            found[action] = found.get(action, False) or files[path] is None
        return found

    def _must_run_its_file(self) -> None:
        """An agent may take a reload and yet keep something: what it says that it runs is held against its file."""
        wanted = self._connection.get(f"{self._coop}/agent.conf")
        if wanted is None:
            return
        ran = self._box.must_run("fboss2 show config running agent")  # plain: it has no host key without --fmt
        place = in_force.first_difference(ran.text, wanted)
        if place:
            message = f"{self.ref.name}: a difference remains between the agent and its file: {place}"
            raise DeviceRefusedError(message, (place,), hint="see the agent's log")

    # --------------------------------------------------------------------------------------------------------- facts

    def version(self) -> Version:
        """See Device."""
        return self._facts.version()

    def lldp(self) -> list[LldpNeighbor]:
        """See Device."""
        return self._facts.lldp()

    def bgp(self) -> list[BgpSession]:
        """See Device."""
        return self._facts.bgp()

    def routes(self) -> list[Route]:
        """See Device."""
        return self._facts.routes()

    def interfaces(self) -> list[InterfaceState]:
        """See Device."""
        return self._facts.interfaces()
