"""What a run must know of its cluster besides the files: where a device is reached, which driver it takes, in which order devices change.

`site_of` is the one place that tells the kinds of cluster apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from fabric.change.sm_waves import plan_manager_waves
from fabric.change.waves import Wave, plan_waves, spares
from fabric.design.ip import fmt4
from fabric.design.model import Switch
from fabric.errors import FabricError
from fabric.targets.job import ClusterJob
from fabric.targets.opensm.job import SubnetJob

Waves = Callable[[Collection[str]], Sequence[Wave]]
"""The waves over the devices of these names."""


class Site(Protocol):
    """The devices of a cluster by name. FabricError for a name that the spec does not have."""

    def address(self, name: str) -> str:
        """Where its SSH server is."""

    def model(self, name: str) -> str:
        """What its driver must know: the switch's model, the flavour of an SM."""

    def zone(self, name: str) -> int:
        """The zone that it is in."""

    def waves(self, wave_size: int, canary: str | None) -> Waves:
        """How devices are changed together."""


@dataclass(frozen=True, slots=True)
class FabricSite:
    """The switches of a RoCE fabric."""

    job: ClusterJob

    def address(self, name: str) -> str:
        """See Site."""
        return fmt4(self._switch(name).management)

    def model(self, name: str) -> str:
        """See Site."""
        return self._switch(name).model

    def zone(self, name: str) -> int:
        """See Site."""
        return self._switch(name).zone

    def waves(self, wave_size: int, canary: str | None) -> Waves:
        """Canaries, then by failure domain: see `fabric.change.waves`."""
        switches, spare = self.job.fabric.switches, spares(self.job.fabric)
        return lambda names: plan_waves(
            (s for s in switches if s.name in names), spare, wave_size=wave_size, canary=canary
        )

    def _switch(self, name: str) -> Switch:
        found = self.job.fabric.by_name.get(name)
        if found is None:
            raise _gone(name)
        return found


@dataclass(frozen=True, slots=True)
class SubnetSite:
    """The hosts of the subnet managers of an InfiniBand subnet."""

    job: SubnetJob

    def address(self, name: str) -> str:
        """See Site."""
        found = next((manager for manager in self.job.subnet.managers if manager.host == name), None)
        if found is None:
            raise _gone(name)
        if found.address is None:
            raise FabricError(
                f"{name}: the spec does not say where it is reached", hint="backend.subnet_manager.hosts[].address"
            )
        return found.address

    def model(self, _name: str) -> str:
        """The flavour of the SM."""
        return self.job.subnet.flavour

    def zone(self, _name: str) -> int:
        """Raises FabricError: a subnet has none."""
        raise FabricError("an InfiniBand spec has no zones", hint="choose by --device")

    def waves(self, _wave_size: int, canary: str | None) -> Waves:
        """Standbys one by one, then the master: see `fabric.change.sm_waves`."""
        managers = self.job.subnet.managers
        return lambda names: plan_manager_waves([m for m in managers if m.host in names], managers, canary=canary)


def site_of(job: ClusterJob | SubnetJob) -> Site:
    """The site of a render job."""
    return SubnetSite(job) if isinstance(job, SubnetJob) else FabricSite(job)


def _gone(name: str) -> FabricError:
    return FabricError(f"{name} is not in the spec any more")
