"""Walks a designed subnet over tables made by destination-mod-k, without simulator or subnet manager; prints JSON.

python -m tests.scale.ib_generated SPEC
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fabric.design.load import load_subnet
from fabric.forwarding.cycles import channels_used, find_cycle
from fabric.forwarding.shift import contention
from fabric.forwarding.walk import balance, walk
from fabric.forwarding.wiring import from_subnet
from tests.forwarding.trees import tree_routes
from tests.scale.ib_probe import Stages


def main() -> None:
    """Designs, makes tables, walks, prints."""
    stages = Stages()
    with stages("design"):
        wiring = from_subnet(load_subnet(Path(sys.argv[1])).subnet)
    with stages("making tables"):
        tables = tree_routes(wiring)
    with stages("walk"):
        walked = walk(tables)
    with stages("cycles"):
        cycle = find_cycle(walked) is not None
    with stages("shifts"):
        flows = max(result.flows for result in contention(tables))
    facts = {
        "delivered": walked.delivered, "by_links": walked.links, "channels": channels_used(walked), "cycle": cycle,
        "loads": [[tier.source, tier.target, tier.worst, tier.ratio] for tier in balance(walked)], "contention": flows,
    }  # fmt: skip
    print(json.dumps({"stages": stages.took, "facts": facts}))


if __name__ == "__main__":
    main()
