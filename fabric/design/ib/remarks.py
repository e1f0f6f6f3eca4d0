"""What deserves a second look in an InfiniBand spec that can be built."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.ib.model import Subnet
from fabric.design.remark import Remark


def remarks(subnet: Subnet) -> list[Remark]:
    """All remarks, in a stable order."""
    return [*_managers(subnet)]


def _managers(subnet: Subnet) -> Iterator[Remark]:
    path = ("backend", "subnet_manager")
    if not subnet.managers:
        yield Remark(path, "no-sm", "no subnet manager is declared, so none is rendered")
