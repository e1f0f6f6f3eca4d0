"""The subnet as plain rows, for tables, CSV and JSON. `chosen` are names of switches, hosts and HCAs (None: all). GUIDs are hexadecimal text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fabric.catalog import catalog
from fabric.design.ib.model import Hca, Subnet
from fabric.design.ib.shape import tree_of
from fabric.design.tables import Table

Chosen = frozenset[str] | None


def guid_text(guid: int) -> str:
    """`0x0000a00000000001`."""
    return f"0x{guid:016x}"


def port_labels(subnet: Subnet) -> dict[int, str]:
    """What is printed on the front panel beside each port number of this subnet's switches."""
    ports = catalog().switch(subnet.spec.infiniband.switch).ports
    return {index: port.label or port.name for index, port in enumerate(ports, 1)}


def switches(subnet: Subnet, chosen: Chosen) -> Table:
    """Leaves, spines, cores; rails count from 0, all else from 1."""
    rows: list[tuple[Any, ...]] = [
        (
            s.name,
            s.tier,
            s.unit or None,
            s.pod or None,
            s.rail if s.rail >= 0 else None,
            s.plane + 1 if s.plane >= 0 else None,
            s.model,
            guid_text(s.guid),
            s.placeholder,
            s.state,
        )
        for s in subnet.switches
        if chosen is None or s.name in chosen
    ]
    return Table(("name", "tier", "unit", "pod", "rail", "plane", "model", "guid", "placeholder", "state"), rows)


def hcas(subnet: Subnet, chosen: Chosen) -> Table:
    """One row an HCA, with the leaf port that it hangs on."""
    at = {link.b: (link.a, link.a_port) for link in subnet.links if link.tier == "host"}
    rows: list[tuple[Any, ...]] = [
        (
            h.name,
            h.host,
            h.device,
            h.purpose,
            h.unit,
            h.rail,
            *at[h.name],
            guid_text(h.node_guid),
            guid_text(h.port_guid),
            h.placeholder,
            h.state,
        )
        for h in subnet.hcas
        if _is_in(chosen, h)
    ]
    header = (
        "name",
        "host",
        "device",
        "purpose",
        "unit",
        "rail",
        "leaf",
        "leaf_port",
        "node_guid",
        "port_guid",
        "placeholder",
        "state",
    )
    return Table(header, rows)


def _is_in(chosen: Chosen, hca: Hca) -> bool:
    return chosen is None or hca.name in chosen or hca.host in chosen


def links(subnet: Subnet, chosen: Chosen) -> Table:
    """Cables from their upper end, ports by number and by the label on the front panel."""
    label = port_labels(subnet)
    host = {hca.name: hca.host for hca in subnet.hcas}
    rows: list[tuple[Any, ...]] = [
        (
            k.tier,
            k.a,
            k.a_port,
            label[k.a_port],
            k.b,
            k.b_port,
            label[k.b_port] if k.tier != "host" else None,
            k.cabled.cable,
            k.cabled.length_m,
            k.cabled.speed_gbps,
            k.state,
        )
        for k in subnet.links
        if chosen is None or k.a in chosen or k.b in chosen or host.get(k.b) in chosen
    ]
    return Table(
        ("tier", "a", "a_port", "a_label", "b", "b_port", "b_label", "cable", "length_m", "gbps", "state"), rows
    )


def partitions(subnet: Subnet, chosen: Chosen) -> Table:
    """One row a host and partition, with the number of its ports; all of one host have the same membership or one row each."""
    rows: list[tuple[Any, ...]] = []
    for partition in subnet.partitions:
        found: Counter[tuple[str, str]] = Counter()
        for hca in subnet.hcas:
            membership = partition.members.get(hca.port_guid)
            if membership is not None and _is_in(chosen, hca):
                found[(hca.host, membership)] += 1
        rows += [
            (partition.name, f"0x{partition.pkey:04x}", host, membership, ports, partition.sl)
            for (host, membership), ports in found.items()
        ]
    return Table(("partition", "pkey", "host", "membership", "ports", "sl"), rows)


def racks(subnet: Subnet, chosen: Chosen) -> Table:
    """One row a rack of GPU hosts."""
    per = subnet.spec.infiniband.hosts_per_rack
    names = list(dict.fromkeys(hca.host for hca in subnet.compute))
    unit = {hca.host: hca.unit for hca in subnet.compute}
    rows: list[tuple[Any, ...]] = []
    for rack, first in enumerate(range(0, len(names), per), 1):
        hosts = names[first : first + per]
        if chosen is None or any(host in chosen for host in hosts):
            rows.append((rack, unit[hosts[0]], subnet.spec.infiniband.rack, " ".join(hosts)))
    return Table(("rack", "unit", "standard", "hosts"), rows)


def cages(subnet: Subnet, chosen: Chosen) -> Table:
    """One row a used cage of a switch: the links that fail together when its module does."""
    per = tree_of(subnet.spec).per_cage
    found: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for name, port, far in _ends(subnet):
        if chosen is None or name in chosen:
            found.setdefault((name, (port - 1) // per + 1), []).append((port, far))
    order = {switch.name: index for index, switch in enumerate(subnet.switches)}
    rows: list[tuple[Any, ...]] = [
        (name, cage, " ".join(str(port) for port, _ in sorted(ends)), " | ".join(far for _, far in sorted(ends)))
        for (name, cage), ends in sorted(found.items(), key=lambda item: (order[item[0][0]], item[0][1]))
    ]
    return Table(("switch", "cage", "ports", "far_ends"), rows)


def _ends(subnet: Subnet) -> Iterator[tuple[str, int, str]]:
    for link in subnet.links:
        yield link.a, link.a_port, f"{link.b}:{link.b_port}"
        if link.tier != "host":
            yield link.b, link.b_port, f"{link.a}:{link.a_port}"


def devices(subnet: Subnet, chosen: Chosen) -> Table:
    """Switches, then hosts with the number of their HCAs."""
    rows: list[tuple[Any, ...]] = [
        (s.name, s.tier, s.unit or None, s.pod or None, s.model, None, s.state)
        for s in subnet.switches
        if chosen is None or s.name in chosen
    ]
    count = Counter(hca.host for hca in subnet.hcas)
    first: dict[str, Hca] = {}
    for hca in subnet.hcas:
        first.setdefault(hca.host, hca)
    model = subnet.spec.hosts.platform
    rows += [
        (
            name,
            "host" if h.purpose == "compute" else h.purpose,
            h.unit,
            None,
            model if h.purpose == "compute" else None,
            count[name],
            h.state,
        )
        for name, h in first.items()
        if chosen is None or name in chosen
    ]
    return Table(("name", "role", "unit", "pod", "model", "hcas", "state"), rows)
