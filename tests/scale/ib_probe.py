"""Reads the subnet that it stands in (`fabric lab exec SPEC -- python -m tests.scale.ib_probe SPEC`), walks it, prints JSON.

Each stage with its wall and CPU seconds and the process's largest resident size so far.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fabric.design.ib.model import Subnet
from fabric.design.load import load_subnet
from fabric.forwarding.cycles import channels_used, find_cycle
from fabric.forwarding.shift import contention
from fabric.forwarding.tables import Lfts, routes
from fabric.forwarding.walk import Walk, balance, walk
from fabric.forwarding.wiring import from_subnet
from fabric.targets.opensm.mad import open_subnet
from fabric.targets.opensm.mad_model import Topology


class Stages:
    """What each stage took."""

    def __init__(self) -> None:
        self.took: dict[str, dict[str, float]] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Measures what happens inside."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.took[name] = {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


def read(stages: Stages) -> tuple[Topology, Lfts]:
    """The sweep and all tables."""
    with open_subnet() as reader:
        with stages("sweep"):
            topology = reader.discover()
        with stages("tables"):
            lfts = reader.lfts(topology)
        with stages("partitions"):
            pkeys = reader.pkeys(topology, topology.hca_ports)
    unread = sum(found is None for found in pkeys.values()) + len(lfts.unread) + len(topology.problems)
    if unread:
        raise SystemExit(f"{unread} reads without an answer")
    return topology, lfts


def facts(walked: Walk, flows: int, topology: Topology, subnet: Subnet) -> dict[str, Any]:
    """What the walk found, in numbers; whether the cables are those of the design."""
    guid = {switch.name: switch.guid for switch in subnet.switches} | {hca.name: hca.node_guid for hca in subnet.hcas}
    designed = sorted(
        tuple(sorted(((guid[link.a], link.a_port), (guid[link.b], link.b_port)))) for link in subnet.links
    )
    return {
        "nodes": len(topology.nodes),
        "links": len(topology.links),
        "as_designed": designed == list(topology.links),
        "blocks": sum(-(-(node.switch.lft_top + 1) // 64) for node in topology.switches if node.switch is not None),
        "pairs": walked.pairs,
        "delivered": walked.delivered,
        "by_links": walked.links,
        "channels": channels_used(walked),
        "cycle": find_cycle(walked) is not None,
        "loads": [[tier.source, tier.target, tier.worst, tier.ratio] for tier in balance(walked)],
        "contention": flows,
    }


def main() -> None:
    """Reads, walks, prints."""
    stages = Stages()
    with stages("design"):
        subnet = load_subnet(Path(sys.argv[1])).subnet
        wiring = from_subnet(subnet)
    topology, lfts = read(stages)
    tables = routes(wiring, lfts, {guid: topology.ports[end].lid for end, guid in topology.port_guid.items()})
    with stages("walk"):
        walked = walk(tables)
    with stages("shifts"):
        flows = max(result.flows for result in contention(tables))
    with stages("facts"):
        found = facts(walked, flows, topology, subnet)
    print(json.dumps({"stages": stages.took, "facts": found}))


if __name__ == "__main__":
    main()
