"""gflag defaults of the FBOSS forwarding process (`defaultCommandLineArgs`): ours, then the spec's, then the device's own."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.fabric import Fabric
from fabric.design.model import Switch
from fabric.design.places import Path, setting_place
from fabric.errors import DesignError
from fabric.spec.overrides import Settings
from fabric.targets.fboss.box import box
from fabric.targets.fboss.refusals_agent import flag_takes
from fabric.targets.fboss.schema import load_flags


def agent_flags(fabric: Fabric, switch: Switch, settings: Settings, *, dlb: bool) -> dict[str, str]:
    """The flags of a switch; later sources win. Raises DesignError for a value that gflags does not take for the flag's type."""
    made = {
        "mode": box(switch.model).fboss.mode,
        "enable_acl_table_group": "true",  # without it FBOSS reads `acls` and ignores our ACL tables
        "counter_refresh_interval": "1",
        "publish_state_to_fsdb": "true",
        "publish_stats_to_fsdb": "true",
    }
    if dlb:
        made["flowletSwitchingEnable"] = "true"
        made["flowletStatsEnable"] = "true"
    own: dict[str, tuple[Path, str]] = {}
    for path, declared in declared_flags(fabric, switch, settings):
        own.update({name: (path, value) for name, value in declared.items()})
    for name, (path, value) in own.items():
        kind = load_flags().get(name)
        if kind is not None and not flag_takes(kind, value):
            raise DesignError((*path, name), f"{value!r} is not a value for the flag {name}, which is of type {kind}")
        made[name] = value
    return made


def declared_flags(fabric: Fabric, switch: Switch, settings: Settings) -> Iterator[tuple[Path, dict[str, str]]]:
    """The flags that the spec declares for a switch, with the place in the spec, weakest first."""
    yield ("fboss", "agent_args"), fabric.spec.fboss.agent_args
    yield setting_place(fabric, switch, "agent_args") or ("overrides",), settings.agent_args
