"""FBOSS switches: agent.conf, bgpcpp.conf and the small files, by the rules of the FBOSS and BGP++ sources.

`render` gives the files of one switch, `unsupported` what the spec declares and FBOSS cannot be given, `normalise` the form in which
two configurations can be compared. Each imports what it needs when it is called: the checks of this folder also run in the lab's small
processes, which need neither the spec nor the catalog.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabric.design.fabric import Fabric
    from fabric.design.model import Switch
    from fabric.targets.base import Artifact

__all__ = ["normalise", "render", "unsupported"]


def render(fabric: Fabric, switch: Switch, *, base_dir: Path | None = None) -> list[Artifact]:
    """The files of one FBOSS switch: see `rendering.render`."""
    from fabric.targets.fboss import rendering

    return rendering.render(fabric, switch, base_dir=base_dir)


def normalise(path: str, content: bytes) -> bytes:
    """A configuration in the form that `render` writes: see `rendering.normalise`."""
    from fabric.targets.fboss import rendering

    return rendering.normalise(path, content)


def unsupported(fabric: Fabric, switch: Switch) -> list[str]:
    """One sentence for each declared thing that the switch does not get: see `gaps.unsupported`."""
    from fabric.targets.fboss import gaps

    return gaps.unsupported(fabric, switch)
