"""Logs of NCCL (and what stands between its lines: kernel, CUDA, lspci) -> clues, line by line.

`where` of a clue is the end that is suspected: of a local error, the NIC that told it; of a peer that did not answer or refused, the
peer, and `peer` is who told it. A GID stands as it was printed: it is the back-end address, which `Seating.seat_at` turns into host,
NIC and switch port. Facts: flight-recorder.md section 5, hosts.md section 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from fabric.verify.collectives.causes import BY_NAME, SAYINGS, STATUSES
from fabric.verify.collectives.launcher_lines import untag
from fabric.verify.collectives.model import Clue, ClueKind

MAX_CLUES = 100_000
"""Different clues of one log that are counted together; more are told one by one."""
MAX_LINE = 4096
"""Characters of a line that are looked at: NCCL cuts its own at 1,024."""
MAX_TEXT = 240
ACS_VENDOR = 81
"""Vendor error of a local protection error that ACS causes (hosts.md section 4, report 4)."""
PINNED_FROM = (2, 21)
"""From this NCCL on the GID index is chosen by itself (hosts.md section 4, report 2)."""
UNREACHABLE: frozenset[ClueKind] = frozenset({"gid-index", "gid-changed", "retry-exceeded"})
"""What a pinned index that went wrong looks like."""
MAX_CHUNK = 512 << 10
"""Chunk sizes above are debug settings (hosts.md 2.7)."""

_LINE = re.compile(
    r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,252}):(?P<pid>\d{1,9}):(?P<tid>\d{1,9}) \[(?P<dev>-?\d{1,4})\] "
    r"(?:[^\s]{1,80} ){0,3}?NCCL (?P<level>[A-Z]{4,8}) ?(?P<said>.*)"
)
_SYSLOG = re.compile(r"^(?:[A-Z][a-z]{2} +\d+ [\d:]{8}|\d{4}-\d\d-\d\dT\S+) (?P<host>[A-Za-z0-9][\w.-]*) (?P<said>.*)")
_PROGRAM = re.compile(r"^\s*(?P<host>[A-Za-z0-9][\w.-]*)(?: pid \d+)?: (?P<said>Test (?:NCCL |CUDA )?failure.*)")
_COMPLETION = re.compile(
    r"Got completion(?: from peer (?P<peer>[^\s<]+)(?:<\d+>)?)? with (?:status=|error )(?P<name>[A-Za-z_.]*)\(?(?P<code>\d{1,3})?"
)
_VENDOR = re.compile(r"vendor[_ ]err[= ](\d{1,6})")
_LOCAL = re.compile(r"localGid\s+([0-9a-fA-F:.]+)|local GID\s+([0-9a-fA-F:.]+)")
_REMOTE = re.compile(r"remoteGids?\s*([0-9a-fA-F:.]+)|remote GID\s+([0-9a-fA-F:.]+)")
_HCA = re.compile(r"\bhca ([\w.-]{1,60})|on dev ([\w.-]{1,60})")
_MODIFY = re.compile(r"Call to ibv_modify_qp failed")
_UNREACHED = re.compile(r"timed out|unreachable|No route|No data available", re.IGNORECASE)
_ASYNC = re.compile(
    r"NET/\w+ ?: (?:(?P<dev>[\w.-]{1,60}):\d+ )?(?:Got async event ?: (?P<event>.+)|(?P<fatal>async fatal event.*)|(?P<gid>GID table changed))"
)
_GDR_NIC = re.compile(r"GPU Direct RDMA Disabled for HCA \S+ '(?P<hca>[\w.-]{1,60})'")
_GDR_FAR = re.compile(r"GPU Direct RDMA Disabled for GPU \S+ / HCA \S+ \(distance")
_CHANNEL = re.compile(r"Channel \S+ : .{1,60}\[(?:send|receive)\] via NET/IB/(?P<rest>\S+)")
_VERSION = re.compile(r"NCCL version (\d{1,3})\.(\d{1,3})")
_SET = re.compile(r"\b(NCCL_\w{1,60}) set by environment to (\d{1,20})\b")
_OOB = re.compile(r"(?:Bootstrap ?: Using|OOB) (?:\[\d+\])?[\w.-]{1,16}:([0-9a-fA-F:.]{3,45})(?:%\w+)?<\d+>")
_COMM = re.compile(
    r"comm \S+ rank \d+ nranks \d+ cudaDev (?P<cuda>\d+)(?: nvmlDev (?P<nvml>\d+))? busId (?P<bus>[0-9a-fA-F]+)"
)


@dataclass(slots=True)
class _Log:
    """What is remembered of a log: counted clues, and what later lines need."""

    source: str
    host: str
    clues: dict[tuple[str, str, str, str], Clue] = field(default_factory=dict)
    counts: dict[tuple[str, str, str, str], int] = field(default_factory=dict)
    gdr: dict[str, list[int]] = field(default_factory=dict)
    gpus: dict[tuple[str, int], int] = field(default_factory=dict)
    buses: dict[int, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    pinned: dict[str, Clue] = field(default_factory=dict)
    version: tuple[int, int] = (0, 0)
    number: int = 0

    def add(self, kind: ClueKind, where: str, text: str, peer: str = "", *, sort: str = "") -> Clue | None:
        """Counts a clue; gives it back when there is no room to count it."""
        key = (kind, where, peer, sort)
        if key in self.counts:
            self.counts[key] += 1
            return None
        clue = Clue(kind, where, clean(text), peer, f"{self.source}:{self.number}")
        if len(self.clues) >= MAX_CLUES:
            return clue
        self.clues[key], self.counts[key] = clue, 1
        return None


def parse_nccl_log(lines: Iterable[str], source: str, *, host: str = "", gpu_pci: Sequence[str] = ()) -> Iterator[Clue]:
    """The clues of a log, equal ones counted, in the order in which they were first said; memory does not grow with the log.

    `host` is whose log it is, for lines that do not say so. `gpu_pci`: the PCI addresses of a host's GPUs by index, for Xids.
    """
    log = _Log(source, host, buses={_bus(address): index for index, address in enumerate(gpu_pci)})
    for log.number, line in enumerate(lines, 1):
        uncounted = _take(log, line[:MAX_LINE])
        if uncounted is not None:
            yield uncounted
    for key, clue in log.clues.items():
        yield replace(clue, count=log.counts[key])
    if any(clue.kind in UNREACHABLE for clue in log.clues.values()):
        yield from log.pinned.values()  # it works until the index moves: of a run without such errors it is no news
    for where, (direct, staged, number) in log.gdr.items():
        if staged:
            how = f"{staged} of {direct + staged} connections over NET/IB without GDRDMA"
            yield Clue("gdr-disabled", where, how, source=f"{source}:{number}", count=staged)


def clean(text: str) -> str:
    """At most 240 characters, printable ones only: what a log says is shown to people and written to files."""
    return "".join(char if char.isprintable() else " " for char in text[:MAX_TEXT]).strip()


def _take(log: _Log, line: str) -> Clue | None:
    """Most lines hold none of the words, which is found out first: logs have millions of lines."""
    if "NCCL" in line:
        for word, pattern, take in _TAKERS:
            if word in line:
                found = _LINE.search(line)
                match = pattern.search(found["said"] if found else line)
                if match is not None and (found is not None or take is _version):
                    return take(log, found["host"] if found else "", found["said"] if found else line, match)
    if not any(word in line for word in _WORDS):
        return None
    found = _LINE.search(line)
    if found is not None:
        return _words(log, found["host"], int(found["dev"]), found["said"])
    bare = untag(line)[1]
    other = _SYSLOG.match(line) or _SYSLOG.match(bare) or _PROGRAM.match(bare)
    return _words(log, other["host"] if other else log.host, None, other["said"] if other else bare)


def _words(log: _Log, host: str, device: int | None, said: str) -> Clue | None:
    """Words that are a clue in any line."""
    for saying in SAYINGS:
        match = saying.pattern.search(said)
        if match is None:
            continue
        gpu = device
        if "bus" in match.groupdict():
            bus = _bus(match["bus"])
            gpu = log.gpus.get((host, bus), log.buses.get(bus))
        where = f"{host}:gpu{gpu}" if saying.of == "gpu" and gpu is not None and gpu >= 0 and host else host
        return log.add(saying.kind, where, said[match.start() :] if len(said) > MAX_TEXT else said, sort=match[0][:60])
    return None


def _bus(text: str) -> int:
    """The bus number of a PCI address: `0000:1b:00` or NCCL's `1b000`."""
    parts = text.split(":")
    try:
        return int(parts[-2], 16) if len(parts) > 1 else int(text, 16) >> 12
    except ValueError:
        return -1


def _ends(host: str, said: str) -> tuple[str, str]:
    """Both ends as they were said: GIDs; else the local NIC or host, and nothing."""
    local, remote, hca = _LOCAL.search(said), _REMOTE.search(said), _HCA.search(said)
    here = (local[1] or local[2]) if local else ""
    there = (remote[1] or remote[2]) if remote else ""
    nic = (hca[1] or hca[2]) if hca else ""
    if not here or _unusable(here):
        here = f"{host}:{nic}" if nic else host
    return here, "" if _unusable(there) else there


@lru_cache(maxsize=1 << 16)
def _unusable(gid: str) -> bool:
    """A GID that names nobody: empty, `::`, link-local (NCCL prints GIDs on Ethernet only)."""
    try:
        address = ip_address(gid)
    except ValueError:
        return True
    return isinstance(address, IPv6Address) and (address.is_link_local or int(address) == 0)


def _bad_gid(said: str) -> bool:
    gids = [match[1] or match[2] for pattern in (_LOCAL, _REMOTE) if (match := pattern.search(said))]
    return bool(gids) and any(_unusable(gid) for gid in gids)


def _completion(log: _Log, host: str, said: str, match: re.Match[str]) -> Clue | None:
    code = int(match["code"]) if match["code"] else BY_NAME.get(match["name"], 0)
    status = STATUSES.get(code)
    if status is None:
        return None
    here, there = _ends(host, said)
    # on InfiniBand no GIDs are printed: then the bootstrap's address, which an earlier line of that host told, names the peer
    there = there or log.names.get(match["peer"] or "", "")
    vendor = _VENDOR.search(said)
    kind = status.kind
    if kind == "flushed":
        return log.add(kind, here, said, there)
    if kind == "retry-exceeded" and _bad_gid(said):
        return log.add("gid-index", here, said, there)
    if code == BY_NAME["IBV_WC_LOC_PROT_ERR"] and vendor and int(vendor[1]) == ACS_VENDOR:
        return log.add("acs", here, said, there)
    if status.end == "remote" and there:
        return log.add(kind, there, said, here)
    return log.add(kind, here, said, there or match["peer"] or "")


def _modify(log: _Log, host: str, said: str, _: re.Match[str]) -> Clue | None:
    here, there = _ends(host, said)
    if _bad_gid(said):
        return log.add("gid-index", here, said, there)
    if _UNREACHED.search(said):
        return log.add("retry-exceeded", there, said, here) if there else log.add("retry-exceeded", here, said)
    return log.add("local-error", here, said, there)


def _event(log: _Log, host: str, said: str, match: re.Match[str]) -> Clue | None:
    where = f"{host}:{match['dev']}" if match["dev"] else host
    if match["gid"]:
        return log.add("gid-changed", where, said)
    event = (match["event"] or match["fatal"] or "").strip()
    return log.add("port-error" if event.startswith("port error") else "async-event", where, said, sort=event[:60])


def _gdr_nic(log: _Log, host: str, said: str, match: re.Match[str]) -> Clue | None:
    return log.add("gdr-disabled", f"{host}:{match['hca']}", said)


def _gdr_far(log: _Log, host: str, said: str, _: re.Match[str]) -> Clue | None:
    return log.add("topology", host, said)


def _channel(log: _Log, host: str, _: str, match: re.Match[str]) -> None:
    if host in log.gdr or len(log.gdr) < MAX_CLUES:
        counts = log.gdr.setdefault(host, [0, 0, log.number])
        counts["GDRDMA" not in match["rest"]] += 1


def _setting(log: _Log, host: str, said: str, match: re.Match[str]) -> Clue | None:
    name, value = match[1], int(match[2])
    if name == "NCCL_IB_GID_INDEX" and log.version >= PINNED_FROM and len(log.pinned) < MAX_CLUES:
        log.pinned.setdefault(host, Clue("setting", host, clean(said), source=f"{log.source}:{log.number}"))
    if name.endswith("CHUNKSIZE") and value > MAX_CHUNK:
        return log.add("setting", host, said, sort=name)
    return None


def _comm(log: _Log, host: str, _: str, match: re.Match[str]) -> None:
    if len(log.gpus) < MAX_CLUES:
        log.gpus[host, _bus(match["bus"])] = int(match["nvml"] or match["cuda"])


def _oob(log: _Log, host: str, _: str, match: re.Match[str]) -> None:
    if len(log.names) < MAX_CLUES:
        log.names[match[1]] = host


def _version(log: _Log, _: str, __: str, match: re.Match[str]) -> None:
    log.version = (int(match[1]), int(match[2]))


_TAKERS = (
    ("via NET/IB", _CHANNEL, _channel),
    ("Got completion", _COMPLETION, _completion),
    ("ibv_modify_qp", _MODIFY, _modify),
    ("async", _ASYNC, _event),
    ("GID table", _ASYNC, _event),
    ("for HCA", _GDR_NIC, _gdr_nic),
    ("(distance", _GDR_FAR, _gdr_far),
    ("set by environment", _SET, _setting),
    ("cudaDev", _COMM, _comm),
    ("Bootstrap", _OOB, _oob),
    ("OOB", _OOB, _oob),
    ("NCCL version", _VERSION, _version),
)
"""A word that a line must hold, the pattern, and what takes it."""

_WORDS = (
    "Xid",
    "ECC",
    "uncorrectable",
    "ersion mismatch",
    "abric",
    "802",
    "ACSCtl",
    "illegal",
    "GT/s",
    "nitialized",
    "SystemNotReady",
)
"""Words one of which every saying of `causes` holds."""
