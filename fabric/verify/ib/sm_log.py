"""What the log of an SM tells: the engine that is really in use, the roots and compute nodes that it saw, and bad lines."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

from fabric.design.ib.model import Subnet
from fabric.verify.finding import Finding, Verdict
from fabric.verify.ib.names import match
from fabric.verify.ib.reads import Observed, Unread
from fabric.verify.ib.sm_keys import STAND_INS
from fabric.verify.ib.sm_text import Complaint, Log, Topic

_SHOWN = 5
_POLLING = re.compile(r"IB_TIMEOUT|\(SMInfo\)")
"""A standby asks the master whether it still runs, and says so when no answer comes: that is how it takes over (measured)."""
_GUID = re.compile(r"0x[0-9a-fA-F]{8,16}\b")


def judge_log(subnet: Subnet, host: str, log: Log, seen: Observed, *, master: bool) -> Iterator[Finding]:
    """Findings on the log of one SM; engine and counts only of the one that is master."""
    told: set[Topic] = set()
    kept = [
        bad for bad in log.complaints if not _of_absent(subnet, seen, bad) and (master or not _POLLING.search(bad.text))
    ]
    log = dataclasses.replace(log, complaints=tuple(kept))
    if master:
        engine = _engine(subnet, host, log, simulated=seen.simulated)
        if engine.verdict == "fail":
            told |= {"engine", "guids"}
        yield engine
        counts = list(_counts(subnet, host, log, seen))
        if any(finding.verdict == "fail" for finding in counts):
            told.add("guids")
        yield from counts
        if log.sweeping:
            yield _finding(
                host, "log", "unknown", "its last heavy sweep has not ended: what it says and holds may change, or it stands still",
                "SUBNET UP after each heavy sweep", "ask again; when it stays so, restart opensm",
            )  # fmt: skip
    yield from _complaints(host, [bad for bad in log.complaints if bad.topic not in told])
    if not log.verbose:
        yield _finding(
            host,
            "log",
            "unknown",
            "the VERBOSE bit is off: what opensm drops from partitions.conf is in no log",
            "log_flags 0x07",
            "",
        )


def _of_absent(subnet: Subnet, seen: Observed, bad: Complaint) -> bool:
    """Whether a line only says that devices of the design were not found which indeed are not there: the cabling's matter."""
    guids = [int(word, 16) for word in _GUID.findall(bad.text)] if "not found" in bad.text else []
    if isinstance(seen.topology, Unread) or not guids:
        return False
    there = match(subnet, seen.topology).guid
    return all(guid in subnet.name_of and subnet.name_of[guid] not in there for guid in guids)


def _engine(subnet: Subnet, host: str, log: Log, *, simulated: bool) -> Finding:
    declared = subnet.routing.engines[0]
    wanted = STAND_INS.get(declared, declared) if simulated else declared
    expected = f"{declared}{f' ({wanted} stands in for it in the lab)' if wanted != declared else ''}"
    if log.engine == wanted:
        return _finding(host, "engine", "pass", f"{log.engine} made the tables", expected, "")
    why = [bad.text for bad in log.complaints if bad.topic in ("engine", "guids")]
    reason = f": {'; '.join(why[:_SHOWN])}" if why else ""
    text = "no engine has configured the switches" if log.engine is None else f"{log.engine} made the tables"
    if log.engine is None and not log.up and not why:
        return _finding(host, "engine", "unknown", "the log does not tell of any tables", expected, "")
    return _finding(
        host, "engine", "fail", f"{text}{reason}", expected,
        "correct routing_engine or its GUID files in /etc/opensm, and restart opensm (a reload keeps the engine)",
    )  # fmt: skip


def _counts(subnet: Subnet, host: str, log: Log, seen: Observed) -> Iterator[Finding]:
    """Roots and compute nodes, as ftree counts them; those that are not there at all are the cabling's matter."""
    there = None if isinstance(seen.topology, Unread) else set(match(subnet, seen.topology).guid)
    roots = [
        switch.name for switch in subnet.roots if switch.state != "planned" and (there is None or switch.name in there)
    ]
    compute = [hca.name for hca in subnet.compute if hca.state != "planned" and (there is None or hca.name in there)]
    lost = [bad.text for bad in log.complaints if bad.topic == "guids"]
    for kind, what, found, wanted, file in (
        ("roots", "root switches", log.roots, len(roots), "root_guids"),
        ("compute", "compute nodes", log.compute, len(compute), "cn_guids"),
    ):
        if found is None:
            continue
        if found == wanted and not lost:
            yield _finding(host, kind, "pass", f"{found:,} {what}", f"{wanted:,} {what}", "")
        elif found != wanted or kind == "roots":
            said = (
                f"{'; '.join(lost)}; the engine took {found:,} {what} by itself"
                if lost
                else f"the engine knows {found:,} {what}"
            )
            yield _finding(
                host, kind, "fail", said, f"{wanted:,} {what}",
                f"compare {file} on {host} with the design (`fabric plan`), then reload opensm",
            )  # fmt: skip


def _complaints(host: str, complaints: Sequence[Complaint]) -> Iterator[Finding]:
    """Bad lines, one finding a topic."""
    names = {"partitions": "partition-file", "engine": "engine", "guids": "guid-file", "other": "log"}
    actions = {
        "partitions": "correct partitions.conf, and reload opensm: what it cannot read it drops, or opens the whole subnet",
        "guids": "correct the GUID file, and reload opensm",
    }
    for topic, kind in names.items():
        lines = [bad for bad in complaints if bad.topic == topic]
        if lines:
            shown = [f"{bad.text[:240]}{f' ({bad.count:,} times)' if bad.count > 1 else ''}" for bad in lines[:_SHOWN]]
            more = f"; and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
            yield _finding(
                host, kind, "fail", "; ".join(shown) + more, "no bad line in the log since the last sweep",
                actions.get(topic, "read the log around these lines"),
            )  # fmt: skip
    if not complaints:
        yield _finding(host, "log", "pass", "no bad line", "no bad line in the log since the last sweep", "")


def _finding(host: str, kind: str, verdict: Verdict, measured: str, expected: str, action: str) -> Finding:
    return Finding(f"sm.{kind}", host, verdict, measured, expected, action, (), (host,))
