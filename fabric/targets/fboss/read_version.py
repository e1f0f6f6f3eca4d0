"""Software and hardware of FBOSS. `show version agent` is not in open builds: then the boot history of the agent tells its version."""

from __future__ import annotations

import re

from fabric.targets.answer import text
from fabric.targets.fboss.read_answer import host_object

_BOOT = re.compile(r"Agent version: *(\S+)")
_UPTIME = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s")


def read_product(answer: str) -> str | None:
    """The product name, from `show product`."""
    return text(host_object(answer, "show product"), "product")


def read_agent_version(answer: str) -> str | None:
    """The package version, from `show version agent`."""
    return text(host_object(answer, "show version agent"), "build_package_version")


def read_boot_history(log: str) -> str | None:
    """The agent's version at its last boot, from fboss_sw_agent_boot_history.log (one line a boot)."""
    found = _BOOT.findall(log)
    return found[-1] if found else None


def read_uptime(answer: str) -> float | None:
    """Seconds since boot, from /proc/uptime."""
    found = _UPTIME.match(answer)
    return float(found[1]) if found else None
