"""Slurm's topology: goldens, the large clusters, and slurmctld itself loading the tree of 3,072 hosts."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from fabric.design.fabric import Fabric
from fabric.design.load import load_cluster
from fabric.errors import FabricError
from fabric.spec.scheduler import Slurm
from fabric.targets.host.hostlist import hostlist
from fabric.targets.host.topology import Topology, block_sizes, of_fabric, of_subnet, topology_files
from tests.targets.opensm.ib_subnets import THREE_TIERS, tiny

ROOT = Path(__file__).resolve().parents[3]
LARGE = {name: ROOT / "inventories" / name / "cluster.yaml" for name in ("roce-24k", "ib-24k", "rsc-16k")}
MAKE_FABRIC = Callable[..., Fabric]


def tree(topology: Topology, /, **settings: object) -> str:
    """The topology file for these scheduler settings."""
    return next(
        iter(topology_files("tiny", topology, Slurm.model_validate({"kind": "slurm", **settings})).values())
    ).decode()


def test_goldens(make_fabric: MAKE_FABRIC, golden: Callable[[str, str], None]) -> None:
    golden("export/ib/topology.conf", tree(of_subnet(tiny(THREE_TIERS))))
    golden("export/ib/topology.yaml", tree(of_subnet(tiny(THREE_TIERS)), yaml=True))
    roce = of_fabric(make_fabric())
    golden("export/slurm/tree.conf", tree(roce))
    golden("export/slurm/block.conf", tree(roce, topology="block"))
    golden("export/slurm/topology.yaml", tree(roce, topology="block", yaml=True))
    include = topology_files("lab", roce, Slurm(kind="slurm", topology="block"))["fabric-topology.conf"].decode()
    assert include.splitlines()[1:] == ["TopologyPlugin=topology/block", "TopologyParam=BlockAsNodeRank"]


def test_one_switch_needs_no_top() -> None:
    assert tree(of_subnet(tiny())).splitlines()[1:] == [
        "SwitchName=su0001 Nodes=gt[0001-0003]"
    ]  # no storage, no SM host


def test_planned_hosts_are_left_out(make_fabric: MAKE_FABRIC) -> None:
    state = [
        {"match": {"name": "z01-r001-h2"}, "state": "planned"},
        {"match": {"name": "z01-r002-*"}, "state": "drained"},
    ]
    lines = tree(of_fabric(make_fabric("lab", {"state": state}))).splitlines()
    assert lines[1:3] == ["SwitchName=z01-rtsw001 Nodes=z01-r001-h1", "SwitchName=z01-rtsw002 Nodes=z01-r002-h[1-2]"]
    with pytest.raises(FabricError, match="empty topology can stop slurmctld"):
        of_fabric(make_fabric("lab", {"state": [{"match": {"name": "z*"}, "state": "planned"}]}))


def test_yaml_is_the_same_tree(make_fabric: MAKE_FABRIC) -> None:
    roce = of_fabric(make_fabric())
    found = {next(iter(entry.values())): entry for entry in yaml.safe_load(tree(roce, yaml=True))}
    assert list(found) == ["tree", "block"]
    assert [entry["cluster_default"] for entry in found.values()] == [True, False]
    lines = [
        f"SwitchName={s['switch']} " + (f"Nodes={s['nodes']}" if "nodes" in s else f"Switches={s['children']}")
        for s in found["tree"]["tree"]["switches"]
    ]
    assert lines == tree(roce).splitlines()[1:]
    assert found["block"]["block"]["block_sizes"] == [4, 8]


def test_block_sizes(make_fabric: MAKE_FABRIC) -> None:
    roce = of_fabric(make_fabric("lab", {"backend.zones.1.racks": 3}))
    assert block_sizes(roce) == [4, 8]  # the smallest zone has 4 hosts
    assert block_sizes(roce, [2, 8]) == [2, 8]
    with pytest.raises(FabricError, match=re.escape("block zone01 has 4 hosts, the base size is 8")):
        block_sizes(roce, [8])


def test_the_large_clusters(fabric_cli: Callable[..., Result], tmp_path: Path) -> None:
    lines = {}
    for name, spec in LARGE.items():
        result = fabric_cli("export", "slurm", spec, "-o", tmp_path / name)
        assert result.exit_code == 0, result.stderr
        lines[name] = (tmp_path / name / "topology.conf").read_text().splitlines()[1:]
    roce, ib = lines["roce-24k"], lines["ib-24k"]
    assert (len(roce), roce[0]) == (1545, "SwitchName=z01-rtsw001 Nodes=z01-r001-h[1-2]")
    assert roce[-2:] == ["SwitchName=zone08 Switches=z08-rtsw[001-192]", "SwitchName=fabric Switches=zone[01-08]"]
    assert ib[0] == "SwitchName=su0001 Nodes=gt[0001-0032]"
    assert ib[95:97] == ["SwitchName=su0096 Nodes=gt[3041-3072]", "SwitchName=pod001 Switches=su[0001-0004]"]
    assert ib[-1] == "SwitchName=fabric Switches=pod[001-024]"
    assert max(len(line.split()[0].partition("=")[2]) for name in lines.values() for line in name) <= 64
    block = fabric_cli("export", "slurm", LARGE["roce-24k"], "--topology", "block", "--yaml", "-o", tmp_path / "b")
    assert (block.exit_code, (tmp_path / "b" / "topology.yaml").exists()) == (0, True)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["gt0001"], "gt0001"),
        (["gt0001", "gt0002", "gt0004"], "gt[0001-0002,0004]"),
        (["a1", "a2", "b1"], "a[1-2],b1"),
        (["a9", "a10"], "a9,a10"),
        (["x", "y"], "x,y"),
        ([], ""),
    ],
)
def test_hostlist(names: list[str], short: str) -> None:
    assert hostlist(names) == short


def slurmctld(folder: Path, files: dict[str, bytes], nodes: list[str]) -> tuple[list[str], str]:
    """Lets slurmctld load a topology of these nodes: what it said, and what `scontrol show topology` says then."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "state").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    conf = folder / "slurm.conf"
    conf.write_text(
        f"""ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/pgid
SelectType=select/cons_tres
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/pid
include {folder}/fabric-topology.conf
"""
        + "".join(f"NodeName={names} NodeAddr=127.0.0.1 State=DOWN\n" for names in nodes)
        + "PartitionName=all Nodes=ALL Default=YES\n"
    )
    with subprocess.Popen(["slurmctld", "-D", "-v", "-f", conf], stderr=subprocess.PIPE, text=True) as daemon:
        guard = threading.Timer(240, daemon.kill)  # 17 s on an idle machine with two cores
        guard.start()
        try:
            assert daemon.stderr is not None
            said = list(itertools.takewhile(lambda line: "Running as primary controller" not in line, daemon.stderr))
            environment = {**os.environ, "SLURM_CONF": str(conf)}
            shown = subprocess.run(
                ["scontrol", "show", "topology"],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            )
        finally:
            guard.cancel()
            daemon.kill()
    return [line for line in said if "switch" in line.lower() or "topo" in line.lower()], shown.stdout


def complaints(lines: list[str]) -> list[str]:
    """What slurmctld said of the topology, without what it always says: plugins that it loads, and how long it took."""
    known = ("plugin loaded", "very large processing time")
    return [line for line in lines if not any(text in line for text in known)]


needs_slurm = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("slurmctld") is None, reason="needs root and slurmctld"
)


@pytest.mark.lab
@needs_slurm
def test_slurmctld_takes_the_tree_of_3072_hosts(tmp_path: Path) -> None:
    topology = of_fabric(load_cluster(LARGE["roce-24k"]).fabric)
    files = topology_files("roce-24k", topology, Slurm(kind="slurm"))
    said, shown = slurmctld(tmp_path, files, [leaf.nodes for leaf in topology.leaves])
    assert complaints(said) == []
    rows = shown.splitlines()
    assert (len(rows), sum(leaf.count for leaf in topology.leaves)) == (1545, 3072)
    assert sum("Level=0" in row for row in rows) == 1536


@pytest.mark.lab
@needs_slurm
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("SwitchName=fabric Switches=zone[01-02]\n", "", "no switch can reach all nodes"),
        ("Nodes=z01-r001-h[1-2]", "Nodes=z01-r001-h[1-2],nosuch01", "nosuch01"),
        ("", "", ""),
    ],
)
def test_slurmctld_judges(old: str, new: str, said: str, make_fabric: MAKE_FABRIC, tmp_path: Path) -> None:
    topology = of_fabric(make_fabric())
    files = topology_files("lab", topology, Slurm(kind="slurm"))
    files["topology.conf"] = files["topology.conf"].decode().replace(old, new).encode()
    lines, _ = slurmctld(tmp_path, files, [leaf.nodes for leaf in topology.leaves])
    found = complaints(lines)
    assert any(said in line for line in found) if said else found == []
