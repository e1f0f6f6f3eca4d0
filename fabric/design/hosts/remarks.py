"""What deserves a second look in the host sections."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabric.catalog import catalog
from fabric.design.hosts.nccl_lint import lint, truth_of
from fabric.design.remark import Remark
from fabric.spec.cluster import ClusterSpec
from fabric.spec.storage import FuseMount

_SECRET_NAME = re.compile(r"(?:^|_)(?:TOKEN|PASSWORD|PASSPHRASE|SECRET|(?:API|ACCESS|SECRET)_KEY)$")
_SECRET_ARGUMENT = re.compile(
    r"--?(?:[a-z]+[-_])*(?:token|password|passphrase|secret|(?:api|access|secret)[-_]key)=.", re.IGNORECASE
)
_REVERSE_PATH = "net.ipv4.conf.all.rp_filter"
_FULL_MTU = 4096
_HEADERS = 96
"""Bytes that Linux keeps for RoCE's headers when it chooses the RDMA MTU below an interface's MTU (include/rdma/ib_addr.h, iboe_get_mtu)."""


def host_remarks(spec: ClusterSpec) -> Iterator[Remark]:
    """All remarks on hosts, storage and scheduler."""
    yield from _nccl(spec)
    yield from _software(spec)
    yield from _clear_secrets(spec)
    yield from _strict_filter(spec)
    if spec.hosts.software is None:
        for name, given in (("storage", bool(spec.storage)), ("scheduler", spec.scheduler is not None)):
            if given:
                yield Remark((name,), "no-effect", "hosts.software is not declared, so no host is provisioned with it")
    if spec.backend.kind == "infiniband":
        for name in sorted(spec.hosts.nccl.model_fields_set & {"dscp", "qps"}):
            yield Remark(("hosts", "nccl", name), "no-effect", "only a RoCE back end has it")
    elif spec.hosts.software is not None and spec.mtu.ip < _FULL_MTU + _HEADERS:
        size = max(mtu for mtu in (256, 512, 1024, 2048) if mtu + _HEADERS <= spec.mtu.ip)
        yield Remark(
            ("mtu", "ip"),
            "rdma-mtu",
            f"RDMA packets carry {size:,} bytes: {_FULL_MTU:,} and {_HEADERS} of headers need an MTU of {_FULL_MTU + _HEADERS:,}",
        )


def _nccl(spec: ClusterSpec) -> Iterator[Remark]:
    truth = truth_of(spec)
    for key, value in spec.hosts.nccl.overrides.items():
        for flaw in lint(key, value, truth):
            if flaw.level == "warning":
                hint = f"; {flaw.hint}" if flaw.hint else ""
                yield Remark(("hosts", "nccl", "overrides", key), "nccl", flaw.message + hint)
    if "NCCL_IB_QPS_PER_CONNECTION" not in spec.hosts.nccl.overrides:
        for flaw in lint("NCCL_IB_QPS_PER_CONNECTION", str(spec.hosts.nccl.qps), truth):
            if flaw.level == "warning":
                yield Remark(("hosts", "nccl", "qps"), "nccl", flaw.message)


def _strict_filter(spec: ClusterSpec) -> Iterator[Remark]:
    """A strict reverse path filter over a back end of several NICs with a routing table each. `all` is the least that every NIC has."""
    if spec.backend.kind != "roce":
        return
    for key, value in spec.hosts.tuning.sysctls.items():
        if key.replace("/", ".") == _REVERSE_PATH and value.strip() == "1":
            entry = next(row for row in catalog().host_settings().settings if row.key == _REVERSE_PATH)
            said = "1 drops what comes in over another NIC than the main table's way back; with a routing table for each NIC"
            yield Remark(
                ("hosts", "tuning", "sysctls", key), "reverse-path", f"{said} hosts get {entry.value} ({entry.source})"
            )


def _clear_secrets(spec: ClusterSpec) -> Iterator[Remark]:
    """What looks like a secret among a FUSE client's arguments (in every `ps`) and environment (in every rendered tree)."""
    for index, mount in enumerate(spec.storage):
        if not isinstance(mount, FuseMount):
            continue
        for number, argument in enumerate(mount.arguments):
            if _SECRET_ARGUMENT.match(argument):
                place: tuple[str | int, ...] = ("storage", index, "arguments", number)
                yield Remark(
                    place, "clear-secret", "looks like a secret, which every user of the host would see; use secrets"
                )
        for key in mount.environment:
            if _SECRET_NAME.search(key):
                place = ("storage", index, "environment", key)
                yield Remark(place, "clear-secret", f"{key} looks like a secret, in clear text; use secrets")


def _software(spec: ClusterSpec) -> Iterator[Remark]:
    software, os = spec.hosts.software, spec.hosts.os
    if software is None or os is None:
        return
    if software.mirror is not None and software.mirror.unsigned:
        yield Remark(
            ("hosts", "software", "mirror", "unsigned"),
            "unsigned",
            "packages are taken without a signature: for a lab alone",
        )
    if software.mirror is None:
        unsure = [rule.name for rule in catalog().distribution(os).repositories if rule.status == "unverified"]
        if unsure:
            yield Remark(
                ("hosts", "os"),
                "unverified",
                f"the addresses of {' and '.join(unsure)} for {os} follow a scheme and were not read",
            )
