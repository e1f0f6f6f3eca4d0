"""The driver of FBOSS: a Linux box whose files we swap under a dead-man timer of our own, as FBOSS has no commit timer.

Names on the box: the folder `/etc/coop/.fabric-<token>/` (see `device_scripts`) and the timer unit `fabric-revert-<token>`.
The device's diff is our unified diff of each file in force against the new one: FBOSS can compute none.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Mapping, Sequence

from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.connect import Connection, FileRefusedError, Ran
from fabric.targets.device import DeviceError, DeviceRefusedError, Login, Pending, Staged
from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, Route, Version
from fabric.targets.fboss import device_files, device_scripts, in_force
from fabric.targets.fboss.device_facts import FbossFacts, failure_words
from fabric.targets.fboss.device_files import COOP
from fabric.targets.fboss.device_scripts import ABSENT, STATUS, Swap
from fabric.targets.fboss.read_pending import PENDING_SCRIPT, read_pending
from fabric.targets.token import checked_token

PREFIX = ".fabric-"
_LONG_FACTOR = 6
"""A reload of the agent or a restart of daemons may take this many times the time of a show command."""


class FbossDevice:
    """One FBOSS switch. `fill` puts the secrets into a file just before it is sent; `coop` is FBOSS's configuration folder."""

    def __init__(self, ref: DeviceRef, login: Login, fill: Callable[[bytes], bytes], *, coop: str = COOP) -> None:
        self.ref = ref
        self._fill, self._coop = fill, coop
        self._connection = Connection(login, "linux", ref.name, cli=False)
        self._facts = FbossFacts(self._connection)
        self._long = login.timeout_s * _LONG_FACTOR

    def reconnect(self) -> None:
        """See Device."""
        self._connection.reconnect()

    def close(self) -> None:
        """See Device."""
        self._connection.close()

    # -------------------------------------------------------------------------------------------------------- change

    def read(self, paths: Sequence[str]) -> dict[str, bytes | None]:
        """The files as they are on the box; links are followed."""
        return {path: self._connection.get(path) for path in paths}

    def stage(self, artifacts: Sequence[Artifact], token: str, absent: Sequence[str] = ()) -> Staged:
        """See Device. The strict check of the files is ours: the daemons skip in silence what they do not know."""
        folder = self._folder(token)
        new = {artifact.path: self._filled(artifact) for artifact in artifacts}
        for path, content in new.items():
            device_files.check(self.ref.name, path, device_files.kind_of(path, self._coop), content)
        self._clear_way()
        old = self.read([*new, *absent])
        wanted: dict[str, bytes | None] = {**new, **dict.fromkeys(absent)}
        modes = {artifact.path: artifact.mode for artifact in artifacts}
        changed = {path: content for path, content in wanted.items() if old[path] != content}
        try:
            swaps = self._swaps(old, changed)
            same = [(path, _sha256(content)) for path, content in wanted.items() if path not in changed]
            self._upload(token, swaps, same, [(content, modes.get(path, 0)) for path, content in changed.items()])
        except BaseException:
            self._abandon(folder)
            raise
        diffs = [device_files.diff(path, old[path], content) for path, content in changed.items()]
        return Staged(self.ref.name, token, "\n".join(diff for diff in diffs if diff))

    def commit(self, staged: Staged, timer_s: int) -> None:
        """See Device. All steps run on the box, in one script, so that a lost connection leaves nothing half done."""
        if timer_s < 1:
            raise DeviceError(f"a timer of {timer_s} s is not possible")
        self._script(staged.token, f"commit.sh {timer_s}s")
        if not any(found.armed for found in self.pending() if found.token == staged.token):
            raise DeviceError(
                f"{self.ref.name}: the timer of {staged.token} is not armed after the commit", hint="roll back"
            )

    def confirm(self, staged: Staged) -> None:
        """See Device. The files are what the box boots with, so that there is nothing more to save."""
        self._must_run_its_file()
        self._script(staged.token, "confirm.sh")
        self._remove_folder(self._folder(staged.token))

    def finish(self, staged: Staged) -> None:
        """See Device. The folder is what `confirm` removes last: without it only the agent is asked what it runs."""
        if not self._exists(self._folder(staged.token)):
            self._must_run_its_file()
            return
        if not self._exists(f"{self._folder(staged.token)}/state.committed"):
            raise DeviceError(f"{self.ref.name}: {staged.token} was not confirmed", hint="roll it back")
        self.confirm(staged)

    def rollback(self, staged: Staged) -> None:
        """See Device. After a confirmation there is nothing left to return to: the old files are gone from the box."""
        folder = self._folder(staged.token)
        if not self._exists(folder):
            self._must_run(f"systemctl stop {_unit(staged.token)}.timer 2>/dev/null; true")
            return
        if self._exists(f"{folder}/rollback.sh"):
            self._script(staged.token, "rollback.sh")
        self._remove_folder(folder)

    def run_files(self) -> None:
        """See Reloads."""
        try:
            self._must_run_its_file()
        except DeviceRefusedError:
            self._connection.run("fboss2-dev config reload", timeout=self._long)
            self._must_run_its_file()

    def discard(self, staged: Staged) -> None:
        """See Device."""
        folder = self._folder(staged.token)
        if self._exists(f"{folder}/state.committed"):
            raise DeviceRefusedError(f"{self.ref.name}: {staged.token} is committed", hint="roll back or confirm")
        self._remove_folder(folder)

    def pending(self) -> list[Pending]:
        """See Device. A reboot forgets the timer: then a committed change is pending and not armed."""
        return read_pending(self._must_run(PENDING_SCRIPT.format(coop=shlex.quote(self._coop))).text)

    def _filled(self, artifact: Artifact) -> bytes:
        return self._fill(artifact.content) if artifact.secret else artifact.content

    def _clear_way(self) -> None:
        """Remove what earlier attempts left and nobody needs; refuse while an earlier change is neither kept nor undone."""
        for found in self.pending():
            if not found.ours:
                continue
            if found.armed or found.detail.startswith("committed"):
                raise DeviceRefusedError(
                    f"{self.ref.name}: an earlier change ({found.token}) waits for its confirmation: {found.detail}",
                    (found.detail,),
                    hint="confirm it, roll it back, or let its timer run out",
                )
            self._remove_folder(self._folder(found.token))

    def _swaps(self, old: Mapping[str, bytes | None], changed: Mapping[str, bytes | None]) -> list[Swap]:
        """A file may be a link into a repository: the swap replaces what the link leads to, not the link."""
        paths = list(changed)
        resolved = self._must_run("readlink -m -- " + shlex.join(paths)).text.splitlines() if paths else []
        if len(resolved) != len(paths):
            raise DeviceError(f"{self.ref.name}: readlink answered {len(resolved)} lines for {len(paths)} files")
        return [
            Swap(target, _sha256(old[path]), _sha256(changed[path]), device_files.kind_of(path, self._coop).action)
            for target, path in zip(resolved, paths, strict=True)
        ]

    def _upload(
        self,
        token: str,
        swaps: Sequence[Swap],
        same: Sequence[tuple[str, str]],
        files: Sequence[tuple[bytes | None, int]],
    ) -> None:
        folder = self._folder(token)
        quoted = shlex.quote(folder)
        self._must_run(f"mkdir -p -- {shlex.quote(self._coop)} && mkdir -m 0700 -- {quoted} {quoted}/new {quoted}/old")
        for name, text in device_scripts.scripts(folder, _unit(token), swaps, same).items():
            self._put(f"{folder}/{name}", text.encode(), 0o700)
        for index, (content, mode) in enumerate(files):
            if content is not None:
                self._put(f"{folder}/new/{index}", content, mode)
        sums = "".join(
            f"{swap.new_sha256}  {folder}/new/{index}\n"
            for index, swap in enumerate(swaps)
            if swap.new_sha256 != ABSENT
        )
        if sums:
            self._must_run(f"printf %s {shlex.quote(sums)} | sha256sum -c --quiet -")
        self._put(f"{folder}/state.staged", b"", 0o600)
        self._must_run(f"sync -f {quoted} 2>/dev/null || sync")

    def _put(self, path: str, content: bytes, mode: int) -> None:
        try:
            self._connection.put(path, content, mode)
        except FileRefusedError as error:
            free = self._connection.run(f"df -Pk {shlex.quote(self._coop)} | awk 'NR==2 {{print $4}}'").text.strip()
            if free.isdigit() and int(free) * 1024 < len(content):
                message = f"{self.ref.name}: its disk is full: {len(content)} bytes for {path}, {free} KiB free"
                raise DeviceError(message, hint="remove old logs") from error
            raise

    def _script(self, token: str, call: str) -> None:
        """Run a script of the change's folder; what its exit status says becomes the error."""
        folder = self._folder(token)
        ran = self._connection.run(f"/bin/sh {shlex.quote(folder)}/{call}", timeout=self._long)
        if ran.status == 0:
            return
        if not self._exists(folder):
            raise DeviceError(
                f"{self.ref.name}: there is no change {token} on it: confirmed or rolled back before, or never staged"
            )
        said = STATUS.get(ran.status, f"{call} ended with status {ran.status}")
        words = failure_words(ran)
        message = f"{self.ref.name}: {said}" + (f": {words[0]}" if words else "")
        if ran.status in (device_scripts.REFUSED, device_scripts.MOVED):
            raise DeviceRefusedError(message, words)
        raise DeviceError(message)

    def _must_run_its_file(self) -> None:
        """An agent may take a reload and yet keep something: what it says that it runs is held against its file."""
        wanted = self._connection.get(f"{self._coop}/agent.conf")
        if wanted is None:
            return
        ran = self._must_run("fboss2 show config running agent")  # plain: it has no host key without --fmt
        place = in_force.first_difference(ran.text, wanted)
        if place:
            message = f"{self.ref.name}: a difference remains between the agent and its file: {place}"
            raise DeviceRefusedError(message, (place,), hint="see the agent's log")

    def _exists(self, path: str) -> bool:
        return self._connection.run(f"test -e {shlex.quote(path)}").status == 0

    def _must_run(self, command: str) -> Ran:
        ran = self._connection.run(command)
        if ran.status != 0:
            said = ran.words[0] if ran.words else f"status {ran.status}"
            raise DeviceError(f"{self.ref.name}: {command.splitlines()[0][:60]!r} failed: {said}")
        return ran

    def _remove_folder(self, folder: str) -> None:
        self._must_run(f"rm -rf -- {shlex.quote(folder)}")

    def _abandon(self, folder: str) -> None:
        """After a failed staging: remove the folder if the box can be reached; what stays is removed by the next `stage`."""
        try:
            self._remove_folder(folder)
        except DeviceError:
            self._connection.close()

    def _folder(self, token: str) -> str:
        return f"{self._coop}/{PREFIX}{checked_token(token)}"

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


def _unit(token: str) -> str:
    return f"fabric-revert-{token}"


def _sha256(content: bytes | None) -> str:
    return ABSENT if content is None else hashlib.sha256(content).hexdigest()
