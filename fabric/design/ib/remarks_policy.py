"""Remarks on partitions and QoS."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.ib.model import QosTables, Subnet
from fabric.design.ib.partitions import DEFAULT_PKEY
from fabric.design.ib.tree import Tree
from fabric.design.remark import Remark


def policy_remarks(subnet: Subnet, tree: Tree) -> Iterator[Remark]:
    """Hosts that no tenant has; weights that do not suit the MTU; VLs that get nothing."""
    tenants = [partition for partition in subnet.partitions if partition.pkey != DEFAULT_PKEY]
    if tenants:
        inside = {guid for partition in tenants for guid in partition.members}
        outside = list(
            dict.fromkeys(hca.host for hca in subnet.hcas if hca.port_guid not in inside and hca.purpose == "compute")
        )
        if outside:
            more = f" and {len(outside) - 1:,} more hosts" if len(outside) > 1 else ""
            yield Remark(
                ("backend", "partitions"),
                "no-tenant",
                f"{outside[0]}{more} of {tree.hosts:,} stand in no partition but the default one, where they reach the subnet managers only",
            )
    if subnet.qos is not None:
        yield from _weights(subnet.qos)
        yield from _starved(subnet, subnet.qos)


def _weights(tables: QosTables) -> Iterator[Remark]:
    for name in ("vlarb_high", "vlarb_low"):
        odd = [f"{vl}:{weight}" for vl, weight in getattr(tables, name) or () if weight % 64]
        if odd:
            yield Remark(
                ("backend", "qos", name),
                "vlarb-weight",
                f"{', '.join(odd)}: at MTU 4096 a packet is 64 units of 64 bytes, so weights should be multiples of 64",
            )


def _starved(subnet: Subnet, tables: QosTables) -> Iterator[Remark]:
    """An SL in use whose VL has no weight in either table."""
    served = {vl for table in (tables.vlarb_high, tables.vlarb_low) for vl, weight in table or () if weight}
    used = {partition.sl for partition in subnet.partitions if partition.sl is not None} | {
        rule.sl for rule in subnet.ulps
    }
    for sl in sorted(used):
        vl = tables.sl2vl[sl] if tables.sl2vl else 0
        if vl not in served and vl != 15:
            yield Remark(
                ("backend", "qos", "vlarb_low"),
                "starved",
                f"SL {sl} goes to VL {vl}, which has no weight in vlarb_high or vlarb_low",
            )
