"""GUID files and the node-name-map against the design: node GUIDs where node GUIDs belong, port GUIDs where port GUIDs belong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fabric.design.ib.model import Subnet
from fabric.targets.opensm import members
from fabric.targets.opensm.conf import Conf
from fabric.targets.opensm.lists import GuidList, read_guids, read_names
from fabric.targets.opensm.paths import FOLDER
from fabric.targets.opensm.problem import Problem

_NAMED = 5  # GUIDs that one message names


@dataclass(frozen=True, slots=True)
class Known:
    """What the design says of GUIDs. `switches` and `nodes`: node GUID -> name; `ports`: HCA port GUID -> name.

    `fallback`: the spec lets MinHop take over when no engine works.
    """

    tiers: int
    switches: Mapping[int, str]
    nodes: Mapping[int, str]
    ports: Mapping[int, str]
    roots: frozenset[int]
    compute: frozenset[int]
    services: frozenset[int]
    fallback: bool = False

    @classmethod
    def of(cls, subnet: Subnet) -> Known:
        """What stands in a subnet (planned boxes do not)."""
        switches, hcas = members.standing(subnet)
        return cls(
            subnet.tiers,
            {switch.guid: switch.name for switch in switches},
            {hca.node_guid: hca.name for hca in hcas},
            {hca.port_guid: hca.name for hca in hcas},
            frozenset(members.roots(subnet)),
            frozenset(members.compute(subnet)),
            frozenset(members.services(subnet)),
            subnet.routing.fallback,
        )

    def what(self, guid: int) -> str:
        """Whose GUID it is, in words."""
        if guid in self.switches:
            return f"the node GUID of switch {self.switches[guid]}"
        if guid in self.ports:
            return f"the port GUID of {self.ports[guid]}"
        if guid in self.nodes:
            return f"the node GUID of {self.nodes[guid]}"
        return "unknown"


_FILES = ("root_guid_file", "cn_guid_file", "io_guid_file", "guid_routing_order_file")


def check_lists(files: Mapping[str, bytes], conf: Conf, known: Known | None) -> list[Problem]:
    """The problems of every GUID file and of the node-name-map that opensm.conf names and that are there."""
    found: list[Problem] = []
    for key in _FILES:
        path = conf.path(key)
        if path in files:
            file = path.removeprefix(f"{FOLDER}/")
            guids = read_guids(files[path], file)
            found += guids.problems
            if known is not None:
                found += _against(key, guids, known, file)
    path = conf.path("node_name_map_name")
    if path in files:
        found += _names(files[path], path.removeprefix(f"{FOLDER}/"), known)
    return found


def _against(key: str, guids: GuidList, known: Known, file: str) -> Iterator[Problem]:
    if key == "root_guid_file":
        expected, kind = known.roots, "a top switch's node GUID"
    elif key == "io_guid_file":
        expected, kind = known.services, "a port GUID of a host without GPUs"
    else:
        expected, kind = known.compute, "a compute port's GUID"
    for guid, line in guids.guids.items():
        if guid not in expected:
            hint = _instead(guid, known, kind)
            yield Problem(file, line, f"{guid:#018x} is {known.what(guid)}, not {kind}", hint)
    missing = [guid for guid in expected if guid not in guids.guids]
    if missing:
        yield Problem(file, 0, f"{len(missing):,} of {len(expected):,} are missing: {_some(missing, known)}", _why(key))


def _instead(guid: int, known: Known, kind: str) -> str | None:
    if guid in known.nodes and "port" in kind:
        name = known.nodes[guid]
        port = next((port for port, owner in known.ports.items() if owner == name), None)
        return f"the port GUID of {name} is {port:#018x}" if port is not None else None
    return None


def _why(key: str) -> str:
    return "a missing root is accepted and costs bandwidth" if key == "root_guid_file" else "list them all"


def _some(guids: list[int], known: Known) -> str:
    names = sorted(known.switches.get(guid) or known.ports.get(guid) or f"{guid:#018x}" for guid in guids)
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def _names(content: bytes, file: str, known: Known | None) -> Iterator[Problem]:
    found = read_names(content, file)
    yield from found.problems
    if known is None:
        return
    for guid, name in found.names.items():
        right = known.switches.get(guid)
        if right is None:
            yield Problem(file, found.lines[guid], f"{guid:#018x} {name!r} is no switch of the design")
        elif right != name:
            yield Problem(file, found.lines[guid], f"{guid:#018x} is named {name!r}, the design says {right!r}")
    missing = [guid for guid in known.switches if guid not in found.names]
    if missing:
        yield Problem(file, 0, f"switches without a name: {_some(missing, known)}")
