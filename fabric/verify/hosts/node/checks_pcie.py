"""Checks of how GPUs and NICs hang on PCIe, held against the declared slots; and of the IOMMU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabric.design.hosts.expect import Expectation, ExpectedTopology
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.parse_topology import (
    DISPLAY,
    NETWORK,
    Link,
    Place,
    Tree,
    dump,
    link,
    resolved,
    sys_links,
)
from fabric.verify.hosts.node.result import WARNING, Result
from fabric.verify.hosts.node.sources import Command, Files, Seen, Source, Unseen

DUMP_BYTES = 1 << 20
"""Of a dump, in bytes (our choice; that of 8 GPUs and 8 NICs has some 20,000)."""
_DEVICES = "/sys/bus/pci/devices"


def places_of(topology: ExpectedTopology) -> Command:
    """Where the declared devices are in the tree of /sys."""
    return Command(("readlink", "-f", "--", *(f"{_DEVICES}/{pci}" for pci in (*topology.gpus, *topology.nics))))


def class_of(pci: str) -> Files:
    """PCI class of a device."""
    return Files(f"{_DEVICES}/{pci}/class")


def link_of(pci: str) -> Files:
    """Speeds and widths of a device's link, at its own end."""
    return Files(f"{_DEVICES}/{pci}/*_link_*")


def port_of(pci: str) -> Files:
    """The same at the other end, the port of the bridge above."""
    return Files(f"{_DEVICES}/{pci}/../*_link_*")


def dump_of(topology: ExpectedTopology) -> list[Command]:
    """NCCL's dump, where one is declared; nothing where the file is not there. By a command, not as a file: a job may have left a pipe
    there, which then holds up nobody else.
    """
    return [Command(("head", "-c", str(DUMP_BYTES), "--", topology.dump), ok=(0, 1))] if topology.dump else []


class NcclTopology(Check):
    """GPUs and NICs sit in the declared slots, each GPU below one bridge with its NIC, at full link speed, with GPUDirect RDMA.

    Compared is a dump of NCCL (`hosts.nccl.topology_dump`); what it does not say, or without one, /sys.
    """

    id = "nccl.topology"
    severity = WARNING
    action = (
        "compare the dump with /etc/fabric/nccl-topology.xml: a card in another slot than declared (hosts.network.gpu_pci, "
        "backend_pci), a link that trained low (power the host off and on), or no peermem"
    )
    cases = ("NVIDIA/nccl#1464", "NVIDIA/nccl-tests#256", "NVIDIA/nccl-tests#749")

    def needs(self, want: Expectation) -> Sequence[Source]:
        topology = want.topology
        if topology is None:
            return []
        devices = (*topology.gpus, *topology.nics)
        parts = [part(pci) for pci in devices for part in (class_of, link_of, port_of)]
        return [places_of(topology), *parts, *dump_of(topology)]

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        topology = want.topology
        if topology is None:
            return
        said, why = self._dump(topology, seen)
        if why:
            yield self.unseen("dump", why)
        try:
            here: Tree | Unseen = _sys(topology, seen)
        except Unseen as reason:
            here = reason
        missing = []
        for unit, kind, pci, partners in _devices(topology):
            tree = _tree(topology, said, here, (pci, *partners.values()))
            if isinstance(tree, Unseen):
                missing.append(unit)
            else:
                yield from self._one(want, tree, unit, kind, pci, partners)
        if missing:
            yield self.unseen("" if len(missing) > 1 else missing[0], here)

    def _dump(self, topology: ExpectedTopology, seen: Seen) -> tuple[Tree | None, str]:
        """NCCL's dump, and why one that is there cannot be read."""
        for source in dump_of(topology):
            try:
                text = seen.text(source)
                return (dump(text) if text else None), ""
            except Unseen as why:
                return None, str(why)
        return None, ""

    def _one(
        self, want: Expectation, tree: Tree, unit: str, kind: str, pci: str, partners: dict[str, str]
    ) -> Iterator[Result]:
        """One GPU with its NICs, or one NIC by itself."""
        place = tree.places.get(pci)
        noun = "GPU" if kind == DISPLAY else "NIC"
        if place is None or (place.kind and not place.kind.startswith(kind)):
            what = "nothing" if place is None else f"a device of class {place.kind}"
            yield self.bad(unit, f"{what} at {pci} ({tree.source})", f"a {noun} at {pci}")
            return
        wrong = [*_slow(want, place)]
        if place.direct is False:
            wrong.append(("gdr=0 in NCCL's dump: no GPUDirect RDMA", "gdr=1"))
        for name, address in partners.items():
            partner = tree.places.get(address)
            if partner is not None and not set(place.bridges) & set(partner.bridges):
                wrong.append((f"no bridge above both it and {name} at {address}", "one PCIe switch above both"))
        for measured, expected in wrong:
            yield self.bad(unit, measured, expected)
        if not wrong:
            known = any(item.speed and item.width for item in place.links)
            yield self.ok(unit, f"{pci} as declared") if known else self.unseen(unit, f"{tree.source} says no link")


def _devices(topology: ExpectedTopology) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Unit, class, address, and for a GPU the NICs that must be below the same switch."""
    below = {gpu: switch.nics for switch in topology.switches for gpu in switch.gpus}
    for index, pci in enumerate(topology.gpus):
        yield f"GPU {index}", DISPLAY, pci, {f"NIC {nic}": topology.nics[nic] for nic in below.get(index, ())}
    for index, pci in enumerate(topology.nics):
        yield f"NIC {index}", NETWORK, pci, {}


def _tree(topology: ExpectedTopology, said: Tree | None, here: Tree | Unseen, devices: Sequence[str]) -> Tree | Unseen:
    """The dump where it speaks of all these devices, or of the whole host (a job of two GPUs dumps two); else /sys."""
    if said is None:
        return here
    whole = said.count(DISPLAY) >= len(topology.gpus) and said.count(NETWORK) >= len(topology.nics)
    return said if whole or all(pci in said.places for pci in devices) else here


def _sys(topology: ExpectedTopology, seen: Seen) -> Tree:
    """The declared devices by /sys. Unseen when it cannot be read."""
    above = resolved(seen.text(places_of(topology)))
    if not above:
        raise Unseen("/sys has none of the declared PCI devices (a container, or another platform)")
    tree = Tree("/sys")
    for pci, bridges in above.items():
        kind = seen.files(class_of(pci)).get(class_of(pci).pattern, "").strip()
        links = sys_links(seen.files(link_of(pci)), seen.files(port_of(pci)))
        tree.places[pci] = Place(kind, bridges, links)
    return tree


def _slow(want: Expectation, place: Place) -> Iterator[tuple[str, str]]:
    """(measured, expected) of each link on the way that is slower or narrower than the platform's."""
    full = link("", want.platform.pcie_speed, str(want.platform.pcie_width))
    for found in place.links:
        if (found.speed and found.speed < full.speed) or (found.width and found.width < full.width):
            yield str(found), str(Link("", full.speed, full.width))


class Iommu(Check):
    """The kernel was booted with the declared IOMMU setting; otherwise GPU and NIC may talk through the IOMMU."""

    id = "pcie.iommu"
    severity = WARNING
    action = "add it to the boot loader's kernel command line and reboot (nothing here edits boot loaders), or correct hosts.tuning.iommu"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.COMMAND_LINE] if want.kernel_arguments else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        words = seen.file(src.COMMAND_LINE).split()
        if not words:
            raise Unseen("/proc/cmdline is empty")
        given = {
            f"{key}={part}" for key, _, value in (word.partition("=") for word in words) for part in value.split(",")
        }
        for choice in want.kernel_arguments:
            have = [word for word in choice.split("|") if word in given]
            if have:
                yield self.ok("", have[0])
                continue
            keys = {word.partition("=")[0] for word in choice.split("|")}
            other = [word for word in words if word.partition("=")[0] in keys]
            yield self.bad("", " ".join(other) or "not on the kernel's command line", choice.replace("|", " or "))


CHECKS: tuple[Check, ...] = (NcclTopology(), Iommu())
