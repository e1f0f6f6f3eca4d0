"""What the GPU hosts are, what runs on them, and how NCCL on them is told of the fabric."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from fabric.spec.base import Line, Model, distinct, sourced
from fabric.spec.host_tuning import Tuning
from fabric.spec.storage import AbsolutePath

_AI = "Azure/azhpc-images versions.json: versions of a fleet"
_VERSION = r"[0-9]{1,5}(\.[0-9]{1,6}){1,3}"
_IFNAME = re.compile(r"[a-z][a-z0-9_]{0,14}\Z")
_BDF = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]\Z")
_URL = re.compile(r"(https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|file://)(/[A-Za-z0-9._~+-]+)+/?\Z")
_NCCL_KEY = re.compile(r"NCCL_[A-Z0-9_]{1,60}\Z")

Os = Literal["ubuntu-22.04", "ubuntu-24.04", "rhel-9", "debian-12"]


def _interface(name: str) -> str:
    if not _IFNAME.match(name):
        raise ValueError(
            f"{name!r} is not an interface name: a-z, 0-9 and _, at most 15 characters (the kernel's bound)"
        )
    return name


def _bdf(text: str) -> str:
    if not _BDF.match(text):
        raise ValueError(f"{text!r} is not a PCI address such as 0000:1b:00.0 (lower case, with its domain)")
    return text


def _url(text: str) -> str:
    if not _URL.match(text):
        raise ValueError(
            "must be a URL such as https://mirror.example.net/gpu: http, https or file, without user or password"
        )
    return text.rstrip("/")


Interface = Annotated[str, AfterValidator(_interface)]
PciAddress = Annotated[str, AfterValidator(_bdf)]
Url = Annotated[str, AfterValidator(_url), Field(max_length=500)]


class Mirror(Model):
    """An own mirror of the package repositories, laid out as the makers' are.

    `URL/cuda/ubuntu2404/x86_64/`, `URL/doca/3.2.1/ubuntu24.04/x86_64/`.
    """

    url: Url = Field(description="Base URL.", examples=["https://mirror.dc1.example.net/gpu"])
    unsigned: bool = Field(False, description="Take packages without a signature; for a lab alone.")


class Rdma(Model):
    """The RDMA stack."""

    stack: Literal["doca", "inbox"] = Field(
        "doca", description="`doca`: NVIDIA DOCA-OFED; `inbox`: the distribution's own drivers and rdma-core."
    )
    version: str | None = Field(
        None, pattern=rf"^{_VERSION}$", description="DOCA version; wanted for `doca`.", examples=["3.2.1"]
    )

    @model_validator(mode="after")
    def _pinned(self) -> Rdma:
        if self.stack == "doca" and self.version is None:
            raise ValueError("stack doca needs its version, for example 3.2.1")
        if self.stack == "inbox" and self.version is not None:
            raise ValueError("stack inbox has the version of the distribution: leave version out")
        return self


class Software(Model):
    """What is installed, each pinned. The fabric manager always has the driver's version."""

    driver: str = Field(
        pattern=r"^[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?$",
        description="GPU driver (open modules).",
        examples=["580.126.16"],
    )
    fabric_manager: str | None = Field(
        None, description="The fabric manager follows the driver; another version than the driver's is refused."
    )
    cuda: str = Field(pattern=r"^[0-9]{2}\.[0-9]{1,2}(\.[0-9]{1,2})?$", description="CUDA toolkit.", examples=["13.0"])
    nccl: str = Field(
        pattern=r"^2\.[0-9]{1,2}\.[0-9]{1,2}(-[0-9]+\+cuda[0-9]{2}\.[0-9]{1,2})?$",
        description="NCCL; built for the CUDA above unless the whole package version is given.",
        examples=["2.28.9", "2.27.7-1+cuda12.9"],
    )
    dcgm: str = Field(pattern=r"^[34]\.[0-9]{1,2}\.[0-9]{1,2}$", description="DCGM.", examples=["4.5.2"])
    rdma: Rdma = Field(description="RDMA stack.")
    mirror: Mirror | None = Field(None, description="Own mirror; the makers' repositories when null.")
    firmware: dict[
        Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{1,63}$")], Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,32}$")]
    ] = Field(
        default_factory=dict,
        description="NIC firmware settings (mlxconfig) beside or instead of those derived from the fabric.",
        examples=[{"SRIOV_EN": "0"}],
    )


class HostNetwork(Model):
    """The hosts' interfaces."""

    front_end: Annotated[list[Interface], AfterValidator(distinct)] = Field(
        min_length=1,
        max_length=4,
        description="Front-end interfaces: logins, storage, NCCL's bootstrap.",
        examples=[["eth0"]],
    )
    dhcp: bool = Field(True, description="Front-end addresses come by DHCP; false leaves these interfaces alone.")
    backend_pci: Annotated[list[PciAddress], AfterValidator(distinct)] | None = Field(
        None,
        min_length=1,
        max_length=64,
        description="PCI address of each back-end NIC in rail order; the kernel's names stay when null.",
        examples=[["0000:1b:00.0", "0000:2b:00.0"]],
    )
    gpu_pci: Annotated[list[PciAddress], AfterValidator(distinct)] | None = Field(
        None,
        min_length=1,
        max_length=64,
        description="PCI address of each GPU in GPU order, beside `backend_pci`: with it the PCIe topology that NCCL finds is checked.",
        examples=[["0000:1a:00.0", "0000:2a:00.0"]],
    )
    ipoib: bool = Field(False, description="IP over InfiniBand on the back-end NICs (InfiniBand).")


class Nccl(Model):
    """/etc/nccl.conf: derived from the fabric, with what is set here."""

    dscp: int | None = Field(
        None, ge=0, le=63, description="DSCP that the hosts send with; the first of `qos.lossless.dscp` when null."
    )
    qps: int = sourced(
        4,
        "Queue pairs a connection.",
        source="GCP A3U/A4 (RoCE 8x400) publishes 4; NCCL takes at most 128",
        status="secondary",
        ge=1,
        le=128,
    )
    timeout: int = sourced(22, "NCCL_IB_TIMEOUT.", source="OCI H100 template", status="secondary", ge=1, le=31)
    plugin: str | None = Field(
        None, pattern=r"^[a-zA-Z0-9_.-]{1,64}$", description="Network plugin (NCCL_NET_PLUGIN); none when null."
    )
    topology_dump: AbsolutePath | None = Field(
        None,
        description="Where a job leaves the file of its NCCL_TOPO_DUMP_FILE on the host; the checks compare it with "
        "`hosts.network.gpu_pci`. Without it they look at /sys alone.",
        examples=["/var/log/nccl/topology.xml"],
    )
    overrides: dict[str, Line] = Field(
        default_factory=dict,
        max_length=64,
        description="More keys of nccl.conf, or other values than the derived ones; checked against the fabric.",
        examples=[{"NCCL_IB_TIMEOUT": "23"}],
    )

    @field_validator("overrides")
    @classmethod
    def _keys(cls, values: dict[str, str]) -> dict[str, str]:
        for key in values:
            if not _NCCL_KEY.match(key):
                raise ValueError(f"{key!r} is not an NCCL setting: NCCL_ and capitals, as in NCCL_IB_TIMEOUT")
        return values


class HostSsh(Model):
    """How the hosts are logged in to."""

    user: str = Field(
        "root", pattern=r"^[a-z_][a-z0-9_-]{0,31}$", description="User; other than root becomes root by sudo."
    )
    port: int = Field(22, ge=1, le=65535, description="Port.")


class Hosts(Model):
    """The GPU hosts."""

    platform: str = Field(
        description="Host model in the catalog (`fabric catalog list host`).", examples=["grand-teton-h100"]
    )
    nic: str | None = Field(
        None, description="Back-end NIC model (`fabric catalog list nic`); the platform's own when null."
    )
    power_w: int | None = sourced(
        None,
        "Power that one host may draw; without it only the GPUs' own TDP is counted.",
        source="no public figure for a whole Grand Teton host was found",
        status="unverified",
        unit="W",
        gt=0,
        le=100_000,
    )
    os: Os | None = Field(None, description="Distribution; wanted to provision the hosts.")
    software: Software | None = Field(None, description="What is installed; wanted to provision the hosts.")
    tuning: Tuning = Field(default_factory=Tuning, description="Kernel settings and limits.")
    network: HostNetwork | None = Field(None, description="Interfaces; wanted to provision the hosts.")
    nccl: Nccl = Field(default_factory=Nccl, description="NCCL.")
    ssh: HostSsh = Field(default_factory=HostSsh, description="Logins.")
