"""What one host should look like: the schema of /etc/fabric/host.json, version `fabric.host/1`.

The role `checks` writes the file from the design; `check-host` compares the running host with it. This module goes to the hosts inside
`check-host`, so it needs nothing but Python's standard library, and runs on Python 3.9 (RHEL 9): no slots, no `X | None` that is evaluated.

What is left at its default is not declared, and not checked. A key that a reader does not know is left alone, so that an older
`check-host` reads the file of a newer design; another schema than `fabric.host/1` is refused.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

SCHEMA = "fabric.host/1"
PATH = "/etc/fabric/host.json"
"""Where the file stands on a host. Mode 0644: it holds no secret."""


class ExpectationError(ValueError):
    """The text is no expectation; the message says why in one line."""


@dataclass(frozen=True)
class ExpectedNic:
    """One back-end NIC. `pci` is "0000:1b:00.0", "" where not declared; `addresses` and `peers` as "10.0.0.1/31"; `guid` (InfiniBand)
    as "0x" and 16 digits; `table` is its routing table, 0 = none; `cable_length_m` 0 = not declared.
    """

    rail: int
    name: str
    hca: str
    speed_gbps: int
    pci: str = ""
    switch: str = ""
    switch_port: str = ""
    addresses: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    table: int = 0
    guid: str = ""
    cable_length_m: float = 0.0


@dataclass(frozen=True)
class ExpectedQos:
    """The lossless class: PFC priority, all its DSCPs, the one that is sent with, the IP header's byte, CNP, DCQCN on or off."""

    priority: int
    dscps: tuple[int, ...]
    dscp: int
    traffic_class: int
    cnp_dscp: int
    cnp_priority: int
    dcqcn: bool


@dataclass(frozen=True)
class ExpectedPackage:
    """One package and its full version as the package manager says it ("" = any), and whether it must be held."""

    name: str
    version: str = ""
    hold: bool = True


@dataclass(frozen=True)
class ExpectedVersions:
    """Versions as the tools say them, "" = not declared. `rdma_stack` is "doca" or "inbox"; `fabric_manager` follows the driver."""

    driver: str = ""
    fabric_manager: str = ""
    cuda: str = ""
    nccl: str = ""
    dcgm: str = ""
    rdma_stack: str = ""
    rdma: str = ""


@dataclass(frozen=True)
class ExpectedMount:
    """One storage mount. `kind` is "fuse" or "pnfs"; `unit` the systemd unit's name without suffix; `source` and `options` as in
    /etc/fstab; `binary` the FUSE client; `probe` says whether a file may be written, read and renamed in its root.
    """

    name: str
    kind: str
    path: str
    unit: str
    source: str = ""
    options: tuple[str, ...] = ()
    binary: str = ""
    probe: bool = True


@dataclass(frozen=True)
class ExpectedPlatform:
    """The host model. 0 and "" = the catalog does not say. `gpu` is a part of the GPU's name; `pcie_speed` as /sys says it
    ("32.0 GT/s"); `max_read_request` in bytes (PCIe MRRS of the NICs); `acs_off`: no bridge may have ACS source validation on.
    """

    name: str
    gpus: int = 0
    gpu: str = ""
    gpu_memory_gb: int = 0
    nvlinks: int = 0
    pcie_speed: str = ""
    pcie_width: int = 0
    max_read_request: int = 0
    acs_off: bool = False


@dataclass(frozen=True)
class ExpectedPcieSwitch:
    """One PCIe switch: the GPUs and NICs under it, by their index in ExpectedTopology."""

    name: str
    gpus: tuple[int, ...]
    nics: tuple[int, ...]


@dataclass(frozen=True)
class ExpectedTopology:
    """PCI addresses of GPUs and NICs by index, the PCIe switches above them, and the path of NCCL's dump ("" = none)."""

    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    switches: tuple[ExpectedPcieSwitch, ...]
    dump: str = ""


@dataclass(frozen=True)
class ExpectedLimits:
    """Thresholds of the host model; 0 and () = not checked.

    More corrected ECC errors than `ecc_sram` or `ecc_dram`, or remapped rows than `remapped_rows`, are a fault. A kernel line with one
    of `xids` within `xid_hours` is a fault; `flaps` lost carriers of one NIC within `flap_hours` are one. `clock_offset_ms`: the clock.
    """

    ecc_sram: int = 0
    ecc_dram: int = 0
    remapped_rows: int = 0
    xids: tuple[int, ...] = ()
    xid_hours: float = 0.0
    flaps: int = 0
    flap_hours: float = 0.0
    clock_offset_ms: float = 0.0


@dataclass(frozen=True)
class Expectation:
    """All of one host. `os_id` and `os_version` as in /etc/os-release ("ubuntu", "24.04"); `os_id` is matched against ID and ID_LIKE
    (so "rhel" also fits its rebuilds), and a version of one number ("9") against the major version.

    `services` are units that must be active; `modules` kernel modules that must be loaded, "a|b" = one of them; `kernel_arguments` words
    of the kernel's command line, in the same way; `files` what the roles
    wrote: path -> SHA-256; `nccl` is /etc/nccl.conf as key -> value; `firmware` mlxconfig parameters as key -> value.
    """

    host: str
    cluster: str
    backend: str
    platform: ExpectedPlatform
    schema: str = SCHEMA
    os_id: str = ""
    os_version: str = ""
    mtu: int = 0
    nics: tuple[ExpectedNic, ...] = ()
    qos: Optional[ExpectedQos] = None  # noqa: UP045 - evaluated by Python 3.9
    versions: ExpectedVersions = field(default_factory=ExpectedVersions)
    packages: tuple[ExpectedPackage, ...] = ()
    firmware: Mapping[str, str] = field(default_factory=dict)
    sysctls: Mapping[str, str] = field(default_factory=dict)
    governor: str = ""
    hugepages: int = 0
    services: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    nccl: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[ExpectedMount, ...] = ()
    limits: ExpectedLimits = field(default_factory=ExpectedLimits)
    topology: Optional[ExpectedTopology] = None  # noqa: UP045 - evaluated by Python 3.9
    kernel_arguments: tuple[str, ...] = ()


def dumps(expectation: Expectation) -> str:
    """The file's text: JSON in the order of the fields, mappings by key, a final newline; equal values give equal bytes."""
    data = {
        key: dict(sorted(value.items())) if isinstance(value, Mapping) and key in _MAPS else value
        for key, value in dataclasses.asdict(expectation).items()
    }
    return json.dumps({"schema": data.pop("schema"), **data}, indent=1, ensure_ascii=False) + "\n"


def loads(text: str) -> Expectation:
    """The expectation in a text. Raises ExpectationError in one line for all that is not one."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ExpectationError(f"not JSON: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise ExpectationError("not JSON: nested too deep") from None
    if not isinstance(data, dict):
        raise ExpectationError("not an object")
    if data.get("schema") != SCHEMA:
        raise ExpectationError(f"schema {str(data.get('schema'))[:40]!r}, this check-host reads {SCHEMA!r}")
    made: Expectation = _object(Expectation, data, "")
    return made


_MAPS = ("firmware", "sysctls", "nccl", "files")


def _object(kind: Any, data: Any, where: str) -> Any:
    """A dataclass from plain data; unknown keys are left alone."""
    if not isinstance(data, dict):
        raise ExpectationError(f"{where or 'the file'}: not an object")
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for item in dataclasses.fields(kind):
        place = f"{where}.{item.name}" if where else item.name
        if item.name in data:
            values[item.name] = _value(hints[item.name], data[item.name], place)
        elif item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
            raise ExpectationError(f"{place}: missing")
    return kind(**values)


def _value(hint: Any, data: Any, where: str) -> Any:
    """One value by its type: a scalar, a tuple of one type, a mapping of texts, a dataclass, or one of these that may be null."""
    arguments = typing.get_args(hint)
    if type(None) in arguments:
        return None if data is None else _value(arguments[0], data, where)
    if typing.get_origin(hint) is tuple:
        if not isinstance(data, list):
            raise ExpectationError(f"{where}: not a list")
        return tuple(_value(arguments[0], item, f"{where}[{place}]") for place, item in enumerate(data))
    if arguments:
        if not isinstance(data, dict) or not all(isinstance(text, str) for text in data.values()):
            raise ExpectationError(f"{where}: not an object of texts")
        return data
    if dataclasses.is_dataclass(hint):
        return _object(hint, data, where)
    if hint is float and type(data) is int:
        return float(data)
    if type(data) is not hint:
        raise ExpectationError(f"{where}: not {_WORDS[hint]}")
    return data


_WORDS = {int: "a whole number", str: "a text", bool: "true or false", float: "a number"}
