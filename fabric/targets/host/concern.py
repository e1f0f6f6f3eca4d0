"""What a concern is: the files that all hosts share, and those that differ from host to host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from fabric.design.hosts.model import HostFleet, HostPlan

UNITS = "/etc/systemd/system"
"""Folder of our units and of drop-ins to others' units."""
LIBEXEC = "/usr/libexec/fabric"
"""Folder of the scripts that our units run."""
SCRIPT = 0o755
"""Permission bits of a script."""


class File(NamedTuple):
    """One file of a host, before it is an artifact: absolute path, content, permission bits, whether it holds a secret."""

    path: str
    content: bytes
    mode: int = 0o644
    secret: bool = False


class Concern(Protocol):
    """A module of this package that renders one concern."""

    def shared(self, fleet: HostFleet) -> Iterable[File]:
        """The files that are the same on every host: rendered once."""

    def own(self, fleet: HostFleet, plan: HostPlan) -> Iterable[File]:
        """The files that differ from host to host."""

    def services(self, fleet: HostFleet) -> tuple[str, ...]:
        """The units that must be enabled and active, in the order in which they start."""
