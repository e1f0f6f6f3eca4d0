"""A small subnet made by hand: the example of the reference (infiniband.md 1.5), of any number of hosts, leaves and spines."""

from __future__ import annotations

from fabric.design.ib.model import Figures, Hca, IbLink, IbSwitch, Partition, Routing, Subnet, SubnetManager
from fabric.design.model import Cabled
from fabric.spec.cluster import ClusterSpec
from tests.conftest import edited


def small_subnet(hosts: int = 8, rails: int = 8, spines: int = 4, parallel: int = 2, managers: int = 2) -> Subnet:
    """One scalable unit: leaf r has HCA r of every host at port h + 1; leaf port `hosts` + 1 + parallel * s + p goes to spine s."""
    leaves = [_switch(f"leaf{n:04d}", "leaf", n, hosts + parallel * spines, n) for n in range(rails)]
    tops = [_switch(f"spine{n:04d}", "spine", rails + n, parallel * rails, n) for n in range(spines)]
    hcas = [_hca(h, r, rails) for h in range(hosts) for r in range(rails)]
    links = [
        _link("host", leaves[r].name, h + 1, hcas[h * rails + r].name, 1) for r in range(rails) for h in range(hosts)
    ]
    links += [
        _link("leaf", top.name, 1 + parallel * n + p, leaf.name, hosts + 1 + parallel * s + p)
        for n, leaf in enumerate(leaves)
        for s, top in enumerate(tops)
        for p in range(parallel)
    ]
    return Subnet(
        spec=ClusterSpec.model_validate(edited("lab", {"name": "ib-small"})), flavour="opensm", tiers=2, by_rail=True,
        switches=(*leaves, *tops), hcas=tuple(hcas), links=tuple(links),
        partitions=(Partition("Default", 0x7FFF, {hca.port_guid: "full" for hca in hcas}),),
        managers=tuple(SubnetManager(f"gt{n:04d}", hcas[n * rails], 14 - n, f"10.9.0.{n + 1}") for n in range(min(managers, hosts))),
        routing=Routing(("ftree",), fallback=False), qos=None, ulps=(),
        figures=Figures(len(hcas), hosts, 1, 1, rails, spines, 0, {}, (0, 0), {}, len(hcas) + rails + spines, 49151, 16),
        aggregation_nodes=False,
    )  # fmt: skip


def _switch(name: str, tier: str, number: int, ports: int, index: int) -> IbSwitch:
    leaf = tier == "leaf"
    guid = 0x9000_0000_0000 + 0x100 * number
    return IbSwitch(
        name, "leaf" if leaf else "spine", int(leaf), 0, index if leaf else -1, -1 if leaf else 0, index + 1, "qm9700", ports, guid, True
    )  # fmt: skip


def _hca(host: int, rail: int, rails: int) -> Hca:
    guid = 0xA000_0000_0000 + 0x10 * (rails * host + rail)
    name = f"gt{host:04d}"
    return Hca(f"{name} mlx5_{rail}", name, f"mlx5_{rail}", rail, 1, "compute", guid, guid + 1, True)


def _link(tier: str, a: str, a_port: int, b: str, b_port: int) -> IbLink:
    return IbLink("host" if tier == "host" else "leaf", a, a_port, b, b_port, Cabled("dac", "copper", 1.0, 400))
