"""chronyc: no machine of a lab reaches a time server, and none may set the clock below; the offset is 0 unless a fault sets another."""

from __future__ import annotations

from collections.abc import Sequence

from fabric.lab.machines.standins.tools import state


def main(_name: str, arguments: Sequence[str]) -> int:
    """`chronyc tracking`; of other commands only that they were heard."""
    if "tracking" not in arguments:
        print("200 OK")
        return 0
    offset = float(state.fault("clock") or "0.000004")
    print(
        "Reference ID    : 0A000014 (10.0.0.20)\nStratum         : 3\n"
        f"System time     : {abs(offset):.9f} seconds {'fast' if offset > 0 else 'slow'} of NTP time\n"
        f"Last offset     : {offset:+.9f} seconds\nRMS offset      : 0.000012 seconds\nLeap status     : Normal"
    )
    return 0
