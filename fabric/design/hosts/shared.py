"""The fleet of a spec, designed once a process and inherited by its forks.

Ansible starts a process for every task on every host. The inventory plugin notes which spec it has read; before the first of those processes
starts, `prime` designs its hosts, and all of them share the result.
"""

from __future__ import annotations

from pathlib import Path

from fabric.design.load import FleetCluster, load_fleet
from fabric.errors import FabricError, FabricErrors

_Stamp = tuple[int, int, int]
_noted: dict[Path, None] = {}
_fleets: dict[Path, tuple[_Stamp, FleetCluster]] = {}


def note(path: Path) -> None:
    """Say that the hosts of the spec at `path` may be asked for; costs nothing until they are."""
    _noted[path.absolute()] = None


def prime() -> list[FleetCluster]:
    """Design the hosts of every noted spec, as far as they can be: what is wrong with one is told by `fleet_at`, to who asks for it."""
    found = []
    for path in _noted:
        try:
            found.append(fleet_at(path))
        except (FabricError, FabricErrors):
            continue
    return found


def fleet_at(path: Path) -> FleetCluster:
    """The hosts of the spec at `path`, designed anew only when the file is another one. Raises FabricError, as `load_fleet` does."""
    path = path.absolute()
    stamp = _stamp(path)
    known = _fleets.get(path)
    if known is None or known[0] != stamp:
        known = _fleets[path] = (stamp, load_fleet(path))
    return known[1]


def _stamp(path: Path) -> _Stamp:
    """What changes with a file's text; zeros for one that cannot be looked at, whose error `load_fleet` tells."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
