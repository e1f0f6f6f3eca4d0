"""The routing as declared, and roots and compute nodes declared by hand held against the design."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from fabric.design.ib.model import Hca, IbSwitch, Routing
from fabric.design.ib.tree import Tree
from fabric.errors import DesignError, FabricErrors

_TOP = ("leaf", "spine", "core")


def routing_of(tree: Tree, switches: Sequence[IbSwitch], hcas: Sequence[Hca]) -> Routing:
    """The routing; DesignError(s) when roots or compute nodes declared by hand are not those of the design."""
    declared = tree.spec.infiniband.routing
    errors: list[DesignError] = []
    if declared.roots is not None:
        errors += _roots(tree, declared.roots, switches, hcas)
    if declared.compute_nodes is not None:
        errors += _compute(declared.compute_nodes, switches, hcas)
    if errors:
        raise errors[0] if len(errors) == 1 else FabricErrors([*errors])
    return Routing(tuple(declared.engines), declared.fallback, dict(declared.options))


def _roots(
    tree: Tree, given: Sequence[str], switches: Sequence[IbSwitch], hcas: Sequence[Hca]
) -> Iterator[DesignError]:
    path = ("backend", "routing", "roots")
    top = _TOP[tree.tiers - 1]
    wanted = {switch.guid: switch.name for switch in switches if switch.tier == top}
    boxes = {switch.guid: switch for switch in switches}
    names = {switch.name: switch.guid for switch in switches}
    ports = {guid: hca.name for hca in hcas for guid in (hca.node_guid, hca.port_guid)}
    found: set[int] = set()
    for index, text in enumerate(given):
        guid = _guid(text, names)
        if guid in found:
            yield DesignError((*path, index), f"{text} stands there twice")
        elif guid in wanted:
            found.add(guid)
        elif guid in boxes:
            box = boxes[guid]
            yield DesignError(
                (*path, index), f"{text} is {_a(box.tier)} ({box.name}); roots are the {len(wanted):,} {top} switches"
            )
        elif guid in ports:
            yield DesignError(
                (*path, index), f"{text} is the GUID of an HCA ({ports[guid]}); roots are node GUIDs of {top} switches"
            )
        else:
            yield DesignError((*path, index), f"no switch has the name or node GUID {text}")
    missing = [name for guid, name in wanted.items() if guid not in found]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        yield DesignError(
            path,
            f"{missing[0]}{more} of {len(wanted):,} {top} switches missing: ftree would accept it and leave their links empty",
        )


def _compute(given: Sequence[str], switches: Sequence[IbSwitch], hcas: Sequence[Hca]) -> Iterator[DesignError]:
    path = ("backend", "routing", "compute_nodes")
    wanted = {hca.port_guid: hca.name for hca in hcas if hca.purpose == "compute"}
    names = {hca.name: hca.port_guid for hca in hcas}
    nodes = {hca.node_guid: hca for hca in hcas}
    other = {**{switch.guid: switch.name for switch in switches}, **{h.port_guid: h.name for h in hcas}}
    found: set[int] = set()
    for index, text in enumerate(given):
        guid = _guid(text, names)
        if guid in found:
            yield DesignError((*path, index), f"{text} stands there twice")
        elif guid in wanted:
            found.add(guid)
        elif guid in nodes:
            hca = nodes[guid]
            yield DesignError(
                (*path, index),
                f"{text} is the node GUID of {hca.name}, whose port GUID 0x{hca.port_guid:016x} belongs here",
            )
        elif guid in other:
            yield DesignError((*path, index), f"{text} is {other[guid]}, no HCA of a GPU host")
        else:
            yield DesignError((*path, index), f"no HCA has the name or port GUID {text}")
    missing = [name for guid, name in wanted.items() if guid not in found]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        yield DesignError(path, f"{missing[0]}{more} of {len(wanted):,} HCAs of GPU hosts missing")


def _guid(text: str, names: Mapping[str, int]) -> int | None:
    if text in names:
        return names[text]
    return int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text) else None


def _a(tier: str) -> str:
    return f"a {tier}"
