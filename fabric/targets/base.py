"""What every kind of device has in common: artifacts, and the job that renders them.

A target turns the design into `Artifact`s. `change` knows nothing else about devices: it writes, compares and sends artifacts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fabric.targets.ends import Ends, FarEnds


@dataclass(frozen=True, slots=True)
class Artifact:
    """One rendered file.

    `path` is absolute, as it stands on the device ("/etc/coop/agent.conf"); `content` is exactly what goes there, except that
    secrets are still placeholders `$SECRET{name}` when `secret` is true. `mode` is the file's permission bits.
    """

    device: str
    role: str
    target: str
    path: str
    content: bytes
    mode: int = 0o644
    secret: bool = False

    @property
    def sha256(self) -> str:
        """Hex digest of `content` (placeholders and all)."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class DeviceRef:
    """A device that is rendered: its name, role ("rtsw", "ctsw", ...) and target ("eos", "fboss", ...)."""

    name: str
    role: str
    target: str


class RenderJob(Protocol):
    """A loaded spec, ready to render. Pure: the same job gives the same bytes, in any process, in any order.

    Forked worker processes inherit the job, so it holds no open file, socket or lock.
    """

    @property
    def devices(self) -> Sequence[DeviceRef]:
        """Every device of the job, in a stable order."""

    @property
    def names(self) -> frozenset[str]:
        """Every name that stands for one device or host of the fabric, selected or not: diffs are grouped with these abstracted."""

    @property
    def spec_sha256(self) -> str:
        """Hex digest of the spec's bytes; a plan or a tree carries it."""

    def render(self, name: str) -> list[Artifact]:
        """All artifacts of the device `name`. Raises FabricError for what cannot be rendered."""

    def normalise(self, target: str, text: str) -> str:
        """Text of a device of `target`, rendered or read, without what its operating system hides or adds (default lines, ...).

        Both sides of a diff go through it, and only when their bytes differ. A target without such habits returns `text`.
        """

    def ends(self, target: str, files: Mapping[str, bytes | None]) -> Ends:
        """What the files of a device of `target`, by path, say of its ends of sessions and links; rendered or read."""

    def far_ends(self, name: str) -> FarEnds:
        """What the ports of a device are cabled to: those whose other end is a device too."""


Normaliser = Callable[[str], str]
"""`RenderJob.normalise` of one target."""


class Renderer(Protocol):
    """One kind of device in `targets/`: what renders it, and how its text is made comparable (a RenderJob is made of these)."""

    @property
    def name(self) -> str:
        """The target's name, as `--target` takes it."""

    def render(self, device: DeviceRef) -> list[Artifact]:
        """The artifacts of one device."""

    def normalise(self, text: str) -> str:
        """See `RenderJob.normalise`."""
