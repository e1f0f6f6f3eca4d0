"""`python3 -m fabric.lab.machines.standins.tools PROGRAM ARGUMENTS`."""

from __future__ import annotations

import importlib
import sys

_PROGRAMS = {
    "boot": "boot", "modprobe": "kernel", "lsmod": "kernel", "modules-load": "kernel",
    "nvidia-smi": "smi", "nv-fabricmanager": "manager", "lspci": "pci",
    "ethtool": "nic", "ibv_devinfo": "rdma", "show_gids": "rdma", "ibstat": "rdma", "mlxconfig": "firmware", "mlxfwreset": "firmware",
    "chronyc": "clock", "dcgmi": "dcgm",
}  # fmt: skip


def main() -> int:
    """Run the program that the first argument names; returns its exit status."""
    name = sys.argv[1]
    module = importlib.import_module(f"fabric.lab.machines.standins.tools.{_PROGRAMS[name]}")
    code: int = module.main(name, sys.argv[2:])
    return code


if __name__ == "__main__":
    sys.exit(main())
