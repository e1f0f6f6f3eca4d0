"""Readers of the system's own texts: os-release, systemd, packages, mounts, nccl.conf, clocks."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fabric.verify.hosts.node.sources import Unseen


def os_release(text: str) -> dict[str, str]:
    """Keys of /etc/os-release, unquoted. Unseen without ID."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not key.startswith("#"):
            try:
                found[key.strip()] = " ".join(shlex.split(value))
            except ValueError:
                continue  # a quote that never ends
    if "ID" not in found:
        raise Unseen("/etc/os-release has no ID")
    return found


def blocks(text: str) -> list[dict[str, str]]:
    """Blocks of KEY=VALUE lines with an empty line between, as `systemctl show` prints them."""
    found: list[dict[str, str]] = []
    for block in re.split(r"\n\s*\n", text):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if values:
            found.append(values)
    return found


def packages(text: str) -> dict[str, str]:
    """Installed package -> version, of lines "NAME<tab>VERSION<tab>installed". An epoch of 0 is left out."""
    found = {}
    for line in text.splitlines():
        cells = line.split("\t")
        if len(cells) == 3 and cells[2].strip() == "installed":
            found[cells[0]] = cells[1][2:] if cells[1].startswith("0:") else cells[1]
    return found


@dataclass(frozen=True)
class MountPoint:
    """One line of /proc/self/mountinfo: path, kind of file system, source, options of the mount and of the file system."""

    path: str
    kind: str
    source: str
    options: tuple[str, ...]


def mountinfo(text: str) -> list[MountPoint]:
    """The mounts, in their order: of several on one path the last one is seen by programs. Unseen when there is none."""
    found = []
    for line in text.splitlines():
        left, dash, right = line.partition(" - ")
        cells, rest = left.split(" "), right.split(" ")
        if dash and len(cells) >= 6 and len(rest) >= 3:
            options = (*cells[5].split(","), *rest[2].split(","))
            found.append(MountPoint(_unescaped(cells[4]), rest[0], _unescaped(rest[1]), options))
    if not found:
        raise Unseen("/proc/self/mountinfo lists no mount")
    return found


def _unescaped(text: str) -> str:
    r"""Blanks and the like stand as \040 in /proc."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda hit: chr(int(hit[1], 8)), text)


@dataclass
class NfsStats:
    """One NFS mount of /proc/self/mountstats: layout driver ("" = not said, "not configured"), operations so far by name, connections."""

    layout: str = ""
    operations: dict[str, int] = field(default_factory=dict)
    transports: int = 0


def mountstats(text: str) -> dict[str, NfsStats]:
    """Path -> NFS statistics. Mounts of other kinds are left out."""
    found: dict[str, NfsStats] = {}
    stats: NfsStats | None = None
    for line in text.splitlines():
        head = re.match(r"device .* mounted on (.+) with fstype (\S+)", line)
        if head is not None:
            stats = found.setdefault(_unescaped(head[1]), NfsStats()) if head[2].startswith("nfs") else None
        elif stats is not None:
            _stats_line(stats, line.strip())
    return found


def _stats_line(stats: NfsStats, line: str) -> None:
    layout = re.match(r"nfsv4:.*\bpnfs=([^,]+)", line)
    operation = re.match(r"([A-Z_]{2,32}): (\d{1,18}) ", line)
    if layout is not None:
        stats.layout = layout[1].strip()
    elif line.startswith("xprt:"):
        stats.transports += 1
    elif operation is not None:
        stats.operations[operation[1]] = int(operation[2])


@dataclass(frozen=True)
class ConfLine:
    """One setting of a nccl.conf by NCCL's own rules, and what is suspicious in the line ("" = nothing)."""

    number: int
    key: str
    value: str
    suspicion: str


def nccl_conf(text: str) -> Iterator[ConfLine]:
    """The settings as NCCL reads them: split at the first "=", "#" only as the first character, nothing trimmed (src/misc/param.cc)."""
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw[:-1] if raw.endswith("\r") else raw
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        suspicion = ""
        if not equals:
            suspicion = "is no KEY=VALUE"
        elif key != key.strip() or key.startswith("export ") or not key.startswith("NCCL_"):
            suspicion = f"NCCL takes the key as {key!r}"
        elif (value[:1] in "\"'" and value) or value != value.strip() or " #" in value:
            suspicion = f"NCCL takes the value as {value!r}: no quotes, blanks or comments in a line"
        yield ConfLine(number, key, value, suspicion)


def lldp(text: str) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """Interface -> (system name, port's id and description) of its neighbours, of `lldpctl -f json`. Unseen when it is no JSON."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise Unseen("lldpctl prints no JSON") from None
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    interfaces = _get(data, "lldp", "interface")
    for item in interfaces if isinstance(interfaces, list) else [interfaces]:
        for name, entry in item.items() if isinstance(item, dict) else ():
            chassis = _get(entry, "chassis")
            system = next(iter(chassis), "") if isinstance(chassis, dict) else ""
            ports = (_get(entry, "port", "id", "value"), _get(entry, "port", "descr"))
            found.setdefault(name, []).append((system, tuple(port for port in ports if isinstance(port, str))))
    return found


def _get(data: object, *keys: str) -> object:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def unit_text(state: Mapping[str, str]) -> str:
    """A unit's state in a few words."""
    if state.get("LoadState") == "not-found":
        return "there is no such unit"
    result = state.get("Result", "")
    more = f", {result}" if result not in ("", "success") else ""
    return f"{state.get('ActiveState', 'unknown')} ({state.get('SubState', '')}{more})"
