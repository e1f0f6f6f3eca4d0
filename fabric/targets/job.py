"""The render job of a cluster: which devices, by which target, from one design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from fabric.design.fabric import Fabric
from fabric.design.suggest import near
from fabric.design.warnings import Remark
from fabric.errors import FabricError
from fabric.targets import eos, fboss
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.ends import Ends, FarEnds

TARGETS = frozenset({"eos", "fboss"})


class ClusterJob:
    """Implements `RenderJob` over a designed fabric.

    `targets` are target names (all when None). Planned devices have no configuration. Raises FabricError for an unknown target.
    """

    def __init__(
        self,
        fabric: Fabric,
        spec_sha256: str,
        *,
        targets: set[str] | None = None,
        base_dir: Path | None = None,
    ) -> None:
        self.fabric = fabric
        self.spec_sha256 = spec_sha256
        self.base_dir = base_dir or Path()
        self.devices: Sequence[DeviceRef] = _select(fabric, targets)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all switches and hosts of the fabric."""
        return frozenset([*self.fabric.by_name, *(host.name for host in self.fabric.hosts())])

    def render(self, name: str) -> list[Artifact]:
        """All files of a switch."""
        switch = self.fabric.by_name[name]
        if switch.nos == "eos":
            return eos.render(self.fabric, switch)
        return fboss.render(self.fabric, switch, base_dir=self.base_dir)

    def normalise(self, target: str, text: str) -> str:
        """The text without what its operating system hides or adds."""
        return eos.normalise(text) if target == "eos" else text

    def ends(self, target: str, files: Mapping[str, bytes | None]) -> Ends:
        """See RenderJob."""
        if target == "eos":
            from fabric.targets.eos.read_ends import read_ends as read_eos

            return read_eos("".join(eos.normalise((text or b"").decode("utf-8", "replace")) for text in files.values()))
        from fabric.targets.fboss.read_ends import read_ends as read_fboss

        return read_fboss(files)

    def far_ends(self, name: str) -> FarEnds:
        """See RenderJob."""
        ports = self.fabric.ports(self.fabric.by_name[name])
        return {port.slot.name: (port.peer, port.peer_port) for port in ports if port.peer in self.fabric.by_name}


def _select(fabric: Fabric, targets: set[str] | None) -> list[DeviceRef]:
    for target in sorted((targets or set()) - TARGETS):
        raise FabricError(f"there is no target {target!r}", hint=near(target, [*sorted(TARGETS), "host"]))
    return [
        DeviceRef(switch.name, switch.role, switch.nos)
        for switch in fabric.switches
        if switch.state != "planned" and (targets is None or switch.nos in targets)
    ]


def unsupported(fabric: Fabric) -> list[Remark]:
    """What the spec declares and a network operating system cannot be given, once for each kind of device."""
    found: dict[tuple[str, str], Remark] = {}
    kinds: set[tuple[str, ...]] = set()
    for switch in fabric.switches:
        own = fabric.settings_of(switch).model_dump_json() if fabric.spec.overrides else ""
        kind = (switch.role, switch.model, switch.nos, switch.profile, own)
        if kind in kinds:
            continue
        kinds.add(kind)
        said = eos.unsupported(fabric, switch) if switch.nos == "eos" else fboss.unsupported(fabric, switch)
        for sentence in said:
            found.setdefault(
                (switch.nos, sentence),
                Remark(("name",), f"unsupported-{switch.nos}", f"{switch.role} {switch.model}: {sentence}"),
            )
    return list(found.values())
