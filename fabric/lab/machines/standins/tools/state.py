"""Where a machine's hardware remembers things: small files, so that shell scripts read and write them too.

/run/standin: what a reboot loses. /var/lib/standin: what it keeps: the hardware's description, firmware settings, faults.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("STANDIN_ROOT", "/"))
"""Another root, for tests."""

RUN = ROOT / "run/standin"
KEPT = ROOT / "var/lib/standin"


@dataclass(frozen=True)
class Nic:
    """One back-end NIC: netdev, RDMA device, PCI address, speed in Gb/s, the PCIe switch that it sits below."""

    netdev: str
    hca: str
    pci: str
    speed_gbps: int
    switch: int


@dataclass(frozen=True)
class Gpu:
    """One GPU: PCI address, and the PCIe switch that it sits below."""

    pci: str
    switch: int


@dataclass(frozen=True)
class Hardware:
    """What is plugged into the host. `gpu_name`, `gpu_memory_mib`, `nvlinks`: of each GPU. `bridges`: PCI addresses of the PCIe switches."""

    gpu_name: str
    gpu_memory_mib: int
    nvlinks: int
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]
    bridges: tuple[str, ...]


def hardware() -> Hardware:
    """The description that the lab has written, without GPUs that are gone."""
    data: dict[str, Any] = json.loads((KEPT / "hardware.json").read_text(encoding="utf-8"))
    gone = fault("missing")
    gpus = [Gpu(**gpu) for place, gpu in enumerate(data.pop("gpus")) if str(place) != gone]
    nics = tuple(Nic(**nic) for nic in data.pop("nics"))
    name = fault("platform") or data.pop("gpu_name")
    data.pop("gpu_name", None)
    return Hardware(gpu_name=name, gpus=tuple(gpus), nics=nics, bridges=tuple(data.pop("bridges")), **data)


def fault(kind: str) -> str:
    """What a fault of this kind says; "" when it is not on."""
    return read(KEPT / "faults" / kind)


def read(path: Path, default: str = "") -> str:
    """A small file without its line end; `default` when it is not there."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return default


def write(path: Path, text: str) -> None:
    """Write a small file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")


def driver() -> str:
    """Version of the GPU driver in the kernel; "" when none is loaded."""
    return read(RUN / "driver")


def installed(package: str) -> str:
    """Version of an installed package of modules; "" when it is not installed. dpkg's own record is late while packages are set up."""
    return read(ROOT / "usr/share/standin" / package)
