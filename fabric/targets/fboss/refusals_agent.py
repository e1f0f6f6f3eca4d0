"""What an FBOSS switch refuses of its agent.conf, and what it takes and then does not do: all rules together.

The conditions are those that the FBOSS source tests (reference: fboss.md section 12); they hold for a file that has
passed the strict check, because a wrong type never reaches them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from fabric.targets.fboss import (
    refusals_acl,
    refusals_buffers,
    refusals_ports,
    refusals_qos,
    refusals_switch,
)
from fabric.targets.fboss.inventory import PortInventory, load_asic
from fabric.targets.fboss.problem import Problem, join
from fabric.targets.fboss.refusals_base import Json, Rule, View, has, make_view, member, run
from fabric.targets.fboss.schema import load_flags
from fabric.targets.fboss.strict import compile_validator
from fabric.targets.fboss.strict_walk import near
from fabric.targets.fboss.wire import Raw

_BOOLS = frozenset({"1", "t", "true", "y", "yes", "0", "f", "false", "n", "no"})
_INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)").fullmatch
_PORTMAP = re.compile(r"portmap_([0-9]{1,9})").fullmatch
_LANES_A_CORE = 8
_FLAG_BITS = {"int32": 32, "uint32": 32, "int64": 64, "uint64": 64}


def flag_problems(args: Json, path: str = "defaultCommandLineArgs") -> Iterator[Problem]:
    """Flags that FBOSS does not have, and values that gflags does not take for the flag's type: neither stops FBOSS."""
    known = load_flags()
    for name, value in args.items():
        kind = known.get(name)
        if kind is None:
            message = f"FBOSS has no flag of this name{near(name, known)}: it is skipped"
            yield Problem(join(path, name), message, "silent")
        elif not flag_takes(kind, value):
            yield Problem(join(path, name), f"{value!r} is not a value for a flag of type {kind}", "silent")


def flag_takes(kind: str, value: str) -> bool:
    """Whether gflags parses `value` for a flag of that type (bool, int32, int64, uint32, uint64, double, string)."""
    if kind == "string":
        return True
    if kind == "bool":
        return value.lower() in _BOOLS
    if kind == "double":
        try:
            return math.isfinite(float(value)) and "_" not in value
        except ValueError:
            return False
    if not _INTEGER(value) or len(value) > _INTEGER_DIGITS:
        return False
    number = int(value, 16 if "x" in value.lower() else 10)
    bits = _FLAG_BITS[kind]
    low, high = (0, 1 << bits) if kind.startswith("u") else (-(1 << (bits - 1)), 1 << (bits - 1))
    return low <= number < high


_INTEGER_DIGITS = 24


def _flags(view: View) -> Iterator[Problem]:
    return flag_problems(member(view.conf, "defaultCommandLineArgs"))


def _sdk_port_map(view: View) -> Iterator[Problem]:
    """Lanes of the SDK's port map against the platform mapping.

    `portmap_<id>` is lane:gigabits:lanes, and lane = 8 x core + first lane + 1 (fboss.md section 3).
    """
    platform = view.conf.get("platform")
    if view.inventory is None or not isinstance(platform, dict):
        return
    path = "platform.chip.bcm.config"
    for key, value in member(member(member(platform, "chip"), "bcm"), "config").items():
        found = _PORTMAP(key)
        entry = view.inventory.ports.get(int(found[1])) if found else None
        if entry is None or entry.core is None or entry.first_lane is None:
            continue
        lane = _LANES_A_CORE * entry.core + entry.first_lane + 1
        if value.partition(":")[0] != str(lane):
            message = f"{value!r} does not start at lane {lane}, where {entry.name} of {view.inventory.platform} is"
            yield Problem(join(path, key), message, "silent")


RULES: tuple[Rule, ...] = (
    *refusals_switch.RULES,
    *refusals_ports.RULES,
    *refusals_qos.RULES,
    *refusals_acl.RULES,
    *refusals_buffers.RULES,
    _flags,
    _sdk_port_map,
)
"""All rules, in the order in which their problems are reported."""


def agent_refusals(conf: Json, ports: PortInventory | None, asic: str) -> list[Problem]:
    """What FBOSS refuses (level "error") or takes without doing it ("silent") of a strictly valid agent.conf.

    `ports` is the platform mapping of the box (None: those rules are left out), `asic` "TOMAHAWK3" or "TOMAHAWK4"
    (FabricError for another one). `conf["sw"]` must not be a `wire.Raw`; `conf["platform"]` may be one.
    """
    limits = load_asic(asic)
    if not has(conf, "sw") or not conf["sw"]:
        return [Problem("sw", "is missing or empty: FBOSS then reads the whole file as a bare SwitchConfig")]
    if isinstance(conf["sw"], Raw):
        raise TypeError("agent_refusals needs `sw` as an object, not as dumped text")
    return run(RULES, make_view(conf, ports, limits))


def check_agent(conf: object, ports: PortInventory | None, asic: str) -> list[Problem]:
    """The strict check, then (only when it finds nothing) the refusals."""
    problems = compile_validator("agent")(conf)
    return problems if problems or not isinstance(conf, dict) else agent_refusals(conf, ports, asic)
