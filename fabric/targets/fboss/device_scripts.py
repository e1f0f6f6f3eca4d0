"""The shell scripts that change an FBOSS box. They lie in the change's folder, so that the box can finish or undo by itself.

The folder `/etc/coop/.fabric-<token>/` (mode 0700): `new/N` the new files, `old/N` the old ones, these scripts, and one empty file
`state.staged`, `state.committed` or `state.restored`. Steps that must work on a full disk only rename or link.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ABSENT = "-"
"""In place of a sum: there is no such file."""
_NEEDS_ITS_FILE = frozenset({"bgpd"})
"""Units that do not run without their file: they are stopped, not restarted, when it goes."""

MOVED, NOT_ARMED, NOT_KEPT, REFUSED, NOT_RESTORED, NOT_COMMITTED, DIFFERS, FIRING = 20, 21, 22, 30, 31, 40, 41, 42
"""Exit statuses of the scripts; what each means is in STATUS."""

STATUS = {
    MOVED: "a file has changed since the change was staged; nothing was changed",
    NOT_ARMED: "the timer that would return the old files could not be armed; nothing was changed",
    NOT_KEPT: "the old files could not be kept; nothing was changed",
    REFUSED: "the new configuration was refused; the old files are back",
    NOT_RESTORED: "the old files could not be put back in force",
    NOT_COMMITTED: "the timer has already returned the old files, or the change was never committed",
    DIFFERS: "a file is not as it should be",
    FIRING: "the timer has just fired and is returning the old files",
}


@dataclass(frozen=True, slots=True)
class Swap:
    """One file that changes: `target` has its links resolved; `action` is "reload" (agent) or the unit to restart.

    A sum is ABSENT where there was, or is to be, no such file.
    """

    target: str
    old_sha256: str
    new_sha256: str
    action: str


def scripts(folder: str, unit: str, swaps: Sequence[Swap], same: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The scripts by file name: commit.sh SECONDS, restore.sh, confirm.sh, rollback.sh.

    `same` are (path, sum) of the files that are right already: one that has moved since staging is a refusal as well.
    """
    head = _HEAD.format(folder=shlex.quote(folder), unit=unit)
    return {
        "restore.sh": head + _restore(swaps),
        "commit.sh": head + _commit(swaps, same, folder, unit),
        "confirm.sh": head + _confirm(swaps),
        "rollback.sh": head + _rollback(swaps),
    }


_HEAD = """#!/bin/sh
cd {folder} || exit 10
unit={unit}
fail() {{ status=$1; shift; echo "$*" >&2; exit "$status"; }}
sum() {{ if [ -e "$1" ]; then sha256sum -- "$1" | cut -d' ' -f1; else echo -; fi; }}
is() {{ [ "$(sum "$1")" = "$2" ]; }}
flush() {{ sync -f . 2>/dev/null || sync; }}
state() {{ [ "$(systemctl is-active "$unit.$1" 2>/dev/null)" = "$2" ]; }}
restart() {{ systemctl restart "$1" && sleep 1 && [ "$(systemctl is-active "$1" 2>/dev/null)" = active ]; }}  # a crash shows late
put() {{  # put FILE TARGET: by rename, so that nobody ever sees half a file; a link needs no space
  cmp -s -- "$1" "$2" && return 0
  mkdir -p -- "$(dirname -- "$2")" && rm -f -- "$2.fabric-tmp" &&
  {{ ln -- "$1" "$2.fabric-tmp" 2>/dev/null || cp -p -- "$1" "$2.fabric-tmp"; }} &&
  {{ sync -- "$2.fabric-tmp" 2>/dev/null || sync; }} && mv -f -T -- "$2.fabric-tmp" "$2"
}}
"""


def _quoted(swaps: Sequence[Swap]) -> list[tuple[int, str, Swap]]:
    return [(index, shlex.quote(swap.target), swap) for index, swap in enumerate(swaps)]


def _actions(swaps: Sequence[Swap], gone: Callable[[Swap], bool], reload_fails: str, restart_fails: str) -> list[str]:
    """What puts the files in force: the agent first, as it is the one that can say no; each service once.

    A service whose file is `gone` is restarted too, so that it forgets it; one that needs it is stopped.
    """
    wanted = dict.fromkeys(sorted((swap.action for swap in swaps), key=lambda action: action != "reload"))
    without = {swap.action for swap in swaps if gone(swap)}
    lines = []
    for action in wanted:
        if action == "reload":
            lines.append(f"fboss2-dev config reload || {reload_fails}")
        elif action in without and action in _NEEDS_ITS_FILE:
            lines.append(f"systemctl stop {action} || {restart_fails}")
        else:
            lines.append(f"restart {action} || {restart_fails}")
    return lines


def _was_absent(swap: Swap) -> bool:
    return swap.old_sha256 == ABSENT


def _becomes_absent(swap: Swap) -> bool:
    return swap.new_sha256 == ABSENT


def _restore(swaps: Sequence[Swap]) -> str:
    """`restore.sh kept`: the agent has just refused the new file, and runs the old one whatever it says to a second reload."""
    lines = ["failed=0"]
    for index, target, swap in _quoted(swaps):
        undo = f"rm -f -- {target}" if swap.old_sha256 == ABSENT else f"put old/{index} {target}"
        lines.append(f"{undo} || failed=1")
    lines += ["flush", *_actions(swaps, _was_absent, '[ "${1:-}" = kept ] || failed=1', "failed=1")]
    lines.append(f'[ "$failed" = 0 ] || fail {NOT_RESTORED} "restore failed"')
    lines.append("if [ -e state.committed ]; then mv -f state.committed state.restored; fi")
    return "\n".join(lines) + "\n"


def _commit(swaps: Sequence[Swap], same: Sequence[tuple[str, str]], folder: str, unit: str) -> str:
    lines = [f'[ -e state.staged ] || fail {NOT_COMMITTED} "it is not staged"']
    for path, old in (*((swap.target, swap.old_sha256) for swap in swaps), *same):
        lines.append(f'is {shlex.quote(path)} {old} || fail {MOVED} "changed since:" {shlex.quote(path)}')
    for index, target, swap in _quoted(swaps):
        if swap.old_sha256 != ABSENT:
            lines.append(
                f"rm -f old/{index}; ln -- {target} old/{index} 2>/dev/null || cp -p -- {target} old/{index} || fail {NOT_KEPT}"
            )
            lines.append(f'is old/{index} {swap.old_sha256} || fail {NOT_KEPT} "not kept:" {target}')
    restore = shlex.quote(f"{folder}/restore.sh")
    lines += [
        f'said=$(systemd-run --on-active="$1" --unit={unit} /bin/sh {restore} 2>&1) || fail {NOT_ARMED} "$said"',
        f'state timer active || fail {NOT_ARMED} "the timer is not active"',
        f"mv -f state.staged state.committed || {{ systemctl stop $unit.timer; fail {NOT_KEPT}; }}",
        "flush",
        f'undo() {{ sh ./restore.sh "$@" >&2 || exit {NOT_RESTORED}; systemctl stop $unit.timer; exit {REFUSED}; }}',
    ]
    for index, target, swap in _quoted(swaps):
        do = f"rm -f -- {target}" if swap.new_sha256 == ABSENT else f"put new/{index} {target}"
        lines.append(f'{do} || {{ echo "cannot write" {target} >&2; undo; }}')
    lines.append("flush")
    lines += _actions(swaps, _becomes_absent, "undo kept", "undo")
    return "\n".join(lines) + "\n"


def _confirm(swaps: Sequence[Swap]) -> str:
    lines = [
        f"[ -e state.committed ] || fail {NOT_COMMITTED}",
        f"{{ state service active || state service activating; }} && fail {FIRING}",
        *(
            f'is {target} {swap.new_sha256} || fail {DIFFERS} "not the new one:" {target}'
            for _, target, swap in _quoted(swaps)
        ),
        'systemctl stop "$unit.timer" 2>/dev/null',
        f'state timer active && fail {DIFFERS} "the timer is still active"',
        f"{{ state service active || state service activating; }} && fail {FIRING}",
        f"[ -e state.committed ] || fail {NOT_COMMITTED}",
    ]
    return "\n".join(lines) + "\n"


def _rollback(swaps: Sequence[Swap]) -> str:
    lines = [
        "[ -e state.staged ] && exit 0",
        "left=120; firing() { state service active || state service activating; }",
        'while firing && [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); done  # the timer is at it',
        "[ -e state.restored ] || sh ./restore.sh || exit $?",
        'systemctl stop "$unit.timer" 2>/dev/null',
        f'state timer active && fail {DIFFERS} "the timer is still active"',
        *(
            f'is {target} {swap.old_sha256} || fail {DIFFERS} "not the old one:" {target}'
            for _, target, swap in _quoted(swaps)
        ),
        "exit 0",
    ]
    return "\n".join(lines) + "\n"
