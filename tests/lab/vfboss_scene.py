"""Two virtual FBOSS switches with one cable, in namespaces that end with the test: an RTSW and the CTSW above it, from rendered files."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fabric.design.fabric import Fabric
from fabric.lab import lldp
from fabric.lab.fboss.node import Node
from fabric.lab.names import linux_name
from fabric.targets import fboss
from tests.lab_unit.vfboss_box import make_node

_HOME = Path(__file__).resolve().parents[2]
_NAMESPACES = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--mount", "--ipc", "--uts")
_PRIVATE = """
for place in /run/netns /run/frr /etc/frr /run/lldpd; do mkdir -p $place; mount -t tmpfs lab $place; done
chown frr:frr /run/frr /etc/frr
for node in {a} {b}; do
  ip netns add $node; ip -n $node link set lo up
  ip netns exec $node sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.accept_dad=0 \
    net.ipv6.conf.all.accept_dad=0
done
ip link add {a_port} netns {a} type veth peer name {b_port} netns {b}
exec {python} -c "{init}"
"""


_INIT = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
print('ready', flush=True)
while True:
    signal.sigwait([signal.SIGCHLD])
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""
"""Process 1: reaps what its daemons leave behind, as a machine's does."""


class Scene:
    """The two boxes by role, and a shell in each."""

    def __init__(self, fabric: Fabric, folder: Path, pid: int) -> None:
        self.fabric, self._pid = fabric, pid
        self.link = next(link for link in fabric.links() if link.tier != "host")
        self.nodes = {}
        for role, name, port in zip(("rtsw", "ctsw"), *_ends(fabric), strict=True):
            sockets = f"/run/lldpd/{name}.sock"
            node = make_node(folder / name, name=name, lldp_socket=sockets, frr=name)
            raw = json.loads((node.folder / "node.json").read_text(encoding="utf-8"))
            raw["ports"] = {port: linux_name(port)}
            (node.folder / "node.json").write_text(json.dumps(raw), encoding="utf-8")
            for artifact in fboss.render(fabric, fabric.by_name[name]):
                path = node.path(artifact.path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(artifact.content)
            self.nodes[role] = Node(node.folder)

    def run(self, role: str, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """A command in a box, with the box's own command lines first on its path."""
        return subprocess.run(
            self.words(role, *words),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def words(self, role: str, *words: str) -> list[str]:
        node = self.nodes[role]
        tools = node.path("/usr/local/bin")
        first = str(tools / words[0]) if (tools / words[0]).exists() else words[0]
        inside = ["nsenter", "-t", str(self._pid), "-n", "-m", "-p", "-i", "-u", "ip", "netns", "exec", node.name]
        return [*inside, "env", f"PATH={tools}:/usr/sbin:/usr/bin:/sbin:/bin", first, *words[1:]]

    def background(self, role: str, *words: str) -> subprocess.Popen[bytes]:
        """A daemon in a box; it ends with the scene."""
        return subprocess.Popen(self.words(role, *words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def boot(self, role: str) -> None:
        """Power on, and wait for the agent."""
        node = self.nodes[role]
        conf = f"/run/lldpd/{node.name}.conf"  # where lldpcli can read it, which gives up root's rights
        text = lldp.config_text(node.name, "fboss", node.ports, "FBOSS")
        daemon = f'exec lldpd -d -u {node.lldp_socket} -O {conf} -I "*,!lo" -C "!*"'
        script = f"hostname {node.name}; cat > {conf} <<'END'\n{text}END\n{daemon}"
        self.background(role, "unshare", "--uts", "sh", "-c", script)
        self.background(
            role, "env", f"PYTHONPATH={_HOME}", sys.executable, "-S", "-m", "fabric.lab.fboss.boot", str(node.folder)
        )
        until(lambda: self.run(role, "systemctl", "is-active", "fboss_sw_agent").returncode == 0)

    def ask(self, role: str, *words: str) -> Any:
        """The model that `fboss2 --fmt json WORDS` answers; fails the test when it fails."""
        done = self.run(role, "fboss2", "--fmt", "json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["localhost"]

    def established(self, role: str) -> list[dict[str, Any]]:
        """The BGP sessions that are up."""
        return [row for row in self.ask(role, "show", "bgp", "summary")["sessions"] if row["peer"]["peer_state"] == 5]

    def up(self) -> bool:
        """Whether the sessions of both families are up at both ends."""
        return all(len(self.established(role)) == 2 for role in self.nodes)


def _ends(fabric: Fabric) -> tuple[tuple[str, str], tuple[str, str]]:
    """((rtsw, ctsw), (port, port)) of the first cable between tiers."""
    link = next(link for link in fabric.links() if link.tier != "host")
    ends = sorted([(link.a, link.a_port), (link.b, link.b_port)], key=lambda end: fabric.by_name[end[0]].role != "rtsw")
    return (ends[0][0], ends[1][0]), (ends[0][1], ends[1][1])


def until(good: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for something; fails the test when it does not come."""
    limit = time.monotonic() + seconds
    while not good():
        assert time.monotonic() < limit, "it did not come in time"
        time.sleep(0.2)


@contextmanager
def scene(fabric: Fabric, folder: Path) -> Iterator[Scene]:
    """The scene, booted and converged."""
    names, ports = _ends(fabric)
    script = _PRIVATE.format(
        a=names[0],
        b=names[1],
        a_port=linux_name(ports[0]),
        b_port=linux_name(ports[1]),
        python=sys.executable,
        init=_INIT,
    )
    outer = subprocess.Popen([*_NAMESPACES, "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert outer.stdout is not None
    try:
        assert outer.stdout.readline() == b"ready\n"
        inner = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text(encoding="ascii").split()[0])
        made = Scene(fabric, folder, inner)
        for role in made.nodes:
            made.boot(role)
        until(made.up)
        yield made
    finally:
        outer.kill()
        outer.wait()
