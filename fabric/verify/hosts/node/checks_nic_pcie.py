"""Checks of the NICs' PCIe links and of the bridges above them: speed, width, read requests, ACS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabric.design.hosts.expect import Expectation, ExpectedNic
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.checks_nic import PerNic
from fabric.verify.hosts.node.parse_net import PciDevice, lspci
from fabric.verify.hosts.node.result import WARNING, Result
from fabric.verify.hosts.node.sources import Seen, Source, Unseen


class PerPci(PerNic):
    """A check of each NIC whose slot is declared, by lspci."""

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.LSPCI] if self.units(want) else []

    def units(self, want: Expectation) -> Sequence[str]:
        return [nic.name for nic in want.nics if nic.pci]

    def nic(self, want: Expectation, seen: Seen, nic: ExpectedNic) -> Iterator[Result]:
        device = lspci(seen.text(src.LSPCI)).get(nic.pci)
        if device is None:
            yield self.bad(
                nic.name, f"nothing in slot {nic.pci}", "the NIC", "power the host off and on, reseat the NIC"
            )
            return
        yield from self.device(want, nic, device)

    def device(self, want: Expectation, nic: ExpectedNic, device: PciDevice) -> Iterator[Result]:
        """The results of one NIC that lspci lists."""
        raise NotImplementedError


class PcieLink(PerPci):
    """Each NIC's PCIe link has its full speed and width: half of it is half of 400 Gb/s."""

    id = "pcie.link"
    action = "power the host off and on; if it stays, reseat the NIC or its riser, then replace it"

    def units(self, want: Expectation) -> Sequence[str]:
        return super().units(want) if want.platform.pcie_width and want.platform.pcie_speed else []

    def device(self, want: Expectation, nic: ExpectedNic, device: PciDevice) -> Iterator[Result]:
        expected = f"{want.platform.pcie_speed} x{want.platform.pcie_width}"
        if not device.width or not device.speed:
            raise Unseen("lspci does not say the PCIe link (it needs root)")
        have = f"{device.speed} x{device.width}"
        fits = device.width >= want.platform.pcie_width and _gts(device.speed) >= _gts(want.platform.pcie_speed)
        yield self.ok(nic.name, have) if fits else self.bad(nic.name, have, expected)


def _gts(text: str) -> float:
    found = re.match(r"\d{1,4}(?:\.\d{1,3})?", text)
    return float(found[0]) if found else 0.0


class ReadRequest(PerPci):
    """Each NIC asks the memory for reads as large as declared (PCIe MRRS)."""

    id = "pcie.mrrs"
    severity = WARNING
    action = "systemctl restart fabric-pcie, which sets it at boot"

    def units(self, want: Expectation) -> Sequence[str]:
        return super().units(want) if want.platform.max_read_request else []

    def device(self, want: Expectation, nic: ExpectedNic, device: PciDevice) -> Iterator[Result]:
        if not device.max_read_request:
            raise Unseen("lspci does not say MaxReadReq (it needs root)")
        have, expected = f"{device.max_read_request} bytes", f"{want.platform.max_read_request} bytes"
        yield self.ok(nic.name, have) if have == expected else self.bad(nic.name, have, expected)


class Acs(Check):
    """ACS source validation is off on every bridge: with it, GPU and NIC talk through the CPU, slow or not at all."""

    id = "pcie.acs"
    action = "systemctl restart fabric-pcie, which turns it off at boot; better still, turn it off in the BIOS"
    cases = ("NVIDIA/nccl#304", "NVIDIA/nccl#606", "NVIDIA/nccl#2079", "NVIDIA/nccl#523")

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.LSPCI] if want.platform.acs_off else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        devices = lspci(seen.text(src.LSPCI))
        if not any(device.has_capabilities for device in devices.values()):
            raise Unseen("lspci shows no capabilities (it needs root)")
        on = [address for address, device in devices.items() if device.acs]
        if on:
            more = f" and {len(on) - 4} more" if len(on) > 4 else ""
            yield self.bad("", f"SrcValid+ on {', '.join(on[:4])}{more}", "SrcValid- on every bridge")
        else:
            yield self.ok("", f"off on all of {len(devices)} PCI devices")


CHECKS: tuple[Check, ...] = (PcieLink(), ReadRequest(), Acs())
