"""What a path gets from the SM: P_Key, SL and rate of a few sample pairs, as the SA answers.

The SA answers only for pairs that share a partition with who asks, so the samples go from the port that asks to one HCA of each of its
partitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.ib.model import Partition, Subnet
from fabric.targets.opensm.codes import rate_code
from fabric.targets.opensm.mad_model import Topology
from fabric.verify.finding import Finding, Verdict
from fabric.verify.ib.names import match
from fabric.verify.ib.partitions import DEFAULT, FULL
from fabric.verify.ib.rate import SIMULATED_GBPS
from fabric.verify.ib.reads import Observed, Path, Unread

MOST = 4
"""Samples at most (our choice: each costs a tenth of a second)."""

Sample = tuple[str, str, Partition]


def samples(subnet: Subnet, topology: Topology) -> list[Sample]:
    """(HCA that asks, another HCA, the partition that they share); none when the port that asks is not of the design."""
    matched = match(subnet, topology)
    home = subnet.hca.get(matched.name.get(topology.home[0], ""))
    if home is None:
        return []
    own = [part for part in subnet.partitions if part.pkey != DEFAULT and home.port_guid in part.members]
    found: list[Sample] = []
    for part in own[:MOST]:
        shared = {guid for other in own if other is not part for guid in other.members}
        for hca in reversed(subnet.hcas):
            if hca.host == home.host:
                continue
            full = "limited" not in (part.members.get(hca.port_guid), part.members[home.port_guid])
            if full and hca.port_guid in part.members and hca.port_guid not in shared and hca.name in matched.guid:
                found.append((home.name, hca.name, part))
                break
    return found


def judge_paths(subnet: Subnet, seen: Observed) -> Iterator[Finding]:
    """Findings on the samples."""
    if isinstance(seen.topology, Unread):
        return  # told with the tables
    if isinstance(seen.paths, Unread):
        yield _finding("sample", "unknown", seen.paths.why, "the SA answers for paths")
        return
    wanted = samples(subnet, seen.topology)
    if not wanted:
        text = "the port that asks shares no partition of its own with another port, so the SA would not answer"
        yield _finding("sample", "unknown", text, "P_Key, SL and rate of a path")
    gbps = subnet.links[0].cabled.speed_gbps if subnet.links else 0
    code = rate_code(min(gbps, SIMULATED_GBPS) if seen.simulated else gbps)
    for source, target, part in wanted:
        path = seen.paths.get((source, target))
        expected = Path(part.pkey | FULL, level(subnet, part), code)
        subject = f"{source} to {target}"
        if path is None:
            yield _finding(subject, "unknown", "the SA gave no path record", _spelled(expected))
        elif path == expected:
            yield _finding(subject, "pass", _spelled(path), _spelled(expected))
        else:
            action = "compare partitions.conf and qos-policy.conf on the master SM (`fabric plan`), then reload opensm"
            yield _finding(subject, "fail", _spelled(path), _spelled(expected), action)


def level(subnet: Subnet, part: Partition) -> int:
    """The SL of a path in a partition: by the QoS rule that names its P_Key, else the partition's, else the default rule's."""
    if subnet.qos is None:
        return 0  # opensm ignores every SL unless `qos TRUE`
    rules = {rule.match: rule.sl for rule in subnet.ulps}
    named = rules.get(f"any, pkey {part.pkey:#06x}")
    if named is not None:
        return named
    return part.sl if part.sl is not None else rules.get("default", 0)


def _spelled(path: Path) -> str:
    return f"P_Key {path.pkey:#06x}, SL {path.sl}, rate code {path.rate}"


def _finding(subject: str, verdict: Verdict, measured: str, expected: str, action: str = "") -> Finding:
    return Finding("qos.path", subject, verdict, measured, expected, action, (), tuple(subject.split(" to ")))
