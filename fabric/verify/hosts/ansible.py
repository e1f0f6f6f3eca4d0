"""One task on all hosts at once, by Ansible: who answered what. Nothing of it is judged here.

Ansible's own callback `tree` writes each host's result as a file as it comes, so that what was told before the end counts.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.targets.host.playbook import end, environment, inventory, joined, limit, playbook, program, reason, start
from fabric.targets.host.scratch import Scratch, scratch

PLAYBOOK = "validate_hosts.yml"
MOST_BYTES = 8 << 20
"""Of one host's result that are read: what the module fabric_check takes of a host, 1 MiB, with Ansible's copy of it by lines."""


@dataclass(frozen=True, slots=True)
class Job:
    """`expected`: host -> its text, which the playbook `book` finds in the folder fabric_expect. `forks`: hosts at once.

    `host_s` and `all_s`: seconds for one host, and for all. `arguments` go to check-host.
    """

    spec: Path
    expected: Mapping[str, bytes]
    arguments: tuple[str, ...] = ()
    forks: int = 64
    host_s: float = 120.0
    all_s: float = 3600.0
    book: str = PLAYBOOK


def ask(job: Job) -> dict[str, dict[str, Any]]:
    """Host -> its result as Ansible has it, of the hosts in `job.expected`; those that told nothing are missing.

    Raises FabricError when Ansible could not begin.
    """
    with scratch("validate") as held:
        folder = held.path
        (folder / "expect").mkdir()
        for host, text in job.expected.items():
            (folder / "expect" / host).write_bytes(text)
        with (folder / "said").open("w+b") as said:
            code = _run(job, held, said.fileno())
            said.seek(0)
            told = reason(said.read(1 << 16).decode("utf-8", "replace").splitlines())
        found = _results(folder / "tree", job.expected)
    if code and not found:
        raise FabricError(f"ansible-playbook ended with code {code}{f': {told}' if told else ''}")
    return found


def _run(job: Job, held: Scratch, said: int) -> int:
    folder = held.path
    variables = {
        "fabric_expect": str(folder / "expect"),
        "fabric_check_arguments": list(job.arguments),
        "fabric_check_timeout": int(job.host_s),
    }
    source = inventory(job.spec, job.spec.read_text(encoding="utf-8"), folder)
    argv = [program(), "-i", str(source), "--limit", limit(job.expected, folder)]
    argv += ["--forks", str(job.forks), "--extra-vars", json.dumps(variables), str(playbook(job.book))]
    process = start(argv, _environment(folder), held, out=said, err=said)
    try:
        return process.wait(job.all_s)
    except subprocess.TimeoutExpired:
        return -1
    finally:
        end(process)


def _environment(folder: Path) -> dict[str, str]:
    return environment(
        {
            "ANSIBLE_CALLBACKS_ENABLED": joined("ANSIBLE_CALLBACKS_ENABLED", "ansible.builtin.tree", ","),
            "ANSIBLE_CALLBACK_TREE_DIR": str(folder / "tree"),
            "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.oneline",
        },
        folder,
    )


def _results(folder: Path, hosts: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    found = {}
    for host in hosts:
        path = folder / host
        if path.is_file():
            if path.stat().st_size > MOST_BYTES:
                found[host] = {"msg": f"it says more than {MOST_BYTES:,} bytes"}
                continue
            try:
                result = json.loads(path.read_bytes())
            except (ValueError, RecursionError):
                continue  # cut off when it was ended
            if isinstance(result, dict):
                found[host] = result
    return found
