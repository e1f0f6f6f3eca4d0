"""One node of the lab: its namespaces, its files, and how a process is started inside.

A node has its own network, pid, mount, UTS and IPC namespaces. Process 1 of its pid namespace does nothing but reap; killing it ends
everything that runs in the node, which is what a power cut does. The next boot makes all
namespaces anew and moves the interfaces over, so that cables stay plugged and nothing else stays.
"""

from __future__ import annotations

import os
import signal
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from fabric.lab import syscalls
from fabric.lab.names import MANAGEMENT

DISK = "disk"
"""Folder of a node that holds what survives a reboot: a small tmpfs, so that it can be filled."""

FILES = "files"
"""Folder of a node that holds files which are laid over the machine's own at each boot."""

DISK_MIB = 64
"""Size of that file system, in MiB: room for many configurations, quick to fill."""

_OVERLAID = ("etc", "var", "opt", "mnt", "root", "usr/local")
_SYSCTLS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/fib_multipath_hash_policy": "1",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv6/fib_multipath_hash_policy": "1",
    "net/ipv6/conf/all/forwarding": "1",
    "net/ipv6/conf/default/forwarding": "1",
    "net/ipv6/conf/default/accept_dad": "0",
    "net/ipv6/conf/all/accept_dad": "0",
    "net/ipv6/conf/default/keep_addr_on_down": "1",
    "net/ipv6/conf/all/keep_addr_on_down": "1",
    "net/ipv4/ping_group_range": "0 2147483647",
    # A router answers with the address of the port where the packet came in, as switches do, and answers every probe.
    "net/ipv4/icmp_errors_use_inbound_ifaddr": "1",
    "net/ipv4/icmp_ratelimit": "0",
    "net/ipv6/icmp/ratelimit": "0",
}
# Eight interfaces in one host: each answers for its own addresses only, and drops nothing for its way back (hosts.md 2.6).
_HOST_SYSCTLS = {
    "net/ipv4/ip_forward": "0",
    "net/ipv4/conf/all/arp_ignore": "1",
    "net/ipv4/conf/all/arp_announce": "2",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv6/conf/all/forwarding": "0",
    "net/ipv6/conf/default/forwarding": "0",
    "net/ipv6/conf/default/accept_ra": "0",
    "net/ipv6/conf/all/accept_ra": "0",
}


def netns(name: str) -> str:
    """Path of a node's network namespace."""
    return f"/run/netns/{name}"


def make_netns(name: str) -> None:
    """Enter a new network namespace and give it a name."""
    syscalls.unshare(syscalls.NEWNET)
    Path(netns(name)).touch()
    syscalls.bind("/proc/self/ns/net", netns(name))


def make_empty_netns(name: str) -> None:
    """A named network namespace that no process lives in. OSError with what the kernel refused."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            make_netns(name)
        except OSError as error:
            os.write(writer, f"{error}".encode())
            os._exit(1)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        said = pipe.read()
    if os.waitpid(child, 0)[1] != 0:
        raise OSError(f"network namespace {name}: {said}")


def set_netns_aside(name: str) -> str:
    """Take the name from a network namespace; returns the name under which it waits for `forget_netns`."""
    aside = f"{name}--"
    Path(netns(aside)).touch()
    syscalls.bind(netns(name), netns(aside))
    forget_netns(name)
    return aside


def forget_netns(name: str) -> None:
    """Drop a name of a network namespace; without processes it ceases to be."""
    syscalls.umount(netns(name))
    Path(netns(name)).unlink()


def create(name: str, kind: str, folder: Path, binds: Mapping[str, str]) -> int:
    """Make the namespaces of a node and return the pid of its process 1, once everything is mounted.

    `binds`: where in the node -> folder below the node's disk that is seen there. Raises OSError with what the kernel refused.
    """
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(reader)
        _middle(name, kind, folder, binds, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        said = pipe.read().split("\n", 1)
    os.waitpid(middle, 0)
    if not said[0].isdigit() or said[1:] != ["ready"]:
        raise OSError(f"node {name}: {' '.join(said) or 'process 1 died'}")
    return int(said[0])


def _middle(name: str, kind: str, folder: Path, binds: Mapping[str, str], writer: int) -> NoReturn:
    """Between the supervisor and process 1: a new pid namespace holds only the children of who made it."""
    try:
        make_netns(name)
        syscalls.unshare(syscalls.NEWNS | syscalls.NEWUTS | syscalls.NEWIPC | syscalls.NEWPID)
        inner = os.fork()
        if inner == 0:
            _first(name, kind, folder, binds, writer)
    except BaseException as error:
        os.write(writer, f"{error}".encode())
        os._exit(1)
    os._exit(0)


def _first(name: str, kind: str, folder: Path, binds: Mapping[str, str], writer: int) -> NoReturn:
    """Process 1 of a node."""
    try:
        # Before /proc is our own it shows our pid as the supervisor sees it.
        outside = Path("/proc/self").readlink()
        os.write(writer, f"{outside}\n".encode())
        syscalls.sethostname(name)
        mounts(folder, binds)
        _write_sysctls(name, kind)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        os.write(writer, b"ready")
        os.closerange(3, 256)
    except BaseException as error:
        os.write(writer, f"{error}".encode())
        os._exit(1)
    while True:
        signal.sigwait({signal.SIGCHLD})
        _reap()


def _reap() -> None:
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def mounts(folder: Path, binds: Mapping[str, str]) -> None:
    """Make this mount namespace that of the node whose folder is `folder`; `binds` as for `create`."""
    syscalls.mount("none", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    root = folder / "overlay"
    root.mkdir(exist_ok=True)
    syscalls.mount("lab", str(root), "tmpfs", options="mode=755")
    frr = root / "frr"
    frr.mkdir()
    has_frr = Path("/etc/frr").is_dir()  # not where only an InfiniBand lab runs
    if has_frr:
        syscalls.bind("/etc/frr", str(frr))
    own = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    hiding = [place for place in _OVERLAID if folder.is_relative_to(f"/{place}")]
    for place in sorted(
        _OVERLAID, key=hiding.__contains__
    ):  # what hides the folder, which holds the upper layers, is the last
        upper, work = root / place / "upper", root / place / "work"
        upper.mkdir(parents=True)
        work.mkdir()
        syscalls.mount("lab", f"/{place}", "overlay", options=f"lowerdir=/{place},upperdir={upper},workdir={work}")
    if hiding:  # the folder is shared with the lab
        syscalls.mount(f"/proc/self/fd/{own}", str(folder), flags=syscalls.MS_BIND | syscalls.MS_REC)
    os.close(own)
    if has_frr:
        syscalls.bind(str(frr), "/etc/frr")
    syscalls.mount("lab", "/dev/shm", "tmpfs", options="mode=1777")  # noqa: S108 - the place, not a temporary file
    _copy_files(folder / FILES, Path("/"))
    for place, source in binds.items():
        disk = folder / DISK / source
        disk.mkdir(parents=True, exist_ok=True)
        Path(place).mkdir(parents=True, exist_ok=True)
        syscalls.bind(str(disk), place)
    syscalls.mount("proc", "/proc", "proc")
    syscalls.mount("sysfs", "/sys", "sysfs", syscalls.MS_NOSUID)  # /sys/class/net is that of who mounts it


def _copy_files(source: Path, target: Path) -> None:
    """The node's own passwd, login shell...: real files of its file system, so that they can be changed until the next boot."""
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir(exist_ok=True)
        else:
            place.unlink(missing_ok=True)
            place.write_bytes(path.read_bytes())
            place.chmod(path.stat().st_mode & 0o777)


def _write_sysctls(name: str, kind: str) -> None:
    # Each switch hashes flows with a seed of its own: with the same one, flows that met at one tier meet at the next again.
    seed = {"net/ipv4/fib_multipath_hash_seed": str(zlib.crc32(name.encode()) or 1)}
    for key, value in {**_SYSCTLS, **seed, **(_HOST_SYSCTLS if kind == "host" else {})}.items():
        path = Path("/proc/sys") / key
        if path.exists():
            path.write_text(value, encoding="ascii")


def spawn(
    pid: int, argv: Sequence[str], log: Path, env: Mapping[str, str], into: tuple[str, ...] = syscalls.NAMESPACES
) -> int:
    """Start a program in the node whose process 1 is `pid`, in those of its namespaces that `into` names; returns its pid.

    What it prints goes to `log`.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        try:
            os.close(reader)
            out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            syscalls.enter(pid, into=into)
            child = os.fork()
            if child == 0:
                _become(argv, env, out)
            os.write(writer, str(child).encode())
        except BaseException as error:
            os.write(writer, f"{error}".encode())
            os._exit(1)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(middle, 0)
    if not said.isdigit():
        raise OSError(f"{argv[0]}: {said or 'did not start'}")
    return int(said)


def _become(argv: Sequence[str], env: Mapping[str, str], out: int) -> NoReturn:
    """Turn this process into the program: own session, nothing inherited but the log."""
    try:
        os.setsid()
        os.chdir("/")
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.closerange(3, 256)
        os.execve(argv[0], list(argv), dict(env))  # noqa: S606 - our own argument lists
    except BaseException as error:
        os.write(2, f"{argv[0]}: {error}\n".encode())
    os._exit(127)


def management_batch(address: str, gateway: str) -> list[str]:
    """`ip` commands for a switch's management interface. Its routes stand in a table of their own, as in a management VRF."""
    own = address.split("/", maxsplit=1)[0]
    return [
        "link set lo up",
        f"link set {MANAGEMENT} up",
        f"addr replace {address} dev {MANAGEMENT} noprefixroute",
        f"rule add from {own} lookup 99 priority 99",
        f"route replace {_network(address)} dev {MANAGEMENT} table 99",
        f"route replace default via {gateway} dev {MANAGEMENT} table 99 onlink",
    ]


def _network(address: str) -> str:
    own, _, length = address.partition("/")
    parts = [int(part) for part in own.split(".")]
    value = (parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | parts[3]) >> (32 - int(length)) << (32 - int(length))
    return f"{value >> 24}.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}/{length}"
