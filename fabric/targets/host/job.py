"""The render job of a cluster's GPU hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from fabric.design.hosts.model import HostFleet
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.ends import Ends, FarEnds
from fabric.targets.host.rendering import ROLE, TARGET, Renderer


class HostJob:
    """Implements `RenderJob` over the hosts of a fleet that are not only planned."""

    def __init__(self, fleet: HostFleet, spec_sha256: str) -> None:
        self.fleet = fleet
        self.spec_sha256 = spec_sha256
        self._renderer = Renderer(fleet)
        self._plans = {plan.name: plan for plan in fleet.hosts}
        self.devices: Sequence[DeviceRef] = [
            DeviceRef(name, ROLE, TARGET) for name, plan in self._plans.items() if plan.state != "planned"
        ]

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all hosts, and of the switches that they are cabled to."""
        switches = {nic.switch for plan in self._plans.values() for nic in plan.nics}
        return frozenset([*self._plans, *switches])

    def render(self, name: str) -> list[Artifact]:
        """All files of a host. Raises FabricError for what cannot be rendered."""
        return self._renderer.render(self._plans[name])

    def normalise(self, target: str, text: str) -> str:  # noqa: ARG002 - the protocol's shape
        """The text as it is: nothing on a host rewrites these files."""
        return text

    def ends(self, target: str, files: Mapping[str, bytes | None]) -> Ends:  # noqa: ARG002 - the protocol's shape
        """None: what hosts and switches have to agree on is checked where the switches are planned."""
        return Ends()

    def far_ends(self, name: str) -> FarEnds:  # noqa: ARG002 - the protocol's shape
        """None, see `ends`."""
        return {}
