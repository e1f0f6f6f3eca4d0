"""Checks of the lossless class on the NICs: trust, PFC, DSCPs, rdma_cm's type of service, DCQCN."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabric.design.hosts.expect import Expectation, ExpectedNic, ExpectedQos
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.checks_nic import PerNic
from fabric.verify.hosts.node.parse_net import NicQos, dcb, mlnx_qos
from fabric.verify.hosts.node.result import WARNING, Result
from fabric.verify.hosts.node.sources import Command, Files, Seen, Source, Unseen

BOOT_UNIT = (
    "systemctl restart fabric-roce@NIC; a NIC forgets these settings at every boot, and when its driver is loaded again"
)


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


CHECKS: tuple[Check, ...] = (LosslessClass(), RdmaCm(), Dcqcn())
