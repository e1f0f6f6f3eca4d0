"""The design as an InfraGraph (infragraph.org, release 3.1): devices, their instances, and every cable between them.

One instance a box, by its own name, so that a node of the graph reads `z01-rtsw001.0.port.3`. Ports count from 0 in the order in which they
are cabled: first towards hosts, then by cable. Inside a host a GPU and its NIC meet at a PCIe switch; NVLink joins the GPUs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fabric.catalog import catalog
from fabric.catalog.parts import HostModel
from fabric.design.seats import Seating

Entry = dict[str, Any]


class _Ports:
    """Which port of which switch has which number, given out in the order of asking."""

    def __init__(self) -> None:
        self.of: dict[str, dict[str, int]] = {}

    def index(self, switch: str, port: str) -> int:
        ports = self.of.setdefault(switch, {})
        return ports.setdefault(port, len(ports))


def infragraph(seating: Seating) -> Entry:
    """The document, as InfraGraph's own schema has it (`Infrastructure`)."""
    ports = _Ports()
    speeds: dict[str, int] = {}
    edges = [*_host_edges(seating, ports, speeds), *_trunk_edges(seating, ports, speeds)]
    platform = catalog().host(seating.cluster.spec.hosts.platform)
    hosts = [{"name": name, "device": platform.name, "count": 1} for name in seating.by_host]
    kinds = _kinds(seating)
    widths: dict[str, int] = {}
    for switch, numbers in ports.of.items():
        widths[kinds[switch]] = max(widths.get(kinds[switch], 0), len(numbers))
    switches = [{"name": name, "device": kinds[name], "count": 1} for name in ports.of]
    return {
        "name": seating.name,
        "description": "Written by fabric from its cluster spec",
        "devices": [_host(platform), *(_switch(kind, width) for kind, width in widths.items())],
        "links": [
            {"name": name, "physical": {"bandwidth": {"choice": "gigabits_per_second", "gigabits_per_second": gbps}}}
            for name, gbps in speeds.items()
        ],
        "instances": [*hosts, *switches],
        "edges": edges,
    }


def _kinds(seating: Seating) -> Mapping[str, str]:
    """Switch -> the name of its device: role and model."""
    from fabric.design.load import SubnetCluster

    cluster = seating.cluster
    if isinstance(cluster, SubnetCluster):
        return {switch.name: f"{switch.tier}-{cluster.spec.infiniband.switch}" for switch in cluster.subnet.switches}
    return {switch.name: f"{switch.role}-{switch.model}" for switch in cluster.fabric.switches}


def _host_edges(seating: Seating, ports: _Ports, speeds: dict[str, int]) -> Iterator[Entry]:
    for host, seats in seating.by_host.items():
        runs: list[list[tuple[str, int, int, int]]] = []
        for seat in seats:
            at = (seat.switch, ports.index(seat.switch, seat.port), seat.rail, seat.speed_gbps)
            last = runs[-1][-1] if runs else None
            if last and (last[0], last[1] + 1, last[2] + 1, last[3]) == at:
                runs[-1].append(at)
            else:
                runs.append([at])
        for run in runs:
            switch, port, rail, gbps = run[0]
            yield _edge(host, "nic", rail, switch, port, len(run), _link("host", gbps, speeds))


def _trunk_edges(seating: Seating, ports: _Ports, speeds: dict[str, int]) -> Iterator[Entry]:
    for trunk in seating.trunks:
        below, above = ports.index(trunk.b, trunk.b_port), ports.index(trunk.a, trunk.a_port)
        yield _edge(trunk.b, "port", below, trunk.a, above, 1, _link(trunk.tier, trunk.speed_gbps, speeds))


def _link(tier: str, gbps: int, speeds: dict[str, int]) -> str:
    name = f"{tier}-{gbps}g"
    speeds[name] = gbps
    return name


def _edge(below: str, component: str, first: int, above: str, port: int, count: int, link: str) -> Entry:
    return {
        "ep1": {"instance": f"{below}[0]", "component": f"{component}[{first}:{first + count}]"},
        "ep2": {"instance": f"{above}[0]", "component": f"port[{port}:{port + count}]"},
        "scheme": "one2one",
        "link": link,
    }


def _switch(name: str, ports: int) -> Entry:
    return {
        "name": name,
        "components": [_part("asic", "switch", 1), _part("port", "port", ports)],
        "links": [{"name": "internal"}],
        "edges": [_inner("asic", "port", "internal")],
    }


def _host(platform: HostModel) -> Entry:
    gpus, nics = platform.gpus.value, platform.backend_nics.value
    groups = platform.pcie.groups if platform.pcie else ()
    pairs = [(group.gpus, group.nics) for group in groups] or [((gpu,), (gpu % nics,)) for gpu in range(gpus)]
    inner = [_inner("xpu", "nvswitch", "nvlink")]
    for index, (of_gpus, of_nics) in enumerate(pairs):
        ends = [f"xpu[{gpu}]" for gpu in of_gpus] + [f"nic[{nic}]" for nic in of_nics]
        inner += [_inner(end, f"pcie-switch[{index}]", "pcie") for end in ends]
    return {
        "name": platform.name,
        "components": [
            _part("xpu", "xpu", gpus), _part("nic", "nic", nics), _part("nvswitch", "switch", 1),
            _part("pcie-switch", "switch", len(pairs)),
        ],
        "links": [{"name": "nvlink"}, {"name": "pcie"}],
        "edges": inner,
    }  # fmt: skip


def _part(name: str, choice: str, count: int) -> Entry:
    return {"name": name, "choice": choice, "count": count}


def _inner(first: str, second: str, link: str) -> Entry:
    return {"ep1": {"component": first}, "ep2": {"component": second}, "scheme": "many2many", "link": link}


def text_of(document: Entry, *, as_json: bool) -> str:
    """The document as JSON, or as YAML: one line an entry of the long lists (JSON's inner form is YAML's flow form)."""
    if as_json:
        return json.dumps(document, indent=1) + "\n"
    lines = []
    for key, value in document.items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"- {json.dumps(entry)}" for entry in value)]
        else:
            lines.append(f"{key}: {json.dumps(value)}")
    return "\n".join(lines) + "\n"
