"""Reading agent.conf and bgpcpp.conf as strictly as we want FBOSS to: what it would skip in silence is refused here."""

from __future__ import annotations

import json
from typing import Any

from fabric.errors import FabricError
from fabric.lab.fboss.node import AGENT_CONF, BGP_CONF, Node, write_whole
from fabric.targets.fboss import wire
from fabric.targets.fboss.inventory import PortEntry, PortInventory
from fabric.targets.fboss.problem import Problem

Json = dict[str, Any]

_ASICS = {5: "TOMAHAWK3", 6: "TOMAHAWK4"}  # AsicType numbers of the boxes that we know: fboss.md section 1
_SHOWN = 20


class RefusedError(FabricError):
    """A configuration is refused; `lines` say why, one fault a line."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(lines[0] + (f" (and {len(lines) - 1} more)" if lines[1:] else ""))
        self.lines = lines


def read_agent(node: Node) -> Json:
    """The agent.conf on the box's disk; RefusedError when the agent would not take it."""
    from fabric.targets.fboss.refusals_agent import check_agent

    conf = _read(node, AGENT_CONF)
    _judge(node, AGENT_CONF, check_agent(conf, inventory(node), _asic(conf)))
    return conf


def read_bgp(node: Node) -> Json:
    """The bgpcpp.conf on the box's disk; RefusedError when bgpd would not take it."""
    from fabric.targets.fboss.refusals_bgp import check_bgp

    conf = _read(node, BGP_CONF)
    _judge(node, BGP_CONF, check_bgp(conf))
    return conf


def _read(node: Node, path: str) -> Json:
    try:
        with node.path(path).open("rb") as file:
            conf = wire.loads(file.read(wire.MAX_BYTES + 1), source=path)
    except OSError as error:
        raise RefusedError([f"{path}: cannot be read: {error.strerror}"]) from None
    except FabricError as error:
        raise RefusedError([error.message]) from None
    if not isinstance(conf, dict):
        raise RefusedError([f"{path}: not an object"])
    return conf


def _judge(node: Node, path: str, problems: list[Problem]) -> None:
    errors = [f"{path}: {problem}" for problem in problems if problem.level == "error"]
    for problem in problems:
        if problem.level != "error":
            node.log(f"{path}: {problem}", level="W")
    if errors:
        for line in errors[:_SHOWN]:
            node.log(line, level="E")
        raise RefusedError(errors)


def _asic(conf: Json) -> str:
    """The ASIC that the configuration names; Tomahawk 4 when it does not get so far."""
    try:
        infos = conf["sw"]["switchSettings"]["switchIdToSwitchInfo"]
        return _ASICS[next(iter(infos.values()))["asicType"]]
    except (KeyError, TypeError, AttributeError, StopIteration):
        return _ASICS[6]


def inventory(node: Node) -> PortInventory | None:
    """The platform mapping of the box, from the copy that `install` made; None for a box of unknown model."""
    path = node.state("inventory.json")
    if not path.exists():
        return None
    raw = json.loads(path.read_text(encoding="utf-8"))
    ports = {
        int(number): PortEntry(
            name=port["name"],
            profiles={int(pid): tuple(ids) for pid, ids in port["profiles"].items()},
            overlaps={int(pid): tuple(ids) for pid, ids in port["overlaps"].items()},
            core=port["core"],
            first_lane=port["first_lane"],
        )
        for number, port in raw["ports"].items()
    }
    return PortInventory(raw["platform"], ports, {int(pid): speed for pid, speed in raw["speeds"].items()})


def save_inventory(node: Node, known: PortInventory) -> None:
    """Keep the platform mapping beside the box, so that its agent starts without the catalog."""
    ports = {
        number: {
            "name": entry.name,
            "profiles": {pid: list(ids) for pid, ids in entry.profiles.items()},
            "overlaps": {pid: list(ids) for pid, ids in entry.overlaps.items()},
            "core": entry.core,
            "first_lane": entry.first_lane,
        }
        for number, entry in known.ports.items()
    }
    made = {"platform": known.platform, "ports": ports, "speeds": dict(known.profile_speeds)}
    write_whole(node.state("inventory.json"), json.dumps(made))
