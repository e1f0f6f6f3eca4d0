"""The net file of `ibsim`: the designed wiring as the simulator reads it (infiniband.md 1.4).

A node's id is its kind and node GUID, as `ibnetdiscover` prints ids ("S-0000900000000000"): never longer than the 31 characters
that `SIM_HOST` takes, and free of the reserved `@` and `#` whatever the node's name is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabric.design.ib.model import Hca, IbSwitch, Subnet
from fabric.errors import FabricError

VENDOR = 0x2C9
"""infiniband.md section 12: Mellanox."""

HCA_DEVICE = 0x1021
"""infiniband.md section 12: ConnectX-7. The simulator behaves alike for every device id."""

SWITCH_DEVICE = 0xD2F2
"""infiniband.md section 12: QM9700."""

TABLE = 49152
"""Linear forwarding table size of each switch: `-L` (infiniband.md 1.1)."""

AGGREGATION = 0x0A4E_0000_0000_0000
"""Base of the GUIDs that the lab gives to SHARP aggregation nodes, 16 apart; no box has them."""

AGGREGATION_NAME = "Mellanox Technologies Aggregation Node"
"""infiniband.md section 12."""

_HEAD = "extspeed=4\nspeed=7\nwidth=2\n"
"""4x HDR for every link: NDR cannot be simulated with ibsim 0.10 (infiniband.md 1.4)."""


@dataclass(frozen=True, slots=True)
class Size:
    """What ibsim must be told to have room for: `-N -S -P`."""

    nodes: int
    switches: int
    ports: int


def switch_id(switch: IbSwitch) -> str:
    """The id of a switch in the net."""
    return f"S-{switch.guid:016x}"


def hca_id(hca: Hca) -> str:
    """The id of an HCA in the net, which is what `SIM_HOST` names."""
    return f"H-{hca.port_guid - 1:016x}"


def net_text(subnet: Subnet, aggregation_nodes: bool = False) -> str:
    """The whole file; at full size rather write `net_records` one by one."""
    return "".join(net_records(subnet, aggregation_nodes=aggregation_nodes))


def net_records(subnet: Subnet, *, aggregation_nodes: bool = False) -> Iterator[str]:
    """The file in pieces: every node that is not planned, and each cable between two such at both of its ends.

    Switches come first: ibsim looks every far end up from the start of its list, and most far ends are switches.
    `aggregation_nodes` puts a SHARP aggregation node behind one more port of each switch. Raises FabricError for a
    GUID that would meet an aggregation node's.
    """
    lines = _port_lines(subnet)
    extra = int(aggregation_nodes)
    yield _HEAD
    switches = [switch for switch in subnet.switches if switch.state != "planned"]
    for number, switch in enumerate(switches):
        mine = lines.get(switch.name, [])
        if aggregation_nodes:
            mine = [*mine, f'[{switch.ports + 1}] "{_aggregation_id(subnet, number)}"[1]']
        yield _record("switchguid", switch.guid, SWITCH_DEVICE)
        yield f'Switch {switch.ports + extra} "{switch_id(switch)}" # "{switch.name}" enhanced port 0 lid 0 lmc 0\n'
        yield "".join(f"{line}\n" for line in mine)
    for hca in subnet.hcas:
        if hca.state != "planned":
            # ibsim gives port 1 the number after the node's, so the node follows from the port, whose GUID all files name.
            yield _record("caguid", hca.port_guid - 1, HCA_DEVICE)
            yield f'Ca 1 "{hca_id(hca)}" # "{hca.name}"\n'
            yield "".join(f"{line}\n" for line in lines.get(hca.name, []))
    if aggregation_nodes:
        for number, switch in enumerate(switches):
            yield _record("caguid", AGGREGATION + 16 * number, HCA_DEVICE)
            yield f'Ca 1 "{_aggregation_id(subnet, number)}" # "{AGGREGATION_NAME}"\n'
            yield f'[1] "{switch_id(switch)}"[{switch.ports + 1}]\n'


def net_size(subnet: Subnet, *, aggregation_nodes: bool = False) -> Size:
    """Room for the net: ports + 1 for each node (infiniband.md 1.2)."""
    switches = len(subnet.switches)
    extra = switches if aggregation_nodes else 0
    ports = sum(switch.ports + 1 for switch in subnet.switches) + 2 * len(subnet.hcas)
    return Size(len(subnet.hcas) + switches + extra, switches, ports + 3 * extra)


def _record(key: str, guid: int, device: int) -> str:
    return f"\nvendid={VENDOR:#x}\ndevid={device:#x}\nsysimgguid={guid:#x}\n{key}={guid:#x}\n"


def _aggregation_id(subnet: Subnet, number: int) -> str:
    guid = AGGREGATION + 16 * number
    if guid in subnet.name_of or guid + 1 in subnet.name_of:
        raise FabricError(
            f"{subnet.name_of.get(guid) or subnet.name_of[guid + 1]} has a GUID that the lab's aggregation nodes use"
        )
    return f"H-{guid:016x}"


def _port_lines(subnet: Subnet) -> dict[str, list[str]]:
    """Node name -> its port lines in the order of ports."""
    ids = {switch.name: switch_id(switch) for switch in subnet.switches if switch.state != "planned"}
    ids |= {hca.name: hca_id(hca) for hca in subnet.hcas if hca.state != "planned"}
    found: dict[str, list[tuple[int, str]]] = {}
    for link in subnet.links:
        if link.state == "planned" or link.a not in ids or link.b not in ids:
            continue
        found.setdefault(link.a, []).append((link.a_port, f'[{link.a_port}] "{ids[link.b]}"[{link.b_port}]'))
        found.setdefault(link.b, []).append((link.b_port, f'[{link.b_port}] "{ids[link.a]}"[{link.a_port}]'))
    return {name: [line for _, line in sorted(each)] for name, each in found.items()}
