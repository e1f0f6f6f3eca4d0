"""The design as a CSV of UFM's NDT plugin, which compares it with the fabric (public repository ufm_sdk_3.0)."""

from __future__ import annotations

from fabric.design.ib.model import Subnet
from fabric.design.ib.tables import port_labels
from fabric.export.ib_common import RATES, port_gbps, standing_cables

HEADER = (
    "rack #,U height,#Fields:StartDevice,StartPort,StartDeviceLocation,EndDevice,EndPort,EndDeviceLocation,"
    "U height_1,LinkType,Speed,_2,Cable Length,_3,_4,_5,_6,_7,State,Domain"
)


def ndt_csv(subnet: Subnet) -> str:
    """One line a cable, in order; a leaf stands first, whether its other end is a spine or an HCA, and so does a spine before its core."""
    label = {number: _port(text) for number, text in port_labels(subnet).items()}
    speed = RATES[port_gbps(subnet)]
    lines = [HEADER]
    for link in standing_cables(subnet):
        if link.tier == "host":
            start, end = (link.a, label[link.a_port]), (link.b, f"Port {link.b_port}")
        else:
            start, end = (link.b, label[link.b_port]), (link.a, label[link.a_port])
        lines.append(f",,{start[0]},{start[1]},,{end[0]},{end[1]},,,Data,{speed},,,,,,,,Active,In-Scope")
    return "\n".join(lines) + "\n"


def _port(label: str) -> str:
    """`IB1/18/1` is `Port 1/18/1`."""
    return f"Port {label.removeprefix('IB')}"
