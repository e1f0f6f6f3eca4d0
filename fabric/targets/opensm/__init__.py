"""Subnet managers of InfiniBand: the files of upstream OpenSM and of NVIDIA's OpenSM, their device, and MADs to a live subnet.

`render` makes the files of one SM host, `lint` says what an opensm would not take as it is meant. Each imports what it needs when it
is called: the readers of a live subnet also run in small processes, which need neither the spec nor templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabric.design.ib.model import Flavour, Subnet, SubnetManager
    from fabric.targets.base import Artifact
    from fabric.targets.opensm.lint_lists import Known
    from fabric.targets.opensm.problem import Problem

__all__ = ["lint", "render"]


def render(subnet: Subnet, manager: SubnetManager, base_dir: Path | None = None) -> list[Artifact]:
    """The files of one SM host: see `rendering.render`."""
    from fabric.targets.opensm import rendering

    return rendering.render(subnet, manager, base_dir)


def lint(files: Mapping[str, bytes], flavour: Flavour = "opensm", known: Known | None = None) -> list[Problem]:
    """What an opensm would not take as it is meant: see `linting.lint`."""
    from fabric.targets.opensm import linting

    return linting.lint(files, flavour, known)
