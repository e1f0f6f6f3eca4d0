"""Is every key of opensm.conf really known and taken? opensm tells only on its standard output, and goes on whatever it finds.

It echoes each option that differs from its default. So a declared key that is neither echoed nor at its default was not taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from fabric.design.ib.model import Subnet, SubnetManager
from fabric.errors import FabricError
from fabric.targets.opensm.conf import Conf, read_conf
from fabric.targets.opensm.keys import Key, known_keys
from fabric.targets.opensm.paths import CONF
from fabric.targets.opensm.rendering import render
from fabric.targets.opensm.values import number
from fabric.verify.finding import Finding, Verdict
from fabric.verify.ib.sm_text import Stdout
from fabric.words import counted

SECRETS = frozenset({"m_key", "sm_key", "sa_key", "cc_key", "key_mgr_seed"})
"""Keys whose values are never shown, nor compared: only that they were taken."""
LAB_KEYS = frozenset(
    {
        "log_file", "dump_files_dir", "log_flags", "force_log_flush", "daemon", "accum_log_file", "log_max_size", "console",
        "max_wire_smps", "max_wire_smps2", "transaction_timeout", "long_transaction_timeout", "max_smps_timeout",
        "congestion_control", "sm_inactive",
    }
)  # fmt: skip
"""Keys that a lab run sets or drops itself (reference, section 5.5), so that nothing can be said of the declared ones."""
STAND_INS: Mapping[str, str] = {"ar_updn": "updn", "ar_ftree": "ftree", "pqft": "ftree"}
"""The nearest upstream engine, in the lab, of one that only NVIDIA's OpenSM has (reference, section 4.1)."""
_SHOWN = 12


def judge_keys(subnet: Subnet, manager: SubnetManager, said: Stdout, *, simulated: bool) -> Iterator[Finding]:
    """Findings on the options of one SM: unknown tokens, rejected values, keys that were not taken as declared."""
    host = manager.host
    if said.unbound:
        yield _finding(
            host, "bind", "fail", "opensm could not bind to its port, and ended with exit code 0",
            f"it binds to {manager.hca.port_guid:#018x} ({manager.hca.name})",
            "look whether the port is one of this host, and whether another opensm runs there",
        )  # fmt: skip
    for token in said.unknown:
        yield _finding(
            host, "unknown-key", "fail", f"opensm does not know the key {token[:80]!r}, and ignores it", "every key is known",
            "correct it in opensm.conf, and restart opensm",
        )  # fmt: skip
    for line in said.rejected:
        yield _finding(
            host, "rejected", "fail", f"a value was refused, and the default is in force: {line[:200]}", "every value is taken",
            "correct it in opensm.conf, and restart opensm",
        )  # fmt: skip
    yield from _compare(subnet, manager, said, simulated=simulated)


def declared(subnet: Subnet, manager: SubnetManager) -> Conf:
    """The rendered opensm.conf of an SM, read back."""
    artifact = next(artifact for artifact in render(subnet, manager) if artifact.path == CONF)
    return read_conf(artifact.content, subnet.flavour)


def _compare(subnet: Subnet, manager: SubnetManager, said: Stdout, *, simulated: bool) -> Iterator[Finding]:
    try:
        conf = declared(subnet, manager)
    except FabricError as error:
        yield _finding(manager.host, "keys", "unknown", error.message, "the declared opensm.conf can be rendered", "")
        return
    known = known_keys(subnet.flavour)
    skipped = [name for name in conf.values if known[name].nvidia] if simulated else []
    wrong: list[tuple[str, str]] = []
    taken = 0
    for name, value in conf.values.items():
        if name in skipped or (simulated and name in LAB_KEYS):
            continue
        found = said.options.get(name)
        if _same(known[name], value, found, simulated=simulated):
            taken += 1
        else:
            wrong.append((_shown(name, found), _shown(name, value)))
    for name, value in said.options.items():
        if name not in conf.values and not (simulated and name in LAB_KEYS):
            wrong.append((_shown(name, value), f"{name} is not declared"))
    if wrong:
        yield _finding(
            manager.host, "keys", "fail", "; ".join(found for found, _ in wrong[:_SHOWN]), "; ".join(want for _, want in wrong[:_SHOWN]),
            "compare opensm.conf (`fabric plan`); most keys take effect only when opensm is restarted",
        )  # fmt: skip
    if taken:
        yield _finding(
            manager.host, "keys", "pass", f"{counted(taken, 'key')} taken", "every declared key is taken", "", taken
        )
    if skipped:
        text = f"{counted(len(skipped), 'key')} that only NVIDIA's OpenSM has: not exercised in the lab"
        yield _finding(manager.host, "keys", "unknown", text, "every declared key is taken", "", len(skipped))


def _same(key: Key, value: str | None, found: str | None, *, simulated: bool) -> bool:
    """Whether what opensm holds is what was declared; what it did not echo is its default."""
    if key.name in SECRETS:
        return found is not None or _like(value, key.default)
    if key.nvidia and found is None:
        return True  # its default is not known
    holds = key.default if found is None else found
    if simulated and key.kind == "engines" and value is not None and holds is not None:
        return holds == ",".join(STAND_INS.get(word, word) for word in value.split(","))
    if simulated and key.kind == "file" and value and holds:
        return PurePosixPath(value).name == PurePosixPath(holds).name  # the lab has its own folders
    return _like(value, holds)


def _like(one: str | None, other: str | None) -> bool:
    if one is None or other is None or one == other:
        return (one or None) == (other or None) or one == other
    numbers = number(one), number(other)
    return numbers[0] is not None and numbers[0] == numbers[1]


def _shown(name: str, value: str | None) -> str:
    if name in SECRETS and value is not None:
        return f"{name} = (secret)"
    return f"{name} at its default" if value is None else f"{name} = {value[:120]}"


def _finding(
    host: str, kind: str, verdict: Verdict, measured: str, expected: str, action: str, count: int = 1
) -> Finding:
    return Finding(f"sm.{kind}", host, verdict, measured, expected, action, (), (host,), count)
