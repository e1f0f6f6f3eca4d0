"""/etc/nccl.conf, derived from the fabric: the interfaces, the class, the paths."""

from __future__ import annotations

from fabric.catalog import HostModel, catalog
from fabric.catalog.distribution import version_of
from fabric.design.hosts.model import NcclSetting, RoceQos
from fabric.design.ib.model import Subnet
from fabric.design.ib.partitions import DEFAULT_PKEY
from fabric.spec.cluster import ClusterSpec

_AUTOMATIC_GID = (
    2,
    21,
)  # the GID index is found by itself from here on (nccl source; PR #2183: it moves after a link flap)


def nccl_version(spec: ClusterSpec) -> tuple[int, ...] | None:
    """The pinned NCCL version as numbers; None where nothing is pinned."""
    software = spec.hosts.software
    return None if software is None else version_of(software.nccl)


def derived(spec: ClusterSpec, platform: HostModel, qos: RoceQos | None) -> tuple[NcclSetting, ...]:
    """What follows from the fabric, before overrides, in the order in which it is written."""
    network, rows = spec.hosts.network, list[NcclSetting]()

    def say(key: str, value: str, why: str) -> None:
        rows.append(NcclSetting(key, value, f"derived: {why}"))

    if network is not None:
        say("NCCL_SOCKET_IFNAME", "=" + ",".join(network.front_end), "hosts.network.front_end; '=' matches whole names")
    say("NCCL_IB_HCA", "=" + ",".join(platform.hcas.value), "back-end NICs in rail order; '=' matches whole names")
    if qos is not None:
        say("NCCL_IB_TC", str(qos.traffic_class), f"DSCP {qos.dscp} of qos.lossless x 4{_ecn(spec)}")
        control = spec.qos.control.dscp[0]
        value = control << 2 | (qos.traffic_class & 3)
        say("NCCL_IB_FIFO_TC", str(value), f"DSCP {control} of qos.control x 4{_ecn(spec)}")
        say("NCCL_IB_QPS_PER_CONNECTION", str(spec.hosts.nccl.qps), "hosts.nccl.qps")
        say("NCCL_IB_SPLIT_DATA_ON_QPS", "0", "round robin over QPs was faster than splitting (Meta, SIGCOMM 2024)")
        for key, value_, why in gid_lines(spec):
            say(key, value_, why)
    say("NCCL_IB_TIMEOUT", str(spec.hosts.nccl.timeout), "hosts.nccl.timeout")
    say("NCCL_NET_PLUGIN", spec.hosts.nccl.plugin or "none", "hosts.nccl.plugin")
    return tuple(row for row in rows if _known(row.key, nccl_version(spec)))


def _known(key: str, version: tuple[int, ...] | None) -> bool:
    since = catalog().nccl().settings[key].since
    return version is None or since is None or version >= version_of(since)


def _ecn(spec: ClusterSpec) -> str:
    return " + ECT(0)" if spec.qos.ecn is not None else ""


def gid_lines(spec: ClusterSpec) -> list[tuple[str, str, str]]:
    """How NCCL finds the GID: by the pools of addresses from 2.21 on, by index before."""
    version = nccl_version(spec)
    if version is not None and version < _AUTOMATIC_GID:
        return [("NCCL_IB_GID_INDEX", "3", "NCCL before 2.21 does not find the RoCE v2 GID by itself")]
    plan = spec.plan
    if plan.ipv4 is not None:
        return [("NCCL_IB_ADDR_RANGE", str(plan.ipv4.host_links), "addressing.ipv4.host_links")]
    assert plan.ipv6 is not None  # noqa: S101 - Addressing has refused a plan without any pool
    return [
        ("NCCL_IB_ADDR_FAMILY", "AF_INET6", "addressing.family is ipv6"),
        ("NCCL_IB_ADDR_RANGE", str(plan.ipv6.host_links), "addressing.ipv6.host_links"),
    ]


def merged(rows: tuple[NcclSetting, ...], overrides: dict[str, str]) -> tuple[NcclSetting, ...]:
    """Overrides in the place of what they replace, the others behind."""
    known = {row.key for row in rows}
    said = "hosts.nccl.overrides"
    out = [NcclSetting(row.key, overrides[row.key], said) if row.key in overrides else row for row in rows]
    return (*out, *(NcclSetting(key, value, said) for key, value in overrides.items() if key not in known))


def host_lines(subnet: Subnet) -> dict[str, tuple[NcclSetting, ...]]:
    """Host -> its SL, where the one tenant partition that it is in has an SL of its own (InfiniBand)."""
    if "NCCL_IB_SL" in subnet.spec.hosts.nccl.overrides:
        return {}
    tenants: dict[str, list[tuple[str, int | None]]] = {}
    for partition in subnet.partitions:
        if partition.pkey == DEFAULT_PKEY:
            continue
        for hca in subnet.compute:
            if hca.rail == 0 and hca.port_guid in partition.members:
                tenants.setdefault(hca.host, []).append((partition.name, partition.sl))
    return {
        host: (NcclSetting("NCCL_IB_SL", str(found[0][1]), f"derived: SL of partition {found[0][0]}"),)
        for host, found in tenants.items()
        if len(found) == 1 and found[0][1] is not None
    }
