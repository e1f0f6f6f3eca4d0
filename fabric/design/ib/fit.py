"""What a tree's spec asks that does not go together; each with the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.ib.fit_site import site_problems
from fabric.design.ib.places import Names
from fabric.design.ib.tree import Tree
from fabric.errors import DesignError, FabricError
from fabric.spec.ib_subnet import NVIDIA_ENGINES
from fabric.words import counted


def problems(tree: Tree) -> list[FabricError]:
    """All that is wrong, in the spec's order."""
    return [
        *_services(tree),
        *_lmc(tree),
        *_sharp(tree),
        *_engines(tree),
        *_sm_hosts(tree),
        *_switch_sm(tree),
        *site_problems(tree),
    ]


def _services(tree: Tree) -> Iterator[DesignError]:
    """A service's port must be free, and a leaf's own."""
    names, taken = Names.of(tree), dict[tuple[int, int], str]()
    seen = set[str]()
    for index, service in enumerate(tree.spec.infiniband.services):
        path = ("backend", "services", index)
        if service.name in seen:
            yield DesignError((*path, "name"), f"{service.name} is declared twice")
        seen.add(service.name)
        for number, at in enumerate(service.ports):
            where = (*path, "ports", number)
            if at.leaf > tree.nics:
                yield DesignError(
                    (*where, "leaf"),
                    f"a unit has {counted(tree.nics, 'leaf', 'leaves')}, leaf {at.leaf} is none of them",
                )
                continue
            leaf = (at.unit - 1) * tree.nics + at.leaf - 1
            host = tree.host_at(leaf, at.port)
            said = _port_taken(tree, names, at.port, host) or taken.get((leaf, at.port))
            if said:
                yield DesignError((*where, "port"), f"port {at.port} of {names.leaf(leaf)} is {said}")
            taken[(leaf, at.port)] = f"that of {service.name}"


def _port_taken(tree: Tree, names: Names, port: int, host: int | None) -> str | None:
    if port > tree.radix:
        return f"beyond its {tree.radix} ports"
    if tree.up and tree.leaf_first_up <= port < tree.leaf_first_up + tree.up:
        return "an uplink"
    if host is not None and host <= tree.hosts:
        return f"{names.host(host)}'s"
    return None


def _lmc(tree: Tree) -> Iterator[DesignError]:
    lmc, backend = tree.spec.infiniband.lmc, tree.spec.infiniband
    if not lmc:
        return
    ends = tree.hosts * tree.nics
    yield DesignError(
        ("backend", "lmc"),
        f"LMC {lmc} gives each of {ends:,} HCA ports {2**lmc} LIDs, {ends * 2**lmc:,} of 49,151; it must be 0",
        hint="24,576 HCAs with LMC 1 would need 49,152, and ftree supports LMC 0 only",
    )
    if "ftree" in backend.routing.engines:
        yield DesignError(("backend", "routing", "engines"), f"ftree supports LMC 0 only, here it is {lmc}")


def _sharp(tree: Tree) -> Iterator[DesignError]:
    manager = tree.spec.infiniband.subnet_manager
    if not manager.sharp:
        return
    path = ("backend", "subnet_manager", "sharp")
    if not tree.by_rail:
        yield DesignError(
            path,
            "SHARP has at most 2 streaming flows a switch, so each leaf must be on the same rail of its hosts; with cabling host-per-leaf "
            f"a leaf has all {tree.nics} rails",
            hint="rail-optimised",
        )
    if manager.flavour != "nvidia":
        yield DesignError(path, "upstream OpenSM has no SHARP", hint="flavour: nvidia")
    if not (tree.switch.infiniband and tree.switch.infiniband.aggregation_node_port):
        yield DesignError(path, f"no SHARP aggregation node of a {tree.switch.name} is known to the catalog")


def _engines(tree: Tree) -> Iterator[DesignError]:
    backend = tree.spec.infiniband
    manager, engines = backend.subnet_manager, backend.routing.engines
    path = ("backend", "routing", "engines")
    foreign = sorted(set(engines) & NVIDIA_ENGINES)
    if foreign and manager.flavour == "opensm":
        yield DesignError(
            path,
            f"{foreign[0]} is an engine of NVIDIA's OpenSM only; upstream would take minhop",
            hint="flavour: nvidia",
        )
    if len(set(engines)) != len(engines):
        yield DesignError(path, "names an engine twice")
    if "ftree" in engines and tree.tiers == 1 and not backend.routing.fallback:
        yield DesignError(path, "ftree wants 2 to 8 ranks of switches, one leaf is 1", hint="minhop")
    adaptive = manager.adaptive_routing
    if adaptive is None:
        return
    where = ("backend", "subnet_manager", "adaptive_routing")
    if manager.flavour == "opensm":
        yield DesignError(where, "upstream OpenSM has no adaptive routing", hint="flavour: nvidia")
    elif not any(engine.startswith("ar_") for engine in engines):
        yield DesignError(
            where, f"adaptive routing wants an engine such as ar_updn or ar_ftree, not {', '.join(engines)}"
        )
    if adaptive.shield == "pfrn" and not set(engines) & {"ar_updn", "ar_ftree"}:
        yield DesignError((*where, "shield"), "pFRN works with ar_updn and ar_ftree only")


def _sm_hosts(tree: Tree) -> Iterator[DesignError]:
    """Each SM is on a box of its own: two on one are no standby of each other, and would get the same files."""
    hosts, reached = set[str](), dict[str, str]()
    for index, entry in enumerate(tree.spec.infiniband.subnet_manager.hosts):
        if entry.host is None:
            continue
        path = ("backend", "subnet_manager", "hosts", index)
        if entry.host in hosts:
            yield DesignError(
                (*path, "host"), f"{entry.host} is declared twice", hint="one SM a host; a standby is on another one"
            )
            continue
        hosts.add(entry.host)
        address = entry.address or entry.host
        if address in reached:
            yield DesignError((*path, "address"), f"{entry.host} and {reached[address]} are both reached at {address}")
        reached[address] = entry.host


def _switch_sm(tree: Tree) -> Iterator[DesignError]:
    limit = tree.switch.limits.get("sm_max_nodes")
    for index, host in enumerate(tree.spec.infiniband.subnet_manager.hosts):
        if host.switch is None:
            continue
        path = ("backend", "subnet_manager", "hosts", index, "switch")
        nodes = tree.hosts * tree.nics + tree.leaves + len(tree.pods) * tree.planes + tree.cores * tree.planes
        if limit is not None and nodes > limit.value:
            text = f"the SM inside a {tree.switch.name} supports {limit.value:,} nodes, this subnet has {nodes:,}"
        else:
            text = "an SM inside a switch is not set by files, so it cannot be rendered here"
        yield DesignError(path, text, hint="run it on a host")
