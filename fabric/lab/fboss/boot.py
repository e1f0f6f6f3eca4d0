"""Power on: `python -m fabric.lab.fboss.boot NODE_DIR` starts the box's daemons from the files on its disk, and stays as its agent.

The first run after power was off starts everything; later ones only bring the agent back, as a process monitor would.
"""

from __future__ import annotations

import sys

from fabric.errors import FabricError
from fabric.lab import frr
from fabric.lab.fboss import agent, bgp, install, timers, toolbox
from fabric.lab.fboss.node import Node

_MARK = "/dev/shm/fboss/warm_boot/booted"  # noqa: S108 - the box's own memory: empty after power was off


def main(argv: list[str]) -> int:
    """Boot the box whose folder is the one argument; returns when its agent ends."""
    try:
        node = Node(argv[1])
        mark = node.path(_MARK)
        cold = not mark.exists()
        if cold:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
            install.tools(node)
            install.root_home(node)
            timers.clear(node)
            for name in ("agent.json", "units.json"):
                node.state(name).unlink(missing_ok=True)
            toolbox.start(node)
            frr.start(node.frr, ("zebra",))
    except (FabricError, IndexError) as error:
        print(f"boot: {error}", file=sys.stderr)
        return 1
    return agent.run(node, after_start=(lambda: _start_bgp(node)) if cold else None)


def _start_bgp(node: Node) -> None:
    try:
        bgp.restart(node)
    except FabricError as error:
        print(f"bgpd: {error}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
