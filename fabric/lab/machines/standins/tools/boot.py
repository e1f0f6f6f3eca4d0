"""What the hardware does when a machine is switched on, before systemd applies any setting: all that a reboot loses is at its default.

Kernel settings of the whole machine below are replaced by files of this machine's own, and /sys and /proc get the files of the hardware.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fabric.lab.machines.standins.tools import kernel, state

SYSCTLS = {"vm/zone_reclaim_mode": "0", "kernel/numa_balancing": "1", "vm/nr_hugepages": "0", "vm/swappiness": "60"}
"""Settings that are the kernel's and not one network namespace's -> what they are at boot."""

GOVERNOR = "schedutil"
"""Frequency governor at boot."""

ACS_ON = "001d"
"""ACSCtl at boot: source validation and redirection on."""

MRRS_512 = "2"
"""Maximum read request at boot, as the field of DevCtl: 128 bytes << value."""


def main(_name: str, _arguments: Sequence[str]) -> int:
    """Run once at each boot."""
    _pci()
    _firmware()
    if os.environ.get("STANDIN_ROOT"):
        return 0
    _sysctls()
    _overlay("/sys/devices/system", _system())
    _overlay("/sys/devices/virtual/net", _netdevs())
    _overlay("/sys/class", _infiniband())
    if Path("/proc/driver").is_dir():
        _mount("-t", "tmpfs", "-o", "mode=755", "standin", "/proc/driver")
    _modules()
    return 0


def _pci() -> None:
    hardware = state.hardware()
    for address in hardware.bridges:
        state.write(state.RUN / "pci" / address / "acs", ACS_ON)
    for address in (*(gpu.pci for gpu in hardware.gpus), *(nic.pci for nic in hardware.nics)):
        state.write(state.RUN / "pci" / address / "mrrs", MRRS_512)
    for nic in hardware.nics:
        (state.RUN / "qos" / nic.netdev).mkdir(parents=True, exist_ok=True)
        (state.RUN / "cma" / nic.hca).mkdir(parents=True, exist_ok=True)


def _firmware() -> None:
    """What was set for the next boot is now in force."""
    for pending in (state.KEPT / "firmware").glob("*/next"):
        shutil.copytree(pending, pending.parent / "current", dirs_exist_ok=True)


def _sysctls() -> None:
    for key, value in SYSCTLS.items():
        place, own = Path("/proc/sys") / key, state.RUN / "sysctl" / key
        state.write(own, value)
        if place.exists():
            _mount("--bind", str(own), str(place))


def _system() -> dict[str, str]:
    cpus = Path("/sys/devices/system/cpu").glob("cpu[0-9]*")
    return {f"cpu/{cpu.name}/cpufreq/scaling_governor": GOVERNOR for cpu in cpus} | {
        "edac/mc/mc0/ue_count": "0", "edac/mc/mc0/ce_count": "0",
    }  # fmt: skip


def _netdevs() -> dict[str, str]:
    """DCQCN's switches, on as a NIC comes; and by `device` the NIC's PCI address."""
    found: dict[str, str] = {}
    for nic in state.hardware().nics:
        for point in ("roce_np", "roce_rp"):
            found |= {f"{nic.netdev}/ecn/{point}/enable/{priority}": "1" for priority in range(8)}
        found[f"{nic.netdev}/device"] = f"-> /sys/devices/{nic.pci}"
    return found


def _infiniband() -> dict[str, str]:
    return {f"infiniband/{nic.hca}/tc/1/traffic_class": "Global tclass=0" for nic in state.hardware().nics}


def _overlay(place: str, files: dict[str, str]) -> None:
    """Lay files over a folder of /sys; "-> TARGET" is a symbolic link."""
    layer = state.RUN / "layers" / place.strip("/").replace("/", "-")
    upper, work = layer / "upper", layer / "work"
    work.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        target = text.removeprefix("-> ")
        if target == text:
            state.write(upper / path, text)
        else:
            (upper / path).parent.mkdir(parents=True, exist_ok=True)
            (upper / path).symlink_to(target)
    upper.mkdir(exist_ok=True)
    _mount("-t", "overlay", "-o", f"lowerdir={place},upperdir={upper},workdir={work}", "standin", place)


def _modules() -> None:
    """The drivers of what is plugged in load by themselves."""
    for module in ("mlx5_core", "mlx5_ib", "nvidia"):
        if state.installed(kernel.PACKAGE_OF[module]):
            kernel.load(module)


def _mount(*arguments: str) -> None:
    subprocess.run(["/usr/bin/mount", *arguments], check=True)  # noqa: S603 - our own arguments
