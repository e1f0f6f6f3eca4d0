"""Checks of the GPUs' driver, and of the fabric manager, whose version must be the driver's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabric.design.hosts.expect import Expectation
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.parse_gpu import table
from fabric.verify.hosts.node.parse_system import blocks, packages, unit_text
from fabric.verify.hosts.node.result import Result, same_version
from fabric.verify.hosts.node.sources import Command, Seen, Source, Unseen

FABRIC_MANAGER = src.units(("nvidia-fabricmanager.service",))


MANAGER_PACKAGES = ("nvidia-fabricmanager", "nvidia-fabricmanager-[0-9]*", "nvidia-fabric-manager")
"""Its package has other names before driver 580 (Azure/azhpc-images, README of yum-packaging-fabric-manager)."""


class Driver(Check):
    """The driver in the kernel is the declared one, and the one whose library is installed."""

    id = "gpu.driver"
    action = "fabric apply --hosts; a new driver counts only after a reboot (--allow-reboot)"
    cases = ("lyulyul/shine-cluster#30", "pando85/homelab#4110")

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.GPUS, src.DRIVER_LOADED] if want.versions.driver else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        expected = want.versions.driver
        loaded = re.search(r"Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)\s", "".join(seen.files(src.DRIVER_LOADED).values()))
        try:
            have = table(seen.text(src.GPUS), src.GPU_FIELDS)[0]["driver_version"]
        except Unseen as why:
            if "version mismatch" in str(why):
                text = f"library and kernel module differ{f' (the module is {loaded[1]})' if loaded else ''}"
                yield self.bad("", text, expected, "the packages were upgraded under a running driver: reboot the host")
                return
            if loaded is None:
                raise
            have = loaded[1]
        if loaded is not None and loaded[1] != have:
            yield self.bad("", f"library {have}, kernel module {loaded[1]}", expected, "reboot the host")
        elif same_version(expected, have):
            yield self.ok("", have)
        else:
            yield self.bad("", have, expected)


class FabricManager(Check):
    """The fabric manager runs, and its version is the driver's: it refuses any other, and then CUDA gives error 802."""

    id = "gpu.fabric-manager"
    action = "fabric apply --hosts installs the fabric manager of the driver's version; then systemctl restart nvidia-fabricmanager"
    cases = ("NVIDIA/gpu-operator#544", "NVIDIA/nvtrust#55")

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [FABRIC_MANAGER, src.GPUS, _manager_query(want)] if want.versions.fabric_manager else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        installed = packages(seen.text(_manager_query(want)))
        driver = _running(seen) or want.versions.driver
        if not installed:
            yield self.bad("version", "not installed", want.versions.fabric_manager)
        for name, version in installed.items():
            if same_version(driver, version):
                yield self.ok("version", f"{name} {version}")
            else:
                yield self.bad(
                    "version", f"{name} {version}, the driver is {driver}", f"the driver's version, {driver}"
                )
        state = next(iter(blocks(seen.text(FABRIC_MANAGER))), {})
        if not state:
            raise Unseen("systemd says nothing of nvidia-fabricmanager.service")
        if state.get("ActiveState") == "active":
            yield self.ok("service", "active")
        else:
            yield self.bad("service", unit_text(state), "active")


def _running(seen: Seen) -> str:
    try:
        return table(seen.text(src.GPUS), src.GPU_FIELDS)[0]["driver_version"]
    except Unseen:
        return ""


def _manager_query(want: Expectation) -> Command:
    is_rpm = want.os_id in ("rhel", "rocky", "almalinux", "centos", "ol")
    return src.rpm(MANAGER_PACKAGES) if is_rpm else src.dpkg(MANAGER_PACKAGES)


CHECKS: tuple[Check, ...] = (Driver(), FabricManager())
