"""The subnet managers: which HCA each binds to, and who is master."""

from __future__ import annotations

from collections.abc import Iterable

from fabric.design.ib.model import Hca, IbSwitch, SubnetManager
from fabric.design.ib.tree import Tree
from fabric.design.suggest import near
from fabric.errors import DesignError, FabricError, FabricErrors

FIRST_PRIORITY = 14  # of 0 to 15: room for one above it


def managers_of(tree: Tree, hcas: tuple[Hca, ...], switches: Iterable[IbSwitch]) -> tuple[SubnetManager, ...]:
    """The SMs by falling priority; DesignError for a host without an HCA, and for two of one priority."""
    found, errors = list[SubnetManager](), list[FabricError]()
    declared = tree.spec.infiniband.subnet_manager.hosts
    boxes = {switch.name for switch in switches} if declared else set()
    wanted = {entry.host for entry in declared}
    ends: dict[str, list[Hca]] = {}
    for hca in hcas:
        if hca.host in wanted:
            ends.setdefault(hca.host, []).append(hca)
    by_priority: dict[int, str] = {}
    for index, entry in enumerate(declared):
        path = ("backend", "subnet_manager", "hosts", index)
        if entry.host is None:
            continue  # an SM inside a switch is refused by fit
        priority = max(0, FIRST_PRIORITY - index) if entry.priority is None else entry.priority
        try:
            found.append(
                SubnetManager(
                    entry.host, _hca(hcas, ends, boxes, entry.host, entry.rail, path), priority, entry.address
                )
            )
        except DesignError as error:
            errors.append(error)
        if priority in by_priority:
            errors.append(
                DesignError(
                    (*path, "priority"),
                    f"{entry.host} and {by_priority[priority]} both have priority {priority}: then the GUIDs decide who is master",
                )
            )
        by_priority[priority] = entry.host
    if errors:
        raise errors[0] if len(errors) == 1 else FabricErrors(errors)
    return tuple(sorted(found, key=lambda manager: -manager.priority))


def _hca(
    hcas: tuple[Hca, ...],
    ends: dict[str, list[Hca]],
    boxes: set[str],
    host: str,
    rail: int,
    path: tuple[str | int, ...],
) -> Hca:
    known = ends.get(host)
    if known is None:
        if host in boxes:
            raise DesignError((*path, "host"), f"{host} is a switch; an SM runs on a host with an HCA")
        names = dict.fromkeys(hca.host for hca in hcas)
        hint = near(host, names) if len(names) < 5000 else ""
        text = f"SM host {host} has no HCA in this subnet: it is neither a GPU host ({hcas[0].host} ...) nor one of services"
        raise DesignError(
            (*path, "host"), text, hint=hint if hint.startswith("did") else "declare its leaf port under services"
        )
    for hca in known:
        if hca.rail == rail:
            return hca
    if len(known) == 1 and rail == 0:
        return known[0]  # a service with one HCA, whatever leaf it hangs on
    rails = ", ".join(str(hca.rail) for hca in known)
    raise DesignError((*path, "rail"), f"{host} has no HCA on rail {rail}, only on {rails}")
