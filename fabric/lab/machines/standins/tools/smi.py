"""nvidia-smi."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from fabric.lab.machines.standins.tools import kernel, state
from fabric.lab.machines.standins.tools.state import Hardware

NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed "
    "and running.\n"
)
_LINK_GBPS = "26.562 GB/s"


def main(_name: str, arguments: Sequence[str]) -> int:
    """The queries that checks and units make; any other call lists the GPUs."""
    library = os.environ.get("STANDIN_VERSION", "")
    if not state.driver():
        kernel.load("nvidia")  # as nvidia-modprobe does for whoever asks for a GPU
    loaded = state.driver()
    if not loaded:
        print(NO_DRIVER)
        return 9
    if library and library != loaded:
        print(
            f"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {library.rpartition('.')[0]}"
        )
        return 18
    hardware = state.hardware()
    if not hardware.gpus:
        print("No devices were found")
        return 6
    return _answer(list(arguments), hardware)


def _answer(arguments: list[str], hardware: Hardware) -> int:
    options = dict(word.split("=", 1) for word in arguments if word.startswith("--") and "=" in word)
    if "--query-gpu" in options:
        return _rows(options["--query-gpu"], arguments, hardware, _gpu_value)
    if "--query-remapped-rows" in options:
        return _rows(options["--query-remapped-rows"], arguments, hardware, _row_value)
    if arguments[:1] == ["nvlink"]:
        _nvlink(hardware)
    elif arguments[:1] == ["topo"]:
        _topology(hardware)
    elif arguments[:1] in (["-pm"], ["--persistence-mode"]):
        state.write(state.RUN / "persistence", "Enabled" if arguments[1:2] in (["1"], ["ENABLED"]) else "Disabled")
        for gpu in hardware.gpus:
            print(f"Persistence mode is set for GPU {_bus(gpu.pci)}.")
        print("All done.")
    else:
        for place in range(len(hardware.gpus)):
            print(f"GPU {place}: {hardware.gpu_name} (UUID: {_uuid(place)})")
    return 0


def _rows(text: str, arguments: list[str], hardware: Hardware, value: Callable[[str, int, Hardware], str]) -> int:
    wanted = range(len(hardware.gpus))
    if "-i" in arguments:
        only = arguments[arguments.index("-i") + 1]
        wanted = range(int(only), int(only) + 1) if only.isdecimal() and int(only) in wanted else range(0)
        if not wanted:
            print("No devices were found")
            return 6
    fields = text.split(",")
    for place in wanted:
        cells = []
        for field in fields:
            cell = value(field.strip(), place, hardware)
            if not cell:
                print(f'Field "{field}" is not a valid field to query.\n', file=sys.stderr)
                return 2
            cells.append(cell)
        print(", ".join(cells))
    return 0


def _gpu_value(field: str, place: int, hardware: Hardware) -> str:
    gpu = hardware.gpus[place]
    plain = {
        "index": str(place), "name": hardware.gpu_name, "gpu_name": hardware.gpu_name, "uuid": _uuid(place),
        "pci.bus_id": _bus(gpu.pci), "gpu_bus_id": _bus(gpu.pci), "memory.total": str(hardware.gpu_memory_mib),
        "driver_version": state.driver(), "persistence_mode": state.read(state.RUN / "persistence", "Disabled"),
        "pcie.link.gen.max": "5", "pcie.link.gen.current": "5", "pcie.link.width.max": "16",
        "pcie.link.width.current": "8" if state.fault("pcie-width") == str(place) else "16", "ecc.mode.current": "Enabled",
        "temperature.gpu": "34", "power.draw": "71.40", "clocks.sm": "345",
    }  # fmt: skip
    if field in plain:
        return plain[field]
    if field.startswith("ecc.errors."):
        bad = field == "ecc.errors.uncorrected.volatile.dram" and state.fault("ecc") == str(place)
        return "3" if bad else "0"
    if field in ("clocks_event_reasons.active", "clocks_throttle_reasons.active"):
        return "0x0000000000000040" if state.fault("throttle") == str(place) else "0x0000000000000001"
    return ""


def _row_value(field: str, place: int, hardware: Hardware) -> str:
    if field in ("gpu_bus_id", "pci.bus_id"):
        return _bus(hardware.gpus[place].pci)
    return "0" if field.startswith("remapped_rows.") else ""


def _nvlink(hardware: Hardware) -> None:
    for place in range(len(hardware.gpus)):
        print(f"GPU {place}: {hardware.gpu_name} (UUID: {_uuid(place)})")
        for link in range(hardware.nvlinks):
            down = link == 0 and state.fault("nvlink") == str(place)
            print(f"\t Link {link}: {'<inactive>' if down else _LINK_GBPS}")


def _topology(hardware: Hardware) -> None:
    """The matrix of GPUs and NICs, and its legend."""
    names = [f"GPU{place}" for place in range(len(hardware.gpus))] + [
        f"NIC{place}" for place in range(len(hardware.nics))
    ]
    below = [*(gpu.switch for gpu in hardware.gpus), *(nic.switch for nic in hardware.nics)]
    print("\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]))
    for row, name in enumerate(names):
        cells = [_relation(row, column, names, below, hardware) for column in range(len(names))]
        print("\t".join([name, *cells]))
    print(
        "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes"
    )
    print("  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)")
    print("  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n")
    for place, nic in enumerate(hardware.nics):
        print(f"  NIC{place}: {nic.hca}")


def _relation(row: int, column: int, names: list[str], below: list[int], hardware: Hardware) -> str:
    if row == column:
        return " X "
    if names[row].startswith("GPU") and names[column].startswith("GPU"):
        return f"NV{hardware.nvlinks}"
    return "PXB" if below[row] == below[column] else "SYS"


def _bus(pci: str) -> str:
    return f"0000{pci}".upper()


def _uuid(place: int) -> str:
    return f"GPU-00000000-0000-0000-0000-{place:012d}"
