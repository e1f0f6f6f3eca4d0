"""All findings of the checks on what was read; one cause is one finding."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence

from fabric.design.ib.model import Subnet
from fabric.verify.finding import Finding, touching
from fabric.verify.ib.cabling import judge_cabling
from fabric.verify.ib.errors import judge_errors
from fabric.verify.ib.lids import judge_lids
from fabric.verify.ib.partitions import judge_partitions
from fabric.verify.ib.paths import judge_paths
from fabric.verify.ib.qos import judge_qos
from fabric.verify.ib.reads import Observed, SmText, Unread
from fabric.verify.ib.routing import judge_routing
from fabric.verify.ib.sm import judge_managers, master_host, port_guids
from fabric.verify.ib.sm_keys import judge_keys
from fabric.verify.ib.sm_log import judge_log
from fabric.verify.ib.sm_text import read_log, read_stdout

CHECKS = ("cabling", "sm", "routing", "partitions", "qos", "errors")

_CAUSES = ("sm.engine", "sm.roots", "sm.compute", "sm.guid-file")
_EFFECTS = ("routing.balance", "routing.contention", "routing.paths")
_OPENED = ("sm.partition-file", "qos.path")
"""What follows from partitions.open."""


def judge(
    subnet: Subnet,
    seen: Observed,
    checks: Collection[str],
    *,
    saved_lids: Mapping[int, int] | None = None,
    only: frozenset[str] | None = None,
) -> list[Finding]:
    """All findings, in order of the checks; with `saved_lids` also on LIDs that moved; those that touch the devices `only` when given."""
    found: list[Finding] = []
    if "cabling" in checks:
        found += judge_cabling(subnet, seen)
    if "sm" in checks:
        found += judge_sm(subnet, seen, saved_lids)
    if "routing" in checks:
        found += judge_routing(subnet, seen)
    if "partitions" in checks:
        found += judge_partitions(subnet, seen)
    if "qos" in checks:
        found += [*judge_qos(subnet, seen), *judge_paths(subnet, seen)]
    if "errors" in checks:
        found += judge_errors(subnet, seen, rates="cabling" not in checks)
    return touching(fold(found), only)


def judge_sm(subnet: Subnet, seen: Observed, saved_lids: Mapping[int, int] | None) -> list[Finding]:
    """The subnet managers, what they wrote, and the LIDs they gave."""
    found = judge_managers(subnet, seen)
    for manager in subnet.managers:
        found += _texts(subnet, seen, manager.host)
    if isinstance(seen.topology, Unread):
        return [*found, Finding("sm.lids", "subnet", "unknown", seen.topology.why, "one LID for each port, LMC 0")]
    return [*found, *judge_lids(subnet, seen.topology, saved_lids)]


def _texts(subnet: Subnet, seen: Observed, host: str) -> Iterator[Finding]:
    manager = next(manager for manager in subnet.managers if manager.host == host)
    text = seen.texts.get(host, SmText(Unread("not asked"), Unread("not asked")))
    answers = True
    if not isinstance(seen.sms, Unread):
        hosts = port_guids(subnet, seen)
        answers = any(hosts.get(sm.guid) == host for sm in seen.sms)
    if isinstance(text.stdout, Unread):
        expected = "what opensm printed can be read: only there it tells of keys that it does not know"
        yield Finding("sm.keys", host, "unknown", text.stdout.why, expected, "", (), (host,))
    else:
        said = read_stdout(text.stdout)
        if answers or said.unbound:
            yield from judge_keys(subnet, manager, said, simulated=seen.simulated)
    if isinstance(text.log, Unread):
        yield Finding("sm.log", host, "unknown", text.log.why, "the log of opensm can be read", "", (), (host,))
    elif answers:
        yield from judge_log(subnet, host, read_log(text.log), seen, master=master_host(subnet, seen) == host)


def fold(findings: Sequence[Finding]) -> list[Finding]:
    """What follows from a failed finding becomes its evidence.

    A wrong engine or a wrong GUID file makes the load uneven; a partition file that was thrown away is told with the ports it opened.
    """
    left = list(findings)
    cause = next((f for f in left if f.check in _CAUSES and f.verdict == "fail"), None)
    if cause is not None:
        effects = [f for f in left if f.check in _EFFECTS and f.verdict == "fail"]
        told = tuple(f"so {f.subject}: {f.measured}" for f in effects)
        left = [_with(f, told) if f is cause else f for f in left if f not in effects]
        engine = next((f for f in left if f.check == "sm.engine" and f.verdict == "fail"), None)
        if engine is not None:
            left = [f for f in left if not (f.check == "sm.keys" and f.subject == engine.subject and _only_engine(f))]
    opened = next((f for f in left if f.check == "partitions.open"), None)
    if opened is not None:
        files = [f for f in left if f.check in _OPENED and f.verdict == "fail"]
        told = tuple(f"{f.subject}: {f.measured}" for f in files)
        left = [_with(f, told) if f is opened else f for f in left if f not in files]
    return left


def _with(finding: Finding, evidence: tuple[str, ...]) -> Finding:
    return dataclasses.replace(finding, evidence=(*finding.evidence, *evidence))


def _only_engine(finding: Finding) -> bool:
    """Whether a failed finding on keys is about `routing_engine` and nothing else."""
    return finding.verdict == "fail" and all(
        part.startswith("routing_engine ") for part in finding.measured.split("; ")
    )
