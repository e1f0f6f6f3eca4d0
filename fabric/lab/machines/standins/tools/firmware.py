"""mlxconfig (mstconfig) and mlxfwreset: parameters of a NIC's firmware: default, current, and from the next boot on."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from fabric.lab.machines.standins.tools import state

DEFAULTS = {
    "ADVANCED_PCI_SETTINGS": "0", "ATS_ENABLED": "0", "CNP_802P_PRIO_P1": "6", "CNP_DSCP_P1": "48", "LINK_TYPE_P1": "1",
    "NUM_OF_VFS": "0", "ROCE_CC_PRIO_MASK_P1": "255", "SRIOV_EN": "0", "PCI_WR_ORDERING": "0", "MAX_ACC_OUT_READ": "0",
    "ROCE_ADAPTIVE_ROUTING_EN": "0", "ROCE_CC_ALGORITHM_P1": "0",
}  # fmt: skip
WORDS = {
    **dict.fromkeys(("ADVANCED_PCI_SETTINGS", "ATS_ENABLED", "SRIOV_EN", "ROCE_ADAPTIVE_ROUTING_EN"), ("False", "True")),
    "LINK_TYPE_P1": ("", "IB", "ETH"), "PCI_WR_ORDERING": ("per_mkey", "force_relax"),
}  # fmt: skip


def main(name: str, arguments: Sequence[str]) -> int:
    """`mlxconfig -d DEVICE [-e] [-y] query|set|reset ...`, `mlxfwreset -d DEVICE [-y] reset`."""
    words = list(arguments)
    device = words[words.index("-d") + 1] if "-d" in words else ""
    nic = next(
        (nic for nic in state.hardware().nics if device in (nic.pci, nic.hca, nic.pci.removeprefix("0000:"))), None
    )
    if nic is None:
        print(f"-E- Failed to open device: {device}. No such file or directory", file=sys.stderr)
        return 3
    folder = state.KEPT / "firmware" / nic.pci
    rest = [word for word in words if not word.startswith("-") and word != device]
    if name == "mlxfwreset":
        return _reset(folder, rest)
    if rest[:1] in (["query"], ["q"]):
        return _query(folder, nic.pci, rest[1:])
    if rest[:1] in (["set"], ["s"]):
        return _set(folder, rest[1:])
    if rest[:1] == ["reset"]:
        shutil.rmtree(folder / "next", ignore_errors=True)
        return 0
    print("-E- No command specified", file=sys.stderr)
    return 1


def _reset(folder: Path, rest: Sequence[str]) -> int:
    if rest[:1] == ["reset"] and (folder / "next").is_dir():
        shutil.copytree(folder / "next", folder / "current", dirs_exist_ok=True)
    print("-I- FW was loaded successfully.")
    return 0


def _query(folder: Path, pci: str, keys: Sequence[str]) -> int:
    print(f"\nDevice #1:\n----------\n\nDevice type:        ConnectX7           \nDevice:             {pci}        \n")
    print(f"{'Configurations:':<52}{'Default':<20}{'Current':<20}{'Next Boot':<20}")
    for key in keys or DEFAULTS:
        if key not in DEFAULTS:
            print(f"-E- The Device doesn't support {key} parameter", file=sys.stderr)
            return 3
        current = state.read(folder / "current" / key, DEFAULTS[key])
        after = state.read(folder / "next" / key, current)
        star = "*" if after != current or current != DEFAULTS[key] else " "
        print(f"{star}       {key:<44}{_word(key, DEFAULTS[key]):<20}{_word(key, current):<20}{_word(key, after):<20}")
    return 0


def _set(folder: Path, pairs: Sequence[str]) -> int:
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if key not in DEFAULTS or not equals:
            print(f"-E- The Device doesn't support {key} parameter", file=sys.stderr)
            return 3
        state.write(folder / "next" / key, _number(key, value))
    print(
        "\n Apply new Configuration? (y/n) [n] : y\nApplying... Done!\n-I- Please reboot machine to load new configurations."
    )
    return 0


def _word(key: str, value: str) -> str:
    words = WORDS.get(key, ())
    return f"{words[int(value)]}({value})" if value.isdecimal() and int(value) < len(words) else value


def _number(key: str, value: str) -> str:
    words = [word.lower() for word in WORDS.get(key, ())]
    return str(words.index(value.lower())) if value.lower() in words else value
