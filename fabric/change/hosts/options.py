"""How a run on hosts goes: numbers and switches of `fabric apply --hosts`."""

from __future__ import annotations

from dataclasses import dataclass

from fabric.change.hosts.health import GATE_S
from fabric.change.hosts.waves import WAVE_SIZE

DRAIN_S = 3600.0
"""How long jobs have to end (our choice; a scheduler's own time limits are longer: give what fits)."""
RUN_S = 3600.0
"""How long one run of Ansible may take: driver packages and DOCA's modules are built on the host (our choice)."""
REBOOTS = 8
"""Hosts that reboot at once (our choice)."""


@dataclass(frozen=True, slots=True)
class HostOptions:
    """How a run on hosts goes: see `fabric apply --hosts`. Times in seconds; they are written down, so that a resume goes as the run did."""

    forks: int = 32
    wave_size: int = WAVE_SIZE
    max_failed: int = 1
    allow_reboot: bool = False
    reboots: int = REBOOTS
    gate_s: float = GATE_S
    drain_s: float = DRAIN_S
    run_s: float = RUN_S
    concern: str = ""
    drain: str = "none"
    executor: str = "local"
    health: bool = True
