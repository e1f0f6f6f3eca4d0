"""The render job of an InfiniBand spec: its devices are the hosts that run a subnet manager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from fabric.design.ib.model import Subnet
from fabric.design.suggest import near
from fabric.errors import FabricError
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.ends import Ends, FarEnds
from fabric.targets.opensm.rendering import render

TARGET = "opensm"
ROLE = "sm"


class SubnetJob:
    """Implements `RenderJob` over a designed subnet.

    `targets` are target names (all when None). Raises FabricError for a target that an InfiniBand spec does not have.
    """

    def __init__(
        self,
        subnet: Subnet,
        spec_sha256: str,
        *,
        targets: set[str] | None = None,
        base_dir: Path | None = None,
    ) -> None:
        for target in sorted((targets or set()) - {TARGET}):
            raise FabricError(f"an InfiniBand spec has no target {target!r}", hint=near(target, [TARGET]))
        self.subnet = subnet
        self.spec_sha256 = spec_sha256
        self.base_dir = base_dir or Path()
        self._managers = {manager.host: manager for manager in subnet.managers}
        self.devices: Sequence[DeviceRef] = [DeviceRef(host, ROLE, TARGET) for host in self._managers]

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all switches, hosts and HCAs of the subnet."""
        hcas = self.subnet.hcas
        return frozenset([*self.subnet.switch, *(hca.host for hca in hcas), *(hca.name for hca in hcas)])

    def render(self, name: str) -> list[Artifact]:
        """All files of an SM host. Raises FabricError for what cannot be rendered."""
        return render(self.subnet, self._managers[name], self.base_dir)

    def normalise(self, target: str, text: str) -> str:  # noqa: ARG002 - the protocol's shape
        """The text as it is: opensm rewrites none of its files."""
        return text

    def ends(self, target: str, files: Mapping[str, bytes | None]) -> Ends:  # noqa: ARG002 - the protocol's shape
        """None: an SM host has no sessions or links of its own with other devices of the job."""
        return Ends()

    def far_ends(self, name: str) -> FarEnds:  # noqa: ARG002 - the protocol's shape
        """None, see `ends`."""
        return {}
