"""How an FBOSS box takes new files: the lines of shell that `fabric.targets.swap` runs on it once they lie in place."""

from __future__ import annotations

from collections.abc import Mapping

from fabric.targets.swap import Hooks

_NEEDS_ITS_FILE = frozenset({"bgpd"})
"""Units that do not run without their file: they are stopped, not restarted, when it goes."""
_RESTART = """restart() { systemctl restart "$1" && sleep 1 && [ "$(systemctl is-active "$1" 2>/dev/null)" = active ]; }  # a crash shows late
"""


def hooks(act: Mapping[str, bool], undo: Mapping[str, bool]) -> Hooks:
    """`act` for the new files, `undo` for the old ones: "reload" (agent) or the unit to restart -> whether there is to be no file of it.

    When the agent has just refused the new file, it runs the old one whatever it says to a second reload: `kept` says so to the undoing.
    """
    return Hooks(
        functions=_RESTART,
        before=(),
        act=_actions(act, "{ export kept=1; undo; }", "undo"),
        undo=_actions(undo, '[ "${kept:-}" = 1 ] || failed=1', "failed=1"),
    )


def _actions(wanted: Mapping[str, bool], reload_fails: str, restart_fails: str) -> list[str]:
    """The agent first, as it is the one that can say no. A service whose file is gone is restarted too, so that it forgets it."""
    lines = []
    for action, gone in sorted(wanted.items(), key=lambda item: item[0] != "reload"):
        if action == "reload":
            lines.append(f"fboss2-dev config reload || {reload_fails}")
        elif gone and action in _NEEDS_ITS_FILE:
            lines.append(f"systemctl stop {action} || {restart_fails}")
        else:
            lines.append(f"restart {action} || {restart_fails}")
    return lines
