"""What NCCL's settings must agree with: the fabric's classes, addresses, paths and NICs. One small rule a key.

Rules know nothing of files: `nccl_lint` gives them key and value, and puts what they say at its place.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from fabric.catalog import HostModel
from fabric.design.hosts.model import RoceQos
from fabric.spec.cluster import ClusterSpec

Level = Literal["error", "warning"]
Told = Iterator[tuple[Level, str]]
MOST_QPS = 16
"""QPs a connection beyond which nothing published goes (hosts with an E-ECMP fabric: up to 16)."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What the settings are held against. `version` is NCCL's as numbers, None where none is pinned."""

    spec: ClusterSpec
    platform: HostModel
    qos: RoceQos | None
    version: tuple[int, ...] | None

    @property
    def class_of(self) -> dict[int, str]:
        """DSCP -> the class that it belongs to."""
        return {dscp: name for name, entry in self.spec.qos.classes() for dscp in entry.dscp}


def whole(value: str) -> int:
    """A whole number as NCCL reads it: decimal, or hexadecimal after 0x. ValueError for all else, octal numbers too."""
    return int(value, 0)


def _whole_names(value: str, what: str) -> tuple[list[str], str | None]:
    """The names of a list that matches whole names, or what is wrong with its form."""
    if value.startswith("^"):
        return [], f"excludes instead of naming: a new {what} would be used unasked"
    if not value.startswith("="):
        first = value.split(",", maxsplit=1)[0]
        return [], f"matches every name that begins with {first}: whole names need a value that begins with '='"
    return [part.split(":")[0] for part in value[1:].split(",")], None


def _hcas(value: str, truth: Truth) -> Told:
    names, wrong = _whole_names(value, "HCA")
    if wrong:
        yield "error", wrong
        return
    known = truth.platform.hcas.value
    strange = [name for name in names if name not in known]
    missing = [name for name in known if name not in names]
    if strange:
        yield "error", f"names {', '.join(strange)}; a {truth.platform.name} has {known[0]} to {known[-1]}"
    elif missing:
        yield "error", f"leaves out {', '.join(missing)}: {len(known)} back-end NICs are cabled"
    elif tuple(names) != known:
        yield "warning", "the NICs are not in GPU order"


def _sockets(value: str, truth: Truth) -> Told:
    names, wrong = _whole_names(value, "interface")
    network = truth.spec.hosts.network
    if wrong:
        yield "error", wrong
    elif network is not None:
        strange = [name for name in names if name not in network.front_end]
        if strange:
            yield "error", f"names {', '.join(strange)}; hosts.network.front_end is {', '.join(network.front_end)}"


def _traffic_class(value: str, truth: Truth) -> Told:
    if truth.qos is None:
        yield "warning", "InfiniBand knows no traffic class: NCCL_IB_SL chooses the lane"
        return
    byte, qos = whole(value), truth.qos
    dscp, bits = byte >> 2, byte & 3
    if dscp != qos.dscp:
        belongs = truth.class_of.get(dscp)
        where = f"of qos.{belongs}" if belongs else "of no declared class"
        yield (
            "error",
            f"{byte} >> 2 is DSCP {dscp}, {where}; hosts send with DSCP {qos.dscp} of qos.lossless, so {qos.traffic_class}",
        )
    elif bits != qos.traffic_class & 3:
        ecn = "on, which wants ECT(0) in the two low bits" if qos.dcqcn else "off"
        yield "error", f"{byte} & 3 is {bits}, but qos.ecn is {ecn}: so {qos.traffic_class}"


def _control_class(value: str, truth: Truth) -> Told:
    if truth.qos is None:
        yield "warning", "InfiniBand knows no traffic class: NCCL_IB_SL chooses the lane"
    elif (dscp := whole(value) >> 2) not in truth.class_of:
        yield "error", f"{value} >> 2 is DSCP {dscp}, which belongs to no declared class"


def _qps(value: str, truth: Truth) -> Told:
    if truth.qos is None:
        return
    method, count = truth.spec.load_balancing.method, whole(value)
    if method != "ecmp" and count == 1:
        yield "error", f"load_balancing.method is {method}, which spreads by queue pair: 1 queue pair takes 1 path"
    elif count > MOST_QPS:
        yield "warning", f"{count} queue pairs a connection: nothing published goes beyond {MOST_QPS}"


def _split(value: str, truth: Truth) -> Told:
    if truth.qos is not None and value == "1" and truth.spec.load_balancing.method != "ecmp":
        yield (
            "warning",
            "round robin (0) was faster than splitting each message over the queue pairs (Meta, SIGCOMM 2024)",
        )


def _gid_index(value: str, truth: Truth) -> Told:
    if truth.qos is None:
        yield "warning", "InfiniBand has no GID to choose"
    elif value == "1":
        yield "error", "GID 1 is RoCE v2 of the link-local address, which is not routed (NVIDIA/nccl#426)"
    elif whole(value) >= 0 and (truth.version is None or truth.version >= (2, 21)):
        yield (
            "warning",
            "the index moves after a link flap; from 2.21 on leave it out and set NCCL_IB_ADDR_RANGE (nccl PR #2183)",
        )


def _family(value: str, truth: Truth) -> Told:
    plan = truth.spec.addressing
    if truth.qos is None or plan is None:
        yield "warning", "InfiniBand has no addresses to choose by"
    elif (plan.ipv6 if value == "AF_INET6" else plan.ipv4) is None:
        yield "error", f"{value}, but addressing.family is {plan.family}"


def _range(value: str, truth: Truth) -> Told:
    plan = truth.spec.addressing
    if truth.qos is None or plan is None:
        yield "warning", "InfiniBand has no addresses to choose by"
        return
    pools = [pool.host_links for pool in (plan.ipv4, plan.ipv6) if pool is not None]
    for part in value.split(","):
        try:
            given = ipaddress.ip_network(part)
        except ValueError:
            yield "error", f"{part!r} is not a prefix such as {pools[0]}"
            continue
        if not any(given.version == pool.version and _holds(given, pool) for pool in pools):
            yield "error", f"{given} does not hold the back-end addresses, {' and '.join(map(str, pools))}"


def _holds(
    given: ipaddress.IPv4Network | ipaddress.IPv6Network, pool: ipaddress.IPv4Network | ipaddress.IPv6Network
) -> bool:
    return given.prefixlen <= pool.prefixlen and given.overlaps(pool)


def _version_num(value: str, truth: Truth) -> Told:
    if truth.qos is not None and value != "2":
        yield "error", "RoCE v1 is not routed, so 2"


def _service_level(value: str, truth: Truth) -> Told:
    if truth.qos is not None:
        if value != "0":
            yield "warning", "RoCE has no service level; its DSCP chooses the class"
        return
    table = truth.spec.infiniband.qos.sl2vl if truth.spec.infiniband.qos else None
    if table is not None and whole(value) < len(table) and table[whole(value)] == 15:
        yield "error", f"backend.qos.sl2vl drops SL {value} (VL 15)"


def _adaptive(value: str, truth: Truth) -> Told:
    if truth.qos is None:
        declared = truth.spec.infiniband.subnet_manager.adaptive_routing is not None
        if declared and value == "0":
            yield "error", "turns off what backend.subnet_manager.adaptive_routing declares"
        if not declared and value == "1":
            yield "warning", "the subnet has no adaptive routing"


def _cross_nic(value: str, _truth: Truth) -> Told:
    if value == "0":
        yield "warning", "the rails are joined in this fabric: 0 is for rails that are not"


def _collnet(value: str, truth: Truth) -> Told:
    if value == "1" and (truth.qos is not None or not truth.spec.infiniband.subnet_manager.sharp):
        yield "error", "CollNet needs SHARP, which this fabric does not have"


def _plugin(value: str, truth: Truth) -> Told:
    declared = truth.spec.hosts.nccl.plugin or "none"
    if value != declared:
        yield "error", f"is {value!r}, hosts.nccl.plugin says {declared!r}"


def _net(value: str, _truth: Truth) -> Told:
    if value.lower() == "socket":
        yield "error", "TCP sockets leave the back-end network unused"


def _partition(_value: str, truth: Truth) -> Told:
    if truth.qos is not None:
        yield "warning", "RoCE has no partitions"


def _topology_file(_value: str, truth: Truth) -> Told:
    if truth.spec.hosts.tuning.acs == "off":
        yield (
            "error",
            "NCCL finds the topology of bare metal by itself, and a stale file made good hosts slow "
            "(Azure/azurehpc-health-checks#142); only virtual machines (hosts.tuning.acs: keep) need one",
        )


RULES: dict[str, Callable[[str, Truth], Told]] = {
    "NCCL_IB_HCA": _hcas,
    "NCCL_SOCKET_IFNAME": _sockets,
    "NCCL_IB_TC": _traffic_class,
    "NCCL_IB_FIFO_TC": _control_class,
    "NCCL_IB_QPS_PER_CONNECTION": _qps,
    "NCCL_IB_SPLIT_DATA_ON_QPS": _split,
    "NCCL_IB_GID_INDEX": _gid_index,
    "NCCL_IB_ADDR_FAMILY": _family,
    "NCCL_IB_ADDR_RANGE": _range,
    "NCCL_IB_ROCE_VERSION_NUM": _version_num,
    "NCCL_IB_SL": _service_level,
    "NCCL_IB_ADAPTIVE_ROUTING": _adaptive,
    "NCCL_CROSS_NIC": _cross_nic,
    "NCCL_COLLNET_ENABLE": _collnet,
    "NCCL_NET_PLUGIN": _plugin,
    "NCCL_NET": _net,
    "NCCL_IB_PKEY": _partition,
    "NCCL_IB_PKEY_VALUE": _partition,
    "NCCL_TOPO_FILE": _topology_file,
}
"""Key -> what must hold for a value of legal form."""
