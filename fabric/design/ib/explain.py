"""Where a number of a subnet comes from: `fabric explain ib.cores`, `leaf0001.guid`, `gt0001 mlx5_0.port_guid`, `spine01-01/33`."""

from __future__ import annotations

from fabric.design.explain import Explanation, Path, bare
from fabric.design.ib.figures import cages_of
from fabric.design.ib.model import Hca, IbSwitch, Subnet
from fabric.design.ib.shape import aggregation_nodes, tree_of
from fabric.design.ib.tables import guid_text, port_labels
from fabric.design.ib.tree import Tree
from fabric.design.suggest import near
from fabric.errors import FabricError
from fabric.words import counted

Facts = dict[str, tuple[str, str, str, str, Path | None]]
"""key -> (value, meaning, formula, source, deciding place in the spec)."""

_TABLE = "NVIDIA DGX SuperPOD reference architecture, same 64-port switch (primary); computed beyond 64 units"


def explain_subnet(subnet: Subnet, path: str) -> Explanation | None:
    """The explanation of a figure (`ib.KEY`), of a device's number (`NAME.KEY`) or port (`NAME/PORT`); None when no such device is meant."""
    if path.startswith("ib."):
        return _fact(path, figure_facts(subnet, tree_of(subnet.spec)), path[3:])
    device, slash, port = path.partition("/")
    if slash and device in subnet.switch:
        return _fact(path, _port_facts(subnet, subnet.switch[device]), port)
    if path in subnet.switch:
        raise bare(path, _switch_facts(subnet.switch[path]))
    if path in subnet.hca:
        raise bare(path, _hca_facts(subnet, subnet.hca[path]), ports=False)
    name, _, key = path.rpartition(".")
    if name in subnet.switch:
        return _fact(path, _switch_facts(subnet.switch[name]), key)
    if name in subnet.hca:
        return _fact(path, _hca_facts(subnet, subnet.hca[name]), key)
    return None


def _fact(path: str, facts: Facts, key: str) -> Explanation:
    if key not in facts:
        raise FabricError(f"{path}: there is no {key!r}", hint=near(key, facts) if len(facts) < 60 else None)
    value, meaning, formula, source, place = facts[key]
    return Explanation(path, value, meaning, formula, source, place)


def figure_facts(subnet: Subnet, tree: Tree) -> Facts:
    """The figures of a subnet."""
    known, backend = subnet.figures, ("backend",)
    with_nodes = known.lids + aggregation_nodes(tree, tree.units)
    facts: Facts = {
        "leaves": (
            f"{known.leaves:,}", "leaf switches", f"{known.units:,} units x {tree.nics} rails", _TABLE, (*backend, "hosts"),
        ),
        "lids": (
            f"{known.lids:,}", f"LIDs in use, of 49,151 unicast ones; {with_nodes:,} with SHARP aggregation nodes",
            f"{known.links['host']:,} HCA ports + {known.leaves + known.spines + known.cores:,} switches, LMC 0",
            "InfiniBand architecture: 0x0001 to 0xBFFF; reference, LMC must be 0 (computed)", (*backend, "lmc"),
        ),
    }  # fmt: skip
    if subnet.tiers > 1:
        facts |= _upper(subnet, tree)
    for cage in cages_of(tree):
        key = "cages." + cage.side.replace(" ", "_")
        links = counted(cage.links_per_cage, "link")
        facts[key] = (
            f"{cage.modules:,}", f"modules on the {cage.side} side; each carries {links} to {cage.far} and fails as one",
            f"ports in use / {cage.links_per_cage}, a switch at a time", "catalog: ports a cage", (*backend, "switch"),
        )  # fmt: skip
    return facts


def _upper(subnet: Subnet, tree: Tree) -> Facts:
    known = subnet.figures
    low, high = tree.leaf_stripe
    facts: Facts = {
        "spines": (
            f"{known.spines:,}", "spine switches",
            f"{len(tree.pods):,} pods x {tree.planes} planes; {tree.up} uplinks of a leaf over {tree.planes} spines, {_links(low, high)} each",
            _TABLE, ("backend", "core_stripe"),
        ),
        "bisection.leaf": (
            _ratio(known.oversubscription["leaf"]), "a leaf's downlinks over its uplinks", f"{tree.down} / {tree.up}", "computed",
            ("backend", "leaf_uplinks"),
        ),
    }  # fmt: skip
    if subnet.tiers < 3:
        return facts
    facts |= {
        "pods": (
            f"{known.pods:,}", "pods", f"{known.leaves:,} leaves / {tree.leaves_per_pod} leaves a pod, {subnet.spec.infiniband.pods}",
            "half of a switch's ports face down", ("backend", "leaves_per_pod"),
        ),
        "cores": (
            f"{known.cores:,}", "core switches",
            f"{tree.planes} planes x {tree.cores}: {tree.pod_room} pods (with room) x {tree.spine_up} uplinks need "
            f"{-(-tree.pod_room * tree.spine_up // tree.radix)} of {tree.radix} ports a plane; core_stripe {subnet.spec.infiniband.core_stripe}",
            "reference, 24,576 at full bisection: the striping problem (computed; measured on the 1/64 model)", ("backend", "core_stripe"),
        ),
        "stripe": (
            _links(*known.stripe), "links from a spine to each core of its plane", f"{tree.spine_up} uplinks / {tree.cores} cores", "computed",
            ("backend", "core_stripe"),
        ),
        "core_ports": (
            f"{tree.core_ports}", "ports of a core that are used when every unit there is room for is there",
            f"{tree.pod_room} pods x {_links(*known.stripe)}", "computed", ("backend", "growth", "units"),
        ),
        "bisection.spine": (
            _ratio(known.oversubscription["spine"]), "a spine's downlinks over its uplinks", f"{tree.spine_down} / {tree.spine_up}", "computed",
            ("backend", "spine_uplinks"),
        ),
    }  # fmt: skip
    return facts


def _links(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} or {high}"


def _ratio(value: float) -> str:
    return "1:1" if value == 1 else f"1:{value:.3g}"


def _switch_facts(switch: IbSwitch) -> Facts:
    ranges = {"leaf": "0x9000", "spine": "0x9100", "core": "0x9200"}
    how = f"{ranges[switch.tier]}00000000 + 0x100 x place in the tier" if switch.placeholder else "from the GUID file"
    place: Path = ("backend", "guids")
    return {
        "guid": (
            guid_text(switch.guid),
            "node GUID",
            how,
            "placeholder scheme of this tool" if switch.placeholder else "",
            place,
        ),
        "tier": (switch.tier, f"model {switch.model}, {switch.ports} ports in use", "", "", ("backend", "switch")),
    }


def _hca_facts(subnet: Subnet, hca: Hca) -> Facts:
    how = (
        "0xa00000000000 + 0x1000 x (host - 1) + 0x10 x rail"
        if hca.purpose == "compute"
        else "0xb00000000000 + 0x10 x (256 x leaf + port)"
    )
    how = how if hca.placeholder else "from the GUID file"
    place: Path = ("backend", "guids")
    inside = [
        f"{p.name} 0x{p.pkey:04x} ({p.members[hca.port_guid]})" for p in subnet.partitions if hca.port_guid in p.members
    ]
    return {
        "node_guid": (guid_text(hca.node_guid), "node GUID", how, "", place),
        "port_guid": (guid_text(hca.port_guid), "GUID of port 1", f"{how} + 1" if hca.placeholder else how, "", place),
        "partitions": (
            ", ".join(inside),
            "partitions of the port, with its membership",
            "",
            "",
            ("backend", "partitions"),
        ),
    }


def _port_facts(subnet: Subnet, switch: IbSwitch) -> Facts:
    label, facts = port_labels(subnet), Facts()
    for link in subnet.links:
        for name, port, far, far_port in (
            (link.a, link.a_port, link.b, link.b_port),
            (link.b, link.b_port, link.a, link.a_port),
        ):
            if name == switch.name:
                cabled = link.cabled
                text = f"{cabled.cable}, {cabled.length_m:g} m, {cabled.speed_gbps}G, {link.state}"
                facts[str(port)] = (
                    f"{far} port {far_port}",
                    f"far end of port {port}, {label[port]} on the front panel",
                    text,
                    "",
                    None,
                )
    return facts
