"""The order of subnet managers: one at a time, standbys before the master, so that the subnet always has one that was not touched.

The master comes last and hands over to a standby that has the new files already; priorities then make it master again.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from fabric.change.waves import Wave
from fabric.design.ib.model import SubnetManager
from fabric.errors import FabricError


def plan_manager_waves(
    changing: Sequence[SubnetManager], managers: Sequence[SubnetManager], *, canary: str | None = None
) -> tuple[Wave, ...]:
    """Waves of one over the managers that change, the lowest priority first; `managers` are all, the declared master first.

    All but the last are canaries: one that fails stops the rest. `canary` (a name pattern) moves its matches to the front, but never the
    master before a standby. Raises FabricError when it matches none of them.
    """
    master = managers[0].host if managers else ""
    rest = [manager for manager in reversed(managers) if manager in changing and manager.host != master]
    if canary is not None:
        names = [manager.host for manager in changing if fnmatch.fnmatchcase(manager.host, canary)]
        if changing and not names:
            raise FabricError(f"--canary {canary!r} matches no device that changes")
        rest.sort(key=lambda manager: manager.host not in names)
    order = [("standby", manager) for manager in rest] + [("master", m) for m in changing if m.host == master]
    return tuple(
        Wave(number, f"{title} subnet manager", (manager.host,), title == "standby")
        for number, (title, manager) in enumerate(order, start=1)
    )
