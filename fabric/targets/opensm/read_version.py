"""Software of an SM host, from `opensm --version` and /proc/uptime."""

from __future__ import annotations

import re

from fabric.targets.facts import Version

_OPENSM = re.compile(r"^OpenSM (\S{1,60})", re.MULTILINE)
_UPTIME = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s")


def read_version(hostname: str, opensm: str, uptime: str) -> Version:
    """`image` is "opensm 3.3.23"; a host tells no model."""
    found, up = _OPENSM.search(opensm), _UPTIME.match(uptime)
    return Version(hostname, None, f"opensm {found[1]}" if found else None, float(up[1]) if up else None)
