"""The BGP daemon's start: `python -m fabric.lab.fboss.bgp NODE_DIR` restarts FRR's bgpd from bgpcpp.conf.

BGP++ has no reload: whatever changes, the sessions go down and come back. A file that it refuses leaves no daemon running.
"""

from __future__ import annotations

import json
import sys
import time

from fabric.errors import FabricError
from fabric.lab.fboss import frr
from fabric.lab.fboss.bgp_frr import frr_conf
from fabric.lab.fboss.conf import read_bgp
from fabric.lab.fboss.node import Node, write_whole

UNIT = "bgpd"


def restart(node: Node) -> None:
    """Stop bgpd and start it from the file on the disk; raises FabricError when it does not come up again."""
    frr.stop_bgpd(node)
    node.state("bgp.json").unlink(missing_ok=True)
    try:
        conf = read_bgp(node)
        frr.start_bgpd(node, frr_conf(conf, node.name))
    except FabricError as error:
        node.journal(UNIT, f"E {error.message}")
        raise
    write_whole(node.state("bgp.json"), json.dumps({"conf": conf, "started": time.monotonic()}))
    node.journal(UNIT, "I BGP++ started")


def main(argv: list[str]) -> int:
    """Restart bgpd of the box whose folder is the one argument."""
    try:
        restart(Node(argv[1]))
    except (FabricError, IndexError) as error:
        print(f"bgpd: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
