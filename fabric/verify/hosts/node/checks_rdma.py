"""Checks of RDMA: ports, GIDs, firmware."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence

from fabric.design.hosts.expect import Expectation, ExpectedNic
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.checks_nic import PerNic
from fabric.verify.hosts.node.parse_net import Hca, ibstat, ibv_devinfo, mlxconfig, show_gids
from fabric.verify.hosts.node.result import WARNING, Result
from fabric.verify.hosts.node.sources import Command, Seen, Source, Unseen

RDMA_MTUS = (4096, 2048, 1024, 512, 256)
"""Bytes (InfiniBand specification)."""
ROCE_HEADERS = 96
"""Bytes that the kernel leaves for headers in a RoCE packet (Linux, include/rdma/ib_addr.h, iboe_get_mtu)."""


class PerHca(PerNic):
    """A check of each NIC's RDMA device, by ibv_devinfo."""

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.IBV_DEVINFO] if want.nics else []

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        hca = ibv_devinfo(seen.text(src.IBV_DEVINFO)).get(nic.hca)
        if hca is None:
            text = "the driver did not take the NIC, or its name is another: rdma link; dmesg | grep mlx5"
            yield self.bad(nic.hca, "there is no such RDMA device", nic.name, text)
            return
        yield from self.hca(want, nic, hca)

    def hca(self, want: Expectation, nic: ExpectedNic, hca: Hca) -> Iterator[Result]:
        """The results of one RDMA device that is there."""
        raise NotImplementedError


class Port(PerHca):
    """Each RDMA port is active, of the right link layer, with the full RDMA MTU."""

    id = "rdma.port"
    action = "the NIC's link or MTU first (nic.link, nic.mtu); InfiniBand: is an SM there, is the partition right?"
    cases = ("NVIDIA/nccl#1524", "NVIDIA/nccl#905")

    def hca(self, want: Expectation, nic: ExpectedNic, hca: Hca) -> Iterator[Result]:
        layer = "Ethernet" if want.backend == "roce" else "InfiniBand"
        room = want.mtu - ROCE_HEADERS if want.backend == "roce" else RDMA_MTUS[0]
        mtu = next((size for size in RDMA_MTUS if size <= room), 0)
        if hca.link_layer and hca.link_layer != layer:
            text = f"set LINK_TYPE_P1 of the NIC's firmware to {'ETH' if layer == 'Ethernet' else 'IB'} and reset it"
            yield self.bad(nic.hca, f"link layer {hca.link_layer}", layer, text)
        elif hca.state != "PORT_ACTIVE":
            yield self.bad(nic.hca, hca.state or "no state", "PORT_ACTIVE")
        elif mtu and hca.mtu != mtu:
            yield self.bad(nic.hca, f"active MTU {hca.mtu}", f"active MTU {mtu}")
        else:
            yield self.ok(nic.hca, f"active, MTU {hca.mtu}")


class IbPort(PerNic):
    """InfiniBand: each port is the declared one (by GUID), linked up with its full rate."""

    id = "rdma.ib-port"
    action = "check the cable and both plugs; another GUID: the NIC was exchanged, declare the new one or move it back"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.IBSTAT] if self.units(want) else []

    def units(self, want: Expectation) -> Sequence[str]:
        return [nic.name for nic in want.nics] if want.backend == "infiniband" else []

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        port = ibstat(seen.text(src.IBSTAT)).get(nic.hca)
        if port is None:
            yield self.bad(nic.hca, "there is no such HCA", nic.name)
        elif nic.guid and port.guid and port.guid != nic.guid:
            yield self.bad(nic.hca, f"port GUID {port.guid}", nic.guid)
        elif port.physical != "LinkUp" or port.state != "Active":
            yield self.bad(nic.hca, f"{port.physical or 'no link'}, {port.state or 'no state'}", "LinkUp, Active")
        elif port.rate != nic.speed_gbps:
            yield self.bad(nic.hca, f"{port.rate} Gb/s", f"{nic.speed_gbps} Gb/s")
        else:
            yield self.ok(nic.hca, f"{port.rate} Gb/s")


class Gids(Check):
    """Each RoCE NIC has a RoCE v2 GID of its IPv4 address, at the same index on all of them; a pinned index points to it."""

    id = "rdma.gid"
    action = "the NIC's address first (nic.address); with NCCL 2.21 or later leave NCCL_IB_GID_INDEX out"
    cases = ("NVIDIA/nccl#426", "NVIDIA/nccl#769", "NVIDIA/nccl#1819", "NVIDIA/nccl#394")

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.SHOW_GIDS, src.IBV_DEVINFO] if _with_ipv4(want) else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        table = _gids(seen)
        indexes: dict[str, int] = {}
        for nic in _with_ipv4(want):
            address = next(text.partition("/")[0] for text in nic.addresses if "." in text)
            rows = table.get(nic.hca, [])
            mine = [index for index, ip, version in rows if ip == address and version == "v2"]
            if mine:
                indexes[nic.hca] = mine[0]
            elif rows:
                others = ", ".join(sorted({f"{ip} {version}" for _, ip, version in rows if ip})) or "no IPv4"
                yield self.bad(nic.hca, f"no RoCE v2 GID of {address}: {others}", f"a RoCE v2 GID of {address}")
            else:
                yield self.unseen(nic.hca, "no tool lists its GIDs")
        yield from self._indexes(want, indexes)

    def _indexes(self, want: Expectation, indexes: Mapping[str, int]) -> Iterator[Result]:
        pinned = want.nccl.get("NCCL_IB_GID_INDEX", "")
        for hca, index in indexes.items():
            if pinned and pinned != str(index):
                text = f"its RoCE v2 GID is at index {index}, NCCL_IB_GID_INDEX is {pinned}"
                yield self.bad(hca, text, f"index {pinned}")
            else:
                yield self.ok(hca, f"RoCE v2 at index {index}")
        if len(set(indexes.values())) > 1:
            text = ", ".join(f"{hca}: {index}" for hca, index in indexes.items())
            severity = "" if pinned else WARNING
            yield self.bad("", f"different indexes ({text})", "one index on all NICs", severity=severity)


def _with_ipv4(want: Expectation) -> list[ExpectedNic]:
    return [nic for nic in want.nics if want.backend == "roce" and any("." in address for address in nic.addresses)]


def _gids(seen: Seen) -> dict[str, list[tuple[int, str, str]]]:
    """HCA -> (index, IPv4, version), by show_gids, or by ibv_devinfo where that tool is not there."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    try:
        for hca, index, address, version in show_gids(seen.text(src.SHOW_GIDS)):
            found.setdefault(hca, []).append((index, address, version))
    except Unseen:
        for name, device in ibv_devinfo(seen.text(src.IBV_DEVINFO)).items():
            for index, (gid, kind) in device.gids.items():
                found.setdefault(name, []).append((index, _mapped(gid), "v2" if kind == "RoCE v2" else "v1"))
    return found


def _mapped(gid: str) -> str:
    """The IPv4 address in "::ffff:10.0.0.1" and its other forms; "" when it is another address."""
    try:
        mapped = ipaddress.IPv6Address(gid).ipv4_mapped
    except ValueError:
        return ""
    return "" if mapped is None else str(mapped)


class Firmware(PerNic):
    """The NIC's firmware parameters have the declared values, now and at the next boot."""

    id = "rdma.firmware"
    severity = WARNING
    action = "fabric apply --hosts sets them"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [_firmware(want, nic) for nic in want.nics] if want.firmware else []

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        have, right = mlxconfig(seen.text(_firmware(want, nic))), 0
        for key, value in want.firmware.items():
            if key not in have:
                yield self.unseen(nic.name, f"the NIC has no {key}")
                continue
            current, following = have[key]
            if _is_value(value, current) and _is_value(value, following):
                right += 1
            elif _is_value(value, following):
                text = "mlxfwreset -d DEVICE reset on a drained host, or reboot: fabric apply --hosts --allow-reboot"
                yield self.bad(nic.name, f"{key} is {current} until the next boot", value, text)
            else:
                more = "" if current == following else f", {following} from the next boot on"
                yield self.bad(nic.name, f"{key} is {current}{more}", value)
        if right:
            yield self.ok(nic.name, f"{right} parameters as declared")


def _firmware(want: Expectation, nic: ExpectedNic) -> Command:
    device, keys = nic.pci or nic.hca, sorted(want.firmware)
    return src.mstconfig(device, keys) if want.versions.rdma_stack == "inbox" else src.mlxconfig(device, keys)


def _is_value(want: str, have: str) -> bool:
    """Whether two ways to write a value mean the same, as "2", "0x2", "ETH" and "ETH(2)" do."""
    known = {part.lower() for part in re.findall(r"[^()]+", have)}
    mine = {part.lower() for part in re.findall(r"[^()]+", want)}
    return bool(known & mine) or any(_number(one) == _number(two) is not None for one in known for two in mine)


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


CHECKS: tuple[Check, ...] = (
    Port(), IbPort(), Gids(), Firmware(),
)  # fmt: skip
