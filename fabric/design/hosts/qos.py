"""The lossless class as the hosts need it."""

from __future__ import annotations

from fabric.design.hosts.model import RoceQos
from fabric.spec.cluster import ClusterSpec

ECT0 = 2
"""ECT(0) in the two low bits of the traffic class (RFC 3168)."""


def qos_of(spec: ClusterSpec) -> RoceQos | None:
    """From the spec's one declaration of the classes; None for InfiniBand. CNPs travel with network control."""
    if spec.backend.kind != "roce":
        return None
    lossless, control = spec.qos.lossless, spec.qos.control
    dscp = spec.hosts.nccl.dscp if spec.hosts.nccl.dscp is not None else lossless.dscp[0]
    ecn = spec.qos.ecn is not None
    return RoceQos(
        priority=lossless.pfc_priority,
        dscps=tuple(lossless.dscp),
        dscp=dscp,
        traffic_class=dscp << 2 | (ECT0 if ecn else 0),
        cnp_dscp=control.dscp[0],
        cnp_priority=control.traffic_class,
        dcqcn=ecn,
    )
