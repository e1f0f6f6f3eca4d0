"""ethtool, for what a veth does not say: driver, PCI address, the speed of a 400 Gb/s NIC."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fabric.lab.machines.standins.tools import state

REAL = "/usr/sbin/ethtool.real"


def main(_name: str, arguments: Sequence[str]) -> int:
    """`ethtool NIC`, `-i NIC`, `-S NIC` of the back-end NICs; all else the real program answers."""
    nics = {nic.netdev: nic for nic in state.hardware().nics}
    nic = nics.get(arguments[-1]) if arguments else None
    if nic is None or len(arguments) > 2 or (len(arguments) == 2 and arguments[0] not in ("-i", "-S")):
        os.execv(REAL, ["ethtool", *arguments])  # noqa: S606 - the program that this one stands before
    if not Path(f"/sys/class/net/{nic.netdev}").exists():
        print(f"netlink error: no device matches name ({nic.netdev})", file=sys.stderr)
        return 75
    up = state.read(Path(f"/sys/class/net/{nic.netdev}/carrier")) == "1"
    if arguments[0] == "-i":
        firmware = "28.39.1002 (MT_0000000838)"
        print(
            f"driver: mlx5_core\nversion: {state.installed('mlnx-ofed-kernel-dkms')}\nfirmware-version: {firmware}\nbus-info: {nic.pci}"
        )
    elif arguments[0] == "-S":
        print(
            "NIC statistics:\n     rx_discards_phy: 0\n     rx_prio3_pause: 0\n     tx_prio3_pause: 0\n     out_of_buffer: 0"
        )
    else:
        speed = f"{nic.speed_gbps * 1000}Mb/s" if up else "Unknown!"
        print(f"Settings for {nic.netdev}:\n\tSpeed: {speed}\n\tDuplex: {'Full' if up else 'Unknown! (255)'}")
        print(f"\tAuto-negotiation: on\n\tPort: Direct Attach Copper\n\tLink detected: {'yes' if up else 'no'}")
    return 0
