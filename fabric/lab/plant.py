"""The lab as its supervisor holds it: which node has which process 1 and daemons; what it is cabled to is in `wiring`."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fabric.errors import FabricError
from fabric.lab import agent, cables, hosts, node, nodekinds, proc, syscalls
from fabric.lab.machines import image, machine
from fabric.lab.wiring import Wiring, is_managed

SSH_PORT = 22
POLL_S = 0.02
"""How often is looked whether a daemon answers, in seconds."""

READY_S = 120.0
"""Most seconds that a daemon or node may take until it answers, on a busy machine."""


@dataclass(slots=True)
class Running:
    """A booted node: pid of its process 1, pids of the daemons that the lab started, when it booted (monotonic seconds)."""

    pid: int
    since: float
    daemons: dict[str, int] = field(default_factory=dict)


class Plant(Wiring):
    """All nodes and cables of one lab. Methods raise FabricError for what was asked wrongly, OSError for what the kernel refuses."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.running: dict[str, Running] = {}
        self.exits: list[str] = []
        self._again: list[str] = []
        self._image: int | None = None

    def pid(self, name: str) -> int:
        """Process 1 of a node."""
        self.spec(name)
        if name not in self.running:
            raise FabricError(f"{name} is not booted")
        return self.running[name].pid

    # --- building -----------------------------------------------------------------------------------------------------
    def power_on(self, name: str) -> None:
        """Namespaces and mounts of a node. Its interfaces come by `plug_all` or from before a reboot."""
        kind = self.nodes[name]["kind"]
        for path in nodekinds.ready_files(kind, self.node_folder(name), self.settings(name)):
            path.unlink(missing_ok=True)
        if self.is_machine(name):
            node.make_empty_netns(name)  # all else it gets as it boots
            return
        pid = node.create(name, kind, self.node_folder(name), nodekinds.BINDS[kind])
        self.running[name] = Running(pid, time.monotonic())
        (self.node_folder(name) / agent.FIRST).write_text(f"{pid}\n", encoding="ascii")

    def _front_end(self, name: str) -> list[str]:
        """`ip` commands for a host's interface on the management network."""
        address, interface = self.nodes[name]["front_end"], self.management(name)
        return [f"link set {interface} up", f"addr replace {address} dev {interface}"] if address else []

    def boot(self, name: str) -> None:
        """Addresses that are the lab's own business, then the daemons."""
        item = self.nodes[name]
        if self.is_machine(name):
            self._boot_machine(name)
        elif item["kind"] == "host":
            proc.ip_batch(hosts.host_batch(item["nics"]) + self._front_end(name), netns=name)
        else:
            proc.ip_batch(node.management_batch(item["management"], item["gateway"]), netns=name)
        for daemon in nodekinds.daemons(item["kind"], self.node_folder(name), self.settings(name)):
            self._start(name, daemon)

    def _boot_machine(self, name: str) -> None:
        if self._image is None:
            self._image = image.hold(Path(self.lab["image"]))
        ports = self.nodes[name]["ports"].values()
        proc.ip_batch(["link set lo up", *(f"link set {port} mtu {machine.FIRST_MTU}" for port in ports)], netns=name)
        folder = self.node_folder(name)
        root = machine.assemble(folder, Path(self.lab["image"]))
        mirror = (self.folder / "mirror", self.settings(name)["mirror"])
        outer, pid = machine.start(self.folder, name, root, self.log(name, machine.DAEMON), mirror)
        self.running[name] = Running(pid, time.monotonic(), {machine.DAEMON: outer})

    def _start(self, name: str, daemon: nodekinds.Daemon) -> None:
        env = nodekinds.environment(name)
        # The lab's own daemons see a machine's network, and nothing else of it.
        into = ("net",) if self.is_machine(name) else syscalls.NAMESPACES
        pid = node.spawn(self.pid(name), daemon.argv, self.log(name, daemon.name), env, into)
        self.running[name].daemons[daemon.name] = pid

    # --- running ------------------------------------------------------------------------------------------------------
    def processes(self, name: str) -> dict[int, str]:
        """All processes of a node: pid -> name, without those of logins."""
        return {pid: proc.comm(pid) for pid in proc.members(self.pid(name))}

    def daemon_runs(self, name: str, daemon: str) -> bool:
        """Does a daemon that the lab started run?"""
        pid = self.running[name].daemons.get(daemon)
        return pid is not None and proc.alive(pid)

    def not_ready(self, name: str) -> str:
        """What a booted node's daemons still have to do, in words; "" when all answer."""
        kind = self.nodes[name]["kind"]
        for path in nodekinds.ready_files(kind, self.node_folder(name), self.settings(name)):
            if not path.exists():
                return f"{path.name} is not there yet"
        machine_waits = machine.not_ready(self.pid(name)) if self.is_machine(name) else ""
        if machine_waits:
            return machine_waits
        if self.nodes[name]["management"] and not _listens(self.pid(name), SSH_PORT):
            return "sshd does not listen yet"
        return ""

    def start_daemon(self, name: str, daemon: str) -> None:
        """Start a daemon of the lab's in a node; returns when it answers. FabricError when it ends, runs already, or there is no such."""
        folder, settings = self.node_folder(name), self.settings(self.spec(name)["name"])
        known = {each.name: each for each in nodekinds.daemons(self.spec(name)["kind"], folder, settings)}
        if daemon not in known:
            raise FabricError(f"{name} has no daemon {daemon!r}")
        if self.daemon_runs(name, daemon):
            raise FabricError(f"{name}: {daemon} runs already")
        place = nodekinds.ready_file(daemon, folder, settings)
        if place is not None:
            place.unlink(missing_ok=True)  # a killed one leaves it
        self._start(name, known[daemon])
        end = time.monotonic() + READY_S
        while not (place.exists() if place is not None else _listens(self.pid(name), SSH_PORT)):
            if not self.daemon_runs(name, daemon):
                raise FabricError(f"{name}: {daemon} ended", hint=f"fabric lab logs SPEC {name} {daemon}")
            if time.monotonic() > end:
                raise FabricError(f"{name}: {daemon} does not answer after {READY_S:g} s")
            time.sleep(POLL_S)

    def wait_ready(self, name: str) -> str:
        """Wait until the daemons of a booted node answer. What still lacks, in words, when one of them has ended or it takes too long."""
        end = time.monotonic() + READY_S
        while lacks := self.not_ready(name):
            self.reap()
            if time.monotonic() > end or not all(self.daemon_runs(name, each) for each in self.running[name].daemons):
                return lacks
            time.sleep(POLL_S)
        return ""

    def kill_daemon(self, name: str, daemon: str) -> list[list[str]]:
        """Kill a daemon by its lab name or by its process name (bgpd, zebra...); returns the command lines of those killed."""
        mine = self.running[name].daemons.get(daemon) if self.pid(name) else None
        found = [mine] if mine is not None and proc.alive(mine) else []
        found += [pid for pid, comm in self.processes(name).items() if comm == daemon and pid not in found]
        if not found:
            raise FabricError(f"{name}: no {daemon} runs there")
        lines = [proc.cmdline(pid) for pid in found]
        self.kill(found)
        return lines

    def kill(self, pids: list[int]) -> None:
        """Kill processes and wait until they are no more."""
        for pid in pids:
            _kill(pid)
        self.gone(pids)

    def power_off(self, name: str) -> None:
        """End everything that runs in a node, at once."""
        pid = self.pid(name)
        daemons = list(self.running[name].daemons.values())
        inside = proc.members(pid)
        del self.running[name]  # so that nobody takes these ends for crashes
        for one in (pid, *daemons):
            _kill(one)
        self.gone([pid, *daemons, *inside])

    def boot_again(self) -> None:
        """Boot the machines that have ended in order to boot again."""
        while self._again:
            name = self._again.pop()
            try:
                self.reboot(name)
            except (FabricError, OSError) as error:  # nobody waits for an answer here, and the lab goes on
                print(f"{name} does not boot again: {error}", flush=True)

    def reboot(self, name: str) -> None:
        """Power off and on: only the node's disk and its cables stay."""
        item = self.spec(name)
        self.power_off(name)
        aside = node.set_netns_aside(name)
        interfaces = list(item["ports"].values()) + ([self.management(name)] if is_managed(item) else [])
        self.power_on(name)
        mtu = {cable["mtu"] for cable in self.lab["cables"]}
        lines = cables.move_batch(interfaces, name)
        proc.ip_batch(lines, netns=aside)
        proc.ip_batch([f"link set {port} mtu {max(mtu)}" for port in item["ports"].values()], netns=name)
        node.forget_netns(aside)
        self.boot(name)
        self.shape((name, port) for port in item["ports"].values())
        self.align(name)

    def gone(self, pids: list[int], timeout_s: float = READY_S) -> None:
        """Wait until processes are no more (their sockets and mounts with them). Process 1 of a node ends only when all others are reaped."""
        end = time.monotonic() + timeout_s
        while True:
            self.reap()
            left = [pid for pid in pids if proc.alive(pid)]
            if not left:
                return
            if time.monotonic() > end:
                raise FabricError(f"processes {left} do not die")
            time.sleep(0.005)

    def reap(self) -> None:
        """Take the exit codes of processes that ended; those of our daemons are remembered for `status`."""
        while True:
            try:
                pid, code = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for name, running in self.running.items():
                for daemon, known in running.daemons.items():
                    if known == pid:
                        self._note_exit(name, daemon, code)

    def _note_exit(self, name: str, daemon: str, code: int) -> None:
        if daemon == machine.DAEMON and os.waitstatus_to_exitcode(code) == machine.REBOOT:
            self._again.append(name)
            return
        self.exits.append(f"{name}: {daemon} ended ({os.waitstatus_to_exitcode(code)})")
        print(self.exits[-1], flush=True)

    def mounts(self) -> Iterator[Path]:
        """Places below the state folder where something is mounted, innermost first."""
        for name in self.nodes:
            yield self.node_folder(name) / node.DISK

    def make_disks(self) -> None:
        """The small file system of each node, with the files that were prepared for it."""
        for name in self.nodes:
            disk = self.node_folder(name) / node.DISK
            disk.mkdir(exist_ok=True)
            size = machine.DISK_MIB if self.is_machine(name) else node.DISK_MIB
            syscalls.mount("disk", str(disk), "tmpfs", options=f"size={size}m,mode=755")
            _copy(self.node_folder(name) / "startup", disk)


def _copy(source: Path, target: Path) -> None:
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_symlink():
            place.symlink_to(path.readlink())
        elif path.is_dir():
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes(path.read_bytes())
            place.chmod(path.stat().st_mode & 0o777)


def _listens(pid: int, port: int) -> bool:
    """Does something in the network namespace of `pid` listen on a TCP port? Asking by connecting would fill its log."""
    lines = Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return any(fields[1].endswith(f":{port:04X}") and fields[3] == "0A" for fields in (line.split() for line in lines))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
