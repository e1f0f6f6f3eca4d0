"""ibv_devinfo, show_gids, ibstat: what they say follows from the NIC's link, MTU and addresses, which are real."""

from __future__ import annotations

import ipaddress
import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabric.lab.machines.standins.tools import state
from fabric.lab.machines.standins.tools.state import Nic

_MTUS = {4096: 5, 2048: 4, 1024: 3, 512: 2, 256: 1}
_HEADERS = 96
"""Bytes that the kernel leaves for headers in a RoCE packet (Linux, include/rdma/ib_addr.h, iboe_get_mtu)."""


def main(name: str, _arguments: Sequence[str]) -> int:
    """One of the three."""
    if not (state.RUN / "modules/mlx5_ib").exists():
        print("No IB devices found" if name != "show_gids" else "n_gids_found=0")
        return 255 if name == "ibv_devinfo" else 0
    {"ibv_devinfo": _devinfo, "show_gids": _gids, "ibstat": _ibstat}[name](state.hardware().nics)
    return 0


def _devinfo(nics: Sequence[Nic]) -> None:
    for nic in nics:
        room = int(state.read(Path(f"/sys/class/net/{nic.netdev}/mtu"), "1500")) - _HEADERS
        mtu = next((size for size in _MTUS if size <= room), 256)
        print(
            f"hca_id:\t{nic.hca}\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t28.39.1002\n\tphys_port_cnt:\t\t\t1"
        )
        print(
            f"\t\tport:\t1\n\t\t\tstate:\t\t\t{'PORT_ACTIVE (4)' if _up(nic) else 'PORT_DOWN (1)'}\n\t\t\tmax_mtu:\t\t4096 (5)"
        )
        print(
            f"\t\t\tactive_mtu:\t\t{mtu} ({_MTUS[mtu]})\n\t\t\tsm_lid:\t\t\t0\n\t\t\tport_lid:\t\t0\n\t\t\tlink_layer:\t\tEthernet"
        )
        for index, address, version in _entries(nic):
            print(f"\t\t\tGID[{index:3}]:\t\t{address}, RoCE {version}")
        print()


def _gids(nics: Sequence[Nic]) -> None:
    print("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---")
    count = 0
    for nic in nics:
        for index, address, version in _entries(nic):
            mapped = address.ipv4_mapped
            print(
                f"{nic.hca}\t1\t{index}\t{address.exploded}\t{f'{mapped}  ' if mapped else ''}\t{version}\t{nic.netdev}"
            )
            count += 1
    print(f"n_gids_found={count}")


def _ibstat(nics: Sequence[Nic]) -> None:
    for nic in nics:
        up = _up(nic)
        print(
            f"CA '{nic.hca}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: {'Active' if up else 'Down'}"
        )
        print(
            f"\t\tPhysical state: {'LinkUp' if up else 'Disabled'}\n\t\tRate: {nic.speed_gbps}\n\t\tLink layer: Ethernet"
        )


def _up(nic: Nic) -> bool:
    return state.read(Path(f"/sys/class/net/{nic.netdev}/carrier")) == "1"


def _entries(nic: Nic) -> Iterator[tuple[int, ipaddress.IPv6Address, str]]:
    """(index, GID, version): each address twice, link-local first."""
    done = subprocess.run(  # noqa: S603
        ["/usr/sbin/ip", "-json", "address", "show", "dev", nic.netdev], capture_output=True, text=True, check=False
    )
    entries = [item for link in json.loads(done.stdout or "[]") for item in link.get("addr_info", [])]
    found = []
    for entry in sorted(entries, key=lambda entry: (entry["scope"] != "link", entry["family"] != "inet")):
        address = ipaddress.ip_address(entry["local"])
        found.append(ipaddress.IPv6Address(f"::ffff:{address}") if address.version == 4 else address)
    for place, gid in enumerate(found):
        yield 2 * place, ipaddress.IPv6Address(gid), "v1"
        yield 2 * place + 1, ipaddress.IPv6Address(gid), "v2"
