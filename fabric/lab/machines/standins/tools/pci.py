"""lspci; setpci is a shell script, since it runs dozens of times at each boot."""

from __future__ import annotations

from collections.abc import Sequence

from fabric.lab.machines.standins.tools import state
from fabric.lab.machines.standins.tools.state import Hardware


def main(_name: str, arguments: Sequence[str]) -> int:
    """All devices, or that of `-s ADDRESS`; `-D` writes the domain, `-vv` and more the capabilities."""
    options = "".join(word[1:] for word in arguments if word.startswith("-"))
    only = arguments[arguments.index("-s") + 1].lower() if "-s" in arguments else ""
    for address, title, lines in _devices(state.hardware()):
        if only and only not in (address, address.removeprefix("0000:")):
            continue
        print(f"{address if 'D' in options else address.removeprefix('0000:')} {title}")
        if options.count("v") >= 2:
            print("\n".join(f"\t{line}" for line in lines), end="\n\n")
    return 0


def _devices(hardware: Hardware) -> list[tuple[str, str, list[str]]]:
    found = []
    for address in hardware.bridges:
        acs = state.read(state.RUN / "pci" / address / "acs", "0000")
        flag = "+" if int(acs, 16) & 1 else "-"
        lines = [
            "Capabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00", *_link(512, 16),
            "Capabilities: [f24 v1] Access Control Services", f"\tACSCtl:\tSrcValid{flag} TransBlk- ReqRedir{flag} CmpltRedir{flag}",
        ]  # fmt: skip
        found.append((address, "PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)", lines))
    card = f"3D controller: NVIDIA Corporation {hardware.gpu_name.removeprefix('NVIDIA ')}"
    found += [(gpu.pci, card, _express(gpu.pci)) for gpu in hardware.gpus]
    for nic in hardware.nics:
        kind = "Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]"
        found.append((nic.pci, kind, _express(nic.pci, 8 if state.fault("nic-width") == nic.netdev else 16)))
    return sorted(found)


def _express(address: str, width: int = 16) -> list[str]:
    mrrs = 128 << int(state.read(state.RUN / "pci" / address / "mrrs", "2"))
    return ["Capabilities: [60] Express (v2) Endpoint, MSI 00", *_link(mrrs, width)]


def _link(mrrs: int, width: int) -> list[str]:
    return [
        "\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-",
        f"\t\tMaxPayload 256 bytes, MaxReadReq {mrrs} bytes",
        f"\t\tLnkSta:\tSpeed 32GT/s, Width x{width}{'' if width == 16 else ' (downgraded)'}",
    ]
