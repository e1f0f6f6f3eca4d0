"""dcgmi: discovery and a diagnosis that passes unless a fault is on."""

from __future__ import annotations

from collections.abc import Sequence

from fabric.lab.machines.standins.tools import state


def main(_name: str, arguments: Sequence[str]) -> int:
    """`dcgmi discovery -l`, `dcgmi diag -r LEVEL`, `dcgmi health -c`."""
    gpus = state.hardware().gpus
    if not state.driver():
        print("Error: unable to establish a connection to the specified host: localhost")
        return 255
    if arguments[:1] == ["discovery"]:
        print(f"{len(gpus)} GPUs found.")
        for place, gpu in enumerate(gpus):
            print(f"| {place:<6} | PCI Bus ID: 0000{gpu.pci.upper()} |")
        return 0
    bad = [kind for kind in ("ecc", "missing", "nvlink", "pcie-width", "throttle") if state.fault(kind)]
    print(f"| {'Deployment' if arguments[:1] == ['diag'] else 'Overall Health'} | {'Fail' if bad else 'Pass'} |")
    return 226 if bad and arguments[:1] == ["diag"] else 0
