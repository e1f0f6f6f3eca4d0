"""The lab as its supervisor holds it: which node has which process 1 and daemons, and which cable end sits in which socket."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import agent, cables, hosts, lldp, node, nodekinds, proc, shape, syscalls
from fabric.lab.cables import Socket
from fabric.lab.machines import image, machine
from fabric.lab.names import linux_name


@dataclass(slots=True)
class Running:
    """A booted node: pid of its process 1, pids of the daemons that the lab started, when it booted (monotonic seconds)."""

    pid: int
    since: float
    daemons: dict[str, int] = field(default_factory=dict)


class Plant:
    """All nodes and cables of one lab. Methods raise FabricError for what was asked wrongly, OSError for what the kernel refuses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lab: dict[str, Any] = json.loads((folder / "lab.json").read_text(encoding="utf-8"))
        self.nodes: dict[str, dict[str, Any]] = {item["name"]: item for item in self.lab["nodes"]}
        self.running: dict[str, Running] = {}
        self.ends: dict[Socket, str] = {}
        self.exits: list[str] = []
        self.rates: dict[Socket, int] = {}
        self._again: list[str] = []
        self._image: int | None = None
        self._described: dict[Socket, str] = {}

    # --- places -------------------------------------------------------------------------------------------------------
    def node_folder(self, name: str) -> Path:
        """Folder of a node."""
        return self.folder / "nodes" / name

    def log(self, name: str, daemon: str) -> Path:
        """Log file of a daemon."""
        return self.folder / "logs" / name / f"{daemon}.log"

    def spec(self, name: str) -> dict[str, Any]:
        """A node as declared; FabricError for a name that is none."""
        if name not in self.nodes:
            raise FabricError(
                f"this lab has no node {name!r}", hint=f"nodes are {', '.join(list(self.nodes)[:6])}, ..."
            )
        return self.nodes[name]

    def settings(self, name: str) -> dict[str, Any]:
        """A node's node.json."""
        data: dict[str, Any] = json.loads((self.node_folder(name) / "node.json").read_text(encoding="utf-8"))
        return data

    def pid(self, name: str) -> int:
        """Process 1 of a node."""
        self.spec(name)
        if name not in self.running:
            raise FabricError(f"{name} is not booted")
        return self.running[name].pid

    def socket(self, text: str) -> Socket:
        """`NODE:PORT`, the port by its NOS or Linux name -> the socket; FabricError when there is no such."""
        name, _, port = text.partition(":")
        ports = self.spec(name)["ports"]
        linux = ports.get(port) or linux_name(port)
        if linux not in ports.values():
            raise FabricError(
                f"{name} has no cable at {port!r}", hint=f"its ports are {', '.join(list(ports)[:8])}, ..."
            )
        return name, linux

    def port_name(self, socket: Socket) -> str:
        """`NODE:PORT` with the NOS name."""
        for port, linux in self.nodes[socket[0]]["ports"].items():
            if linux == socket[1]:
                return f"{socket[0]}:{port}"
        return ":".join(socket)

    def far(self, socket: Socket) -> Socket | None:
        """The socket at the other end of the cable, None when nothing is there."""
        mine = self.ends[socket]
        other = mine[:-1] + ("b" if mine.endswith("a") else "a")
        return next((place for place, end in self.ends.items() if end == other), None)

    # --- building -----------------------------------------------------------------------------------------------------
    def plug_all(self) -> None:
        """All cables and the management network; the namespaces are there."""
        managed = [(name, self._management(name)) for name, item in self.nodes.items() if _is_managed(item)]
        proc.ip_batch(cables.bridge_batch(self.lab["gateway"], managed))
        lines = []
        for number, cable in enumerate(self.lab["cables"]):
            a = (cable["a"], self.nodes[cable["a"]]["ports"][cable["a_port"]])
            b = (cable["b"], self.nodes[cable["b"]]["ports"][cable["b_port"]])
            lines.append(cables.cable_batch(a, b, cable["mtu"]))
            self.ends[a], self.ends[b] = f"c{number}a", f"c{number}b"
        proc.ip_batch(lines)

    def _management(self, name: str) -> str:
        return str(self.settings(name)["management_linux"])

    def is_machine(self, name: str) -> bool:
        """Is a node a host that is booted?"""
        return bool(self.spec(name)["machine"])

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
        address, interface = self.nodes[name]["front_end"], self._management(name)
        return [f"link set {interface} up", f"addr replace {address} dev {interface}"] if address else []

    def shape(self, sockets: Iterable[Socket]) -> None:
        """Give these sockets the rate that they have in a shaped lab."""
        shape.limit({socket: self.rates[socket] for socket in sockets if socket in self.rates})

    def forget_ways(self) -> None:
        """Let hosts forget what they have learnt of the MTU of ways."""
        for name, item in self.nodes.items():
            if item["nics"]:
                proc.ip_batch(["route flush cache"], netns=name)

    def align(self, name: str) -> None:
        """In a shaped lab: let each NIC of a host carry what goes to the same rail of the others; else no longer."""
        item = self.nodes[name]
        if item["nics"] and not self.rates:
            proc.ip_batch([f"route flush proto {hosts.RAIL}"], netns=name)
        elif item["nics"]:
            others = [other["nics"] for other in self.nodes.values() if other["nics"] and other["name"] != name]
            proc.ip_batch(hosts.rail_batch(item["nics"], others), netns=name)

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
        if self.nodes[name]["management"] and not _listens(self.pid(name), 22):
            return "sshd does not listen yet"
        return ""

    def start_daemon(self, name: str, daemon: str) -> None:
        """Start a daemon of the lab's in a node; FabricError when it runs or there is no such."""
        for known in nodekinds.daemons(self.spec(name)["kind"], self.node_folder(name), self.settings(name)):
            if known.name == daemon:
                if self.daemon_runs(name, daemon):
                    raise FabricError(f"{name}: {daemon} runs already")
                self._start(name, known)
                return
        raise FabricError(f"{name} has no daemon {daemon!r}")

    def kill_daemon(self, name: str, daemon: str) -> list[list[str]]:
        """Kill a daemon by its lab name or by its process name (bgpd, zebra...); returns the command lines of those killed."""
        mine = self.running[name].daemons.get(daemon) if self.pid(name) else None
        found = [mine] if mine is not None and proc.alive(mine) else []
        found += [pid for pid, comm in self.processes(name).items() if comm == daemon and pid not in found]
        if not found:
            raise FabricError(f"{name}: no {daemon} runs there")
        lines = [proc.cmdline(pid) for pid in found]
        for pid in found:
            _kill(pid)
        self._gone(found)
        return lines

    def power_off(self, name: str) -> None:
        """End everything that runs in a node, at once."""
        pid = self.pid(name)
        daemons = list(self.running[name].daemons.values())
        inside = proc.members(pid)
        del self.running[name]  # so that nobody takes these ends for crashes
        for one in (pid, *daemons):
            _kill(one)
        self._gone([pid, *daemons, *inside])

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
        interfaces = list(item["ports"].values()) + ([self._management(name)] if _is_managed(item) else [])
        self.power_on(name)
        mtu = {cable["mtu"] for cable in self.lab["cables"]}
        lines = cables.move_batch(interfaces, name)
        proc.ip_batch(lines, netns=aside)
        proc.ip_batch([f"link set {port} mtu {max(mtu)}" for port in item["ports"].values()], netns=name)
        node.forget_netns(aside)
        self.boot(name)
        self.shape((name, port) for port in item["ports"].values())
        self.align(name)

    def before_unplugging(self, socket: Socket) -> None:
        """Remember how a switch's port describes itself by LLDP; lldpd forgets it with the interface."""
        if self.nodes[socket[0]]["kind"] != "host":
            said = lldp.announced(self.settings(socket[0])["lldp_socket"], socket[1])
            if said is not None:
                self._described[socket] = said[1]

    def replugged(self, socket: Socket) -> None:
        """Name the port for lldpd again, and give a host's NIC its routes back, after another device took the socket."""
        name, linux = socket
        item = self.nodes[name]
        self.shape([socket])
        if self.is_machine(name):
            return  # its own network service sees the new device
        if item["kind"] == "host":
            names = [nic["name"] for nic in item["nics"]]
            proc.ip_batch(hosts.without_rules(hosts.nic_batch(item["nics"], names.index(linux))), netns=name)
            self.align(name)
            return
        port = self.port_name(socket).partition(":")[2]
        lldp.configure_port(self.settings(name)["lldp_socket"], port, linux, self._described.get(socket, ""))

    def _gone(self, pids: list[int], timeout_s: float = 10.0) -> None:
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


def _is_managed(item: dict[str, Any]) -> bool:
    """Has a node an interface on the management network?"""
    return bool(item["management"] or item["front_end"])


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
