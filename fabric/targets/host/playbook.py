"""How hosts are reached: ansible-playbook of this Python, with our playbooks, over a spec as its inventory.

No secret stands in its arguments. Its environment is ours: secrets of the spec are found there, or in files, by the action plugin, on
this machine.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fabric.errors import FabricError
from fabric.resources import resource
from fabric.targets.host import leash
from fabric.targets.host.scratch import Scratch

PROGRAM = "FABRIC_ANSIBLE_PLAYBOOK"
"""Environment variable: another ansible-playbook than the one beside this Python."""
PLAYBOOKS = "FABRIC_PLAYBOOKS"
"""Environment variable: another folder of playbooks than the package's."""
SPEC = "cluster.yaml"
"""The name by which the inventory plugin knows a spec."""
_GRACE_S = 15.0
"""Seconds between SIGTERM and SIGKILL: Ansible hands the first on to its workers (our choice)."""


def program() -> str:
    """ansible-playbook of this Python, as its inventory plugin needs this very package. Raises FabricError."""
    beside = Path(sys.executable).parent / "ansible-playbook"
    found = os.environ.get(PROGRAM) or (str(beside) if beside.is_file() else shutil.which("ansible-playbook"))
    if not found or not os.access(found, os.X_OK):
        hint = "install ansible-core in the environment of fabric"
        raise FabricError(f"there is no program {found or 'ansible-playbook'}", hint=hint)
    return found


def folder_of_playbooks() -> Path:
    """Where site.yml and the other playbooks are."""
    return Path(os.environ[PLAYBOOKS]) if os.environ.get(PLAYBOOKS) else resource("playbooks")


def playbook(name: str) -> Path:
    """A playbook by its file name. Raises FabricError."""
    path = folder_of_playbooks() / name
    if not path.is_file():
        hint = f"{PLAYBOOKS} names the folder, by default the package's own"
        raise FabricError(f"there is no playbook {path}", hint=hint)
    return path


def inventory(spec: Path | None, text: str, folder: Path) -> Path:
    """The spec at `spec` where it has the name that counts, and still this `text`; else a copy of the text in `folder`, which is ours.

    What a spec names relative to itself (secrets, GUIDs) is found beside the copy too.
    """
    if spec is not None and spec.name == SPEC:
        try:
            if spec.read_text(encoding="utf-8") == text:
                return spec.absolute()
        except (OSError, UnicodeDecodeError):
            pass  # not readable any more: then the text that we have counts
    beside = spec.absolute().parent if spec is not None else None
    place = folder / "spec"
    place.mkdir()
    for entry in beside.iterdir() if beside is not None and beside.is_dir() else ():
        if entry.name != SPEC:
            (place / entry.name).symlink_to(entry)
    copy = place / SPEC
    copy.write_text(text, encoding="utf-8")
    return copy


def limit(hosts: Iterable[str], folder: Path) -> str:
    """What `--limit` takes, for any number of hosts: a file in `folder`."""
    path = folder / "limit"
    path.write_text("".join(f"{host}\n" for host in hosts), encoding="utf-8")
    return f"@{path}"


def environment(more: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Our environment with Ansible's settings for being read by a program, and `more`; its own temporary files go to `folder`."""
    env = {**os.environ, "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8", **more}  # Ansible does not start without UTF-8
    config = folder_of_playbooks() / "ansible.cfg"
    if config.is_file():
        env.setdefault("ANSIBLE_CONFIG", str(config))
    env.setdefault("ANSIBLE_LOCAL_TEMP", str(folder / "ansible"))
    if env.get("FABRIC_VAULT_PASSWORD_FILE"):
        env.setdefault("ANSIBLE_VAULT_PASSWORD_FILE", env["FABRIC_VAULT_PASSWORD_FILE"])
    return env


def joined(variable: str, first: str, by: str) -> str:
    """A list in an environment variable with `first` put before what the user has set."""
    more = os.environ.get(variable)
    return f"{first}{by}{more}" if more else first


def start(
    argv: Sequence[str], env: Mapping[str, str], folder: Scratch, *, out: int, err: int, pass_fds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Starts it in a session of its own; it ends with this process, however that ends, and `folder` after both. Raises FabricError."""
    try:
        return subprocess.Popen(  # noqa: S603 - our own program and arguments, no shell
            [sys.executable, "-I", str(Path(leash.__file__)), str(os.getpid()), *argv],
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=dict(env), pass_fds=(folder.lock, *pass_fds),
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise FabricError(f"ansible-playbook cannot be started: {error.strerror}") from error


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, which Ansible hands on to its workers, and SIGKILL when that does not help. Nothing when it has ended."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def reason(said: Iterable[str]) -> str:
    """Of lines of its standard error the one that says what was wrong; "" when there is none."""
    lines = [line.strip() for line in said if line.strip()]
    marked = [line for line in lines if line.startswith(("[ERROR]", "ERROR!", "error:"))]
    found = (marked or lines or [""])[0 if marked else -1]
    return found.removeprefix("[ERROR]:").removeprefix("ERROR!").strip()[:400]
