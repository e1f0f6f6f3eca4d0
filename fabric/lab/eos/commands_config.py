"""Commands on configurations: sessions, commit timers, checkpoints."""

from __future__ import annotations

import re
import time

from fabric.lab.eos import config, grammar
from fabric.lab.eos.commands_files import blank_editor, read, saved
from fabric.lab.eos.grammar import Refused
from fabric.lab.eos.sessions import SessionError
from fabric.lab.eos.shell import Answer, Call, Handler, Shell


def _seconds(text: str) -> float:
    """`HH:MM:SS` of a commit timer, in seconds."""
    match = re.fullmatch(r"(\d{1,2}):([0-5]\d):([0-5]\d)", text)
    if match is None:
        raise Refused(f"% Invalid input (at token 2: '{text}')")
    hours, minutes, seconds = (int(part) for part in match.groups())
    return float(hours * 3600 + minutes * 60 + seconds)


def _configure_session(shell: Shell, call: Call) -> Answer:
    sessions = shell.switch.sessions
    number = 1 + sum(name.startswith("sess-") for name in sessions.by_name)
    name = call.words[2] if len(call.words) > 2 else f"sess-{number}"
    shell.enter(sessions.open(name, call.words[4] if len(call.words) > 4 else ""))
    return ""


def _session_commit(shell: Shell, call: Call) -> Answer:
    timer = _seconds(call.words[5]) if len(call.words) > 5 else None
    shell.switch.sessions.commit(call.words[2], shell.user, timer)
    return _autosave(shell, timer)


def _session_abort(shell: Shell, call: Call) -> Answer:
    shell.switch.sessions.abort(call.words[3] if call.words[0] == "no" else call.words[2])
    return ""


def _commit(shell: Shell, call: Call) -> Answer:
    if shell.session is None:
        raise grammar.invalid(0, "commit")
    timer = _seconds(call.words[2]) if len(call.words) > 2 else None
    shell.switch.sessions.commit(shell.session.name, shell.user, timer)
    shell.leave()
    return _autosave(shell, timer)


def _autosave(shell: Shell, timer: float | None) -> str:
    """`service configuration session commit save startup-config`."""
    if timer is None and shell.switch.sessions.running.find("service", "configuration", "session", "commit", "save"):
        return saved(shell)
    return ""


def _abort(shell: Shell, _: Call) -> Answer:
    if shell.session is None:
        raise grammar.invalid(0, "abort")
    name = shell.session.name
    shell.leave()
    shell.switch.sessions.abort(name)
    return ""


def _rollback(shell: Shell, _: Call) -> Answer:
    if shell.session is None:
        raise grammar.invalid(0, "rollback")
    shell.session.tree = config.clean(shell.switch.hardware)
    shell.editor = shell.switch.editor(shell.session)
    return ""


def _replace(shell: Shell, call: Call) -> Answer:
    source = call.words[2]
    lines = read(shell, source, "running-config")
    tree = config.clean(shell.switch.hardware)
    complaints = config.load(blank_editor(shell, tree), lines)
    if complaints and "ignore-errors" not in call.words:
        return "".join(f"{line}\n" for line in complaints) + "% Error: configuration not replaced\n"
    shell.switch.sessions.replace(tree, shell.user)
    return "".join(f"{line}\n" for line in complaints)


def _checkpoint_save(shell: Shell, call: Call) -> Answer:
    stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(shell.switch.clock()))
    shell.switch.sessions.save_checkpoint(call.words[3] if len(call.words) > 3 else f"user-{stamp}", shell.user)
    return ""


def _checkpoint_restore(shell: Shell, call: Call) -> Answer:
    found = shell.switch.sessions.checkpoints.get(call.words[3])
    if found is None:
        raise SessionError(f"% Checkpoint {call.words[3]} not found")
    shell.switch.sessions.replace(found.tree.clone(), shell.user)
    return ""


CONFIG: dict[str, Handler] = {
    "configure_session": _configure_session,
    "session_commit": _session_commit,
    "session_abort": _session_abort,
    "commit": _commit,
    "abort": _abort,
    "rollback": _rollback,
    "configure_replace": _replace,
    "checkpoint_save": _checkpoint_save,
    "checkpoint_restore": _checkpoint_restore,
}
"""What answers each, by the names of the command table."""
