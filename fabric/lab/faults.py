"""Faults of a lab, made for real and undone: cables, MTU, daemons, ranks, SSH, disks, whole switches. What is on is recorded in faults.json."""

from __future__ import annotations

from fabric.lab.fault_book import Book
from fabric.lab.fault_cables import CableFaults
from fabric.lab.fault_hosts import HostFaults
from fabric.lab.fault_nodes import NodeFaults
from fabric.lab.fault_programs import ProgramFaults
from fabric.lab.fault_ssh import SshFaults
from fabric.lab.plant import Plant


class Faults(Book):
    """All faults that a lab of switches knows."""

    def __init__(self, plant: Plant) -> None:
        super().__init__(plant)
        for group in (CableFaults(self), NodeFaults(self), SshFaults(self), HostFaults(self), ProgramFaults(self)):
            self.knows(group.kinds())
