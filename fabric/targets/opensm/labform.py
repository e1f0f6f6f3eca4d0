"""The form of an SM's files for a simulated run on upstream opensm: what must differ is changed and told, all else is byte for byte.

A check that was not exercised is no pass, so that the list of changes belongs into every report of a lab run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric.errors import FabricError
from fabric.targets.base import Artifact
from fabric.targets.opensm.conf import split
from fabric.targets.opensm.keys import STAND_INS, UPSTREAM_ENGINES, file_keys, known_keys, upstream_keys
from fabric.targets.opensm.paths import CONF, FOLDER
from fabric.targets.opensm.values import NO_FALLBACK, SECRET, number

PACE: Mapping[str, str] = {
    "max_wire_smps": "64", "max_wire_smps2": "64", "transaction_timeout": "5000", "long_transaction_timeout": "5000",
}  # fmt: skip
"""opensm's own 4 packets and 200 ms time out on a loaded machine (measured)."""
_DROPPED = {
    "congestion_control": "the simulator takes its packets for P_Key tables",
    "sm_inactive": "it would never start",
}
_LOG_FLAGS = 0x07


@dataclass(frozen=True, slots=True)
class LabPaths:
    """Where a lab run has its files: `folder` the changed copies, `log` the log file, `dumps` the folder of opensm's dumps."""

    folder: Path
    log: Path
    dumps: Path


def lab_form(artifacts: Iterable[Artifact], paths: LabPaths) -> tuple[dict[str, bytes], list[str]]:
    """The files by name below /etc/opensm, and one line for each thing that was changed.

    Raises FabricError when there is no opensm.conf among them, or its engines have no stand-in upstream.
    """
    files = {artifact.path.removeprefix(f"{FOLDER}/"): artifact.content for artifact in artifacts}
    name = CONF.removeprefix(f"{FOLDER}/")
    if name not in files:
        raise FabricError(f"there is no {CONF} among the files")
    lines, changes = _conf(files[name].decode("ascii", "replace"), paths)
    files[name] = lines.encode("ascii", "replace")
    return files, changes


def _conf(text: str, paths: LabPaths) -> tuple[str, list[str]]:
    changes: list[str] = []
    kept: list[str] = []
    wanted = dict(_own(paths))
    for line in text.splitlines(keepends=True):
        key, value = split(line)
        new = _line(key, value, wanted, paths)
        if new is None:
            kept.append(line)
            continue
        text_, change = new
        kept += [text_] if text_ else []
        changes += [change] if change else []
    for key, value in wanted.items():
        if value != upstream_keys()[key].default:
            kept.append(f"{key} {value}\n")
            changes.append(f"{key} added: {value}")
    return "".join(kept), changes


def _own(paths: LabPaths) -> Iterator[tuple[str, str]]:
    """What a lab run sets by itself."""
    yield "log_file", str(paths.log)
    yield "dump_files_dir", f"{paths.dumps}/"
    yield "log_flags", f"{_LOG_FLAGS:#04x}"
    yield from (("force_log_flush", "TRUE"), ("daemon", "FALSE"), ("accum_log_file", "TRUE"))
    yield from (("log_max_size", "0"), ("console", "off"))
    yield from PACE.items()


def _line(key: str, value: str | None, wanted: dict[str, str], paths: LabPaths) -> tuple[str, str] | None:
    """The new text of a line ("" = dropped) and what to say of it; None when it stays as it is."""
    if not key or value is None:
        return None
    if why := _drop(key, value):
        wanted.pop(key, None)
        return "", f"{key} {_masked(value)} dropped: {why}"
    if key in wanted:
        return _set(key, value, wanted.pop(key))
    if key in file_keys("opensm"):
        return _set(key, value, str(paths.folder / Path(value).name)) if value else None
    if key == "routing_engine":
        return _set(key, value, ",".join(map(_engine, value.split(","))))
    return None


def _drop(key: str, value: str) -> str | None:
    if key in known_keys("nvidia") and key not in upstream_keys():
        return "only NVIDIA's OpenSM knows it"
    if value.startswith(SECRET):
        return "its secret is not put in"
    return _DROPPED.get(key) if value == "TRUE" else None


def _masked(value: str) -> str:
    return "(a secret)" if value.startswith(SECRET) else value


def _set(key: str, old: str, new: str) -> tuple[str, str] | None:
    if key == "log_flags" and ((number(old) or 0) & _LOG_FLAGS) == _LOG_FLAGS:
        return None
    return None if old == new else (f"{key} {new}\n", f"{key}: {old} -> {new}")


def _engine(name: str) -> str:
    if name in UPSTREAM_ENGINES or name == NO_FALLBACK:
        return name
    if name not in STAND_INS:
        raise FabricError(f"upstream opensm has nothing that stands in for the routing engine {name!r}")
    return STAND_INS[name]
