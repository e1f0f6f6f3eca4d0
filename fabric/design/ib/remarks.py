"""What deserves a second look in an InfiniBand spec that can be built."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.fabric import matches
from fabric.design.hosts.remarks import host_remarks
from fabric.design.ib import stripe
from fabric.design.ib.fit_site import secrets_used
from fabric.design.ib.model import Subnet
from fabric.design.ib.remarks_policy import policy_remarks
from fabric.design.ib.shape import tree_of
from fabric.design.ib.tree import Tree
from fabric.design.remark import Remark
from fabric.words import counted

_DFSSSP_MOST = 8192  # reference, scale: dfsssp took 508 s for 8,192 HCAs and is out above
_ETHERNET = ("addressing", "bgp", "qos", "load_balancing", "mtu", "cabling", "fboss", "naming")


def remarks(subnet: Subnet) -> list[Remark]:
    """All remarks, in a stable order."""
    tree = tree_of(subnet.spec)
    return [
        *_sizes(tree),
        *_stripe(tree),
        *_managers(subnet),
        *_engine(subnet),
        *policy_remarks(subnet, tree),
        *_guids(subnet),
        *_unused(subnet),
        *host_remarks(subnet.spec),
    ]


def _sizes(tree: Tree) -> Iterator[Remark]:
    backend, known = tree.spec.infiniband, tree
    rest = known.hosts % known.hosts_per_unit
    if rest:
        yield Remark(
            ("backend", "hosts"),
            "part-unit",
            f"the last unit has {counted(rest, 'host')} of {known.hosts_per_unit}: "
            "its leaves have fewer downlinks than uplinks, so links are not loaded quite alike",
        )
    if backend.switch_ports is not None:
        yield Remark(
            ("backend", "switch_ports"),
            "lab-model",
            f"{tree.radix} of {len(tree.switch.ports)} ports of each {tree.switch.name} are used: a model for a lab",
        )
    if tree.tiers > 1 and tree.down > tree.up:
        yield Remark(
            ("backend", "leaf_uplinks"),
            "oversubscribed",
            f"leaves are oversubscribed 1:{tree.down / tree.up:.3g}: {counted(tree.down, 'link')} down, {tree.up} up",
        )
    if tree.tiers > 2:
        yield from _pods(tree)


def _pods(tree: Tree) -> Iterator[Remark]:
    backend = tree.spec.infiniband
    if tree.spine_down > tree.spine_up:
        yield Remark(
            ("backend", "spine_uplinks"),
            "oversubscribed",
            f"spines are oversubscribed 1:{tree.spine_down / tree.spine_up:.3g}: {counted(tree.spine_down, 'link')} down, {tree.spine_up} up",
        )
    if backend.pods == "unit-first" and tree.leaves_per_pod % tree.nics:
        yield Remark(
            ("backend", "leaves_per_pod"),
            "split-unit",
            f"a pod of {tree.leaves_per_pod} leaves holds {tree.leaves_per_pod / tree.nics:g} units of {tree.nics} leaves, "
            "so some units stand in two pods; pods: rail-first has none of them",
        )


def _stripe(tree: Tree) -> Iterator[Remark]:
    """An uneven stripe, with what an even one costs."""
    for what, below, low, high, lowers, uplinks, above in (
        ("spine", "leaf", *tree.leaf_stripe, tree.leaves_per_pod, tree.up, tree.planes),
        ("core", "spine", *tree.stripe, tree.pod_room, tree.spine_up, tree.cores),
    ):
        if low == high:
            continue
        more = uplinks % above
        even = stripe.even(above, uplinks) or uplinks
        yield Remark(
            ("backend", "core_stripe"),
            "uneven-stripe",
            f"{counted(uplinks, 'uplink')} of a {below} over {counted(above, what)} are {counted(more, what)} with {counted(high, 'link')} "
            f"and {above - more} with {low}: "
            "the busiest link carries twice the mean, and ftree refuses it without a root file; "
            f"{counted(even, what)} would take {uplinks // even} each ({lowers * uplinks // even} of {tree.radix} ports used)",
        )


def _managers(subnet: Subnet) -> Iterator[Remark]:
    path = ("backend", "subnet_manager")
    declared = subnet.spec.infiniband.subnet_manager
    if not subnet.managers:
        yield Remark(path, "no-sm", "no subnet manager is declared, so none is rendered")
    elif len(subnet.managers) == 1:
        yield Remark(
            (*path, "hosts"),
            "no-standby",
            f"{subnet.managers[0].host} is the only subnet manager: nothing takes over from it",
        )
    if (
        subnet.flavour == "opensm"
        and subnet.links[0].cabled.speed_gbps >= 400
        and not subnet.spec.infiniband.switch_ports
    ):
        yield Remark(
            (*path, "flavour"),
            "ndr-opensm",
            "upstream OpenSM is reported broken on real NDR hardware (linux-rdma/opensm issue 38); production wants nvidia",
        )
    busy = {manager.host for manager in subnet.managers}
    for index, service in enumerate(subnet.spec.infiniband.services):
        if service.purpose == "sm" and service.name not in busy:
            text = f"{service.name} is for a subnet manager, and none is declared on it"
            yield Remark(("backend", "services", index, "purpose"), "idle-sm-host", text)
    if (
        declared.adaptive_routing
        and declared.adaptive_routing.pfrn_sl is not None
        and declared.adaptive_routing.shield != "pfrn"
    ):
        yield Remark(
            (*path, "adaptive_routing", "pfrn_sl"),
            "no-effect",
            f"shield {declared.adaptive_routing.shield} sends no pFRN",
        )
    if declared.sharp and declared.congestion_control:
        yield Remark(
            (*path, "congestion_control"),
            "sharp-sl",
            "congestion control must not run on the SL that SHARP uses (NVIDIA, known issue 3371820)",
        )
    if declared.m_key_protection and not declared.keys.m_key:
        yield Remark((*path, "m_key_protection"), "no-key", "protects with no key: declare keys.m_key")


def _engine(subnet: Subnet) -> Iterator[Remark]:
    path, first = ("backend", "routing", "engines"), subnet.routing.engines[0]
    if subnet.tiers == 3 and first in ("updn", "dnup", "minhop"):
        half = subnet.figures.radix // 2
        yield Remark(
            path,
            "unbalanced",
            f"{first} over three tiers lets one of {half} core uplinks of a spine carry {half} times the mean (measured), "
            "1.4 to 1.6 times when ports are scattered; ftree loads all alike",
        )
    if first in ("dfsssp", "sssp", "nue", "lash") and subnet.figures.endpoints > _DFSSSP_MOST:
        yield Remark(
            path,
            "slow-engine",
            f"{first} is not usable above {_DFSSSP_MOST:,} HCAs (dfsssp took 508 s for so many; measured)",
        )


def _guids(subnet: Subnet) -> Iterator[Remark]:
    if "guids" in subnet.spec.infiniband.model_fields_set:
        return
    yield Remark(
        ("backend", "guids"),
        "placeholder-guids",
        "GUIDs are placeholders: good for a design and a lab, not for a live fabric; name a file with the real ones under guids.file",
    )


def _unused(subnet: Subnet) -> Iterator[Remark]:
    used = {name for _, name in secrets_used(subnet.spec)}
    for name in subnet.spec.secrets:
        if name not in used:
            yield Remark(("secrets", name), "no-effect", "nothing names this secret")
    for name in _ETHERNET:
        if name in subnet.spec.model_fields_set and getattr(subnet.spec, name):
            yield Remark((name,), "no-effect", f"{name} is for RoCE; an InfiniBand cluster takes nothing from it")
    hosts = dict.fromkeys(hca.host for hca in subnet.hcas)
    for index, entry in enumerate(subnet.spec.state):
        boxes = ((switch.name, switch.tier) for switch in subnet.switches)
        if not any(matches(entry.match, name, role, 0) for name, role in (*boxes, *((host, "host") for host in hosts))):
            yield Remark(("state", index, "match"), "matches-nothing", "matches no device")
