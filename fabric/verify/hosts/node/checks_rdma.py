"""Checks of RDMA: ports, GIDs, the lossless class on the NIC, rdma_cm, DCQCN, firmware; and nccl.conf, which rests on them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence

from fabric.design.hosts.expect import Expectation, ExpectedNic, ExpectedQos
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.checks_nic import PerNic
from fabric.verify.hosts.node.parse_net import Hca, NicQos, dcb, ibstat, ibv_devinfo, mlnx_qos, mlxconfig, show_gids
from fabric.verify.hosts.node.parse_system import nccl_conf
from fabric.verify.hosts.node.result import WARNING, Result
from fabric.verify.hosts.node.sources import Command, Files, Seen, Source, Unseen

RDMA_MTUS = (4096, 2048, 1024, 512, 256)
"""Bytes (InfiniBand specification)."""
ROCE_HEADERS = 96
"""Bytes that the kernel leaves for headers in a RoCE packet (Linux, include/rdma/ib_addr.h, iboe_get_mtu)."""
BOOT_UNIT = (
    "systemctl restart fabric-roce@NIC; a NIC forgets these settings at every boot, and when its driver is loaded again"
)


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


class LosslessClass(PerNic):
    """Each NIC trusts DSCP, has PFC on exactly the lossless priority, and puts the class's DSCPs there: as the switches do."""

    id = "rdma.qos"
    action = BOOT_UNIT
    cases = ("NVIDIA/nccl#378", "NVIDIA/nccl#306")

    def needs(self, want: Expectation) -> Sequence[Source]:
        if want.qos is None:
            return []
        return [source for nic in want.nics for source in _qos_sources(want, nic)]

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        qos = want.qos
        if qos is None:
            return
        texts = [seen.text(source) for source in _qos_sources(want, nic)]
        faults = list(_qos_faults(qos, dcb(*texts) if len(texts) == 2 else mlnx_qos(texts[0])))
        for measured, expected in faults:
            yield self.bad(nic.name, measured, expected)
        if not faults:
            yield self.ok(nic.name, f"trust dscp, PFC on {qos.priority}, DSCP {qos.dscp} is priority {qos.priority}")


def _qos_sources(want: Expectation, nic: ExpectedNic) -> list[Command]:
    return (
        [src.dcb_pfc(nic.name), src.dcb_app(nic.name)]
        if want.versions.rdma_stack == "inbox"
        else [src.mlnx_qos(nic.name)]
    )


def _qos_faults(want: ExpectedQos, have: NicQos) -> Iterator[tuple[str, str]]:
    if have.trust != "dscp":
        yield f"trust {have.trust or 'not said'}", "trust dscp"
    if have.pfc is not None and have.pfc != (want.priority,):
        yield f"PFC on {', '.join(map(str, have.pfc)) or 'no priority'}", f"PFC on {want.priority} only"
    elsewhere = {
        dscp: have.priority[dscp] for dscp in want.dscps if have.priority.get(dscp, want.priority) != want.priority
    }
    for dscp, priority in elsewhere.items():
        yield f"DSCP {dscp} is priority {priority}", f"DSCP {dscp} is priority {want.priority}"
    if want.dscp not in have.priority:
        yield f"DSCP {want.dscp} is on no priority", f"DSCP {want.dscp} is priority {want.priority}"
    if have.priority.get(want.cnp_dscp, want.cnp_priority) != want.cnp_priority:
        yield f"CNPs' DSCP {want.cnp_dscp} is priority {have.priority[want.cnp_dscp]}", f"priority {want.cnp_priority}"


class RdmaCm(PerNic):
    """rdma_cm connects by RoCE v2 with the class's type of service, for storage and MPI, which ask no NCCL variable."""

    id = "rdma.cm"
    severity = WARNING
    action = BOOT_UNIT

    def needs(self, want: Expectation) -> Sequence[Source]:
        if want.qos is None:
            return []
        both = _cm_files if want.versions.rdma_stack == "inbox" else _cm_tools
        return [source for nic in want.nics for source in both(nic.hca)]

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        if want.versions.rdma_stack == "inbox":
            mode, said = (seen.file(source) for source in _cm_files(nic.hca))
        else:
            mode, said = (seen.text(source).strip() for source in _cm_tools(nic.hca))
        tos = re.findall(r"\b\d{1,3}\b", said)
        if "v2" not in mode:
            yield self.bad(nic.hca, mode or "no mode", "RoCE v2")
        elif not tos or want.qos is None:
            raise Unseen("cma_roce_tos says no number")
        elif int(tos[-1]) != want.qos.traffic_class:
            yield self.bad(nic.hca, f"type of service {tos[-1]}", f"{want.qos.traffic_class}")
        else:
            yield self.ok(nic.hca, f"RoCE v2, type of service {tos[-1]}")


def _cm_tools(hca: str) -> tuple[Command, Command]:
    return src.cma_mode(hca), src.cma_tos(hca)


def _cm_files(hca: str) -> tuple[Files, Files]:
    """There once somebody has made the folder of the device, as the NIC's boot unit does."""
    port = f"/sys/kernel/config/rdma_cm/{hca}/ports/1"
    return Files(f"{port}/default_roce_mode"), Files(f"{port}/default_roce_tos")


class Dcqcn(PerNic):
    """DCQCN is on or off for the lossless priority, as the fabric's design says."""

    id = "rdma.dcqcn"
    severity = WARNING
    action = BOOT_UNIT

    def needs(self, want: Expectation) -> Sequence[Source]:
        if want.qos is None or want.versions.rdma_stack != "doca":
            return []
        return [_ecn(nic, point, want.qos) for nic in want.nics for point in ("np", "rp")]

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        if want.qos is None:
            return
        expected = "1" if want.qos.dcqcn else "0"
        for point, words in (("np", "notification point"), ("rp", "reaction point")):
            have = seen.file(_ecn(nic, point, want.qos).pattern)
            if have == expected:
                yield self.ok(nic.name, f"{words} {have}")
            else:
                yield self.bad(nic.name, f"{words} {have}", expected)


def _ecn(nic: ExpectedNic, point: str, qos: ExpectedQos) -> Files:
    return Files(f"/sys/class/net/{nic.name}/ecn/roce_{point}/enable/{qos.priority}")


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


class NcclConf(Check):
    """/etc/nccl.conf says, by NCCL's own rules of reading it, what the fabric needs; no line is other than it looks."""

    id = "nccl.conf"
    action = "fabric apply --hosts writes it; what must differ goes to hosts.nccl.overrides, where it is checked"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.NCCL_CONF, src.ENVIRONMENT] if want.nccl else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        files = seen.files(src.NCCL_CONF)
        if "/etc/nccl.conf" not in files:
            yield self.bad("", "there is no /etc/nccl.conf", f"{len(want.nccl)} settings")
            return
        have: dict[str, str] = {}
        right = 0
        for line in nccl_conf(files["/etc/nccl.conf"]):
            have.setdefault(line.key, line.value)
            if line.suspicion:
                yield self.bad(f"line {line.number}", line.suspicion, "KEY=VALUE and nothing else")
        for key, value in want.nccl.items():
            if have.get(key) == value:
                right += 1
            else:
                yield self.bad(key, "not set" if key not in have else have[key] or "empty", value)
        for key in have.keys() - want.nccl.keys():
            yield self.bad(key, f"set to {have[key] or 'nothing'}", "not set", severity=WARNING)
        yield from self._environment(seen)
        if right:
            yield self.ok("", f"{right} settings as rendered")

    def _environment(self, seen: Seen) -> Iterator[Result]:
        """A variable of the environment wins over the file."""
        for text in seen.files(src.ENVIRONMENT).values():
            for key in re.findall(r"^\s*(?:export\s+)?(NCCL_\w+)=", text, re.MULTILINE):
                yield self.bad(
                    key, "set in /etc/environment, which wins", "set in /etc/nccl.conf only", severity=WARNING
                )


CHECKS: tuple[Check, ...] = (
    Port(), IbPort(), Gids(), LosslessClass(), RdmaCm(), Dcqcn(), Firmware(), NcclConf(),
)  # fmt: skip
