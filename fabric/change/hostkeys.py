"""SSH host keys of a cluster: what is known, what devices show now, and the known_hosts file that the drivers read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fabric.change.fan import fan_out
from fabric.change.files import cannot, read_regular, write_atomic
from fabric.errors import FabricError

_LIMIT = 64 << 20
Fetch = Callable[[str], tuple[str, str, str]]
"""address -> (key type, base64, fingerprint)."""


@dataclass(frozen=True, slots=True)
class HostKey:
    """What one device shows: `status` against the file; `problem` when it could not be asked."""

    device: str
    host: str
    kind: str = ""
    key: str = ""
    fingerprint: str = ""
    status: Literal["known", "new", "CHANGED", "unreachable"] = "unreachable"
    problem: str = ""


def read_known(path: Path) -> dict[str, dict[str, str]]:
    """Host -> {key type: base64}. Hashed and marked lines are left out; a missing file is empty. Raises FabricError."""
    try:
        data = read_regular(str(path), _LIMIT)
    except OSError as error:
        raise cannot("read", path, error) from error
    known: dict[str, dict[str, str]] = {}
    for line in (data or b"").decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) >= 3 and not words[0].startswith(("#", "@", "|")):
            for host in words[0].split(","):
                known.setdefault(host, {})[words[1]] = words[2]
    return known


def survey(
    hosts: Mapping[str, str], known: Mapping[str, Mapping[str, str]], fetch: Fetch, *, parallel: int, deadline_s: float
) -> list[HostKey]:
    """Asks each device (name -> address) for its key; in the order of the names."""
    found: dict[str, HostKey] = {}
    for device, result in fan_out(
        lambda name: fetch(hosts[name]), list(hosts), parallel=parallel, deadline_s=deadline_s
    ):
        host = hosts[device]
        if isinstance(result, FabricError):
            found[device] = HostKey(device, host, problem=result.message)
        elif isinstance(result, BaseException):
            raise result
        else:
            kind, key, mark = result
            old = known.get(host, {})
            status: Literal["known", "new", "CHANGED"] = "new"
            if old:
                status = "known" if old.get(kind) == key else "CHANGED"
            found[device] = HostKey(device, host, kind, key, mark, status)
    return [found[device] for device in hosts]


def record(path: Path, keys: Iterable[HostKey]) -> None:
    """Writes the keys into the file, in place of what it said of these hosts; all or nothing. Raises FabricError."""
    new = {key.host: key for key in keys}
    try:
        data = read_regular(str(path), _LIMIT) or b""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise cannot("read", path, error) from error
    kept = [
        line
        for line in data.decode("utf-8", "replace").splitlines()
        if not line.strip() or not set(line.split()[0].split(",")) & new.keys()
    ]
    lines = [*kept, *(f"{key.host} {key.kind} {key.key}" for key in new.values())]
    write_atomic(path, ("\n".join(lines) + "\n").encode(), 0o600)
