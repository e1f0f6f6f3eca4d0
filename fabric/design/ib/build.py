"""spec + catalog -> Subnet. What cannot be built is refused with the arithmetic, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fabric.design.fabric import matches
from fabric.design.ib.cables import cables_of
from fabric.design.ib.cabling import Cabler
from fabric.design.ib.figures import figures_of
from fabric.design.ib.fit import problems
from fabric.design.ib.fit_site import name_problems
from fabric.design.ib.guids import with_guids
from fabric.design.ib.managers import managers_of
from fabric.design.ib.model import Hca, IbSwitch, Subnet
from fabric.design.ib.partitions import partitions_of
from fabric.design.ib.places import Names, StateOf, hcas, switches
from fabric.design.ib.qos import tables_of, ulps_of
from fabric.design.ib.routing import routing_of
from fabric.design.ib.shape import tree_of
from fabric.design.ib.tree import Tree
from fabric.design.model import State
from fabric.errors import FabricError, FabricErrors
from fabric.spec.cluster import ClusterSpec

T = TypeVar("T")


def design_subnet(spec: ClusterSpec, base_dir: Path = Path()) -> Subnet:
    """The subnet that an InfiniBand spec declares; `base_dir` is where a relative GUID file is looked for.

    Raises DesignError, or FabricErrors with all of them, when it cannot be built.
    """
    tree = tree_of(spec)
    found: list[FabricError] = problems(tree)
    cables = _attempt(found, lambda: cables_of(tree))
    _stop(found)
    assert cables is not None  # noqa: S101 - else found is not empty
    names, state = Names.of(tree), state_of(spec)
    boxes, ends = tuple(switches(tree, names, state)), tuple(hcas(tree, names, state))
    found += name_problems(boxes, ends)
    _stop(found)
    boxes, ends = with_guids(spec, boxes, ends, base_dir)
    by_name = {switch.name: switch for switch in boxes}
    cabler = Cabler(tree, names, cables, by_name, plain=not spec.state)
    return _assemble(tree, boxes, ends, cabler)


def _assemble(tree: Tree, boxes: tuple[IbSwitch, ...], ends: tuple[Hca, ...], cabler: Cabler) -> Subnet:
    spec, found = tree.spec, list[FabricError]()
    backend = spec.infiniband
    managers = _attempt(found, lambda: managers_of(tree, ends, boxes))
    partitions = _attempt(found, lambda: partitions_of(tree, ends, managers or ()))
    routing = _attempt(found, lambda: routing_of(tree, boxes, ends))
    ulps = None if partitions is None else _attempt(found, lambda: ulps_of(backend, partitions, ends))
    _stop(found)
    assert managers is not None and partitions is not None and routing is not None and ulps is not None  # noqa: S101
    return Subnet(
        spec=spec,
        flavour=backend.subnet_manager.flavour,
        tiers=tree.tiers,
        by_rail=tree.by_rail,
        switches=boxes,
        hcas=ends,
        links=tuple(cabler.links(ends)),
        partitions=partitions,
        managers=managers,
        routing=routing,
        qos=tables_of(backend),
        ulps=ulps,
        figures=figures_of(tree),
        aggregation_nodes=bool(tree.switch.infiniband and tree.switch.infiniband.aggregation_node_port),
    )


def _attempt(found: list[FabricError], work: Callable[[], T]) -> T | None:
    try:
        return work()
    except FabricErrors as errors:
        found += errors.errors
    except FabricError as error:
        found.append(error)
    return None


def _stop(found: list[FabricError]) -> None:
    if found:
        raise found[0] if len(found) == 1 else FabricErrors(found)


def state_of(spec: ClusterSpec) -> StateOf:
    """(name, role) -> state, as the spec's `state` section says; the last entry that matches wins."""
    if not spec.state:
        return lambda _name, _role: "deployed"

    def state(name: str, role: str) -> State:
        found: State = "deployed"
        for entry in spec.state:
            if matches(entry.match, name, role, 0):
                found = entry.state
        return found

    return state
