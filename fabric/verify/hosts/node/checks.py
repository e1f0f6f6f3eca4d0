"""All checks, in the order in which a person would look: the machine, its GPUs, its NICs, RDMA, storage."""

from __future__ import annotations

from fabric.verify.hosts.node import (
    checks_driver,
    checks_gpu,
    checks_host,
    checks_nccl,
    checks_nic,
    checks_nic_pcie,
    checks_pcie,
    checks_qos,
    checks_rdma,
    checks_software,
    checks_storage,
)
from fabric.verify.hosts.node.check import Check

STORAGE: tuple[Check, ...] = checks_storage.CHECKS
HOSTS: tuple[Check, ...] = (
    *checks_host.CHECKS,
    *checks_software.CHECKS,
    *checks_gpu.CHECKS,
    *checks_driver.CHECKS,
    *checks_nic.CHECKS,
    *checks_nic_pcie.CHECKS,
    *checks_pcie.CHECKS,
    *checks_rdma.CHECKS,
    *checks_qos.CHECKS,
    *checks_nccl.CHECKS,
)
ALL: tuple[Check, ...] = (*HOSTS, *STORAGE)
