"""One task on all hosts at once, by Ansible: who answered what. Nothing of it is judged here.

Ansible's own callback `tree` writes each host's result as a file as it comes, so that what was told before the end counts.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.resources import resource

PLAYBOOK = "validate_hosts.yml"
PROGRAM = "FABRIC_ANSIBLE_PLAYBOOK"
"""Environment variable: another ansible-playbook than the one beside this Python."""
PLAYBOOKS = "FABRIC_PLAYBOOKS"
"""Environment variable: another folder of playbooks than the package's."""
SPEC = "cluster.yaml"
MOST_BYTES = 4 << 20
"""Of one host's result that are read."""
_GRACE_S = 10.0


@dataclass(frozen=True, slots=True)
class Job:
    """`forks`: hosts at once. `host_s` and `all_s`: seconds for one host, and for all. `arguments` go to check-host."""

    spec: Path
    expected: Mapping[str, bytes]
    arguments: tuple[str, ...] = ()
    forks: int = 64
    host_s: float = 120.0
    all_s: float = 3600.0


def ask(job: Job) -> dict[str, dict[str, Any]]:
    """Host -> its result as Ansible has it, of the hosts in `job.expected`; those that told nothing are missing.

    Raises FabricError when Ansible could not begin.
    """
    with tempfile.TemporaryDirectory(prefix="fabric-validate-") as name:
        folder = Path(name)
        (folder / "expect").mkdir()
        for host, text in job.expected.items():
            (folder / "expect" / host).write_bytes(text)
        (folder / "limit").write_text("".join(f"{host}\n" for host in job.expected), encoding="utf-8")
        with (folder / "said").open("w+b") as said:
            code = _run(job, folder, said.fileno())
            said.seek(0)
            reason = said.read(1 << 16).decode("utf-8", "replace")
        found = _results(folder / "tree", job.expected)
    if code and not found:
        raise FabricError(f"ansible-playbook ended with code {code}{_why(reason)}")
    return found


def _run(job: Job, folder: Path, said: int) -> int:
    variables = {
        "fabric_expect": str(folder / "expect"),
        "fabric_check_arguments": list(job.arguments),
        "fabric_check_timeout": int(job.host_s),
    }
    argv = [_program(), "-i", str(_inventory(job.spec, folder)), "--limit", f"@{folder / 'limit'}"]
    argv += ["--forks", str(job.forks), "--extra-vars", json.dumps(variables), str(_playbook())]
    process = subprocess.Popen(  # noqa: S603 - our own program and arguments, no shell
        argv, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=_environment(folder), start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(job.all_s)
    except subprocess.TimeoutExpired:
        return -1
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Also when Ctrl-C came: SIGTERM, which Ansible hands on to its workers, and SIGKILL when that does not help."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _program() -> str:
    """ansible-playbook of this Python: its inventory plugin needs this very package."""
    beside = Path(sys.executable).parent / "ansible-playbook"
    found = os.environ.get(PROGRAM) or (str(beside) if beside.is_file() else shutil.which("ansible-playbook"))
    if not found or not os.access(found, os.X_OK):
        hint = "install ansible-core in the environment of fabric"
        raise FabricError(f"there is no program {found or 'ansible-playbook'}", hint=hint)
    return found


def _folder() -> Path:
    return Path(os.environ[PLAYBOOKS]) if os.environ.get(PLAYBOOKS) else resource("playbooks")


def _playbook() -> Path:
    path = _folder() / PLAYBOOK
    if not path.is_file():
        raise FabricError(
            f"there is no playbook {path}", hint=f"{PLAYBOOKS} names the folder, by default the package's"
        )
    return path


def _inventory(spec: Path, folder: Path) -> Path:
    """The inventory plugin knows a spec by its name."""
    if spec.name == SPEC:
        return spec.absolute()
    copy = folder / SPEC
    copy.write_bytes(spec.read_bytes())
    return copy


def _environment(folder: Path) -> dict[str, str]:
    env = dict(os.environ)
    more = env.get("ANSIBLE_CALLBACKS_ENABLED")
    env["ANSIBLE_CALLBACKS_ENABLED"] = f"ansible.builtin.tree,{more}" if more else "ansible.builtin.tree"
    env["ANSIBLE_CALLBACK_TREE_DIR"] = str(folder / "tree")
    env["ANSIBLE_STDOUT_CALLBACK"] = "ansible.builtin.oneline"
    env["ANSIBLE_NOCOLOR"] = "1"
    env["LC_ALL"] = "C.UTF-8"  # Ansible does not start without UTF-8
    if (_folder() / "ansible.cfg").is_file():
        env.setdefault("ANSIBLE_CONFIG", str(_folder() / "ansible.cfg"))
    if env.get("FABRIC_VAULT_PASSWORD_FILE"):
        env.setdefault("ANSIBLE_VAULT_PASSWORD_FILE", env["FABRIC_VAULT_PASSWORD_FILE"])
    return env


def _results(folder: Path, hosts: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    found = {}
    for host in hosts:
        path = folder / host
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            try:
                result = json.loads(path.read_bytes())
            except (ValueError, RecursionError):
                continue  # cut off when it was ended
            if isinstance(result, dict):
                found[host] = result
    return found


def _why(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    marked: Sequence[str] = [line for line in lines if line.startswith(("[ERROR]", "ERROR!", "error:"))]
    found = (marked or lines[-1:] or [""])[0].removeprefix("[ERROR]:").removeprefix("ERROR!").strip()
    return f": {found[:400]}" if found else ""
