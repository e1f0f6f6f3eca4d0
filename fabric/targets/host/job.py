"""The render job of a cluster's GPU hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from fabric.design.hosts.model import HostFleet
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.ends import Ends, FarEnds
from fabric.targets.host.rendering import ROLE, TARGET, Renderer, artifacts

SHARED = "all-hosts"
"""What stands for all hosts in a tree: the files that they share. A host's name always has a number, so it is none of theirs."""


class HostJob:
    """Implements `RenderJob` over the hosts of a fleet that are not only planned.

    The files of a host are those of `SHARED` and its own: four in five are the same on all 3,072 hosts, and a tree holds them once.
    """

    def __init__(self, fleet: HostFleet, spec_sha256: str) -> None:
        self.fleet = fleet
        self.spec_sha256 = spec_sha256
        self._renderer = Renderer(fleet)
        deployed = tuple(fleet.deployed())  # names alone: the workers make the hosts, each its own
        names = (SHARED, *deployed) if deployed else ()
        self.devices: Sequence[DeviceRef] = [DeviceRef(name, ROLE, TARGET) for name in names]

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all hosts, and of the switches that they are cabled to."""
        plans = [plan for plan in self.fleet.hosts if plan.state != "planned"]
        return frozenset([plan.name for plan in plans] + [nic.switch for plan in plans for nic in plan.nics])

    def with_shared(self, chosen: Sequence[DeviceRef]) -> Sequence[DeviceRef]:
        """The chosen devices, and with any host what all hosts share: only together they are a host's files."""
        if not chosen or any(ref.name == SHARED for ref in chosen):
            return chosen
        return [self.devices[0], *chosen]

    def render(self, name: str) -> list[Artifact]:
        """The own files of a host, or what all hosts share. Raises FabricError for what cannot be rendered."""
        if name == SHARED:
            return artifacts(SHARED, self._renderer.shared())
        return artifacts(name, self._renderer.own(self.fleet.plan(name)))

    def normalise(self, target: str, text: str) -> str:  # noqa: ARG002 - the protocol's shape
        """The text as it is: nothing on a host rewrites these files."""
        return text

    def ends(self, target: str, files: Mapping[str, bytes | None]) -> Ends:  # noqa: ARG002 - the protocol's shape
        """None: what hosts and switches have to agree on is checked where the switches are planned."""
        return Ends()

    def far_ends(self, name: str) -> FarEnds:  # noqa: ARG002 - the protocol's shape
        """None, see `ends`."""
        return {}
