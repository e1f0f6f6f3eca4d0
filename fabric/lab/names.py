"""Linux names of interfaces: what the kernel allows, from what the network operating system says."""

from __future__ import annotations

import hashlib
import re

MANAGEMENT = "ma0"
"""The management interface of every node."""

LONGEST = 15
"""Longest interface name: IFNAMSIZ of linux/if.h is 16, with the closing NUL."""


def linux_name(port: str) -> str:
    """`Ethernet3/1/1` -> `et3_1_1`, `eth2/1/1` -> `eth2_1_1`; a name that the kernel would refuse becomes `p` + 10 hex digits."""
    name = re.sub(r"^Ethernet", "et", port).replace("/", "_")
    if len(name) <= LONGEST and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        return name
    return "p" + hashlib.sha256(port.encode()).hexdigest()[:10]
