"""The playbooks for GPU hosts as Ansible runs them: concerns in order, wrong arguments, the real plugin over a local connection."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fabric.design.hosts.shared import fleet_at
from fabric.targets.host import CONCERNS, render_concern
from tests.playbooks.test_inventory import LAB, ROOT, ansible

PLAYBOOKS = ROOT / "playbooks"


def test_site_is_every_concern_in_its_order() -> None:
    done = ansible("ansible-playbook", "-i", LAB, "playbooks/site.yml", "--list-tasks")
    assert done.returncode == 0, done.stderr
    roles = dict.fromkeys(re.findall(r"^ +(\w+) : ", done.stdout, re.MULTILINE))
    assert tuple(roles) == (*CONCERNS, "slurm_topology")


@pytest.mark.parametrize("concern", CONCERNS)
def test_each_concern_has_a_playbook_and_a_documented_role(concern: str) -> None:
    plays = yaml.safe_load((PLAYBOOKS / f"{concern}.yml").read_text())
    assert plays[0]["hosts"] == "gpu_hosts:!planned"
    assert [role["role"] for role in plays[0]["roles"]] == [concern]
    role = PLAYBOOKS / "roles" / concern
    options = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text())
    assert {name: option["default"] for name, option in options.items()} == defaults
    readme = (role / "README.md").read_text()
    assert all(f"`{name}`" in readme for name in options)


def test_a_wrong_argument_is_refused() -> None:
    extra = '{"nccl_packages": "perhaps"}'
    done = ansible("ansible-playbook", "-i", LAB, "playbooks/nccl.yml", "-c", "local", "-l", "z01-r001-h1", "-e", extra)
    assert done.returncode == 2
    assert "'perhaps' is not a valid boolean" in done.stdout + done.stderr


def test_files_by_the_real_plugin(tmp_path: Path, spec_file: Callable[..., Path]) -> None:
    spec = spec_file("lab")
    arguments = f"concern=nccl root={tmp_path / 'tree'}"
    done = ansible("ansible", "-i", spec, "z01-r001-h1", "-c", "local", "-m", "fabric_files", "-a", arguments, "-vvv")
    assert done.returncode == 0, done.stderr
    assert "payload" not in done.stdout, "neither a result nor a log holds what is sent"
    fleet = fleet_at(spec).fleet
    for artifact in render_concern(fleet, fleet.plan("z01-r001-h1"), "nccl"):
        assert (tmp_path / "tree" / artifact.path[1:]).read_bytes() == artifact.content


def test_a_host_of_no_fleet_is_one_line(spec_file: Callable[..., Path]) -> None:
    spec = spec_file("lab", {"hosts": {"platform": "grand-teton-h100"}, "storage": None, "scheduler": None})
    done = ansible("ansible", "-i", spec, "z01-r001-h1", "-c", "local", "-m", "fabric_files", "-a", "concern=nccl")
    assert done.returncode == 2
    assert re.search(
        r"cluster\.yaml:\d+:\d+: hosts: hosts without os, software, network cannot be provisioned", done.stdout
    )


@pytest.mark.parametrize(
    ("controller", "limit", "told"),
    [("ctl1", "z01-r001-h*", True), ("ctl1", "z01-r001-h1:slurm_controllers", False), (None, "z01-r001-h1", False)],
)
def test_a_limit_that_leaves_out_slurms_controller_is_told(
    controller: str | None, limit: str, told: bool, spec_file: Callable[..., Path], tmp_path: Path
) -> None:
    spec = spec_file("lab", {"scheduler": {"kind": "slurm", **({"controller": controller} if controller else {})}})
    extra = f"slurm_topology_folder={tmp_path}"
    arguments = ("-c", "local", "--check", "-e", extra, "-l", limit)
    done = ansible("ansible-playbook", "-i", spec, "playbooks/slurm_controllers.yml", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    words = (
        "the topology on ctl1 stays as it is, --limit leaves it out: ansible-playbook -i {spec} slurm_controllers.yml"
    )
    assert done.stdout.count(words.format(spec=spec)) == int(told)
    assert ("slurm_topology : Write the topology" in done.stdout) == (controller is not None and not told)


@pytest.mark.parametrize("name", ["site.yml", "slurm.yml"])
def test_slurms_controller_is_a_part(name: str) -> None:
    plays = yaml.safe_load((PLAYBOOKS / name).read_text())
    assert plays[1]["ansible.builtin.import_playbook"] == "slurm_controllers.yml"
