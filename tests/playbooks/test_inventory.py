"""The inventory plugin as Ansible runs it: groups, variables, errors, the large cluster's time."""

from __future__ import annotations

import configparser
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "inventories" / "lab" / "cluster.yaml"
BIN = Path(sys.executable).parent
HOSTS = {"platform": "grand-teton-h100"}


def ansible(tool: str, *args: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """One of Ansible's commands, with its colours and the caller's own settings off."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    return subprocess.run(
        [BIN / tool, *map(str, args)], cwd=cwd, capture_output=True, text=True, check=False,
        env={**env, "ANSIBLE_NOCOLOR": "1", "PATH": f"{BIN}{os.pathsep}{env['PATH']}"},
    )  # fmt: skip


def listed(spec: Path, cwd: Path = ROOT) -> dict[str, Any]:
    done = ansible("ansible-inventory", "-i", spec, "--list", cwd=cwd)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def lab() -> dict[str, Any]:
    return listed(LAB)


def test_groups(lab: dict[str, Any]) -> None:
    assert set(lab["switches"]["children"]) == {"rtsw", "ctsw", "atsw"}
    assert set(lab["atsw"]["hosts"]) == {"atsw001", "atsw002"}
    assert set(lab["fboss"]["hosts"]) == {"z01-rtsw001", "z01-rtsw002"}
    assert set(lab["eos"]["hosts"]) == {
        *lab["atsw"]["hosts"],
        *lab["ctsw"]["hosts"],
        "z02-rtsw001",
        "z02-rtsw002",
    }
    assert set(lab["gpu_hosts"]["hosts"]) == {f"z0{z}-r00{r}-h{h}" for z in (1, 2) for r in (1, 2) for h in (1, 2)}
    assert lab["zone_1"] == {"hosts": ["z01-ctsw01", "z01-ctsw02"], "children": ["rack_z01_r001", "rack_z01_r002"]}
    assert lab["rack_z01_r002"]["hosts"] == ["z01-rtsw002", "z01-r002-h1", "z01-r002-h2"]
    assert lab["os_debian_12"]["children"] == lab["platform_grand_teton_h100"]["children"] == ["gpu_hosts"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("z01-rtsw001", {"ansible_host": "10.0.1.17", "nos": "fboss", "role": "rtsw", "zone": 1, "model": "minipack2"}),
        ("atsw002", {"ansible_host": "10.0.1.2", "nos": "eos", "role": "atsw", "zone": 0, "model": "arista-7804r3"}),
        ("z02-r001-h2", {"role": "host", "zone": 2, "model": "grand-teton-h100"}),
    ],
)
def test_variables(lab: dict[str, Any], name: str, values: dict[str, Any]) -> None:
    assert lab["_meta"]["hostvars"][name] == {**values, "fabric_spec": str(LAB), "ansible_local": {}}


def test_same_from_the_playbooks_folder(lab: dict[str, Any]) -> None:
    assert listed(LAB, ROOT / "playbooks") == lab


def test_logins_of_the_spec(spec_file: Callable[..., Path]) -> None:
    found = listed(spec_file("lab", {"hosts": {**HOSTS, "ssh": {"user": "ops", "port": 2222}}}))["_meta"]["hostvars"]
    login = {"ansible_user": "ops", "ansible_become": True, "ansible_port": 2222}
    assert login.items() <= found["z01-r001-h1"].items()
    assert not login.keys() & found["z01-rtsw001"].keys()


def test_states_are_groups(spec_file: Callable[..., Path]) -> None:
    states = [{"match": {"name": "z02-rtsw002"}, "state": "planned"}, {"match": {"name": "atsw*"}, "state": "drained"}]
    found = listed(spec_file("lab", {"state": states}))
    assert found["planned"]["hosts"] == ["z02-rtsw002"]
    assert set(found["drained"]["hosts"]) == {"atsw001", "atsw002"}


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ("nos: eos, uplinks", "noss: eos, uplinks", ""),
        ("racks: 2,", "rackss: 2,", "(and 1 more: fabric check)"),
        ("racks: 2,", "racks: 9000,", ""),
    ],
)
def test_wrong_spec_is_one_line_with_its_place(tmp_path: Path, old: str, new: str, more: str) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(LAB.read_text().replace(old, new))
    done = ansible("ansible-inventory", "-i", spec, "--list")
    assert done.returncode == 1
    assert re.match(
        rf"\[WARNING\]: Failed to parse inventory with 'fabric' plugin: {re.escape(str(spec))}:\d+:\d+: ", done.stderr
    )
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[0].endswith(more)


def test_only_files_of_that_name(tmp_path: Path) -> None:
    other = tmp_path / "hosts.yaml"
    other.write_text(LAB.read_text())
    assert ansible("ansible-inventory", "-i", other, "--list").returncode != 0


def test_large_cluster_takes_little() -> None:
    """1,708 switches and 3,072 hosts; what Ansible itself does with them comes on top and is the same for every inventory."""
    path = ROOT / "playbooks" / "plugins" / "inventory" / "fabric.py"
    spec = importlib.util.spec_from_file_location("fabric_inventory", path)
    assert spec
    assert spec.loader
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    from ansible.inventory.data import InventoryData

    inventory = InventoryData()
    start = time.process_time()
    large = ROOT / "inventories" / "roce-24k" / "cluster.yaml"
    plugin.fill(inventory, plugin.designed(plugin.load(str(large))), str(large))
    assert time.process_time() - start < 3
    assert (len(inventory.groups["switches"].get_hosts()), len(inventory.groups["gpu_hosts"].get_hosts())) == (
        1708,
        3072,
    )


def test_the_two_settings_files_are_one() -> None:
    """One for commands started in the checkout, one that travels with the playbooks: the same but for the paths."""
    top, own = configparser.ConfigParser(), configparser.ConfigParser()
    assert top.read(ROOT / "ansible.cfg")
    assert own.read(ROOT / "playbooks" / "ansible.cfg")
    for name in ("library", "module_utils", "action_plugins", "inventory_plugins", "roles_path"):
        own["defaults"][name] = f"playbooks/{own['defaults'][name]}"
    assert {s: dict(top[s]) for s in top} == {s: dict(own[s]) for s in own}


@pytest.mark.parametrize(
    ("kind", "name"),
    [("inventory", "fabric"), ("module", "fabric_switch"), ("module", "fabric_files"), ("module", "fabric_settle")],
)
def test_documentation(kind: str, name: str) -> None:
    done = ansible("ansible-doc", "-t", kind, name)
    assert done.returncode == 0, done.stderr
    assert "cluster" in done.stdout or "fabric_files" in done.stdout


@pytest.mark.parametrize("tags", ["apply", "plan"])
def test_playbook_says_what_it_would_do(tags: str) -> None:
    done = ansible("ansible-playbook", "-i", LAB, "playbooks/switches.yml", "--list-tasks", "--tags", tags)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("TAGS: [") == 2, "the play and one task"


def test_an_infiniband_spec_gives_its_subnet_managers() -> None:
    found = listed(ROOT / "inventories" / "ib-lab" / "cluster.yaml")
    assert found["subnet_managers"]["children"] == ["sm_master", "sm_standby"]
    assert found["sm_master"]["hosts"] == ["gt0001"]
    assert found["sm_standby"]["hosts"] == ["gt0025"]
    assert len(found["gpu_hosts"]["hosts"]) == 48
    assert "gt0009" in found["unit_2"]["hosts"]
    assert found["rack_r002"]["hosts"] == ["gt0003", "gt0004"]
    variables = found["_meta"]["hostvars"]["gt0025"]
    assert {key: variables[key] for key in ("ansible_host", "sm_priority", "hca")} == {
        "ansible_host": "10.99.0.2",
        "sm_priority": 13,
        "hca": "gt0025 mlx5_0",
    }
