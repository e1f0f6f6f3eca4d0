"""FRR of one node: start, ask, and give a new configuration with the least disturbance.

Called in the node (its network and mount namespaces) or, for questions, in the operator's seat: the sockets are in one place for all.
All nodes share /etc/frr and /run/frr of the lab, each with a folder of its name (FRR's "pathspace", option -N).
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab.proc import run

DAEMONS = ("zebra", "bgpd", "bfdd")
"""What a node may run, in the order of starting."""

USER = "frr"
"""User and group of the daemons, as Debian's packages make them."""

WAIT_S = 60.0
"""Most seconds until a daemon of FRR answers, on a busy machine."""

_LIB = "/usr/lib/frr"

ZEBRA_LINE = "no zebra nexthop kernel enable\n"
"""Routes carry their next hops themselves. FRR 8.4 loses next-hop objects of the kernel when a carrier goes and comes back, and routes
that use them are then refused for good ("Nexthop id does not exist")."""


def config_dir(node: str) -> Path:
    """Folder of a node's FRR configuration."""
    return Path("/etc/frr") / node


def run_dir(node: str) -> Path:
    """Folder of a node's FRR sockets and pid files."""
    return Path("/run/frr") / node


def prepare(node: str) -> None:
    """The folders of a node, owned as the daemons want them; an integrated frr.conf is what vtysh reads and frr-reload compares."""
    for folder in (config_dir(node), run_dir(node)):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.chown(folder, USER, USER)
    conf = config_dir(node) / "vtysh.conf"
    if not conf.exists():
        conf.write_text("service integrated-vtysh-config\n", encoding="ascii")


def start(
    node: str, daemons: tuple[str, ...] = ("zebra", "bgpd"), *, text: str = "", timeout_s: float = WAIT_S
) -> None:
    """Start daemons of a node with the configuration `text` (integrated form); returns when all answer. Those that run are left alone."""
    prepare(node)
    conf = config_dir(node) / "frr.conf"
    conf.write_text(text, encoding="utf-8")
    # Given the whole text, zebra would log every line that is bgpd's.
    (config_dir(node) / "zebra.conf").write_text(_of_zebra(text), encoding="utf-8")
    log = f"file:{run_dir(node)}/frr.log"
    missing = [daemon for daemon in daemons if not running(node, daemon)]
    for daemon in missing:
        # Unix sockets of a killed daemon would make vtysh wait for an answer.
        (run_dir(node) / f"{daemon}.vty").unlink(missing_ok=True)
        run([
            f"{_LIB}/{daemon}", "-d", "-N", node, "-u", USER, "-g", USER, "--log", log, "--log-level", "warnings",
            "-f", str(config_dir(node) / "zebra.conf" if daemon == "zebra" else conf),
        ])  # fmt: skip
    wait(node, missing, timeout_s)


def _of_zebra(text: str) -> str:
    """The lines of an integrated configuration that zebra understands: its own, and the blocks of interfaces and VRFs."""
    kept = [ZEBRA_LINE.rstrip()]
    inside = False
    for line in text.splitlines():
        if not line.startswith((" ", "!", "exit")):
            inside = line.startswith(
                ("frr ", "hostname ", "log ", "interface ", "vrf ", "ip route ", "ipv6 route ", "ip nht ", "ipv6 nht ")
            )
        if inside:
            kept.append(line)
    return "\n".join([*kept, ""])


def wait(node: str, daemons: list[str], timeout_s: float = WAIT_S) -> None:
    """Wait for the control sockets of daemons; FabricError names those that did not come."""
    end = time.monotonic() + timeout_s
    while True:
        away = [daemon for daemon in daemons if not _listens(run_dir(node) / f"{daemon}.vty")]
        if not away:
            return
        if time.monotonic() > end:
            raise FabricError(
                f"{node}: {', '.join(away)} did not start in {timeout_s:g} s", hint=f"see {run_dir(node)}/frr.log"
            )
        time.sleep(0.05)


def _listens(place: Path) -> bool:
    """Does somebody listen on a socket? That it is there is not enough: between its making and that, it refuses."""
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(str(place))
    except OSError:
        return False
    return True


def running(node: str, daemon: str) -> bool:
    """Does a daemon of the node run? Asked in the node: pid files hold the pids of its own pid namespace."""
    try:
        pid = int((run_dir(node) / f"{daemon}.pid").read_text(encoding="ascii"))
        return Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip() == daemon
    except (OSError, ValueError):
        return False


def vtysh(node: str, *commands: str, timeout_s: float = WAIT_S) -> str:
    """What vtysh prints for commands given in enable mode; FabricError when it fails."""
    argv = ["/usr/bin/vtysh", "-N", node]
    for command in commands:
        argv += ["-c", command]
    return run(argv, timeout_s=timeout_s)


def show_json(node: str, command: str, timeout_s: float = WAIT_S) -> Any:
    """The answer to `COMMAND json`; {} when FRR says nothing."""
    text = vtysh(node, f"{command} json", timeout_s=timeout_s)
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError:
        raise FabricError(f"{node}: {command}: no JSON: {text.strip()[:120]!r}") from None


def ask(node: str, daemon: str, command: str, timeout_s: float = WAIT_S) -> str:
    """Answer of one daemon to a show command, over its own socket: what vtysh does, at a tenth of the price.

    Raises FabricError when the daemon does not run or does not answer.
    """
    place = run_dir(node) / f"{daemon}.vty"
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(timeout_s)
            channel.connect(str(place))
            _exchange(channel, "enable")
            return _exchange(channel, command)
    except OSError as error:
        raise FabricError(f"{node}: {daemon} does not answer: {error}") from None


def _exchange(channel: socket.socket, command: str) -> str:
    """One command in FRR's vtysh protocol: text ended by NUL; the answer ends with three NULs and the result code."""
    channel.sendall(command.encode() + b"\0")
    data = bytearray()
    while data[-4:-1] != b"\0\0\0":
        part = channel.recv(65536)
        if not part:
            raise ConnectionResetError("closed in mid-answer")
        data += part
    return data[:-4].decode("utf-8", "replace")


def reload(node: str, text: str, timeout_s: float = 60.0) -> bool:
    """Give the daemons a new configuration; only what differs is touched. Returns False when nothing did.

    Raises FabricError with FRR's own words when a line is refused.
    """
    conf = config_dir(node) / "frr.conf"
    if conf.exists() and conf.read_text(encoding="utf-8") == text:
        return False
    part = conf.with_suffix(".new")
    part.write_text(ZEBRA_LINE + text, encoding="utf-8")  # compared with the running configuration of all daemons
    done = subprocess.run(  # noqa: S603
        [
            "/usr/bin/python3", f"{_LIB}/frr-reload.py", "--reload", "--overwrite", "--pathspace", node,
            "--confdir", "/etc/frr", "--rundir", str(run_dir(node)), "--bindir", "/usr/bin", "--stdout", str(part),
        ],
        capture_output=True, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip
    part.unlink(missing_ok=True)
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line.lower() or "%" in line]
        raise FabricError(f"{node}: FRR refused the configuration: {said[-1] if said else done.returncode}")
    conf.write_text(text, encoding="utf-8")
    return True
