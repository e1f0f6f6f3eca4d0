"""fabric export containerlab: fields that containerlab knows, files that are there, every cable a link, configurations that fit."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

import jsonschema
import pytest
import yaml
from click.testing import Result
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from fabric.design.load import load_cluster, load_spec
from fabric.export.ceos import LAB_HASH, LAB_PASSWORD, ceos_config
from fabric.export.containerlab import containerlab
from fabric.targets import render_devices

LAB = Path(__file__).resolve().parents[2] / "inventories" / "lab" / "cluster.yaml"


class Strict(BaseModel):
    """The fields of containerlab's topology file that we write, in the forms of its published schema; any other is an error."""

    model_config = ConfigDict(extra="forbid")


class Management(Strict):
    network: str
    ipv4_subnet: Annotated[str, Field(alias="ipv4-subnet"), StringConstraints(pattern=r"^.+/[0-9]{1,2}$")]
    ipv4_gw: Annotated[str, Field(alias="ipv4-gw"), StringConstraints(pattern=r"^[0-9.]+$")]


class Node(Strict):
    kind: Literal["arista_ceos", "linux"]
    image: str
    group: str
    mgmt_ipv4: Annotated[str, StringConstraints(pattern=r"^[0-9.]+$")] | None = Field(None, alias="mgmt-ipv4")
    network_mode: Literal["none"] | None = Field(None, alias="network-mode")
    startup_config: str | None = Field(None, alias="startup-config")
    binds: Annotated[list[str], Field(min_length=1)]
    exec: Annotated[list[str], Field(min_length=1)] | None = None


class Link(Strict):
    endpoints: Annotated[
        list[Annotated[str, StringConstraints(pattern=r"^\S+:\S+$")]], Field(min_length=2, max_length=2)
    ]


class Topology(Strict):
    nodes: dict[str, Node]
    links: Annotated[list[Link], Field(min_length=1)]


class Lab(Strict):
    name: str
    mgmt: Management
    topology: Topology


@pytest.fixture
def lab(tmp_path: Path, fabric_cli: Callable[..., Result]) -> tuple[Path, Lab]:
    path = tmp_path / "lab.clab.yml"
    done = fabric_cli("export", "containerlab", LAB, "-o", path, "--json")
    assert done.exit_code == 0, done.stderr
    raw: dict[str, Any] = yaml.safe_load(path.read_text())
    if schema := os.environ.get("CLAB_SCHEMA"):  # containerlab's own, schemas/clab.schema.json
        jsonschema.validate(raw, json.loads(Path(schema).read_text()))
    made = Lab.model_validate(raw)
    told = json.loads(done.stdout)
    assert (told["nodes"], told["links"]) == (len(made.topology.nodes), len(made.topology.links))
    assert told["files"] == sum(file.is_file() for file in Path(told["folder"]).rglob("*"))
    return path, made


def test_nodes_are_the_devices(lab: tuple[Path, Lab]) -> None:
    _, made = lab
    fabric = load_cluster(LAB).fabric
    nodes = made.topology.nodes
    assert set(nodes) == {*fabric.by_name, *(host.name for host in fabric.hosts())}
    for name, node in nodes.items():
        switch = fabric.by_name.get(name)
        assert (node.kind == "arista_ceos") == (switch is not None and switch.nos == "eos")
        if switch is None:
            assert node.mgmt_ipv4 is None
            assert node.network_mode == "none"
        else:
            assert ip_address(node.mgmt_ipv4 or "") in ip_network(made.mgmt.ipv4_subnet)


def test_every_file_is_there(lab: tuple[Path, Lab]) -> None:
    path, made = lab
    named = [bind.split(":")[0] for node in made.topology.nodes.values() for bind in node.binds]
    named += [node.startup_config for node in made.topology.nodes.values() if node.startup_config]
    assert len(named) == len(set(named))
    assert {path.parent / name for name in named} == {f for f in Path(f"{path}.d").rglob("*") if f.is_file()}


def test_every_cable_is_a_link_between_interfaces_that_both_ends_have(lab: tuple[Path, Lab]) -> None:
    path, made = lab
    ends = [end for link in made.topology.links for end in link.endpoints]
    assert len(ends) == len(set(ends)), "an interface is used twice"
    real = {node: _ports(path, node) for node, what in made.topology.nodes.items() if what.kind == "arista_ceos"}
    found = set()
    for link in made.topology.links:
        (a, a_name), (b, b_name) = (end.split(":") for end in link.endpoints)
        assert max(len(a_name), len(b_name)) <= 15
        found.add((a, real[a][a_name] if a in real else a_name, b, real[b][b_name] if b in real else b_name))
    assert found == {
        (link.a, _name(real, link.a, link.a_port), link.b, _name(real, link.b, link.b_port))
        for link in load_cluster(LAB).fabric.links()
    }


def _name(real: dict[str, Any], node: str, port: str) -> str:
    return port if node in real else port.replace("/", "_")


def _ports(path: Path, node: str) -> dict[str, str]:
    mapping = json.loads((Path(f"{path}.d") / node / "EosIntfMapping.json").read_text())
    assert set(mapping) == {"ManagementIntf", "EthernetIntf"}
    return dict(mapping["EthernetIntf"])


def test_ceos_configuration_is_the_rendered_one_without_what_ceos_refuses(lab: tuple[Path, Lab]) -> None:
    path, made = lab
    job = render_devices(load_spec(LAB), None)
    for node, what in made.topology.nodes.items():
        if what.startup_config is None:
            continue
        text = (path.parent / what.startup_config).read_text()
        rendered = job.render(node)[0].content.decode()
        assert set(text.splitlines()) - set(rendered.splitlines()) == {
            f"username netops privilege 15 role network-admin secret sha512 {LAB_HASH}"
        }
        assert "priority-flow-control" in rendered
        for refused in ("priority-flow-control", "service-profile", "platform ", "$SECRET", "!\n!\n"):
            assert refused not in text
        interfaces = set(re.findall(r"^interface (Ethernet\S+)", text, re.M))
        assert interfaces == set(_ports(path, node).values())
        for kept in ("router bgp", "maximum-paths", "ip address", "\nend\n"):
            assert text.count(kept) == rendered.count(kept), kept


def test_ceos_filter() -> None:
    text = (
        "snmp-server community $SECRET{c} ro\n!\nqos profile P\n   priority-flow-control on\n   !\n   tx-queue 0\n      no priority\n!\n"
        "interface Ethernet1/1\n   shutdown\n!\ninterface Ethernet1/2\n   speed 400g-8\n   service-profile P\n   no switchport\n!\nend\n"
    )
    assert ceos_config(text, {"Ethernet1/2"}) == "!\ninterface Ethernet1/2\n   no switchport\n!\nend\n"


def test_lab_password() -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    made = subprocess.run(
        ["openssl", "passwd", "-6", "-salt", "fabriclab", LAB_PASSWORD], capture_output=True, text=True, check=True
    )
    assert made.stdout.strip() == LAB_HASH


def test_frr_takes_its_configuration(lab: tuple[Path, Lab]) -> None:
    path, made = lab
    files = sorted(Path(f"{path}.d").rglob("frr.conf"))
    assert len(files) == sum(
        node.kind == "linux" and node.mgmt_ipv4 is not None for node in made.topology.nodes.values()
    )
    vtysh = shutil.which("vtysh")
    if vtysh is None:
        pytest.skip("FRR is not installed")
    for file in files:
        done = subprocess.run([vtysh, "-C", "-f", str(file)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        done = subprocess.run(
            [vtysh, "-C", "-f", "/dev/stdin"], input=file.read_text() + "no such line\n", capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode != 0, "vtysh -C says yes to anything"


def test_scripts_are_shell(lab: tuple[Path, Lab]) -> None:
    path, _ = lab
    for file in Path(f"{path}.d").rglob("setup.sh"):
        subprocess.run(["sh", "-n", str(file)], check=True)


def test_planned_devices_are_left_out(make_fabric: Callable[..., Any], spec_file: Callable[..., Path]) -> None:
    path = spec_file("lab", {"state": [{"match": {"name": "z02-rtsw002"}, "state": "planned"}]})
    job = render_devices(load_spec(path), None)
    made = containerlab(job.fabric, job, "x")
    assert "z02-rtsw002" not in made.topology
    assert made.links == 80 - 16 - 2


def test_wrong_spec_is_one_line(tmp_path: Path, fabric_cli: Callable[..., Result]) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(LAB.read_text().replace("nos: eos, uplinks", "noss: eos, uplinks"))
    done = fabric_cli("export", "containerlab", spec, "-o", tmp_path / "x.clab.yml")
    assert done.exit_code == 1
    assert all(re.match(r"error: .*cluster\.yaml:\d+:\d+: ", line) for line in done.stderr.splitlines())
    assert not (tmp_path / "x.clab.yml").exists()


def test_not_in_the_place_of_a_device(tmp_path: Path, fabric_cli: Callable[..., Result]) -> None:
    out = tmp_path / "pipe"
    os.mkfifo(out)
    done = fabric_cli("export", "containerlab", LAB, "-o", out)
    assert (done.exit_code, done.stderr) == (1, f"error: cannot write {out}: it is no regular file\n")
    assert list(tmp_path.iterdir()) == [out]
