"""Checks of the GPUs: count, ECC, NVLink, Xid, clocks, PCIe width, place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabric.design.hosts.expect import Expectation
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.parse_gpu import bus_id, number, nvlinks, table, topology, xids
from fabric.verify.hosts.node.result import WARNING, Result, clean
from fabric.verify.hosts.node.sources import Command, Seen, Source, Unseen

RESET = "drain the host and reset the GPU (nvidia-smi --gpu-reset), or reboot; if it comes back, replace the GPU"
NEAR = ("PIX", "PXB")
"""Words of `nvidia-smi topo -m` for a path that stays below one PCIe host bridge."""


class Gpus(Check):
    """All GPUs of the platform are there, of the declared model, all with the same memory."""

    id = "gpu.count"
    action = "nvidia-smi and lspci: a GPU that lspci lists and nvidia-smi does not has fallen off the bus: reboot, then replace"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.GPUS] if want.platform.gpus else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        rows = table(seen.text(src.GPUS), src.GPU_FIELDS)
        platform = want.platform
        if len(rows) == platform.gpus:
            yield self.ok("", f"{len(rows)} GPUs")
        else:
            yield self.bad("", f"{len(rows)} GPUs", f"{platform.gpus} GPUs")
        others = sorted({row["name"] for row in rows if not _is_model(platform.gpu, row["name"])})
        if others:
            text = f"the host is not a {platform.name}: correct hosts.platform, or the host"
            yield self.bad("model", ", ".join(others), platform.gpu, text)
        sizes = [number(row["memory.total"]) or 0 for row in rows]
        for place, row in enumerate(rows):
            size = sizes[place]
            if size < max(sizes):
                yield self.bad(
                    f"GPU {row['index']}", f"{size} MiB of memory", f"{max(sizes)} MiB, as the others", RESET
                )


def _is_model(want: str, have: str) -> bool:
    """Whether a name holds another, but for blanks and case: "H100 80 GB HBM3" is in "NVIDIA H100 80GB HBM3"."""
    return re.sub(r"[\s-]", "", want).lower() in re.sub(r"[\s-]", "", have).lower()


class Ecc(Check):
    """No GPU has uncorrected ECC errors, a pending row remapping, a failed one, or corrected errors above the platform's limits."""

    id = "gpu.ecc"
    action = RESET

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.GPU_ECC, src.GPU_ROWS] if want.platform.gpus else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        for row in table(seen.text(src.GPU_ECC), src.GPU_ECC_FIELDS):
            unit = f"GPU {row['index']}"
            if row["ecc.mode.current"] != "Enabled":
                yield self.bad(
                    unit, f"ECC is {row['ecc.mode.current']}", "Enabled", "nvidia-smi -e 1, then reset the GPU"
                )
                continue
            faults = list(_ecc_faults(row, want))
            for measured, expected in faults:
                yield self.bad(unit, measured, expected)
            if not faults:
                yield self.ok(unit, "no ECC error above its limit")
        yield from self._rows(want, seen)

    def _rows(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        try:
            rows = table(seen.text(src.GPU_ROWS), src.ROW_FIELDS)
        except Unseen as why:
            yield self.unseen("row remapping", why)
            return
        for row in rows:
            unit = f"GPU {bus_id(row['gpu_bus_id'])}"
            limit = want.limits.remapped_rows
            if _yes(row["remapped_rows.failure"]):
                yield self.bad(unit, "a row could not be remapped", "no failure", "drain the host and replace the GPU")
            elif _yes(row["remapped_rows.pending"]):
                yield self.bad(
                    unit, "a row waits to be remapped", "nothing pending", "drain the host and reset the GPU"
                )
            elif limit and (number(row["remapped_rows.uncorrectable"]) or 0) > limit:
                yield self.bad(unit, f"{row['remapped_rows.uncorrectable']} rows remapped", f"at most {limit}")
            else:
                yield self.ok(unit, "no row waits to be remapped")


def _yes(text: str) -> bool:
    """nvidia-smi writes these as Yes and No, or as numbers, by version."""
    return text == "Yes" or (text.isdecimal() and int(text) > 0)


def _ecc_faults(row: dict[str, str], want: Expectation) -> Iterator[tuple[str, str]]:
    """(measured, expected) of each counter that is too high."""
    for name, text in row.items():
        found = re.fullmatch(r"ecc\.errors\.(\w+)\.(\w+)\.(\w+)", name)
        count = number(text) if found else None
        if found is None or not count:
            continue
        kind, when, memory = found.groups()
        corrected = want.limits.ecc_sram if memory == "sram" else want.limits.ecc_dram
        limit = 0 if kind == "uncorrected" else corrected
        if count > limit and (limit or kind == "uncorrected"):
            yield f"{count} {kind} {memory.upper()} errors ({when})", f"at most {limit}" if limit else "none"


class NvLink(Check):
    """Every NVLink of every GPU is up, and all GPUs have the same number of links."""

    id = "gpu.nvlink"
    action = "nvidia-smi nvlink --errorcounters and the fabric manager's log; reset all GPUs together, then replace the baseboard"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.NVLINK] if want.platform.gpus > 1 else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        found = nvlinks(seen.text(src.NVLINK))
        if not found:
            raise Unseen("nvidia-smi nvlink lists no GPU")
        most = want.platform.nvlinks or max(len(links) for links in found.values())
        if not most:
            raise Unseen("nvidia-smi nvlink lists no link")
        for gpu, links in sorted(found.items()):
            down = [link for link, up in sorted(links.items()) if not up]
            count = len(links) - len(down)
            if count == most:
                yield self.ok(f"GPU {gpu}", f"{most} links up")
            else:
                which = f", down: {', '.join(map(str, down))}" if down else ""
                yield self.bad(f"GPU {gpu}", f"{count} links up{which}", f"{most} links up")


class Xid(Check):
    """The kernel log has no fatal Xid of late; the numbers and the window are the platform's."""

    id = "gpu.xid"
    action = "drain the host; NVIDIA's Xid catalogue says what the number asks for: reset, reboot or replace"
    cases = ("NVIDIA/nccl#2408",)

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.KERNEL_LOG] if want.limits.xids else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        lines = seen.text(src.KERNEL_LOG)
        newest = max(
            (float(hit) for hit in re.findall(r"^(\d{9,11}(?:\.\d{1,9})?) ", lines, re.MULTILINE)), default=0.0
        )
        now = max(newest, seen.now)
        found = [
            hit for hit in xids(lines) if hit[0] >= now - want.limits.xid_hours * 3600 and hit[1] in want.limits.xids
        ]
        for (device, code), count in _counted([(hit[2], hit[1]) for hit in found]):
            last = next(hit[3] for hit in reversed(found) if (hit[2], hit[1]) == (device, code))
            text = f"Xid {code}{f', {count} times' if count > 1 else ''}: {clean(last.partition('NVRM: ')[2], 100)}"
            yield self.bad(f"GPU {device}", text, f"none in {want.limits.xid_hours:g} h")
        if not found:
            yield self.ok("", f"no fatal Xid in {want.limits.xid_hours:g} h")


def _counted(keys: Sequence[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], int]]:
    for key in dict.fromkeys(keys):
        yield key, keys.count(key)


REASONS = {
    0x08: "hardware slowdown", 0x20: "thermal slowdown by software", 0x40: "thermal slowdown by hardware",
    0x80: "power brake",
}  # fmt: skip
"""Reasons of slow clocks that are a fault (bits as in Azure/azurehpc-health-checks azure_gpu_clock_throttling.nhc, after NVML)."""


class Clocks(Check):
    """No GPU is slowed down by heat or by its power supply. Idle clocks and the power cap are no fault."""

    id = "gpu.clocks"
    action = "check fans, inlet temperature and power supplies by the BMC; one GPU alone: reseat or replace it"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [_clocks(want)] if want.platform.gpus else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        for row in table(seen.text(_clocks(want)), ("index", "reasons")):
            text = row["reasons"]
            unit = f"GPU {row['index']}"
            if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text) is None:
                yield self.unseen(unit, f"nvidia-smi says {text[:40]!r}")
                continue
            why = [words for bit, words in REASONS.items() if int(text, 16) & bit]
            if why:
                yield self.bad(unit, ", ".join(why), "not slowed down")
            else:
                yield self.ok(unit, "not slowed down")


def _clocks(want: Expectation) -> Command:
    """The field has another name before driver 535.54 (azure_gpu_clock_throttling.nhc)."""
    version = [int(part) for part in re.findall(r"\d{1,6}", want.versions.driver)[:2]]
    return src.GPU_CLOCKS_BEFORE_535_54 if version and version < [535, 54] else src.GPU_CLOCKS


class GpuPcie(Check):
    """Every GPU has its full PCIe width, and its slot the platform's generation. (The current speed falls when a GPU is idle.)."""

    id = "gpu.pcie"
    action = "power the host off and on; if it stays, reseat the GPU's board, then replace it"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.GPU_PCIE] if want.platform.gpus else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        generation = GENERATIONS.get(want.platform.pcie_speed, 0)
        for row in table(seen.text(src.GPU_PCIE), src.GPU_PCIE_FIELDS):
            unit = f"GPU {row['index']}"
            width, most = number(row["pcie.link.width.current"]), number(row["pcie.link.width.max"])
            most = want.platform.pcie_width or most
            gen = number(row["pcie.link.gen.max"])
            if width is None or most is None or gen is None:
                yield self.unseen(unit, "nvidia-smi does not say the PCIe link")
            elif width < most or gen < generation:
                yield self.bad(unit, f"generation {gen}, x{width}", f"generation {generation or gen}, x{most}")
            else:
                yield self.ok(unit, f"generation {gen}, x{width}")


GENERATIONS = {"8.0 GT/s": 3, "16.0 GT/s": 4, "32.0 GT/s": 5, "64.0 GT/s": 6}
"""PCI Express base specification."""


class Topology(Check):
    """Every back-end NIC has a GPU next to it below one PCIe host bridge, so that GPUDirect RDMA never crosses a CPU."""

    id = "gpu.topology"
    severity = WARNING
    action = "a NIC or GPU sits in another slot than declared (hosts.network.backend_pci), or the system is a virtual machine"
    cases = ("NVIDIA/nccl#1464", "NVIDIA/nccl-tests#256", "NVIDIA/nccl-tests#749")

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.GPU_TOPOLOGY] if want.platform.gpus and want.nics else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        rows = topology(seen.text(src.GPU_TOPOLOGY))
        for nic in want.nics:
            near = [gpu for gpu, row in rows.items() if gpu.startswith("GPU") and row.get(nic.hca) in NEAR]
            known = any(nic.hca in row for row in rows.values())
            if near:
                yield self.ok(nic.hca, f"next to {', '.join(near)}")
            elif known:
                best = sorted({row[nic.hca] for gpu, row in rows.items() if gpu.startswith("GPU") and nic.hca in row})
                yield self.bad(nic.hca, f"every GPU is {' or '.join(best)} away", "a GPU at PIX or PXB")
            else:
                yield self.unseen(nic.hca, "nvidia-smi topo does not list it")


CHECKS: tuple[Check, ...] = (
    Gpus(), Ecc(), NvLink(), Xid(), Clocks(), GpuPcie(), Topology(),
)  # fmt: skip
