"""Checks of the machine itself: who it is, its kernel settings and modules, memory, clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabric.design.hosts.expect import Expectation
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.parse_system import blocks, os_release
from fabric.verify.hosts.node.result import WARNING, Result, some
from fabric.verify.hosts.node.sources import Files, Seen, Source, Unseen


class Name(Check):
    """The host that answers is the one that was meant."""

    id = "host.name"
    action = "the address or the host name is wrong: correct one of them before anything is changed here"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.HOSTNAME] if want.host else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        name = seen.file("/proc/sys/kernel/hostname")
        if name.partition(".")[0].lower() == want.host.partition(".")[0].lower():
            yield self.ok("", name)
        else:
            yield self.bad("", f"it calls itself {name}", want.host)


class System(Check):
    """It runs the distribution and release that are declared."""

    id = "host.os"
    action = "install the declared distribution, or declare the one that it runs (hosts.os)"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.OS_RELEASE] if want.os_id else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        release = os_release(seen.file("/etc/os-release"))
        names = [release["ID"], *release.get("ID_LIKE", "").split()]
        have, version = release.get("VERSION_ID", ""), want.os_version
        fits = version in ("", have) or ("." not in version and have.partition(".")[0] == version)
        text = f"{release['ID']} {have}".strip()
        if want.os_id in names and fits:
            yield self.ok("", text)
        else:
            yield self.bad("", text, f"{want.os_id} {version}".strip())


class Sysctls(Check):
    """Kernel settings have the declared values, now and not only in a file."""

    id = "host.sysctl"
    severity = WARNING
    action = "set by another file or by hand since boot: sysctl --system, then look for who sets it"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [Files(_sysctl_path(key)) for key in want.sysctls]

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        right, absent = 0, []
        for key, value in want.sysctls.items():
            path = _sysctl_path(key)
            text = seen.files(Files(path)).get(path)
            if text is None:
                absent.append(key)
            elif text.split() == value.split():
                right += 1
            else:
                yield self.bad(key, " ".join(text.split()), value)
        if right:
            yield self.ok("", f"{right} settings as declared")
        if absent:
            yield self.unseen("", f"this kernel has no {some(absent)}")


def _sysctl_path(key: str) -> str:
    """A sysctl's file; a "/" in a key stands for a "." of an interface's name, as in sysctl(8)."""
    return "/proc/sys/" + key.translate(str.maketrans("./", "/."))


class Governor(Check):
    """Every CPU runs with the declared frequency governor."""

    id = "host.governor"
    severity = WARNING
    action = "systemctl restart fabric-tuning, which sets it at boot; a power profile daemon may have changed it"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.GOVERNORS] if want.governor else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        files = seen.files(src.GOVERNORS)
        if not files:
            raise Unseen("the kernel offers no governor (a virtual machine, or the firmware decides)")
        wrong = sorted({text.strip() for text in files.values()} - {want.governor})
        count = sum(text.strip() != want.governor for text in files.values())
        if wrong:
            yield self.bad("", f"{count} of {len(files)} CPUs: {', '.join(wrong)}", want.governor)
        else:
            yield self.ok("", f"{len(files)} CPUs: {want.governor}")


class HugePages(Check):
    """As many huge pages are reserved as declared."""

    id = "host.hugepages"
    severity = WARNING
    action = "memory was too fragmented when they were asked for: reboot the host"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.MEMINFO] if want.hugepages else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        fields = dict(line.split(":", 1) for line in seen.file("/proc/meminfo").splitlines() if ":" in line)
        have = fields.get("HugePages_Total", "").strip()
        if not have.isdecimal():
            raise Unseen("/proc/meminfo has no HugePages_Total")
        if int(have) >= want.hugepages:
            yield self.ok("", f"{have} huge pages")
        else:
            yield self.bad("", f"{have} huge pages", f"{want.hugepages}")


class MemoryErrors(Check):
    """The memory controllers count no uncorrectable error."""

    id = "host.memory"
    action = "drain the host; ipmitool sel or the BMC names the module to replace"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.EDAC] if want.platform.gpus else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        files = seen.files(src.EDAC)
        counts = {path.split("/")[-2]: text.strip() for path, text in files.items()}
        if not counts or not all(text.isdecimal() for text in counts.values()):
            raise Unseen("the kernel counts no memory errors here (no EDAC driver)")
        bad = {name: int(text) for name, text in counts.items() if int(text)}
        for name, count in bad.items():
            yield self.bad(name, f"{count} uncorrectable errors", "none")
        if not bad:
            yield self.ok("", f"no uncorrectable error in {len(counts)} memory controllers")


class Modules(Check):
    """The declared kernel modules are loaded, GPUDirect RDMA's among them."""

    id = "host.modules"
    action = "modprobe it and read the kernel log; a peermem module must be built after the RDMA stack (dkms status)"
    cases = ("NVIDIA/nccl#1412", "NVIDIA/nccl#897", "NVIDIA/nccl#1676", "NVIDIA/nccl#1939")

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.MODULES] if want.modules else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        lines = seen.text(src.MODULES).splitlines()
        if not lines or not lines[0].startswith("Module"):
            raise Unseen("lsmod prints no list")
        loaded = {line.partition(" ")[0] for line in lines[1:]}
        for choice in want.modules:
            names = [name.replace("-", "_") for name in choice.split("|")]
            have = [name for name in names if name in loaded]
            if have:
                yield self.ok(names[0], f"{have[0]} is loaded")
            else:
                yield self.bad(names[0], "not loaded", " or ".join(names))


class Clock(Check):
    """The clock is synchronised: logs of different hosts, and flight recorder dumps, can be laid beside each other."""

    id = "host.clock"
    severity = WARNING
    action = "chronyc sources, or timedatectl timesync-status: no time server answers, or the clock was set by hand"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.CLOCK, src.CHRONY] if want.limits.clock_offset_ms else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        limit = want.limits.clock_offset_ms
        try:
            yield self._tracking(seen.text(src.CHRONY), limit)
            return
        except Unseen:
            pass  # chrony is not there: systemd knows whether its own client, or another, holds the clock
        said = {key: value for block in blocks(seen.text(src.CLOCK)) for key, value in block.items()}
        if "NTPSynchronized" not in said:
            raise Unseen("timedatectl does not say NTPSynchronized")
        if said["NTPSynchronized"] == "yes":
            yield self.ok("", "synchronised")
        else:
            yield self.bad("", "not synchronised", "synchronised")

    def _tracking(self, text: str, limit: float) -> Result:
        fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        fields = {key.strip(): value.strip() for key, value in fields.items()}
        words = fields.get("System time", "").split()
        if fields.get("Leap status") == "Not synchronised":
            return self.bad("", "chrony has no source", "synchronised")
        try:
            offset = abs(float(words[0])) * 1000
        except (IndexError, ValueError):
            raise Unseen("chronyc does not say the system time's offset") from None
        if offset <= limit:
            return self.ok("", f"{offset:.3g} ms off")
        return self.bad("", f"{offset:.6g} ms off", f"at most {limit:g} ms")


CHECKS: tuple[Check, ...] = (
    Name(), System(), Sysctls(), Governor(), HugePages(), MemoryErrors(), Modules(),
    Clock(),
)  # fmt: skip
