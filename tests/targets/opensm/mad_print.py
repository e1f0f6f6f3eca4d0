"""Run under the simulator's preload: sweeps, reads every table, prints what it found as JSON."""

from __future__ import annotations

import json

from fabric.targets.opensm.mad import open_subnet


def main() -> None:
    """Reads the subnet that this process stands in."""
    with open_subnet() as subnet:
        topology = subnet.discover()
        lfts = subnet.lfts(topology)
        pkeys = subnet.pkeys(topology, topology.hca_ports)
        counters = subnet.counters(topology, topology.hca_ports)
        places = [(end[0], 0, end[1]) for end in topology.hca_ports]
        sl2vl = subnet.sl2vl(topology, places)
        ends = [end for end, info in topology.ports.items() if info.link_up and end[1]]
        found = {
            "home": topology.home,
            "problems": topology.problems,
            "names": {str(guid): node.description for guid, node in topology.nodes.items()},
            "links": topology.links,
            "rates": sorted({(topology.ports[end].width, topology.ports[end].speed) for end in ends}),
            "routes": int((lfts.table != 255).sum()),
            "unread": lfts.unread,
            "unread_pkeys": sum(found is None for found in pkeys.values()),
            "unread_sl2vl": sum(found is None for found in sl2vl.values()),
            "counters": sum(found is not None for found in counters.values()),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
