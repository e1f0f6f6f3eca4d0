"""Partitions: the P_Key table of each HCA port holds what is declared, and nothing more.

opensm throws a file that it cannot parse away and makes every port a full member of the default partition, also of a running subnet:
that one is named as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fabric.design.ib.model import Hca, Membership, Subnet
from fabric.targets.opensm.mad_model import End
from fabric.verify.finding import Finding
from fabric.verify.ib.names import match
from fabric.verify.ib.reads import Observed, Unread
from fabric.verify.ib.sm import master_host
from fabric.verify.ib.sm_text import read_log
from fabric.words import counted

DEFAULT = 0x7FFF
FULL = 0x8000
"""The membership bit of a P_Key."""
_SHOWN = 4


def judge_partitions(subnet: Subnet, seen: Observed) -> list[Finding]:
    """Findings on all HCA ports that are there; those that differ alike are one."""
    if isinstance(seen.topology, Unread) or isinstance(seen.pkeys, Unread):
        why = (
            seen.topology.why
            if isinstance(seen.topology, Unread)
            else seen.pkeys.why
            if isinstance(seen.pkeys, Unread)
            else ""
        )
        return [Finding("partitions.table", "all ports", "unknown", why, "the P_Key tables can be read")]
    matched = match(subnet, seen.topology)
    wanted = expected_pkeys(subnet, master_host(subnet, seen))
    tables: dict[str, tuple[int, ...]] = {}
    silent: list[str] = []
    for hca in subnet.hcas:
        guid = matched.guid.get(hca.name)
        if guid is None:
            continue
        table = seen.pkeys.get((guid, 1))
        if table is None:
            silent.append(hca.name)
        else:
            tables[hca.name] = table
    found = [*_judge(subnet, seen, wanted, tables)]
    found += [
        Finding(
            "partitions.table",
            name,
            "unknown",
            "the port did not answer for its P_Key table",
            "it does",
            "",
            (),
            (name,),
        )
        for name in silent
    ]
    return found


def expected_pkeys(subnet: Subnet, master: str | None) -> dict[str, frozenset[int]]:
    """HCA name -> its P_Keys, the membership bit included; the port of the SM that is master is a full member of the default partition.

    opensm first makes its own rule for 0x7fff (all limited, itself full), then what the file says; without partitions at all every port
    is a full member (reference, section 6.1).
    """
    both = any("both" in part.members.values() for part in subnet.partitions)  # then allow_both_pkeys is rendered
    members: dict[int, dict[int, Membership]] = {}
    for part in subnet.partitions:
        for guid, membership in part.members.items():
            members.setdefault(guid, {})[part.pkey] = membership
    self = next((manager.hca.port_guid for manager in subnet.managers if manager.host == master), None)
    found: dict[str, frozenset[int]] = {}
    for hca in subnet.hcas:
        own: dict[int, Membership] = {DEFAULT: "limited" if subnet.partitions else "full"}
        own.update(members.get(hca.port_guid, {}))
        if hca.port_guid == self:
            own[DEFAULT] = "full"
        keys: set[int] = set()
        for pkey, membership in own.items():
            keys |= (
                {pkey, pkey | FULL}
                if membership == "both" and both
                else {pkey if membership == "limited" else pkey | FULL}
            )
        found[hca.name] = frozenset(keys)
    return found


def _judge(
    subnet: Subnet, seen: Observed, wanted: Mapping[str, frozenset[int]], tables: Mapping[str, tuple[int, ...]]
) -> Iterator[Finding]:
    wrong = {name: frozenset(table) for name, table in tables.items() if frozenset(table) != wanted[name]}
    if wrong and all(set(table) == {DEFAULT | FULL} for table in tables.values()) and len(tables) > 1:
        yield _open(subnet, seen, tables)
        return
    alike: dict[tuple[frozenset[int], frozenset[int]], list[str]] = {}
    for name, keys in wrong.items():
        alike.setdefault((wanted[name] - keys, keys - wanted[name]), []).append(name)
    for (missing, extra), names in alike.items():
        yield _differs(subnet, missing, extra, names)
    right = [name for name in tables if name not in wrong]
    if right:
        yield Finding(
            "partitions.table", counted(len(right), "port"), "pass", "as declared, nothing more", "the declared partitions", "", (),
            tuple(right), len(right),
        )  # fmt: skip


def _open(subnet: Subnet, seen: Observed, tables: Mapping[str, tuple[int, ...]]) -> Finding:
    host = master_host(subnet, seen)
    why = "opensm throws a file away that it cannot parse"
    text = None if host is None or host not in seen.texts else seen.texts[host].log
    if isinstance(text, str):
        lines = [bad.text for bad in read_log(text).complaints if bad.topic == "partitions"]
        why = lines[0] if lines else why
    names = ", ".join(f"{part.name} ({part.pkey:#x})" for part in subnet.partitions[:_SHOWN])
    more = f" and {len(subnet.partitions) - _SHOWN:,} more" if len(subnet.partitions) > _SHOWN else ""
    return Finding(
        "partitions.open", "subnet", "fail",
        f"isolation is off: all {len(tables):,} ports are full members of 0x7fff and of nothing else ({why})",
        f"partitions {names}{more}", f"put a right partitions.conf on {host or 'the master SM'} in one step, and reload opensm", (),
        tuple(tables),
    )  # fmt: skip


def _differs(subnet: Subnet, missing: frozenset[int], extra: frozenset[int], names: list[str]) -> Finding:
    parts = {part.pkey: part.name for part in subnet.partitions}
    said: list[str] = []
    for key in sorted(extra):
        other = key ^ FULL
        if other in missing:
            said.append(f"{_kind(key)} in {_partition(key, parts)} instead of {_kind(other)}")
        else:
            said.append(f"{_kind(key)} in {_partition(key, parts)}, which is not declared for it")
    said += [f"not in {_partition(key, parts)}" for key in sorted(missing) if key ^ FULL not in extra]
    expected = [f"{_kind(key)} in {_partition(key, parts)}" for key in sorted(missing)] or ["no more than declared"]
    subject = (
        names[0]
        if len(names) == 1
        else f"{len(names):,} ports: {', '.join(names[:_SHOWN])}{', ...' * (len(names) > _SHOWN)}"
    )
    return Finding(
        "partitions.member", subject, "fail", "; ".join(said), "; ".join(expected),
        "compare partitions.conf on the master SM (`fabric plan`), then have opensm reload it", (), tuple(names), len(names),
    )  # fmt: skip


def _kind(key: int) -> str:
    return "full member" if key & FULL else "limited member"


def _partition(key: int, names: Mapping[int, str]) -> str:
    number = key & DEFAULT
    name = names.get(number, "the default partition" if number == DEFAULT else "")
    return f"{name} ({number:#06x})" if name else f"{number:#06x}"


def ports_of(subnet: Subnet, guids: Mapping[str, int]) -> list[End]:
    """The ends of all HCA ports of the design that are there."""
    found: list[Hca] = [hca for hca in subnet.hcas if hca.name in guids]
    return [(guids[hca.name], 1) for hca in found]
