"""The files of an SM host as the driver sees them: are they what opensm takes as they stand, what must come of them, how they differ."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence

from fabric.design.ib.model import Flavour
from fabric.targets.device import DeviceRefusedError
from fabric.targets.opensm.conf import Conf, read_conf
from fabric.targets.opensm.device_scripts import CONF, Manager
from fabric.targets.opensm.linting import lint
from fabric.targets.opensm.partitions import DEFAULT_PKEY, read_partitions, read_rules
from fabric.targets.opensm.values import NO_FALLBACK

FULL = 0x8000
"""The bit of a P_Key that says full membership."""
SAMPLE = 12
"""Ports whose P_Key tables are read back from the host: each takes a query of 0.1 s, `fabric validate` reads all (our choice)."""
OLD_NAMES = frozenset({"dimn_ports_file"})
"""Keys that opensm takes and does not write with `opensm -c`."""
_SECRET = re.compile(r"^([ +-]?\s*\w*key\w*\s+)\S.*", re.MULTILINE)


def check(device: str, etc: str, files: Mapping[str, bytes], flavour: Flavour) -> None:
    """The strict reading of what would be sent: opensm refuses nothing. DeviceRefusedError names every problem."""
    lines = [str(problem) for problem in lint(files, flavour, conf=f"{etc}/{CONF}")] if files else []
    if lines:
        raise DeviceRefusedError(f"{device}: {lines[0]}", lines)


def unknown_keys(conf: Conf, known: Collection[str]) -> list[str]:
    """Keys of a file that are not among those that the opensm of the host writes with `opensm -c`."""
    return [name for name in conf.values if name not in known and name not in OLD_NAMES]


def conf_of(etc: str, files: Mapping[str, bytes | None], flavour: Flavour) -> Conf:
    """The settings of the opensm.conf among the files; only defaults when there is none."""
    return read_conf(files.get(f"{etc}/{CONF}") or b"", flavour)


def partitions_path(conf: Conf) -> str:
    """Where the partitions file lies."""
    return conf.path("partition_config_file")


def engine(conf: Conf) -> str:
    """The first routing engine; opensm's own choice without one is minhop."""
    first = (conf.text("routing_engine") or "").split(",")[0]
    return first if first and first != NO_FALLBACK else "minhop"


def manager(etc: str, files: Mapping[str, bytes | None], flavour: Flavour) -> Manager:
    """What the scripts need to know, from the files that will be in force."""
    conf = conf_of(etc, files, flavour)
    log = conf.text("log_file") or ""
    guid = conf.number("guid") or 0
    sample = [port for port in tables(etc, files, flavour) if port != guid]
    return Manager(etc, guid, log if log.startswith("/") else "", conf.true("accum_log_file"), tuple(sample))


def tables(etc: str, files: Mapping[str, bytes | None], flavour: Flavour) -> dict[int, frozenset[int]]:
    """The P_Keys that the SM's own port and a sample of ports must hold: the first and the last of each partition.

    Raises FabricError for a partitions file that opensm would read otherwise than it is meant.
    """
    conf = conf_of(etc, files, flavour)
    text = files.get(partitions_path(conf))
    own = conf.number("guid") or 0
    if text is None:
        return {}
    ports = list(dict.fromkeys([own] * bool(own) + _chosen(text)))
    members = read_partitions(text, ports=ports, manager=own or None)
    found: dict[int, set[int]] = {port: set() for port in ports}
    for pkey, membership in members.items():
        for port in found.keys() & membership.keys():
            found[port] |= _pkeys(pkey, membership[port], both=conf.true("allow_both_pkeys"))
    for port, held in found.items():
        if not held & {DEFAULT_PKEY, DEFAULT_PKEY | FULL}:
            held.add(DEFAULT_PKEY)  # opensm's own rule, which a file can only add to
        if port == own:
            held.discard(DEFAULT_PKEY)
            held.add(DEFAULT_PKEY | FULL)  # the SM's port is always a full member
    return {port: frozenset(held) for port, held in found.items()}


def _chosen(text: bytes) -> list[int]:
    """The first and the last port of each partition, of as many as fit into the sample."""
    found: dict[int, None] = {}
    for rule in read_rules(text)[0]:
        ports = [int(who, 16) for who, _, _ in rule.members if who.startswith("0x")]
        if ports and len(found) < SAMPLE - 1:
            found[ports[0]] = found[ports[-1]] = None
    return list(found)


def _pkeys(pkey: int, membership: str, *, both: bool) -> set[int]:
    if membership == "limited":
        return {pkey}
    return {pkey, pkey | FULL} if membership == "both" and both else {pkey | FULL}


def diff(path: str, old: bytes | None, new: bytes | None) -> str:
    """A unified diff, the values of keys masked; None stands for no file."""
    one, two = ((text or b"").decode("utf-8", "replace").splitlines() for text in (old, new))
    names = (path if old is not None else "/dev/null", path if new is not None else "/dev/null")
    lines = list(difflib.unified_diff(one, two, *names, lineterm="", n=1))
    if not lines and (old is None) != (new is None):
        lines = [f"--- {names[0]}", f"+++ {names[1]}"]  # an empty file comes or goes
    return _SECRET.sub(r"\1<secret>", "\n".join(lines))


def words(reasons: Mapping[str, str]) -> Sequence[str]:
    """Why files on disk are not in force, a line each."""
    return [f"{path}: not in force: {why}" for path, why in reasons.items() if why]
