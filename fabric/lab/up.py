"""Bring a lab up and take it down, from outside of it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fabric.design.load import Cluster
from fabric.errors import FabricError
from fabric.lab import control, nodekinds
from fabric.lab.machines.image import check_machine as check_boot
from fabric.lab.machines.image import ensure as ensure_image
from fabric.lab.prepare import prepare
from fabric.lab.proc import alive, start_time
from fabric.lab.state import PID_FILE, Lab
from fabric.lab.topology import lab_topology
from fabric.words import counted

PROGRAMS = {
    "/usr/lib/frr/zebra": "frr", "/usr/lib/frr/bgpd": "frr", "/usr/lib/frr/frr-reload.py": "frr-pythontools", "/usr/sbin/lldpd": "lldpd",
    "/usr/sbin/sshd": "openssh-server", "/usr/bin/ssh-keygen": "openssh-client", "ip": "iproute2", "ping": "iputils-ping",
}  # fmt: skip
"""What a lab runs -> the Debian package that has it."""

_RELEASE = re.compile(r"4\.\d{1,3}(?:\.\d{1,3}){1,2}[A-Z]{0,2}")
Say = Callable[[str], None]


def check_machine() -> None:
    """Raises FabricError that says in one line what this machine lacks for a lab."""
    missing = sorted({package for program, package in PROGRAMS.items() if shutil.which(program) is None})
    if missing:
        raise FabricError(f"a lab needs the packages {', '.join(missing)}", hint=f"apt-get install {' '.join(missing)}")
    if os.geteuid() != 0:
        raise FabricError(
            "a lab needs root rights: it makes namespaces and mounts, and its daemons change users",
            hint="run it with sudo",
        )
    refused = kernel_refusal()
    if refused:
        raise FabricError(refused)


def kernel_refusal() -> str:
    """What this kernel, or the container that we are in, refuses and a lab needs; "" when nothing."""
    probe = subprocess.run(
        [sys.executable, "-S", "-m", "fabric.lab.probe"],
        env=nodekinds.environment("probe"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if probe.returncode == 0:
        return ""
    return (probe.stderr.strip().splitlines() or ["this machine cannot run a lab"])[-1]


def up(
    lab: Lab,
    cluster: Cluster,
    *,
    blank: bool,
    subset: Sequence[str],
    timeout_s: float,
    say: Say,
    eos_release: str = "",
    boot: Sequence[str] = (),
) -> float:
    """Boot the lab and wait until it has converged; returns the seconds that it took. `eos_release` is as `show version` says it.

    `boot`: globs over the hosts that are booted as machines, for Ansible to provision.

    Raises FabricError when that is no release, when the lab is up already, cannot start (then nothing of it stays), or has not converged
    in time (then it runs on).
    """
    started = time.monotonic()
    if eos_release and not _RELEASE.fullmatch(eos_release):
        raise FabricError(f"{eos_release!r} is no EOS release", hint="like 4.30.1F")
    check_machine()
    if boot:
        check_boot()
    topology = lab_topology(cluster.fabric, subset, boot)
    image = ensure_image(say) if boot else None
    claim(lab)
    supervisor: subprocess.Popen[bytes] | None = None
    try:
        prepare(lab, cluster, topology, blank=blank, eos_release=eos_release, image=image)
        say(f"{counted(len(topology.nodes), 'node')} prepared ({time.monotonic() - started:.1f} s)")
        supervisor = start(lab)
        control.ask(lab.folder, "boot", progress=lambda text: say(f"{text} ({time.monotonic() - started:.1f} s)"))
        names = [node.name for node in topology.nodes]
        _wait(lab, names, daemons_only=True, end=started + timeout_s, say=say)
        say(f"all daemons answer ({time.monotonic() - started:.1f} s)")
    except BaseException:
        if supervisor is not None and supervisor.stdin is not None:
            supervisor.stdin.close()
        down(lab)
        raise
    assert supervisor.stdin is not None  # noqa: S101 - opened as a pipe
    supervisor.stdin.write(b"up\n")
    supervisor.stdin.close()
    if not blank:
        _wait(lab, names, daemons_only=False, end=started + timeout_s, say=say)
    return time.monotonic() - started


def claim(lab: Lab) -> None:
    """Make the state folder, ours alone; the folder of a dead lab is removed first."""
    lab.folder.parent.mkdir(parents=True, exist_ok=True)
    if lab.folder.exists():
        if lab.supervisor() is not None:
            raise FabricError("the lab of this spec is up already, or just coming up", hint="fabric lab down SPEC")
        lab.remove()
    # Renamed into place whole, since a folder without a living pid is taken for that of a dead lab.
    part = Path(tempfile.mkdtemp(prefix=".", dir=lab.folder.parent))
    (part / PID_FILE).write_text(f"{os.getpid()} {start_time(os.getpid())}", encoding="ascii")
    try:
        part.rename(lab.folder)
    except OSError:
        shutil.rmtree(part)
        raise FabricError("the lab of this spec is just coming up") from None


def start(lab: Lab, module: str = "fabric.lab.supervisor") -> subprocess.Popen[bytes]:
    """Start the supervisor; its standard input is the lifeline. FabricError with its words when it does not come."""
    log = lab.folder / "logs" / "supervisor.log"
    with log.open("ab") as out:
        process = subprocess.Popen(  # noqa: S603 - our own module
            nodekinds.python(module, str(lab.folder)),
            stdin=subprocess.PIPE, stdout=out, stderr=out, env=nodekinds.environment("seat"), cwd="/", start_new_session=True,
        )  # fmt: skip
    code = process.wait()  # it leaves the supervisor behind, with our pipe as its standard input
    end = time.monotonic() + 60
    while code == 0 and not (lab.folder / control.SOCKET).exists():
        if time.monotonic() > end or lab.supervisor() is None:
            break
        time.sleep(0.02)
    if code != 0 or not (lab.folder / control.SOCKET).exists():
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        why = said[-1] if said else f"its starter ended with {code}, its pid was {lab.supervisor()}"
        raise FabricError(f"the lab's supervisor did not start: {why}")
    return process


def _wait(lab: Lab, names: Sequence[str], *, daemons_only: bool, end: float, say: Say) -> None:
    left: dict[str, str] = dict.fromkeys(names, "")
    while True:
        before = len(left)
        left = control.ask(lab.folder, "converged", nodes=list(left), daemons_only=daemons_only)["missing"]
        if not left:
            return
        if len(left) != before:
            say(f"{counted(len(left), 'node')} not there yet, e.g. {_first(left)}")
        ended = next((f"{name}: {words}" for name, words in left.items() if "ended" in words), None)
        if ended is not None:
            raise FabricError(ended)
        if time.monotonic() > end:
            hint = None if daemons_only else "the lab goes on; fabric lab status SPEC, fabric lab down SPEC"
            raise FabricError(
                f"not converged in time: {_first(left)}" + (f", and {len(left) - 1} more" if len(left) > 1 else ""),
                hint=hint,
            )
        time.sleep(0.3)


def _first(left: dict[str, str]) -> str:
    name, words = next(iter(left.items()))
    return f"{name}: {words}"


def down(lab: Lab) -> bool:
    """End a lab and forget it; False when there was none. Killing its process 1 ends all processes, namespaces, mounts and interfaces."""
    if not lab.folder.exists():
        return False
    pid = lab.supervisor()
    if pid is not None and pid != os.getpid():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 30
        while alive(pid):
            if time.monotonic() > end:
                raise FabricError(f"the lab's process {pid} does not die")
            time.sleep(0.02)
    lab.remove()
    return True


def logs_of(lab: Lab, node: str) -> dict[str, Path]:
    """Log files of a node by daemon; FRR's are read through the lab's process 1."""
    found = {path.stem: path for path in sorted(lab.logs(node).glob("*.log"))}
    pid = lab.supervisor()
    if pid is not None:
        found |= {path.stem: path for path in sorted(Path(f"/proc/{pid}/root/run/frr/{node}").glob("*.log"))}
    return found
