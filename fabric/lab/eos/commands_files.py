"""Commands on files: copy, write, delete, dir, verify, diff."""

from __future__ import annotations

import difflib
import hashlib
import time
from pathlib import Path

from fabric.lab.eos import config, grammar
from fabric.lab.eos.editor import Editor
from fabric.lab.eos.grammar import Refused
from fabric.lab.eos.shell import Answer, Call, Handler, Shell
from fabric.lab.eos.tree import Node

DONE = "Copy completed successfully.\n"


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


def read(shell: Shell, source: str, target: str) -> list[str]:
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


def blank_editor(shell: Shell, tree: Node) -> Editor:
    """An editor of a tree that no session has, with the faults of the switch."""
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
    lines = read(shell, source, target)
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


def saved(shell: Shell) -> str:
    """The running-config as startup-config; says so in EOS's words."""
    text = config.text_of(shell.switch.sessions.running)
    return _store(shell.switch.startup_path, text, "running-config", "startup-config")


def _write(shell: Shell, _: Call) -> Answer:
    return saved(shell)


def _delete(shell: Shell, call: Call) -> Answer:
    path = _path(shell, call.words[1])
    if path is None or not path.is_file():
        raise Refused(f"% Error deleting {call.words[1]} (No such file or directory)")
    path.unlink()
    return ""


def _dir(shell: Shell, call: Call) -> Answer:
    flash = shell.switch.node.flash
    if len(call.words) > 1 and call.words[1] not in ("flash:", "flash:/"):
        raise Refused(f"% Error listing directory {call.words[1]} (No such file or directory)")
    out = ["Directory of flash:/", ""]
    for path in sorted(flash.iterdir()):
        status = path.stat()
        kind = "drwx" if path.is_dir() else "-rwx"
        stamp = time.strftime("%b %e  %Y", time.localtime(status.st_mtime))
        out.append(f"       {kind}{status.st_size:>12}            {stamp}  {path.name}")
    import shutil

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
    old, new = (read(shell, one, "diff") for one in call.words[1:3])
    return "".join(
        f"{line}\n" for line in difflib.unified_diff(old, new, call.words[1], call.words[2], n=3, lineterm="")
    )


FILES: dict[str, Handler] = {
    "copy": _copy,
    "write": _write,
    "delete": _delete,
    "dir": _dir,
    "verify": _verify,
    "diff": _diff,
}
"""What answers each, by the names of the command table."""
