"""modprobe and lsmod: modules of the vendors' packages are loaded by name; all others the kernel has built in, or not at all."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fabric.lab.machines.standins.tools import state

PACKAGE_OF = {
    "nvidia": "nvidia-kernel-open-dkms", "nvidia_uvm": "nvidia-kernel-open-dkms", "nvidia_modeset": "nvidia-kernel-open-dkms",
    "nvidia_peermem": "nvidia-kernel-open-dkms", "mlx5_core": "mlnx-ofed-kernel-dkms", "mlx5_ib": "mlnx-ofed-kernel-dkms",
    "ib_umad": "mlnx-ofed-kernel-dkms", "rdma_ucm": "mlnx-ofed-kernel-dkms", "ib_ipoib": "mlnx-ofed-kernel-dkms",
}  # fmt: skip
"""Module -> package that it is built from."""


def main(name: str, arguments: Sequence[str]) -> int:
    """`modprobe [-r] MODULE...`, `lsmod`, or what systemd-modules-load does, which no container runs."""
    if name == "modules-load":
        return load_configured()
    if name == "lsmod":
        print("Module                  Size  Used by")
        for path in sorted((state.RUN / "modules").glob("*")):
            print(f"{path.name:<19} {16384:>8}  0")
        return 0
    every = "-a" in arguments or "--all" in arguments
    words = [word.replace("-", "_") for word in arguments if not word.startswith("-")]
    if "-r" in arguments or "--remove" in arguments:
        for module in words:
            _unload(module)
        return 0
    return max([0, *(load(module) for module in (words if every else words[:1]))])


def load_configured() -> int:
    """Load what /etc/modules-load.d names and is installed."""
    for path in sorted(Path("/etc/modules-load.d").glob("*.conf")):
        for line in path.read_text(encoding="utf-8").splitlines():
            name = line.strip().replace("-", "_")
            if state.installed(PACKAGE_OF.get(name, "none")):
                load(name)
    return 0


def load(module: str) -> int:
    """Load one module; its exit status."""
    package = PACKAGE_OF.get(module)
    version = state.installed(package) if package else ""
    if package is None or not version:
        print(f"modprobe: FATAL: Module {module} not found in directory /lib/modules/standin", file=sys.stderr)
        return 1
    if module.startswith("nvidia") and not state.driver():
        state.write(state.RUN / "driver", version)
        state.write(state.RUN / "modules/nvidia", version)
        _proc_driver(version)
    state.write(state.RUN / "modules" / module, state.driver() if module.startswith("nvidia") else version)
    return 0


def _unload(module: str) -> None:
    (state.RUN / "modules" / module).unlink(missing_ok=True)
    if module == "nvidia":
        (state.RUN / "driver").unlink(missing_ok=True)
        (state.RUN / "driver-version").unlink(missing_ok=True)


def _proc_driver(version: str) -> None:
    """/proc/driver/nvidia/version."""
    text = (
        f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (standin@lab)\n"
        "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)"
    )
    state.write(state.ROOT / "proc/driver/nvidia/version", text)
