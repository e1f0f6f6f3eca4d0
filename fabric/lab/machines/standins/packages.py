"""The vendors' packages as stand-ins: real names, versions and dependencies, programs that remember what they are told.

Names by the catalog of distributions (fabric/catalog/data/distributions); which package depends on which, and names of parts that the
catalog does not list, are from general knowledge of NVIDIA's and DOCA's repositories (unverified).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

DRIVERS = ("580.126.16", "580.126.20", "580.173.02")
"""Driver versions beside that of the spec, so that an upgrade has somewhere to go: Azure/azhpc-images versions.json (hosts.md 2.1)."""

LIBRARY = "/usr/lib/fabric-lab"
"""Where a machine has the programs of `tools` and `scripts`."""

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True, slots=True)
class Deb:
    """One package: `files` are path -> (text, mode), `enable` the units that its installation enables and starts."""

    name: str
    version: str
    depends: str = ""
    provides: str = ""
    files: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    enable: tuple[str, ...] = ()


def packages(versions: Mapping[str, str]) -> dict[str, list[Deb]]:
    """Repository ("cuda", "doca") -> its packages, for the pinned versions of a fleet (`HostFleet.versions`)."""
    cuda = [deb for driver in dict.fromkeys((versions["driver"], *DRIVERS)) for deb in _driver(driver)]
    cuda += [
        *_dcgm(versions["dcgm"], versions["cuda"].split(".")[0]),
        *_cuda(versions["cuda"]),
        *_nccl(versions["nccl"]),
    ]
    return {"cuda": cuda, "doca": list(_doca(versions["doca"])) if versions.get("doca") else []}


def program(name: str, version: str = "") -> tuple[str, int]:
    """A program of `tools`."""
    known = f"STANDIN_VERSION={version} " if version else ""
    return (
        f'#!/bin/sh\n{known}PYTHONPATH={LIBRARY} exec python3 -S -P -m fabric.lab.machines.standins.tools {name} "$@"\n',
        0o755,
    )


def script(name: str) -> tuple[str, int]:
    """A program of `scripts`."""
    return (SCRIPTS / name).read_text(encoding="utf-8"), 0o755


def unit(name: str, description: str, service: str) -> dict[str, tuple[str, int]]:
    """A unit file."""
    text = f"[Unit]\nDescription={description} (stand-in)\n\n[Service]\n{service}\n\n[Install]\nWantedBy=multi-user.target\n"
    return {f"usr/lib/systemd/system/{name}.service": (text, 0o644)}


def _marker(name: str, version: str) -> dict[str, tuple[str, int]]:
    """What tells the stand-in of modprobe that modules are there, and of which version."""
    return {f"usr/share/standin/{name}": (f"{version}\n", 0o644)}


def _driver(version: str) -> Iterator[Deb]:
    full = f"{version}-1"
    preferences = f"Package: nvidia-* libnvidia-*\nPin: version {version}-*\nPin-Priority: 1000\n"
    pin = {"etc/apt/preferences.d/nvidia-driver-pinning": (preferences, 0o644)}
    yield Deb(f"nvidia-driver-pinning-{version}", full, provides="nvidia-driver-pinning", files=pin)
    yield Deb(
        "nvidia-open",
        full,
        f"nvidia-kernel-open-dkms (= {full}), nvidia-driver-cuda (= {full}), nvidia-persistenced (= {full})",
    )
    yield Deb("nvidia-kernel-open-dkms", full, files=_marker("nvidia-kernel-open-dkms", version))
    yield Deb("libnvidia-ml1", full)
    smi = {"usr/bin/nvidia-smi": program("nvidia-smi", version)}
    yield Deb("nvidia-driver-cuda", full, f"libnvidia-ml1 (= {full})", files=smi)
    service = (
        "Type=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/nvidia-smi -pm 1\nExecStop=-/usr/bin/nvidia-smi -pm 0"
    )
    yield Deb(
        "nvidia-persistenced", full, f"libnvidia-ml1 (= {full}), nvidia-driver-cuda (= {full})",
        files=unit("nvidia-persistenced", "NVIDIA Persistence Daemon", service),
    )  # fmt: skip
    branch = version.split(".", maxsplit=1)[0]
    name = "nvidia-fabricmanager" if int(branch) >= 580 else f"nvidia-fabricmanager-{branch}"
    manager = "Type=exec\nExecStartPre=/usr/bin/nv-fabricmanager\nExecStart=/usr/bin/sleep infinity"
    files = {"usr/bin/nv-fabricmanager": program("nv-fabricmanager", version)}
    yield Deb(name, full, files=files | unit("nvidia-fabricmanager", "NVIDIA fabric manager", manager))


def _dcgm(version: str, cuda: str) -> Iterator[Deb]:
    daemon = unit("nvidia-dcgm", "NVIDIA DCGM", "Type=exec\nExecStart=/usr/bin/sleep infinity")
    files = {"usr/bin/dcgmi": program("dcgmi")} | daemon
    full = f"1:{version}-1"
    if version.startswith("3."):
        yield Deb("datacenter-gpu-manager", full, files=files)
        return
    base = "datacenter-gpu-manager-4"
    yield Deb(f"{base}-core", full, files=files)
    yield Deb(f"{base}-cuda{cuda}", full, f"{base}-core (= {full})")
    yield Deb(f"{base}-proprietary", full, f"{base}-core (= {full})")
    yield Deb(f"{base}-proprietary-cuda{cuda}", full, f"{base}-proprietary (= {full}), {base}-cuda{cuda} (= {full})")


def _cuda(version: str) -> Iterator[Deb]:
    short = ".".join(version.split(".")[:2])
    full = version if version.count(".") == 2 else f"{version}.2"
    nvcc = f"#!/bin/sh\necho 'Cuda compilation tools, release {short}, V{full}'\n"
    yield Deb(
        f"cuda-toolkit-{short.replace('.', '-')}",
        f"{full}-1",
        files={f"usr/local/cuda-{short}/bin/nvcc": (nvcc, 0o755)},
    )


def _nccl(version: str) -> Iterator[Deb]:
    library = {f"usr/lib/x86_64-linux-gnu/libnccl.so.{version.split('-', maxsplit=1)[0]}": ("stand-in\n", 0o644)}
    yield Deb("libnccl2", version, files=library)
    yield Deb(
        "libnccl-dev", version, f"libnccl2 (= {version})", files={"usr/include/nccl.h": ("/* stand-in */\n", 0o644)}
    )


def _doca(version: str) -> Iterator[Deb]:
    full = f"{version}-1"
    parts = (
        "mlnx-ofed-kernel-dkms",
        "mlnx-ofed-kernel-utils",
        "mlnx-tools",
        "mft",
        "ibverbs-utils",
        "infiniband-diags",
    )
    yield Deb("doca-ofed", full, ", ".join(f"{part} (= {full})" for part in parts))
    yield Deb("mlnx-ofed-kernel-dkms", full, files=_marker("mlnx-ofed-kernel-dkms", version))
    load = "Type=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/modprobe -a mlx5_core mlx5_ib ib_umad rdma_ucm"
    openibd = unit("openibd", "Configure Mellanox InfiniBand stack", load)
    yield Deb(
        "mlnx-ofed-kernel-utils", full, f"mlnx-ofed-kernel-dkms (= {full})", files=openibd, enable=("openibd.service",)
    )
    tools = {"usr/bin/mlnx_qos": script("mlnx_qos"), "usr/sbin/show_gids": program("show_gids")}
    tools |= {f"usr/sbin/{name}": script("cma_roce") for name in ("cma_roce_mode", "cma_roce_tos")}
    yield Deb("mlnx-tools", full, files=tools)
    firmware = {
        f"usr/bin/{name}": program(name.replace("mst", "mlx", 1)) for name in ("mlxconfig", "mlxfwreset", "mstconfig")
    }
    yield Deb("mft", full, files=firmware)
    yield Deb("ibverbs-utils", full, files={"usr/bin/ibv_devinfo": program("ibv_devinfo")})
    yield Deb("infiniband-diags", full, files={"usr/sbin/ibstat": program("ibstat")})
