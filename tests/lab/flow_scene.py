"""Flows over the lab's real links, at the operator's seat: `python -m tests.lab.flow_scene SPEC FLOWS PACKETS`; prints one JSON object.

{fibs: {switch: {prefix: [next hops]}} as the product's drivers read them, taken: {"switch interface": packets that its counter says},
asked: {"switch interface": flows} by the kernel's own answer to each flow's five-tuple at each switch, alike: the same while all switches
hash with one seed}.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fabric.cli.live import open_live
from fabric.cli.predict_live import read_fibs
from fabric.design.ip import fmt4
from fabric.design.load import load_cluster
from fabric.design.seats import Seat, Seating
from fabric.lab.names import linux_name

SEED = "/proc/sys/net/ipv4/fib_multipath_hash_seed"
PORT, FIRST, PAYLOAD = (
    4791,
    20_000,
    8_000,
)  # RoCE's destination port; packets far larger than what BGP and LLDP say meanwhile
FRAME = PAYLOAD + 8 + 20 + 14
# Zone to zone, then within a zone.
PAIRS = (
    ("z01-r001-h1", "z02-r001-h1"), ("z01-r001-h1", "z02-r002-h2"), ("z01-r001-h2", "z02-r002-h1"), ("z01-r001-h2", "z01-r002-h1"),
)  # fmt: skip
SINK = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind((sys.argv[1], int(sys.argv[2])))
    print(flush=True)
    time.sleep(600)
"""
SEND = """
import socket, sys
source, target, port, first, flows, packets, size = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
for flow in range(first, first + flows):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((source, flow))
        for _ in range(packets):
            s.sendto(bytes(size), (target, port))
"""


def inside(node: str, *command: str, text: str = "") -> str:
    done = subprocess.run(
        ["ip", "netns", "exec", node, *command], input=text, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def counters(switches: list[str]) -> Counter[str]:
    """Bytes sent by each interface of each switch."""
    found: Counter[str] = Counter()
    for switch in switches:
        for link in json.loads(inside(switch, "ip", "-j", "-s", "link", "show")):
            found[f"{switch} {link['ifname']}"] = link["stats64"]["tx"]["bytes"]
    return found


def send(pairs: list[tuple[Seat, Seat]], flows: int, packets: int) -> None:
    """`flows` UDP flows a pair, from ports of their own, to a socket that is there."""
    sinks = []
    try:
        for _, to in pairs:
            command = ["ip", "netns", "exec", to.host, sys.executable, "-c", SINK, fmt4(to.ip4 or 0), str(PORT)]
            sinks.append(subprocess.Popen(command, stdout=subprocess.PIPE))
            assert sinks[-1].stdout is not None
            sinks[-1].stdout.readline()
        for source, to in pairs:
            numbers = map(str, (PORT, FIRST, flows, packets, PAYLOAD))
            inside(source.host, sys.executable, "-c", SEND, fmt4(source.ip4 or 0), fmt4(to.ip4 or 0), *numbers)
    finally:
        for sink in sinks:
            sink.kill()
            sink.wait()


def asked(pairs: list[tuple[Seat, Seat]], flows: int, far: dict[str, str]) -> Counter[str]:
    """How many flows leave by each interface, if every switch on the way is asked for each flow; `far`: the end of each cable."""
    found: Counter[str] = Counter()
    todo = {(s.switch, linux_name(s.port)): [(s, t, FIRST + k) for k in range(flows)] for s, t in pairs}
    while todo:
        after: dict[tuple[str, str], list[tuple[Seat, Seat, int]]] = {}
        for (switch, came), here in todo.items():
            lines = "".join(
                f"route get {fmt4(t.ip4 or 0)} from {fmt4(s.ip4 or 0)} iif {came} ipproto udp sport {port} dport {PORT}\n"
                for s, t, port in here
            )
            answers = [line for line in inside(switch, "ip", "-batch", "-", text=lines).splitlines() if " dev " in line]
            assert len(answers) == len(here)
            for flow, answer in zip(here, answers, strict=True):
                out = f"{switch} {answer.split(' dev ')[1].split()[0]}"
                found[out] += 1
                if out in far:
                    node, _, interface = far[out].partition(" ")
                    after.setdefault((node, interface), []).append(flow)
        todo = after
    return found


@contextlib.contextmanager
def one_seed(switches: list[str]) -> Iterator[None]:
    """All switches hash alike, while inside."""
    before = {switch: inside(switch, "cat", SEED) for switch in switches}
    try:
        for switch in switches:
            inside(switch, "tee", SEED, text="1")
        yield
    finally:
        for switch, seed in before.items():
            inside(switch, "tee", SEED, text=seed)


def main() -> None:
    spec, flows, packets = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    seating = Seating(load_cluster(spec))
    pairs = [(seating.by_host[a][i], seating.by_host[b][i]) for i, (a, b) in enumerate(PAIRS)]
    far: dict[str, str] = {}
    for trunk in seating.trunks:
        a, b = f"{trunk.a} {linux_name(trunk.a_port)}", f"{trunk.b} {linux_name(trunk.b_port)}"
        far[a], far[b] = b, a
    live = open_live(spec)
    fibs = read_fibs(live)
    switches = [switch.name for switch in live.fabric.switches]
    before = counters(switches)
    send(pairs, flows, packets)
    after = counters(switches)
    taken = {out: round((after[out] - before[out]) / FRAME) for out in after}
    found = {"fibs": fibs, "taken": taken, "asked": asked(pairs, flows, far)}
    with one_seed(switches):
        found["alike"] = asked(pairs[:3], flows, far)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
