"""Where in the spec a switch's own settings stand."""

from __future__ import annotations

from fabric.design.fabric import Fabric, matches
from fabric.design.model import Switch

Path = tuple[str | int, ...]


def setting_place(fabric: Fabric, switch: Switch, key: str) -> Path | None:
    """Path of the override that gives `switch` its setting `key`: the last one that matches and names it; None without one."""
    for index, entry in reversed(list(enumerate(fabric.spec.overrides))):
        if key in entry.set.model_fields_set and matches(entry.match, switch.name, switch.role, switch.zone):
            return ("overrides", index, "set", key)
    return None
