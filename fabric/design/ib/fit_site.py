"""Names, racks, states and secrets of an InfiniBand spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fabric.catalog import catalog
from fabric.design.fit_settings import secret_problems
from fabric.design.hosts.fit import host_problems
from fabric.design.hosts.storage_fit import storage_secrets
from fabric.design.ib.model import Hca, IbSwitch
from fabric.design.ib.tree import Tree
from fabric.errors import DesignError, FabricError
from fabric.spec.cluster import ClusterSpec

_LONGEST = 56  # of a host: the 64 bytes of a node description hold it, a blank and the device (InfiniBand architecture: NodeDescription)


def site_problems(tree: Tree) -> Iterator[DesignError]:
    """Rack power, states and secrets; see `name_problems` for names."""
    yield from _nic(tree)
    yield from _power(tree)
    yield from _matches(tree.spec)
    yield from secret_problems(tree.spec, secrets_used(tree.spec))
    yield from host_problems(tree.spec)


def secrets_used(spec: ClusterSpec) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """(place, name) of each reference to a secret."""
    keys = spec.infiniband.subnet_manager.keys
    for kind in type(keys).model_fields:
        name = getattr(keys, kind)
        if name is not None:
            yield ("backend", "subnet_manager", "keys", kind), name
    yield from storage_secrets(spec)


def _nic(tree: Tree) -> Iterator[DesignError]:
    """An HCA that the spec names must be known, and as fast as the ports."""
    name = tree.spec.hosts.nic
    if name is None:
        return
    path = ("hosts", "nic")
    try:
        nic = catalog().nic(name)
    except FabricError as error:
        yield DesignError(path, error.message, hint=error.hint)
        return
    if nic.speed_gbps.value != tree.speed_gbps:
        yield DesignError(
            path, f"a {name} runs at {nic.speed_gbps.value}G, the ports of a {tree.switch.name} at {tree.speed_gbps}G"
        )


def _power(tree: Tree) -> Iterator[DesignError]:
    backend, host = tree.spec.infiniband, tree.host
    path = ("backend", "rack")
    try:
        rack = catalog().rack(backend.rack)
    except FabricError as error:
        yield DesignError(path, error.message, hint=error.hint)
        return
    declared = tree.spec.hosts.power_w
    one = declared or (host.gpu_tdp_w.value * host.gpus.value if host.gpu_tdp_w else 0)
    watts, budget = one * backend.hosts_per_rack, rack.power_kw.value * 1000
    if watts > budget:
        part = "hosts draw" if declared else "hosts' GPUs alone draw"
        yield DesignError(
            path, f"{backend.hosts_per_rack} {part} {watts / 1000:g} kW, {backend.rack} delivers {budget / 1000:g} kW"
        )


def _matches(spec: ClusterSpec) -> Iterator[DesignError]:
    for index, entry in enumerate(spec.state):
        if entry.match.zone is not None:
            yield DesignError(
                ("state", index, "match", "zone"), "an InfiniBand cluster has no zones", hint="match by role or name"
            )
    for index, _ in enumerate(spec.overrides):
        yield DesignError(("overrides", index), "no device of an InfiniBand cluster takes overrides")


def name_problems(switches: Iterable[IbSwitch], hcas: Iterable[Hca]) -> Iterator[DesignError]:
    """Two devices with one name, and names too long for a node description; the first of each pair of roles is told."""
    owner: dict[str, str] = {}
    for role, names in (
        ("service", dict.fromkeys(hca.host for hca in hcas if hca.purpose != "compute")),
        ("host", dict.fromkeys(hca.host for hca in hcas if hca.purpose == "compute")),
    ):
        for name in names:
            if owner.setdefault(name, role) != role:
                yield DesignError(("backend", "services"), f"{name!r} would name a service and a GPU host")
                break
            if len(name) > _LONGEST:
                yield DesignError(
                    ("backend", "naming"),
                    f"{name!r} has {len(name)} characters, a node description has room for {_LONGEST}",
                )
                break
    told: set[tuple[str, str]] = set()
    for switch in switches:
        first = owner.get(switch.name)
        owner[switch.name] = switch.tier
        if first is not None and (first, switch.tier) not in told:
            told.add((first, switch.tier))
            both = f"two {first}s" if first == switch.tier else f"a {first} and a {switch.tier}"
            yield DesignError(("backend", "naming", switch.tier), f"{switch.name!r} would name {both}")
