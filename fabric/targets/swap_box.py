"""A Linux box whose files are swapped under a dead-man timer: the steps of a change over SSH, the same for all kinds of such boxes.

Names on the box: the folder `<etc>/.fabric-<token>/` (see `fabric.targets.swap`) and the timer unit `fabric-revert-<token>`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric.targets.connect import Connection, FileRefusedError, Ran
from fabric.targets.device import DeviceError, DeviceRefusedError, Pending
from fabric.targets.swap import ABSENT, MOVED, REFUSED, STATUS, Hooks, Swap, scripts, sha256
from fabric.targets.token import checked_token

PREFIX = ".fabric-"
KEPT = ".fabric-kept."
"""Begins the name of the folder of a confirmed change whose old files are kept; no token has a dot."""
LONG_FACTOR = 6
"""A script that restarts daemons may take this many times the time of a short command."""

_PENDING = """
for folder in {etc}/.fabric-*/; do
  case "$folder" in */.fabric-kept.*) continue ;; esac; [ -d "$folder" ] || continue
  token=$(basename -- "$folder"); token=${{token#.fabric-}}; state=incomplete
  for known in staged committed restored; do [ -e "$folder/state.$known" ] && state=$known; done
  armed=$(systemctl is-active "fabric-revert-$token.timer" 2>/dev/null)
  case "$(systemctl is-active "fabric-revert-$token.service" 2>/dev/null)" in active | activating) armed=active ;; esac  # it is at it
  echo "ours $token $state $armed"
done
true
"""
_SAYS = {
    "incomplete": "its upload was broken off",
    "staged": "staged",
    "restored": "restored: the timer has returned the old files",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change to be staged: by path what is there and what is to be (None: no file), the modes of new files, how it takes effect.

    `keep`: the box keeps its old files after the confirmation too, until the next one, as nobody else may (they hold secrets).
    """

    old: Mapping[str, bytes | None]
    wanted: Mapping[str, bytes | None]
    modes: Mapping[str, int]
    hooks: Hooks
    scripts: Mapping[str, str] = field(default_factory=dict)
    keep: bool = False

    @property
    def differ(self) -> list[str]:
        """The paths of the files that change."""
        return [path for path, content in self.wanted.items() if self.old[path] != content]


class SwapBox:
    """The steps on one box, over its connection; `etc` is the folder that holds the folders of changes. All raise DeviceError.

    `words` finds in what a failed script printed the lines that say why.
    """

    def __init__(
        self, connection: Connection, etc: str, words: Callable[[Ran], Sequence[str]] = lambda ran: ran.words
    ) -> None:
        self.connection, self.etc, self._words = connection, etc, words
        self.name = connection.name
        self.long = connection.timeout * LONG_FACTOR

    # --- the steps of a change

    def files(self, paths: Sequence[str]) -> dict[str, bytes | None]:
        """The files as they are on the box; links are followed."""
        return {path: self.connection.get(path) for path in paths}

    def clear_way(self) -> None:
        """Remove what earlier attempts left and nobody needs; refuse while an earlier change is neither kept nor undone."""
        for found in self.pending():
            if found.armed or found.detail.startswith("committed"):
                raise DeviceRefusedError(
                    f"{self.name}: an earlier change ({found.token}) waits for its confirmation: {found.detail}",
                    (found.detail,),
                    hint="confirm it, roll it back, or let its timer run out",
                )
            self.remove_folder(found.token)

    def stage(self, token: str, change: Change) -> None:
        """Everything that the box needs to commit and to go back, in the change's folder. What is left of a failure is removed."""
        try:
            self._upload(token, change)
        except BaseException:
            self._abandon(token)
            raise

    def commit(self, token: str, timer_s: int, timeout: float) -> None:
        """All steps run on the box, in one script, so that a lost connection leaves nothing half done."""
        if timer_s < 1:
            raise DeviceError(f"a timer of {timer_s} s is not possible")
        self.script(token, f"commit.sh {timer_s}", timeout)
        if not any(found.armed for found in self.pending() if found.token == token):
            raise DeviceError(f"{self.name}: the timer of {token} is not armed after the commit", hint="roll back")

    def confirm(self, token: str) -> None:
        """Disarms the timer, and forgets the old files, unless they are to be kept."""
        self.script(token, "confirm.sh", self.long)
        folder, etc = shlex.quote(self.folder(token)), shlex.quote(self.etc)
        self.must_run(
            f"rm -rf -- {etc}/{KEPT}*; if [ -e {folder}/keep ]; then mv -T -- {folder} {etc}/{KEPT}{token}; else rm -rf -- {folder}; fi"
        )

    def is_left(self, token: str) -> bool:
        """Whether a `confirm` that was cut short has left something: the folder is what it removes last. DeviceError when there was none."""
        if not self.exists(self.folder(token)):
            return False
        if not self.exists(f"{self.folder(token)}/state.committed"):
            raise DeviceError(f"{self.name}: {token} was not confirmed", hint="roll it back")
        return True

    def finish(self, token: str) -> None:
        """Does what a `confirm` that was cut short has left to do."""
        if self.is_left(token):
            self.confirm(token)

    def rollback(self, token: str) -> None:
        """The old files are put back in force; after a confirmation only if they were kept."""
        folder = self.folder(token)
        kept = shlex.quote(f"{self.etc}/{KEPT}{token}")
        self.must_run(f"[ ! -e {kept} ] || mv -T -- {kept} {shlex.quote(folder)}")
        if not self.exists(folder):
            self.must_run(f"systemctl stop {unit(token)}.timer 2>/dev/null; true")
            return
        if self.exists(f"{folder}/rollback.sh"):
            self.script(token, "rollback.sh", self.long)
        self.remove_folder(token)

    def discard(self, token: str) -> None:
        """Forgets a change that was never committed; DeviceRefusedError for one that was."""
        if self.exists(f"{self.folder(token)}/state.committed"):
            raise DeviceRefusedError(f"{self.name}: {token} is committed", hint="roll back or confirm")
        self.remove_folder(token)

    def pending(self) -> list[Pending]:
        """Unfinished changes. A reboot forgets the timer: then a committed change is pending and not armed."""
        return read_pending(self.must_run(_PENDING.format(etc=shlex.quote(self.etc))).text)

    def committed(self) -> str:
        """The token of the change that is committed and not confirmed; "" when there is none."""
        return next((found.token for found in self.pending() if found.detail.startswith("committed")), "")

    # --- commands

    def folder(self, token: str) -> str:
        """Where a change lies on the box."""
        return f"{self.etc}/{PREFIX}{checked_token(token)}"

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return self.connection.run(f"test -e {shlex.quote(path)}").status == 0

    def must_run(self, command: str) -> Ran:
        """Runs a command that must not fail."""
        ran = self.connection.run(command)
        if ran.status != 0:
            said = ran.words[0] if ran.words else f"status {ran.status}"
            raise DeviceError(f"{self.name}: {command.strip().splitlines()[0][:60]!r} failed: {said}")
        return ran

    def script(self, token: str, call: str, timeout: float) -> None:
        """Runs a script of the change's folder; what its exit status says becomes the error, with the words of the box."""
        folder = self.folder(token)
        ran = self.connection.run(f"/bin/sh {shlex.quote(folder)}/{call}", timeout=timeout)
        if ran.status == 0:
            return
        if not self.exists(folder):
            raise DeviceError(
                f"{self.name}: there is no change {token} on it: confirmed or rolled back before, or never staged"
            )
        said, heard = STATUS.get(ran.status, f"{call} ended with status {ran.status}"), self._words(ran)
        message = f"{self.name}: {said}" + (f": {heard[0]}" if heard else "")
        if ran.status in (REFUSED, MOVED):
            raise DeviceRefusedError(message, heard)
        raise DeviceError(message)

    def remove_folder(self, token: str) -> None:
        """Removes what a change has on the box."""
        self.must_run(f"rm -rf -- {shlex.quote(self.folder(token))}")

    # --- inside

    def _upload(self, token: str, change: Change) -> None:
        folder = self.folder(token)
        quoted = shlex.quote(folder)
        self.must_run(f"mkdir -p -- {shlex.quote(self.etc)} && mkdir -m 0700 -- {quoted} {quoted}/new {quoted}/old")
        swaps = self._swaps(change)
        same = [(path, sha256(content)) for path, content in change.wanted.items() if change.old[path] == content]
        texts = {**scripts(folder, unit(token), swaps, same, change.hooks), **change.scripts}
        for name, text in texts.items():
            self._put(f"{folder}/{name}", text.encode(), 0o700)
        for index, path in enumerate(change.differ):
            content = change.wanted[path]
            if content is not None:
                self._put(f"{folder}/new/{index}", content, change.modes.get(path, 0o600))
        sums = "".join(
            f"{swap.new_sha256}  {folder}/new/{index}\n"
            for index, swap in enumerate(swaps)
            if swap.new_sha256 != ABSENT
        )
        if sums:
            self.must_run(f"printf %s {shlex.quote(sums)} | sha256sum -c --quiet -")
        if change.keep:
            self._put(f"{folder}/keep", b"", 0o600)
        self._put(f"{folder}/state.staged", b"", 0o600)
        self.must_run(f"sync -f {quoted} 2>/dev/null || sync")

    def _swaps(self, change: Change) -> list[Swap]:
        """A file may be a link into a repository: the swap replaces what the link leads to, not the link."""
        paths = change.differ
        resolved = self.must_run("readlink -m -- " + shlex.join(paths)).text.splitlines() if paths else []
        if len(resolved) != len(paths):
            raise DeviceError(f"{self.name}: readlink answered {len(resolved)} lines for {len(paths)} files")
        return [
            Swap(target, sha256(change.old[path]), sha256(change.wanted[path]))
            for target, path in zip(resolved, paths, strict=True)
        ]

    def _put(self, path: str, content: bytes, mode: int) -> None:
        try:
            self.connection.put(path, content, mode)
        except FileRefusedError as error:
            free = self.connection.run(f"df -Pk {shlex.quote(self.etc)} | awk 'NR==2 {{print $4}}'").text.strip()
            if free.isdigit() and int(free) * 1024 < len(content):
                message = f"{self.name}: its disk is full: {len(content)} bytes for {path}, {free} KiB free"
                raise DeviceError(message, hint="remove old logs") from error
            raise

    def _abandon(self, token: str) -> None:
        try:
            self.remove_folder(token)
        except DeviceError:
            self.connection.close()  # it stays on the box as "incomplete" and is removed before the next change


def unit(token: str) -> str:
    """The name of a change's timer, without `.timer`."""
    return f"fabric-revert-{checked_token(token)}"


def read_pending(answer: str) -> list[Pending]:
    """What the box printed of its unfinished changes."""
    return [_pending(line) for line in answer.splitlines() if line.strip()]


def _pending(line: str) -> Pending:
    words = line.split()
    if words[0] != "ours" or len(words) not in (3, 4):
        raise DeviceError(f"pending changes: {line[:80]!r} cannot be read")
    token, state, armed = words[1], words[2], words[3:] == ["active"]
    committed = "committed, timer armed" if armed else "committed and never confirmed, its timer is gone (a reboot?)"
    detail = committed if state == "committed" else _SAYS.get(state, state)
    return Pending(token=token, armed=armed, ours=True, detail=detail)
