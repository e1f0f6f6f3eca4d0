"""A host's files from the design, concern by concern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from fabric.design.hosts.model import HostFleet, HostPlan
from fabric.design.suggest import near
from fabric.errors import FabricError
from fabric.targets.base import Artifact
from fabric.targets.host import nccl
from fabric.targets.host.concern import Concern, File

ROLE = "host"
TARGET = "host"

CONCERNS = ("base", "network", "rdma", "nvidia", "cuda", "nccl", "storage", "slurm", "checks")
"""In the order in which they are put on a host: RDMA before the driver, whose peer-memory module builds against it."""

_MODULES: Mapping[str, Concern] = MappingProxyType({"nccl": nccl})


class Renderer:
    """Renders the hosts of one fleet. What all hosts share is rendered at its first use, and once."""

    def __init__(self, fleet: HostFleet) -> None:
        self.fleet = fleet
        self._shared: dict[str, tuple[File, ...]] = {}

    def render(self, plan: HostPlan, concerns: Iterable[str] = CONCERNS) -> list[Artifact]:
        """The files of one host in the order of the concerns. Raises FabricError for an unknown concern, or one that cannot be."""
        name = plan.name
        return [
            Artifact(name, ROLE, TARGET, file.path, file.content, file.mode, file.secret)
            for concern in concerns
            for file in self._files(concern, plan)
        ]

    def _files(self, concern: str, plan: HostPlan) -> Iterable[File]:
        if concern not in CONCERNS:
            raise FabricError(f"there is no concern {concern!r} of hosts", hint=near(concern, CONCERNS))
        module = _MODULES.get(concern)
        if module is None:
            return ()
        if concern not in self._shared:
            self._shared[concern] = tuple(module.shared(self.fleet))
        return *self._shared[concern], *module.own(self.fleet, plan)


_last: Renderer | None = None


def renderer(fleet: HostFleet) -> Renderer:
    """The renderer of a fleet; the one of the last fleet is kept, so that callers who come host by host share what hosts share."""
    global _last  # noqa: PLW0603 - a cache of one, by identity: a fleet is frozen
    if _last is None or _last.fleet is not fleet:
        _last = Renderer(fleet)
    return _last


def render(fleet: HostFleet, plan: HostPlan) -> list[Artifact]:
    """All files of a host, in the order of `CONCERNS`. Raises FabricError for what the spec does not say enough of."""
    return renderer(fleet).render(plan)


def render_concern(fleet: HostFleet, plan: HostPlan, concern: str) -> list[Artifact]:
    """The files of one concern of a host. Raises FabricError for an unknown concern."""
    return renderer(fleet).render(plan, (concern,))
