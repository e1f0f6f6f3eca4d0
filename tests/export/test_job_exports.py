"""Exports for schedulers and simulators: goldens, and each as its reader sees it."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result
from jsonschema import Draft202012Validator

from fabric.design.load import load_cluster, load_subnet
from fabric.design.seats import Seating
from fabric.export.infragraph import infragraph, text_of
from fabric.export.kueue import HOSTNAME, kueue_files
from fabric.export.places import places_of, topology_of
from fabric.export.topograph import GRAPH_SCHEMA, topograph_files
from fabric.targets.host.hostlist import expand

ROOT = Path(__file__).resolve().parents[2]
LAB, IB = (ROOT / "inventories" / name / "cluster.yaml" for name in ("lab", "ib-lab"))
# What the published CRDs demand (kueue.x-k8s.io, Topology and ResourceFlavor), in our words.
LABEL = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
)
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def test_kueue_by_the_rules_of_its_crds(golden: Callable[[str, str], None]) -> None:
    files = kueue_files("lab", topology_of(load_cluster(LAB)), "nvidia.com/gpu.present=true", "v1beta2")
    golden("export/kueue/kueue.yaml", files["kueue.yaml"].decode())
    golden("export/kueue/labels.sh", files["labels.sh"].decode())
    topology, flavor = yaml.safe_load_all(files["kueue.yaml"])
    labels = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    assert 1 <= len(labels) <= 8
    assert len(set(labels)) == len(labels)
    assert labels.index(HOSTNAME) == len(labels) - 1
    assert all(LABEL.fullmatch(label) and len(label) <= 316 for label in labels)
    assert flavor["spec"]["topologyName"] == topology["metadata"]["name"]
    assert NAME.fullmatch(topology["metadata"]["name"])
    assert 1 <= len(flavor["spec"]["nodeLabels"]) <= 8


@pytest.mark.parametrize("spec", [LAB, IB], ids=["roce", "infiniband"])
def test_labels_reach_every_node_by_a_shell(spec: Path, tmp_path: Path) -> None:
    topology = topology_of(load_cluster(spec) if spec == LAB else load_subnet(spec))
    (tmp_path / "labels.sh").write_bytes(kueue_files("x", topology, "a=b", "v1beta1")["labels.sh"])
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\nprintf "%s " "$@" >> said; echo >> said\n')
    kubectl.chmod(0o755)
    subprocess.run(["sh", "labels.sh"], cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    found: dict[str, list[str]] = {}
    for line in (tmp_path / "said").read_text().splitlines():
        words = line.split()
        assert words[:3] == ["label", "node", "--overwrite"]
        for node in (word for word in words[3:] if "=" not in word):
            found[node] = [word.partition("=")[2] for word in words if "=" in word]
    tiers = len(places_of(topology)[0].layers) - 1
    assert found == {place.host: list(place.layers[:tiers]) for place in places_of(topology)}


def test_topograph(golden: Callable[[str, str], None]) -> None:
    """The instances by a schema; the model by the rules of its documentation: one parent each, no node twice, all nodes known."""
    files = topograph_files("lab", topology_of(load_cluster(LAB)), "grand-teton-h100")
    golden("export/topograph/model.yaml", files["model.yaml"].decode())
    golden("export/topograph/graph.json", files["graph.json"].decode())
    graph, model = json.loads(files["graph.json"]), yaml.safe_load(files["model.yaml"])
    Draft202012Validator.check_schema(GRAPH_SCHEMA)
    Draft202012Validator(GRAPH_SCHEMA).validate(graph)
    children = [child for entry in model["switches"].values() for child in entry.get("switches", [])]
    nodes = [node for entry in model["switches"].values() for text in entry.get("nodes", []) for node in expand(text)]
    assert sorted(children) == sorted(name for name in model["switches"] if name != "fabric")
    assert sorted(nodes) == sorted(model["nodes"]) == [entry["id"] for entry in graph["instances"]]
    above = {child: name for name, entry in model["switches"].items() for child in entry.get("switches", [])}
    for entry in graph["instances"]:
        layers = entry["network_layers"]
        assert [above[name] for name in layers[:-1]] == layers[1:]


def test_infragraph_reads_its_form() -> None:
    """InfraGraph's own package takes the document; its graph has every NIC, every cable once, and the way between zones."""
    seating = Seating(load_cluster(LAB))
    document = infragraph(seating)
    assert yaml.safe_load(text_of(document, as_json=False)) == document == json.loads(text_of(document, as_json=True))
    service = importlib.import_module("infragraph.infragraph_service").InfraGraphService()
    service.set_graph(text_of(document, as_json=False))
    graph = service.get_networkx_graph()
    cables = [data for a, b, data in graph.edges(data=True) if a.split(".")[0] != b.split(".")[0]]
    seats = [seat for seats in seating.by_host.values() for seat in seats]
    assert len(cables) == len(seats) + len(seating.trunks)
    assert {data["bandwidth"] for data in cables} == {"400 Gbps"}
    assert {f"{seat.host}.0.nic.{seat.rail}" for seat in seats} <= set(graph)
    first, last = seats[0], seats[-1]
    networkx = importlib.import_module("networkx")
    way = networkx.shortest_path(graph, f"{first.host}.0.nic.{first.rail}", f"{last.host}.0.nic.{last.rail}")
    boxes = [node.split(".")[0] for node in way if ".asic." in node]
    assert (boxes[0], boxes[-1], len(boxes)) == (first.switch, last.switch, 5)


def test_infragraph_of_infiniband_has_each_port_once() -> None:
    seating = Seating(load_subnet(IB))
    used = []
    for edge in infragraph(seating)["edges"]:
        for end in (edge["ep1"], edge["ep2"]):
            first, last = re.findall(r"\d+", end["component"].partition("[")[2])
            used += [(end["instance"], end["component"].partition("[")[0], n) for n in range(int(first), int(last))]
    cables = sum(len(seats) for seats in seating.by_host.values()) + len(seating.trunks)
    assert len(used) == len(set(used)) == 2 * cables


def test_command_line(fabric_cli: Callable[..., Result], tmp_path: Path) -> None:
    said = fabric_cli("export", "infragraph", LAB, "-o", tmp_path / "lab.json", "--json")
    assert json.loads(said.stdout)["files"] == ["lab.json"]
    assert json.loads((tmp_path / "lab.json").read_text())["name"] == "lab"
    assert fabric_cli("export", "kueue", LAB, "-o", tmp_path / "kueue", "--api", "v1beta1").exit_code == 0
    assert "kueue.x-k8s.io/v1beta1" in (tmp_path / "kueue" / "kueue.yaml").read_text()
    assert fabric_cli("export", "topograph", IB, "-o", tmp_path / "topograph").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "topograph").iterdir()) == ["graph.json", "model.yaml"]


def test_a_label_that_kubernetes_refuses(fabric_cli: Callable[..., Result], golden: Callable[[str, str], None]) -> None:
    result = fabric_cli("export", "kueue", LAB, "-o", "nowhere", "--nodes", "gpu: yes")
    assert (result.exit_code, result.stdout) == (1, "")
    golden("errors/export-kueue-label.txt", result.stderr)
