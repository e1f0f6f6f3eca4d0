"""One run of ansible-playbook: started, followed, ended when asked. No secret stands in its arguments; its output is not kept.

Its environment is ours: secrets of the spec are found there, or in files, by the action plugin, on this machine.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fabric.change.hosts import leash
from fabric.change.hosts.tally import LIMIT, Tally
from fabric.change.hosts.work import HostOutcome, Work
from fabric.change.mask import mask_lines
from fabric.errors import FabricError
from fabric.resources import resource

PROGRAM = "FABRIC_ANSIBLE_PLAYBOOK"
"""Environment variable: another ansible-playbook than the one beside this Python."""
PLAYBOOKS = "FABRIC_PLAYBOOKS"
"""Environment variable: another folder of playbooks than the package's."""
EVENTS = "FABRIC_EVENTS_FD"
SPEC = "cluster.yaml"
_TICK_S = 0.2
_GRACE_S = 15.0
"""Seconds between SIGTERM and SIGKILL: Ansible hands the first on to its workers (our choice)."""
_SAID = 64 << 10
"""Bytes of standard error that are looked at for the reason of a failure."""


def run_work(work: Work, stop: Callable[[], bool] = lambda: False) -> dict[str, HostOutcome]:
    """Runs it to its end, or until `stop()` or its deadline. Every host of `work` is in the result.

    Raises FabricError when Ansible could not begin: no program, no playbook, a mistake in one.
    """
    program, playbook = _program(), _playbook(work.playbook)
    tally = Tally(work.hosts)
    with tempfile.TemporaryDirectory(prefix="fabric-hosts-") as name:
        folder = Path(name)
        argv = [str(program), "-i", str(_inventory(work, folder)), "--limit", f"@{_limit(work, folder)}"]
        argv += ["--forks", str(work.forks), *(("--check", "--diff") if work.check else ())]
        if work.concern:
            argv += ["--extra-vars", f"fabric_concern={work.concern}"]
        argv.append(str(playbook))
        with (folder / "said").open("w+b") as said:
            code, cut = _follow(argv, said.fileno(), tally, (work.deadline_s, stop))
            said.seek(max(0, said.seek(0, os.SEEK_END) - _SAID))
            reason = _reason(said.read().decode("utf-8", "replace"))
    why = cut or f"ansible-playbook ended with code {code}{f': {reason}' if reason else ''}"
    if code and not cut and not tally.task:
        raise FabricError(why)
    return tally.outcomes(why)


def _program() -> Path:
    """ansible-playbook of this Python: its inventory plugin needs this very package."""
    named = os.environ.get(PROGRAM)
    beside = Path(sys.executable).parent / "ansible-playbook"
    found = named or (str(beside) if beside.is_file() else shutil.which("ansible-playbook"))
    if not found or not os.access(found, os.X_OK):
        raise FabricError(
            f"there is no program {found or 'ansible-playbook'}",
            hint="install ansible-core in the environment of fabric",
        )
    return Path(found)


def folder_of_playbooks() -> Path:
    """Where site.yml and the other playbooks are."""
    return Path(os.environ[PLAYBOOKS]) if os.environ.get(PLAYBOOKS) else resource("playbooks")


def require_concern(concern: str) -> None:
    """Raises FabricError when no playbook does this concern alone."""
    folder = folder_of_playbooks()
    known = sorted({p.name for p in (folder / "roles").glob("*") if (folder / f"{p.name}.yml").is_file()})
    if concern not in known:
        raise FabricError(f"--concern {concern!r} is none of {', '.join(known) or 'the playbooks'}")


def _playbook(name: str) -> Path:
    path = folder_of_playbooks() / name
    if not path.is_file():
        raise FabricError(
            f"there is no playbook {path}", hint=f"{PLAYBOOKS} names the folder, by default the package's own"
        )
    return path


def _inventory(work: Work, folder: Path) -> Path:
    """The spec itself where it is still the one that counts: files that it names stand beside it. Else a copy of its text."""
    path = Path(work.spec) if work.spec else None
    if path is not None and path.name == SPEC:
        try:
            if path.read_text(encoding="utf-8") == work.spec_text:
                return path.absolute()
        except (OSError, UnicodeDecodeError):
            pass  # not readable any more: then the text that we have counts
    copy = folder / SPEC
    copy.write_text(work.spec_text, encoding="utf-8")
    return copy


def _limit(work: Work, folder: Path) -> Path:
    path = folder / "limit"
    path.write_text("".join(f"{host}\n" for host in work.hosts), encoding="utf-8")
    return path


def _environment(events: int) -> dict[str, str]:
    env = dict(os.environ)
    ours = str(resource("playbooks") / "plugins" / "callback")
    more = env.get("ANSIBLE_CALLBACK_PLUGINS")
    env["ANSIBLE_CALLBACK_PLUGINS"] = f"{ours}:{more}" if more else ours
    env["ANSIBLE_STDOUT_CALLBACK"] = "fabric_events"
    env["ANSIBLE_NOCOLOR"] = "1"
    env["LC_ALL"] = "C.UTF-8"  # Ansible does not start without UTF-8
    env[EVENTS] = str(events)
    config = folder_of_playbooks() / "ansible.cfg"
    if config.is_file():
        env.setdefault("ANSIBLE_CONFIG", str(config))
    if env.get("FABRIC_VAULT_PASSWORD_FILE"):
        env.setdefault("ANSIBLE_VAULT_PASSWORD_FILE", env["FABRIC_VAULT_PASSWORD_FILE"])
    return env


def _follow(argv: list[str], said: int, tally: Tally, until: tuple[float, Callable[[], bool]]) -> tuple[int, str]:
    """Its exit code, and why it was ended by us ("" when it was not)."""
    reader, writer = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 - our own program and arguments, no shell
            [sys.executable, "-I", str(Path(leash.__file__)), str(os.getpid()), *argv],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, env=_environment(writer), pass_fds=(writer,),
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        os.close(reader)
        raise FabricError(f"ansible-playbook cannot be started: {error.strerror}") from error
    finally:
        os.close(writer)
    try:
        return _read(process, reader, tally, until)
    finally:
        _end(process)
        os.close(reader)


def _read(
    process: subprocess.Popen[bytes], reader: int, tally: Tally, until: tuple[float, Callable[[], bool]]
) -> tuple[int, str]:
    deadline, stop = time.monotonic() + until[0], until[1]
    rest, cut = b"", ""
    while True:
        ended = process.poll() is not None
        ready, _, _ = select.select([reader], [], [], 0 if ended else _TICK_S)
        data = os.read(reader, 1 << 20) if ready else b""
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            tally.line(line)
        rest = rest if len(rest) <= LIMIT else b""
        if ended and not data:
            return process.returncode, cut
        if not ended and not cut and (stop() or time.monotonic() > deadline):
            cut = "it was stopped by the operator" if stop() else f"no end after {until[0]:g} s"
            _end(process)
        elif not ended and not ready and not data:
            continue


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, which Ansible hands on to its workers, and SIGKILL when that does not help."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _reason(said: str) -> str:
    """The line of standard error that says what was wrong, without secrets."""
    lines = [line.strip() for line in mask_lines(said.splitlines()) if line.strip()]
    marked = [line for line in lines if line.startswith(("[ERROR]", "ERROR!", "error:"))]
    found = (marked or lines or [""])[0 if marked else -1]
    return found.removeprefix("[ERROR]:").removeprefix("ERROR!").strip()[:400]
