"""The fabric manager: it works with a driver of its own version only, and says so."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from fabric.lab.machines.standins.tools import kernel, state


def main(_name: str, _arguments: Sequence[str]) -> int:
    """Compare the versions; status 0 when it may run."""
    mine = os.environ.get("STANDIN_VERSION", "")
    if not state.driver():
        kernel.load("nvidia")
    loaded = state.driver()
    if not loaded:
        print("failed to open the NVIDIA driver", file=sys.stderr)
        return 1
    if mine != loaded:
        print(
            f"fabric manager NVIDIA GPU driver interface version {mine} don't match with driver version {loaded}. "
            "Please update with matching NVIDIA driver package.",
            file=sys.stderr,
        )
        return 1
    return 0
