"""A host's files from the design, concern by concern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from fabric.design.hosts.model import HostFleet, HostPlan
from fabric.design.suggest import near
from fabric.errors import FabricError
from fabric.targets.base import Artifact
from fabric.targets.host import base, checks, cuda, nccl, network, nvidia, rdma, slurm, storage
from fabric.targets.host.checks import ExpectationWriter
from fabric.targets.host.concern import Concern, File

ROLE = "host"
TARGET = "host"

CONCERNS = ("base", "network", "rdma", "nvidia", "cuda", "nccl", "storage", "slurm", "checks")
"""In the order in which they are put on a host: RDMA before the driver, whose peer-memory module builds against it."""

_MODULES: Mapping[str, Concern] = MappingProxyType(
    {
        "base": base,
        "network": network,
        "rdma": rdma,
        "nvidia": nvidia,
        "cuda": cuda,
        "nccl": nccl,
        "storage": storage,
        "slurm": slurm,
    }
)
_CHECKS = CONCERNS[-1]


class Renderer:
    """Renders the hosts of one fleet. What all hosts share is rendered at its first use, and once."""

    def __init__(self, fleet: HostFleet) -> None:
        self.fleet = fleet
        self._shared: dict[str, tuple[File, ...]] = {}
        self._writer: ExpectationWriter | None = None

    def render(self, plan: HostPlan, concerns: Iterable[str] = CONCERNS) -> list[Artifact]:
        """The files of one host in the order of the concerns. Raises FabricError for an unknown concern."""
        name = plan.name
        own: dict[str, tuple[File, ...]] = {}
        files: list[File] = []
        for concern in concerns:
            files += self._shared_files(concern)
            if concern == _CHECKS:
                files += self._checks(plan, own)
            else:
                own[concern] = tuple(_MODULES[concern].own(self.fleet, plan))
                files += own[concern]
        return artifacts(name, files)

    def shared(self) -> list[File]:
        """The files that all hosts have, in the order of the concerns."""
        return [file for concern in CONCERNS for file in self._shared_files(concern)]

    def own(self, plan: HostPlan) -> list[File]:
        """The files of one host beside those."""
        own = {concern: tuple(module.own(self.fleet, plan)) for concern, module in _MODULES.items()}
        return [*(file for files in own.values() for file in files), *self._checks(plan, own)]

    def _shared_files(self, concern: str) -> tuple[File, ...]:
        known = self._shared.get(concern)
        if known is None:
            if concern not in CONCERNS:
                raise FabricError(f"there is no concern {concern!r} of hosts", hint=near(concern, CONCERNS))
            made = checks.shared() if concern == _CHECKS else _MODULES[concern].shared(self.fleet)
            known = self._shared[concern] = tuple(made)
        return known

    def _checks(self, plan: HostPlan, own: Mapping[str, tuple[File, ...]]) -> tuple[File, ...]:
        """What the checks compare with: it names all other files, so those are made too where nobody asked for them."""
        if self._writer is None:
            self._writer = ExpectationWriter(self.fleet, services(self.fleet), self.shared())
        others = [own[name] if name in own else module.own(self.fleet, plan) for name, module in _MODULES.items()]
        return self._writer.files(plan, [file for files in others for file in files])


def artifacts(device: str, files: Iterable[File]) -> list[Artifact]:
    """The files as artifacts of `device`."""
    return [Artifact(device, ROLE, TARGET, path, content, mode, secret) for path, content, mode, secret in files]


_last: Renderer | None = None


def renderer(fleet: HostFleet) -> Renderer:
    """The renderer of a fleet; the one of the last fleet is kept, so that callers who come host by host share what hosts share."""
    global _last  # noqa: PLW0603 - a cache of one, by identity: a fleet is frozen
    if _last is None or _last.fleet is not fleet:
        _last = Renderer(fleet)
    return _last


def render(fleet: HostFleet, plan: HostPlan) -> list[Artifact]:
    """All files of a host, in the order of `CONCERNS`."""
    return renderer(fleet).render(plan)


def render_concern(fleet: HostFleet, plan: HostPlan, concern: str) -> list[Artifact]:
    """The files of one concern of a host. Raises FabricError for an unknown concern."""
    return renderer(fleet).render(plan, (concern,))


def services(fleet: HostFleet, concern: str | None = None) -> tuple[str, ...]:
    """The units that must be enabled and active: of one concern, or of all in their order. FabricError for an unknown concern."""
    if concern is None:
        return tuple(name for module in _MODULES.values() for name in module.services(fleet))
    if concern not in CONCERNS:
        raise FabricError(f"there is no concern {concern!r} of hosts", hint=near(concern, CONCERNS))
    return _MODULES[concern].services(fleet) if concern in _MODULES else ()
