"""The design as ibdiagnet and ibdmchk read it: one `.topo` file of cables, one IBNL file for each type of system.

A system is a switch or a host. Each cable stands once, with its upper end: spines under cores, leaves under spines, HCAs under leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fabric.design.ib.model import Hca, IbSwitch, Subnet
from fabric.export.ib_common import lanes_gbps, standing_cables

CHIPS: Mapping[str, str] = {"qm9700": "QTM2"}
"""Device in a switch's IBNL file; for another model a word of our own: the name only has to be the same everywhere."""
ADAPTER = "MT4129"
"""Device in a host's IBNL file: ConnectX-7. The tools compare names, not chips."""
KINDS: Mapping[str, str] = {"grand-teton-h100": "GT"}
"""Prefix of a GPU host's system type; its number of HCAs follows."""


def topo_files(subnet: Subnet, *, speeds: bool = True) -> dict[str, str]:
    """File name -> text: `<cluster>.topo` and `<type>.ibnl` of every type in it.

    `speeds` puts the width and lane speed on each cable, which Debian's ibdmchk does not know above 10G.
    """
    kinds = _host_kinds(subnet)
    found = {f"{subnet.spec.name}.topo": _topo(subnet, kinds, speeds=speeds)}
    for model in sorted({switch.model for switch in subnet.switches}):
        ports = max(switch.ports for switch in subnet.switches if switch.model == model)
        found[f"{switch_kind(model)}.ibnl"] = _switch_ibnl(model, ports)
    devices = {kinds[host]: _devices(hcas) for host, hcas in _hosts(subnet).items()}
    for kind, names in sorted(devices.items()):
        found[f"{kind}.ibnl"] = _host_ibnl(kind, names)
    return found


def switch_kind(model: str) -> str:
    """System type of a switch model: `qm9700` is MQM9700."""
    return f"M{model.upper()}"


def _hosts(subnet: Subnet) -> dict[str, list[Hca]]:
    found: dict[str, list[Hca]] = {}
    for hca in subnet.hcas:
        found.setdefault(hca.host, []).append(hca)
    return found


def _devices(hcas: Sequence[Hca]) -> tuple[str, ...]:
    return tuple(hca.device for hca in hcas)


def _host_kinds(subnet: Subnet) -> dict[str, str]:
    """Host -> system type: GT8 for eight HCAs of a GPU host, HOST2 for two of another."""
    prefix = KINDS.get(subnet.spec.hosts.platform, "GPU")
    return {
        host: f"{prefix if hcas[0].purpose == 'compute' else 'HOST'}{len(hcas)}"
        for host, hcas in _hosts(subnet).items()
    }


def _topo(subnet: Subnet, kinds: Mapping[str, str], *, speeds: bool) -> str:
    lines = [f"# Cables of {subnet.spec.name}, written by fabric from its cluster spec"]
    arrow = f"-4x-{lanes_gbps(subnet)}G->" if speeds else "->"
    under: dict[str, list[str]] = {}
    for link in standing_cables(subnet):
        under.setdefault(link.a, []).append(f"   P{link.a_port} {arrow} {_end(subnet, link.b, link.b_port, kinds)}")
    for switch in subnet.switches:
        if switch.name in under:
            lines += ["", _head(switch), *under[switch.name]]
    return "\n".join(lines) + "\n"


def _head(switch: IbSwitch) -> str:
    return f"{switch_kind(switch.model)} {switch.name}"


def _end(subnet: Subnet, name: str, port: int, kinds: Mapping[str, str]) -> str:
    if name in subnet.switch:
        return f"{_head(subnet.switch[name])} P{port}"
    hca = subnet.hca[name]
    return f"{kinds[hca.host]} {hca.host} {hca.device}/P{port}"


def _switch_ibnl(model: str, ports: int) -> str:
    kind = switch_kind(model)
    lines = [f"TOPSYSTEM {kind}", "", f"NODE SW {ports} {CHIPS.get(model, 'SWITCH')} U1"]
    return "\n".join([*lines, *(f"    {port} -> P{port}" for port in range(1, ports + 1))]) + "\n"


def _host_ibnl(kind: str, devices: Sequence[str]) -> str:
    return "\n".join([f"TOPSYSTEM {kind}", *_nodes(devices)]) + "\n"


def _nodes(devices: Sequence[str]) -> Iterator[str]:
    for device in devices:
        yield from ("", f"NODE CA 1 {ADAPTER} {device}", f"    1 -> {device}/P1")
