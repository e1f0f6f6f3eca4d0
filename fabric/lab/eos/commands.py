"""The commands that do something: modes, configuration sessions, checkpoints, copies, saving, reload."""

from __future__ import annotations

import difflib
import hashlib
import re
import time
from pathlib import Path

from fabric.lab.eos import config, grammar
from fabric.lab.eos.editor import Editor
from fabric.lab.eos.grammar import Refused
from fabric.lab.eos.sessions import SessionError
from fabric.lab.eos.shell import Answer, Call, Handler, Reply, Shell
from fabric.lab.eos.tree import Node

DONE = "Copy completed successfully.\n"


def _seconds(text: str) -> float:
    """`HH:MM:SS` of a commit timer, in seconds."""
    match = re.fullmatch(r"(\d{1,2}):([0-5]\d):([0-5]\d)", text)
    if match is None:
        raise Refused(f"% Invalid input (at token 2: '{text}')")
    hours, minutes, seconds = (int(part) for part in match.groups())
    return float(hours * 3600 + minutes * 60 + seconds)


# --------------------------------------------------------------------------------------------------------------- modes


def _enable(shell: Shell, _: Call) -> Answer:
    shell.privileged = True
    return ""


def _disable(shell: Shell, _: Call) -> Answer:
    shell.privileged = False
    return ""


def _end(shell: Shell, _: Call) -> Answer:
    shell.leave()
    return ""


def _exit(_: Shell, __: Call) -> Answer:
    return Reply("", "close")


def _configure(shell: Shell, _: Call) -> Answer:
    if any(
        "disabled" in node.words for node in shell.switch.sessions.running.find("service", "configuration", "terminal")
    ):
        raise Refused("% Unavailable command (configure terminal is disabled)")
    shell.enter(None)
    return ""


def _width(_: Shell, call: Call) -> Answer:
    return f"Width set to {call.words[2]} columns.\n"


def _length(_: Shell, call: Call) -> Answer:
    return "Pagination disabled.\n" if call.words[2] == "0" else f"Length set to {call.words[2]} lines.\n"


def _nothing(_: Shell, __: Call) -> Answer:
    return ""


# ------------------------------------------------------------------------------------------------------------ sessions


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
        return _saved(shell)
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
    lines = _read(shell, source, "running-config")
    tree = config.clean(shell.switch.hardware)
    complaints = config.load(_editor(shell, tree), lines)
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


# --------------------------------------------------------------------------------------------------------------- files


def _path(shell: Shell, url: str) -> Path | None:
    """The file that a `flash:` or `file:` address names; None for other addresses. Nothing outside of flash is reached by `flash:`."""
    scheme, _, rest = url.partition(":")
    flash = shell.switch.node.flash
    if scheme == "file" and rest.startswith("/mnt/flash/"):
        scheme, rest = "flash", rest.removeprefix("/mnt/flash")
    if scheme == "flash":
        path = flash / rest.lstrip("/")
        inside = path.resolve().is_relative_to(flash.resolve())
        return path if inside and rest.strip("/") else None
    return Path(rest) if scheme == "file" and rest.startswith("/") else None


def _read(shell: Shell, source: str, target: str) -> list[str]:
    """The lines of a configuration source. Raises Refused with EOS's words."""
    if source in ("running-config", "system:/running-config"):
        return config.text_of(shell.switch.sessions.running).splitlines()
    if source.startswith("checkpoint:"):
        found = shell.switch.sessions.checkpoints.get(source.partition(":")[2].strip("/"))
        if found is not None:
            return config.text_of(found.tree).splitlines()
    path = shell.switch.startup_path if source == "startup-config" else _path(shell, source)
    if path is None:
        raise Refused(f"% Error copying {source} to {target} (No such file or directory)")
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise Refused(f"% Error copying {source} to {target} ({error.strerror})") from None


def _editor(shell: Shell, tree: Node) -> Editor:
    faults = shell.switch.faults
    return Editor(tree, shell.switch.sessions.running, faults.refuses, faults.keeps)


def _copy(shell: Shell, call: Call) -> Answer:
    source, target = call.words[1], call.words[2]
    if target == "session-config" and shell.session is None:
        raise grammar.invalid(2, target)
    if source == "terminal:":
        if target not in ("session-config", "running-config"):
            raise grammar.invalid(2, target)
        notice = "enter input line by line; when done enter one or more control-d\n"
        return shell.paste(notice, lambda text: _load(shell, text.splitlines(), target))
    lines = _read(shell, source, target)
    if target in ("session-config", "running-config"):
        return _load(shell, lines, target)
    path = shell.switch.startup_path if target == "startup-config" else _path(shell, target)
    if path is None:
        raise grammar.invalid(2, target)
    return _store(path, "".join(f"{line}\n" for line in lines), source, target)


def _load(shell: Shell, lines: list[str], target: str) -> str:
    """Lines into the session or the running-config: refused ones are named, and it is a success nevertheless, as on EOS."""
    if target == "session-config":
        if shell.session is None:
            raise Refused("% Invalid input")
        shell.editor = shell.switch.editor(shell.session)
        complaints = config.load(shell.editor, lines)
    else:
        complaints = config.load(shell.switch.editor(None), lines)
        shell.switch.sessions.edited()
    return "".join(f"{line}\n" for line in complaints) + DONE


def _store(path: Path, text: str, source: str, target: str) -> str:
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise Refused(f"% Error copying {source} to {target} ({error.strerror})") from None
    return DONE


def _saved(shell: Shell) -> str:
    text = config.text_of(shell.switch.sessions.running)
    return _store(shell.switch.startup_path, text, "running-config", "startup-config")


def _write(shell: Shell, _: Call) -> Answer:
    return _saved(shell)


def _delete(shell: Shell, call: Call) -> Answer:
    path = _path(shell, call.words[1])
    if path is None or not path.is_file():
        raise Refused(f"% Error deleting {call.words[1]} (No such file or directory)")
    path.unlink()
    return ""


def _dir(shell: Shell, call: Call) -> Answer:
    import shutil

    flash = shell.switch.node.flash
    if len(call.words) > 1 and call.words[1] not in ("flash:", "flash:/"):
        raise Refused(f"% Error listing directory {call.words[1]} (No such file or directory)")
    out = ["Directory of flash:/", ""]
    for path in sorted(flash.iterdir()):
        status = path.stat()
        kind = "drwx" if path.is_dir() else "-rwx"
        stamp = time.strftime("%b %e  %Y", time.localtime(status.st_mtime))
        out.append(f"       {kind}{status.st_size:>12}            {stamp}  {path.name}")
    usage = shutil.disk_usage(flash)
    return "\n".join([*out, "", f"{usage.total} bytes total ({usage.free} bytes free)", ""])


def _verify(shell: Shell, call: Call) -> Answer:
    url = call.words[2]
    path = _path(shell, url)
    if path is None or not path.is_file():
        raise Refused(f"% Error verifying {url} (No such file or directory)")
    digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    return f"verify /md5 ({url}) = {digest}\n"


def _diff(shell: Shell, call: Call) -> Answer:
    old, new = (_read(shell, one, "diff") for one in call.words[1:3])
    return "".join(
        f"{line}\n" for line in difflib.unified_diff(old, new, call.words[1], call.words[2], n=3, lineterm="")
    )


# --------------------------------------------------------------------------------------------------------------- shell


def _bash(_: Shell, call: Call) -> Answer:
    command = call.words[1] if len(call.words) > 1 else ""
    limit = re.match(r"timeout (\d+) (.*)", command)
    return Reply("", "bash", f"timeout {limit[1]} {limit[2]}" if limit else command)


def _ping(_: Shell, call: Call) -> Answer:
    words = call.words[1].split()
    if words[0] == "vrf":
        words = words[2:]
    if not words or not re.fullmatch(r"[0-9A-Fa-f:.]+", words[0]):
        raise Refused("% Invalid input (at token 1)")
    return Reply("", "bash", f"ping -c 5 -i 0.2 -W 1 {words[0]}")


def _reload(shell: Shell, call: Call) -> Answer:
    boot = Reply("", "reload")
    if call.words[-1] == "now":
        return boot

    def proceed(answer: str) -> Reply:
        return boot if answer in ("", "y", "yes") else Reply()

    def save(answer: str) -> Reply:
        if answer.startswith("y"):
            _saved(shell)
        elif not answer.startswith("n"):
            return Reply()
        return shell.ask("Proceed with reload? [confirm]", proceed)

    startup = [line for line in shell.switch.startup_lines() or [] if not line.startswith("!")]
    now = [line for line in config.text_of(shell.switch.sessions.running).splitlines() if not line.startswith("!")]
    if startup != now:
        return shell.ask("System configuration has been modified. Save? [yes/no/cancel/diff]:", save)
    return shell.ask("Proceed with reload? [confirm]", proceed)


COMMANDS: dict[str, Handler] = {
    "enable": _enable,
    "disable": _disable,
    "end": _end,
    "exit": _exit,
    "configure": _configure,
    "terminal_width": _width,
    "terminal_length": _length,
    "nothing": _nothing,
    "configure_session": _configure_session,
    "session_commit": _session_commit,
    "session_abort": _session_abort,
    "commit": _commit,
    "abort": _abort,
    "rollback": _rollback,
    "configure_replace": _replace,
    "checkpoint_save": _checkpoint_save,
    "checkpoint_restore": _checkpoint_restore,
    "copy": _copy,
    "write": _write,
    "delete": _delete,
    "dir": _dir,
    "verify": _verify,
    "diff": _diff,
    "bash": _bash,
    "ping": _ping,
    "reload": _reload,
}
"""What answers each command of the table that is not a show."""
