"""Single flows between two NICs: which way each takes, how fast it is, and the largest packet that gets through.

    mpirun --host A:1,B:1 ... python paths.py --from ADDRESS --to ADDRESS --nic NIC --flows 8 --size 9000

Rank 0 sends, rank 1 receives; without a launcher, `--rank` says so. A flow is a UDP source port: switches choose among equal ways
by addresses and ports, so packets of one flow take one way. Its hops answer to packets whose time to live ends there (ICMP, read from the
socket's error queue, which needs no rights), of the very flow that is measured. The rate is what arrives: one Python process sends
some Gbit/s, so on fast links it shows the way, and what is far too slow or loses packets; not the last percent.

When nothing arrives, the sender listens which switch port its NIC hears by LLDP; that needs CAP_NET_RAW. Each result is a line `paths: {...}`.
The file stands alone.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import select
import socket
import struct
import sys
import time
from typing import Any, NamedTuple

MAGIC = b"FbPt"
HEAD = struct.Struct("!4scHI")
"""Magic, kind (P ping, O its answer, D data, Q how much came, A its answer, E end), run, number."""

PORT = 47910
"""UDP port of the receiver (ours; free in the IANA registry's user range as of 2026)."""

FIRST_PORT = 49152
"""First source port: the dynamic range of RFC 6335. Flows lie apart, so that their hashes do."""

STEP = 17
HOPS = 8
"""Longest way: up and down three tiers are 5 switches."""

TRIES = 3
WAIT_S = 0.4
"""For one answer. A busy machine may be slow, a lossless fabric is not."""

UNHEARD = 3
"""Exit status of a sender that reached nobody: the launcher then ends the receiver, which cannot know."""

LLDP = 0x88CC


class Family(NamedTuple):
    """Numbers of the kernel for one IP version (linux/in.h, linux/in6.h)."""

    family: int
    level: int
    errors: int
    ttl: int
    discover: int
    header: int


FAMILIES = {
    4: Family(socket.AF_INET, 0, 11, 2, 10, 28),
    6: Family(socket.AF_INET6, 41, 25, 16, 23, 48),
}
PROBE = 3
"""IP_PMTUDISC_PROBE: never fragment, and do not believe what was learnt of the way's MTU."""


class Answer(NamedTuple):
    """What came back: `kind` is "end", "hop", "big" (with the MTU that the hop names) or "error"."""

    kind: str
    address: str
    mtu: int


def tell(**what: Any) -> None:
    """One result."""
    print("paths: " + json.dumps(what), flush=True)


def version(address: str) -> Family:
    """The family of an address."""
    return FAMILIES[6 if ":" in address else 4]


def open_socket(address: str, port: int) -> socket.socket:
    """A UDP socket at an address, whose packets are never fragmented and whose ICMP answers can be read."""
    family = version(address)
    made = socket.socket(family.family, socket.SOCK_DGRAM)
    made.setsockopt(family.level, family.errors, 1)
    made.setsockopt(family.level, family.discover, PROBE)
    made.bind((address, port))
    return made


class Flow:
    """One source port of the sender."""

    def __init__(self, options: argparse.Namespace, number: int) -> None:
        self.options, self.number = options, number
        self.family = version(options.source)
        self.port = options.first_port + STEP * number
        self.socket = open_socket(options.source, self.port)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 256 << 10)
        self.count = 0

    def packet(self, kind: bytes, run: int, size: int) -> bytes:
        """A packet of `size` bytes with its IP and UDP headers."""
        self.count += 1
        head = HEAD.pack(MAGIC, kind, run, self.count)
        return head.ljust(max(len(head), size - self.family.header), b"\0")

    def send(self, data: bytes, ttl: int = 64) -> str:
        """Send; "" or what the kernel says against it."""
        self.socket.setsockopt(self.family.level, self.family.ttl, ttl)
        for _ in range(4):  # an answer to an earlier packet comes as an error first
            try:
                self.socket.sendto(data, (self.options.target, self.options.port))
            except OSError as error:
                if error.errno == errno.EMSGSIZE:
                    return "EMSGSIZE"
                self.errors()
                continue
            return ""
        return "error"

    def errors(self) -> Answer | None:
        """The next ICMP answer in the error queue."""
        try:
            _, ancillary, _, _ = self.socket.recvmsg(512, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except OSError:
            return None
        for level, kind, data in ancillary:
            if level == self.family.level and kind == self.family.errors and len(data) >= 24:
                number, _origin, _type, _code, _, info, _ = struct.unpack_from("=IBBBBII", data)
                raw = data[20:24] if self.family.family == socket.AF_INET else data[24:40]
                address = socket.inet_ntop(self.family.family, raw) if len(raw) in (4, 16) else ""
                if number == errno.EMSGSIZE:
                    return Answer("big", address, info)
                return Answer("hop", address, 0)
        return None

    def answer(self, wait_s: float) -> Answer | None:
        """The next answer, from a hop or from the end; None when there is none in time."""
        end = time.monotonic() + wait_s
        poll = select.poll()
        poll.register(self.socket, select.POLLIN | select.POLLERR)
        while True:
            left = end - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return None
            found = self.errors()
            if found is not None:
                return found
            with contextlib.suppress(OSError):
                data, sender = self.socket.recvfrom(65535, socket.MSG_DONTWAIT)
                if data[:5] == MAGIC + b"O":
                    return Answer("end", sender[0], 0)

    def drain(self) -> None:
        """Forget answers that came late."""
        while self.answer(0.0005) is not None:
            pass

    def ask(self, size: int, ttl: int = 64, tries: int = TRIES) -> Answer | None:
        """Ping, a few times."""
        for _ in range(tries):
            self.drain()
            if self.send(self.packet(b"P", 0, size), ttl) == "EMSGSIZE":
                return Answer("big", self.options.source, 0)
            found = self.answer(WAIT_S)
            if found is not None:
                return found
        return None

    def trace(self, size: int) -> tuple[list[str], Answer | None]:
        """Addresses of the hops ("" = silent) that packets of a size reach, and what ended the search: None when nothing answers any more."""
        hops: list[str] = []
        for ttl in range(1, HOPS + 1):
            found = self.ask(size, ttl)
            if found is None and (not hops or not hops[-1]):
                return hops[:-1] if hops else [], None
            if found is not None and found.kind in ("end", "big"):
                return hops, found
            hops.append(found.address if found is not None else "")
        return hops, None

    def way(self) -> dict[str, Any]:
        """The way of small packets, and how far the largest ones get."""
        small, end = self.trace(0)
        found: dict[str, Any] = {"flow": self.port, "hops": small, "arrived": end is not None and end.kind == "end"}
        if found["arrived"]:
            found["full"] = self.fits()
            if not found["full"]:
                hops, last = self.trace(self.options.size)
                found["full_hops"] = hops
                if last is not None and last.kind == "big":
                    found.update(big_at=last.address, big_mtu=last.mtu)
        return found

    def fits(self) -> bool:
        """Whether packets of full size arrive. They do not when somebody says so, or smaller ones do at the same time again and again."""
        small = 0
        for _ in range(4 * TRIES):
            reached = self.ask(self.options.size, tries=1)
            if reached is not None and reached.kind in ("end", "big"):
                return reached.kind == "end"
            small += self.ask(0, tries=1) is not None
            if small >= TRIES:
                return False
        return True  # nothing gets through at times: a busy way, and no word of its packets' size

    def rate(self, run: int, size: int) -> dict[str, Any]:
        """Send for a while; what arrived of it, in bytes and seconds."""
        end, sent = time.monotonic() + self.options.seconds, 0
        while time.monotonic() < end:
            if self.send(self.packet(b"D", run, size)):
                break
            sent += 1
        for _ in range(int(self.options.patience / 0.1)):
            self.send(self.packet(b"Q", run, 0))
            told = self._told(run, 0.1)
            if told is not None:
                return {"flow": self.port, "run": run, "sent": sent, **told}
        return {"flow": self.port, "run": run, "sent": sent, "packets": 0, "bytes": 0, "seconds": 0.0}

    def _told(self, run: int, wait_s: float) -> dict[str, Any] | None:
        end = time.monotonic() + wait_s
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.socket], [], [], left)[0]:
                return None
            self.errors()
            with contextlib.suppress(OSError, ValueError):
                data, _ = self.socket.recvfrom(65535, socket.MSG_DONTWAIT)
                if data[:5] == MAGIC + b"A" and HEAD.unpack_from(data)[2] == run:
                    told: dict[str, Any] = json.loads(data[HEAD.size :])
                    return told
        return None


def send(options: argparse.Namespace) -> int:
    """Rank 0: wait for the receiver, then all flows, again and again."""
    flows = [Flow(options, number) for number in range(options.flows)]
    end = time.monotonic() + options.patience
    heard = False
    while not heard and time.monotonic() < end:
        heard = any(found is not None and found.kind == "end" for found in (flow.ask(0, tries=1) for flow in flows))
    ways = [flow.way() for flow in (flows if heard else flows[:2])]
    for way in ways:
        tell(**way)
    if not all(way["arrived"] for way in ways):
        hear(options)
    run = 0
    for _ in range(options.repeats):
        for flow, way in zip(flows, ways):  # noqa: B905 - Python 3.9, and both are of the same flows
            if way["arrived"] and way.get("full"):
                run += 1
                tell(**flow.rate(run, options.size))
    for _ in range(TRIES):
        for flow in flows:
            flow.send(flow.packet(b"E", 0, 0))
    return 0 if any(way["arrived"] for way in ways) else UNHEARD


def receive(options: argparse.Namespace) -> int:
    """Rank 1: answer, count, until told to end or left alone for too long."""
    here = open_socket(options.target, options.port)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    runs: dict[tuple[int, int], list[float]] = {}
    while select.select([here], [], [], options.patience + 2 * options.seconds + options.listen)[0]:
        try:
            data, sender = here.recvfrom(65535)
        except OSError:
            with contextlib.suppress(OSError):
                here.recvmsg(512, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
            continue
        if len(data) < HEAD.size or data[:4] != MAGIC or sender[0] != options.source:
            continue
        kind, run = data[4:5], HEAD.unpack_from(data)[2]
        if kind == b"E":
            return 0
        if kind == b"D":
            count(runs.setdefault((sender[1], run), [0, 0, time.monotonic(), 0.0, len(data)]), len(data))
            continue
        with contextlib.suppress(OSError):
            here.sendto(reply(kind, data, runs.get((sender[1], run))), sender)
    return 0


def count(seen: list[float], size: int) -> None:
    """Packets, bytes, first and last time, size of the first."""
    seen[0] += 1
    seen[1] += size
    seen[3] = time.monotonic()


def reply(kind: bytes, data: bytes, seen: list[float] | None) -> bytes:
    """The answer to a ping, or to the question how much came."""
    head = HEAD.unpack_from(data)
    if kind == b"P":
        return HEAD.pack(MAGIC, b"O", head[2], head[3])
    packets, octets, first, last, size = seen or [0, 0, 0.0, 0.0, 0]
    told = {"packets": packets, "bytes": octets - size, "seconds": round(last - first, 6) if packets > 1 else 0.0}
    return HEAD.pack(MAGIC, b"A", head[2], head[3]) + json.dumps(told).encode()


def hear(options: argparse.Namespace) -> None:
    """Tell which switch port the sender's NIC hears by LLDP; without a link it hears nobody."""
    if not options.nic or options.listen <= 0:
        return
    if dark(options.nic):
        tell(nic=options.nic, unheard="no link")
        return
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(LLDP)) as tap:
            tap.bind((options.nic, 0))
            tap.settimeout(options.listen)
            end = time.monotonic() + options.listen
            while time.monotonic() < end:
                frame, sender = tap.recvfrom(9000)
                if sender[2] != socket.PACKET_OUTGOING:  # our own lldpd speaks here too
                    tell(nic=options.nic, **lldp(frame[14:]))
                    return
    except (OSError, AttributeError) as error:
        tell(nic=options.nic, unheard=str(error))


def dark(nic: str) -> bool:
    """Whether an interface that is switched on has no link."""
    try:
        with open(f"/sys/class/net/{nic}/carrier", encoding="ascii") as file:  # noqa: PTH123
            return file.read().strip() == "0"
    except OSError:
        return False  # switched off, or not to be seen


def lldp(data: bytes) -> dict[str, str]:
    """`port` (its id) and `system` (its name) of an LLDP frame (IEEE 802.1AB: 7 bits of type, 9 of length)."""
    found, place = {}, 0
    while place + 2 <= len(data):
        head = int.from_bytes(data[place : place + 2], "big")
        kind, length = head >> 9, head & 511
        value = data[place + 2 : place + 2 + length]
        place += 2 + length
        if kind == 0:
            break
        if kind == 2:
            found["port"] = value[1:].decode("utf-8", "replace")
        elif kind == 5:
            found["system"] = value.decode("utf-8", "replace")
    return found


def main(arguments: list[str] | None = None) -> int:
    """The program of one rank."""
    parser = argparse.ArgumentParser(prog="paths", description="Way, rate and largest packet of single flows.")
    parser.add_argument("--from", dest="source", required=True, metavar="ADDRESS", help="of the sender's NIC")
    parser.add_argument("--to", dest="target", required=True, metavar="ADDRESS", help="of the receiver's NIC")
    parser.add_argument("--nic", default="", help="the sender's NIC, to hear by LLDP where it is plugged in")
    parser.add_argument("--flows", type=int, default=4, metavar="COUNT", help="source ports")
    parser.add_argument(
        "--repeats", type=int, default=3, metavar="COUNT", help="measurements of each flow, 0 = only ways"
    )
    parser.add_argument("--size", type=int, default=1500, metavar="BYTES", help="IP packet that must get through")
    parser.add_argument("--seconds", type=float, default=0.25, metavar="S", help="of each measurement")
    parser.add_argument("--patience", type=float, default=8.0, metavar="S", help="longest wait for the other end")
    parser.add_argument("--listen", type=float, default=0.0, metavar="S", help="longest wait for LLDP")
    parser.add_argument("--port", type=int, default=PORT, help="of the receiver")
    parser.add_argument("--first-port", type=int, default=FIRST_PORT, help="of the first flow")
    said = (
        os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMIX_RANK") or os.environ.get("SLURM_PROCID") or "0"
    )
    parser.add_argument("--rank", type=int, default=int(said), choices=(0, 1), help="0 sends, 1 receives")
    options = parser.parse_args(arguments)
    print(f"paths: rank {options.rank} starts", file=sys.stderr, flush=True)
    return send(options) if options.rank == 0 else receive(options)


if __name__ == "__main__":
    sys.exit(main())
