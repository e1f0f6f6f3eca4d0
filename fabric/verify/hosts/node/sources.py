"""What a check reads: files of the kernel and commands, as values. The checks judge texts; who reads them is somebody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Union

SMI_CSV = "--format=csv,noheader,nounits"


class Unseen(Exception):  # noqa: N818 - it says that nothing was seen, not that something is wrong
    """What a check needs could not be read; the message is the reason. Never a fault of the host."""


@dataclass(frozen=True)
class Files:
    """All files of a glob pattern, as path -> text (at most 1 MiB each); none is no error. The pattern is ours, never a device's.

    `late`: read when all else has been, for what a probe changes (an automount).
    """

    pattern: str
    late: bool = False


@dataclass(frozen=True)
class Digest:
    """SHA-256 of a file in hexadecimal digits, as path -> digest; empty when the file is not there."""

    path: str


@dataclass(frozen=True)
class Command:
    """A command, run without a shell, with LC_ALL=C and nothing at its standard input; its standard output is what is seen.

    Another exit status than `ok` is Unseen, with its last two lines of output. `errors`: standard error is seen too, behind the output.
    """

    argv: tuple[str, ...]
    ok: tuple[int, ...] = (0,)
    errors: bool = False

    def __str__(self) -> str:
        return " ".join(self.argv)


@dataclass(frozen=True)
class Probe:
    """Write, read back, rename and remove a small file in a folder: "" when all went well, else the step and the error's name.

    Runs in a child of its own, as it may never end. `host` is part of the file's name.
    """

    path: str
    host: str
    write: bool = True


Source = Union[Files, Digest, Command, Probe]  # noqa: UP007 - evaluated by Python 3.9


class Seen:
    """What was read: texts, or the reason why not. `now` is when, in seconds since 1970."""

    def __init__(self, found: Mapping[Source, object], now: float = 0.0) -> None:
        self._found = found
        self.now = now

    def text(self, source: Command | Probe) -> str:
        """The output of a command, or the answer of a probe. Raises Unseen, also for lines that are cut off: what is left of a number
        is another number.
        """
        found = self._get(source)
        text = found if isinstance(found, str) else ""
        lines = isinstance(source, Command) and not {"-j", "-json", "json"} & set(source.argv)
        if lines and text and not text.endswith("\n"):
            raise Unseen(f"{source.argv[0]}: its answer is cut off" if isinstance(source, Command) else "cut off")
        return text

    def files(self, source: Files | Digest) -> Mapping[str, str]:
        """Path -> text, or digest. Raises Unseen."""
        found = self._get(source)
        return found if isinstance(found, Mapping) else {}

    def file(self, source: Files | str) -> str:
        """The text of one file, without the white space at its end. Raises Unseen, also when it is not there."""
        files = Files(source) if isinstance(source, str) else source
        found = self.files(files)
        if files.pattern not in found:
            raise Unseen(f"{files.pattern} is not there")
        return found[files.pattern].rstrip()

    def _get(self, source: Source) -> object:
        found = self._found.get(source, Unseen("not read"))
        if isinstance(found, Unseen):
            raise found
        return found


def smi(fields: Sequence[str]) -> Command:
    """nvidia-smi's answer about every GPU: one line of comma-separated values in the order of the fields, without units."""
    return Command(("nvidia-smi", f"--query-gpu={','.join(fields)}", SMI_CSV))


# Files of the system
OS_RELEASE = Files("/etc/os-release")
HOSTNAME = Files("/proc/sys/kernel/hostname")
COMMAND_LINE = Files("/proc/cmdline")
MEMINFO = Files("/proc/meminfo")
GOVERNORS = Files("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")
EDAC = Files("/sys/devices/system/edac/mc/mc*/ue_count")
REBOOT_DUE = Files("/run/fabric/reboot-required.d/*")
NCCL_CONF = Files("/etc/nccl.conf")
ENVIRONMENT = Files("/etc/environment")
DRIVER_LOADED = Files("/proc/driver/nvidia/version")
MOUNTINFO = Files("/proc/self/mountinfo", late=True)
MOUNTSTATS = Files("/proc/self/mountstats", late=True)

# Commands
GPU_FIELDS = ("index", "pci.bus_id", "name", "memory.total", "driver_version", "persistence_mode")
GPUS = smi(GPU_FIELDS)
GPU_PCIE_FIELDS = ("index", "pcie.link.gen.max", "pcie.link.width.current", "pcie.link.width.max")
GPU_PCIE = smi(GPU_PCIE_FIELDS)
GPU_ECC_FIELDS = (
    "index", "ecc.mode.current", "ecc.errors.uncorrected.volatile.sram", "ecc.errors.uncorrected.aggregate.sram",
    "ecc.errors.uncorrected.volatile.dram", "ecc.errors.corrected.volatile.sram", "ecc.errors.corrected.aggregate.sram",
    "ecc.errors.corrected.volatile.dram", "ecc.errors.corrected.aggregate.dram",
)  # fmt: skip
GPU_ECC = smi(GPU_ECC_FIELDS)
GPU_CLOCKS = smi(("index", "clocks_event_reasons.active"))
GPU_CLOCKS_BEFORE_535_54 = smi(("index", "clocks_throttle_reasons.active"))
ROW_FIELDS = ("gpu_bus_id", "remapped_rows.uncorrectable", "remapped_rows.pending", "remapped_rows.failure")
GPU_ROWS = Command(("nvidia-smi", f"--query-remapped-rows={','.join(ROW_FIELDS)}", SMI_CSV))
NVLINK = Command(("nvidia-smi", "nvlink", "--status"))
GPU_TOPOLOGY = Command(("nvidia-smi", "topo", "-m"))
MODULES = Command(("lsmod",))
LSPCI = Command(("lspci", "-D", "-vvv"))
IP_ADDRESSES = Command(("ip", "-json", "address", "show"))
IP_RULES = {4: Command(("ip", "-json", "-4", "rule", "show")), 6: Command(("ip", "-json", "-6", "rule", "show"))}
IP_ROUTES = {
    4: Command(("ip", "-json", "-4", "route", "show", "table", "all")),
    6: Command(("ip", "-json", "-6", "route", "show", "table", "all")),
}
IBV_DEVINFO = Command(("ibv_devinfo", "-v"))
IBSTAT = Command(("ibstat",))
SHOW_GIDS = Command(("show_gids",))
LLDP = Command(("lldpctl", "-f", "json"))
CLOCK = Command(("timedatectl", "show", "--property=NTPSynchronized", "--property=NTP"))
CHRONY = Command(("chronyc", "-n", "tracking"))
HELD_APT = Command(("apt-mark", "showhold"))
HELD_DNF = Command(("dnf", "-q", "versionlock", "list"))
KERNEL_LOG = Command(
    (
        "journalctl", "--quiet", "--no-pager", "--output=short-unix", "--since=-24h", "_TRANSPORT=kernel", "+",
        "SYSLOG_IDENTIFIER=kernel", "_UID=0", "+", "_SYSTEMD_UNIT=systemd-networkd.service", "+",
        "_SYSTEMD_UNIT=NetworkManager.service",
    )
)  # fmt: skip
"""Kernel and network manager, one day. A user's own words under the name "kernel" do not count: `_UID` is the kernel's word on him."""


def ethtool(name: str) -> Command:
    """Speed and link of a netdev."""
    return Command(("ethtool", name))


def ethtool_driver(name: str) -> Command:
    """Driver, firmware and PCI address of a netdev."""
    return Command(("ethtool", "-i", name))


def netdev(name: str, attribute: str) -> Files:
    """One attribute of a netdev in /sys."""
    return Files(f"/sys/class/net/{name}/{attribute}")


def mlnx_qos(name: str) -> Command:
    """Trust, PFC and DSCP map of a NIC with DOCA's tools."""
    return Command(("mlnx_qos", "-i", name))


def dcb_pfc(name: str) -> Command:
    """PFC of a NIC with the kernel's own driver."""
    return Command(("dcb", "-j", "pfc", "show", "dev", name))


def dcb_app(name: str) -> Command:
    """DSCP map of a NIC with the kernel's own driver."""
    return Command(("dcb", "-j", "app", "show", "dev", name))


def cma_mode(hca: str) -> Command:
    """RoCE version of rdma_cm."""
    return Command(("cma_roce_mode", "-d", hca, "-p", "1"))


def cma_tos(hca: str) -> Command:
    """IP type of service of rdma_cm."""
    return Command(("cma_roce_tos", "-d", hca))


def mlxconfig(device: str, keys: Sequence[str]) -> Command:
    """Firmware parameters with their default, current and next-boot values. `device` is a PCI address or an HCA."""
    return Command(("mlxconfig", "-d", device, "-e", "query", *keys))


def mstconfig(device: str, keys: Sequence[str]) -> Command:
    """The same with the distribution's own tool."""
    return Command(("mstconfig", "-d", device, "-e", "query", *keys))


def units(names: Sequence[str]) -> Command:
    """State of systemd units, one block of KEY=VALUE each."""
    return Command(("systemctl", "show", "--property=Id,LoadState,ActiveState,SubState,Result,NRestarts", "--", *names))


def dpkg(names: Sequence[str]) -> Command:
    """Installed versions (dpkg); names may be patterns. Exit status 1: one of them is unknown, which is an answer."""
    return Command(("dpkg-query", "-W", "-f", "${Package}\\t${Version}\\t${db:Status-Status}\\n", *names), ok=(0, 1))


def rpm(names: Sequence[str]) -> Command:
    """Installed versions (rpm); names may be patterns."""
    return Command(("rpm", "-qa", "--qf", "%{NAME}\\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\\tinstalled\\n", *names))
