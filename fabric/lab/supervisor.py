"""Process 1 of a lab: builds it, starts the daemons of its nodes, and does what the command line asks (`fabric.lab.control`).

Started by `fabric lab up` as `python -m fabric.lab.supervisor STATE_FOLDER` in new namespaces. While the lab comes up, standard
input is the lifeline to that command: when it ends before the word "up" the command is dead, and so is the lab. The
supervisor restarts nothing by itself.
"""

from __future__ import annotations

import gc
import os
import selectors
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import convergence, frr, node, proc, syscalls
from fabric.lab.control import Listener
from fabric.lab.faults import Faults
from fabric.lab.plant import Plant
from fabric.words import counted

Say = Callable[[str], None]


class Supervisor:
    """The main loop and the operations."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plant = Plant(folder)
        self.faults = Faults(self.plant)
        self.started = time.monotonic()
        self.came_up = False
        self.stopping = False
        self.operations: dict[str, Callable[[dict[str, Any], Say], dict[str, Any]]] = {
            "boot": self._boot,
            "status": self._status,
            "converged": self._converged,
            "daemon": self._daemon,
            "fault": self._fault,
            "restore": self._restore,
            "faults": lambda _request, _say: {"faults": self.faults.listed()},
            "pid": lambda request, _say: {"pid": self.plant.pid(request["node"])},
            "stop": self._stop,
        }

    def loop(self) -> None:
        """Serve until told to stop, or until the lifeline breaks."""
        listener = Listener(self.folder)
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "stopping", True))
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ, lambda: listener.serve_one(self._handle))
            selector.register(reader, selectors.EVENT_READ, lambda: _drain(reader))
            selector.register(0, selectors.EVENT_READ, lambda: self._read_lifeline(selector))
            while not self.stopping:
                for key, _ in selector.select(self.faults.next_due()):
                    key.data()
                self.plant.reap()
                self.faults.run_due()

    def _read_lifeline(self, selector: selectors.BaseSelector) -> None:
        said = os.read(0, 64)
        selector.unregister(0)
        self.came_up = said.strip() == b"up"
        if not self.came_up:
            print("the command that started this lab is gone", flush=True)
            self.stopping = True

    def _handle(self, request: dict[str, Any], say: Say) -> dict[str, Any]:
        operation = self.operations.get(str(request.get("op")))
        if operation is None:
            raise FabricError(f"the lab does not know {request.get('op')!r}")
        return {"ok": True, **operation(request, say)}

    # --- operations ---------------------------------------------------------------------------------------------------
    def _boot(self, _request: dict[str, Any], say: Say) -> dict[str, Any]:
        """Build everything. `say` fails when the asking command is gone: so does the boot."""
        plant = self.plant
        private_run(self.folder)
        _private_frr()
        plant.make_disks()
        _make_limbo()
        for name in plant.nodes:
            plant.power_on(name)
        say(f"{counted(len(plant.nodes), 'node')} with namespaces")
        plant.plug_all()
        say(f"{counted(len(plant.lab['cables']), 'cable')} plugged")
        for number, name in enumerate(plant.nodes, start=1):
            plant.boot(name)
            if number % 8 == 0 or number == len(plant.nodes):
                say(f"{number} of {counted(len(plant.nodes), 'node')}: daemons started")
        return {}

    def _status(self, _request: dict[str, Any], _say: Say) -> dict[str, Any]:
        now = time.monotonic()
        nodes = [convergence.node_status(self.plant, name, now) for name in self.plant.nodes]
        return {
            "uptime_s": round(now - self.started, 1), "nodes": nodes, "converged": not any(node["missing"] for node in nodes),
            "faults": self.faults.listed(), "exits": self.plant.exits[-20:],
        }  # fmt: skip

    def _converged(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        return {"missing": convergence.missing(self.plant, request["nodes"], daemons_only=request["daemons_only"])}

    def _daemon(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        name, daemon, action = request["node"], request["daemon"], request["action"]
        if action in ("stop", "restart"):
            self.plant.kill_daemon(name, daemon)
        if action in ("start", "restart"):
            self.plant.start_daemon(name, daemon)
        return {}

    def _fault(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        return {"said": self.faults.make(request["kind"], request["arguments"])}

    def _restore(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        return {"said": self.faults.restore(request.get("id"))}

    def _stop(self, _request: dict[str, Any], _say: Say) -> dict[str, Any]:
        self.stopping = True
        return {}

    def clean(self) -> None:
        """Nothing of a lab that never came up stays, its folder neither."""
        for place in self.plant.mounts():
            if os.path.ismount(place):
                syscalls.umount(str(place))
        shutil.rmtree(self.folder, ignore_errors=True)


def _drain(reader: int) -> None:
    try:
        while os.read(reader, 512):
            pass
    except BlockingIOError:
        return


def private_run(folder: Path) -> None:
    """A /run of the lab's own. The state folder shows through where it was."""
    if folder.is_relative_to("/run"):
        keep = folder / "run"  # only a foothold: what is mounted there moves on at once
        keep.mkdir()
        syscalls.mount("lab", str(keep), "tmpfs", options="mode=755")
        place = keep / folder.relative_to("/run")
        place.mkdir(parents=True)
        syscalls.bind(str(folder), str(place))
        syscalls.mount(str(keep), "/run", flags=syscalls.MS_MOVE)
    else:
        syscalls.mount("lab", "/run", "tmpfs", options="mode=755")
    for name in ("netns", "frr", "sshd", "lldpd", "lock"):
        Path("/run", name).mkdir(exist_ok=True)


def _private_frr() -> None:
    """An /etc/frr of the lab's own."""
    shutil.chown("/run/frr", frr.USER, frr.USER)
    syscalls.mount("lab", "/etc/frr", "tmpfs", options="mode=755")
    shutil.chown("/etc/frr", frr.USER, frr.USER)


def _make_limbo() -> None:
    """The namespace of unplugged cables, which no process lives in."""
    pid = os.fork()
    if pid == 0:
        try:
            node.make_netns("limbo-")
        except OSError as error:
            print(f"limbo: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1] != 0:
        raise FabricError("the namespace of unplugged cables could not be made")


def leave(folder: Path, *, namespaces: bool = True) -> None:
    """Go on as process 1 of new namespaces, or without them; the process that was started writes down who that is, and ends."""
    if namespaces:
        syscalls.unshare(syscalls.NEWNS | syscalls.NEWNET | syscalls.NEWUTS | syscalls.NEWIPC | syscalls.NEWPID)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        part = folder / "pid.part"
        part.write_text(f"{pid} {proc.start_time(pid)}", encoding="ascii")
        part.replace(folder / "pid")  # whole at any moment: who finds no living pid there takes the lab for dead
        os._exit(0)
    os.close(writer)
    # Its end of file says that we are written down: the mount below hides the /proc in which our starter looks us up.
    os.read(reader, 1)
    os.close(reader)
    os.setsid()
    if not namespaces:
        return
    syscalls.mount("none", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("proc", "/proc", "proc")
    syscalls.sethostname("seat")


def main() -> None:
    """Run the supervisor of the lab whose state folder is the argument."""
    folder = Path(sys.argv[1])
    leave(folder)
    supervisor = Supervisor(folder)
    gc.collect()
    gc.freeze()  # children share the pages of what is loaded
    supervisor.loop()
    if not supervisor.came_up:
        supervisor.clean()


if __name__ == "__main__":
    main()
