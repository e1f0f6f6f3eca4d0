"""An InfiniBand spec under the commands on devices: order, addresses, refusals, and the commands that need no device."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from fabric.change.site import SubnetSite, site_of
from fabric.change.sm_waves import plan_manager_waves
from fabric.cli.main import cli
from fabric.design.load import load_spec, load_subnet
from fabric.errors import FabricError
from fabric.targets import job_of

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "inventories" / "ib-lab" / "cluster.yaml"
THREE = "      - {host: gt0033, rail: 0, priority: 12}\n    polling:"


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lab's subnet with a third manager, whose host nobody can reach."""
    path = tmp_path_factory.mktemp("ib") / "cluster.yaml"
    path.write_text(SPEC.read_text().replace("    polling:", THREE))
    return path


@pytest.mark.parametrize(
    ("changing", "canary", "order"),
    [
        (["gt0001", "gt0025", "gt0033"], None, ["gt0033", "gt0025", "gt0001"]),
        (["gt0001", "gt0033"], None, ["gt0033", "gt0001"]),
        (["gt0001", "gt0025", "gt0033"], "gt0025", ["gt0025", "gt0033", "gt0001"]),
        (["gt0001", "gt0025", "gt0033"], "gt0001", ["gt0033", "gt0025", "gt0001"]),
        (["gt0001"], None, ["gt0001"]),
        ([], None, []),
    ],
)
def test_standbys_before_the_master(spec: Path, changing: list[str], canary: str | None, order: list[str]) -> None:
    managers = load_subnet(spec).subnet.managers
    waves = plan_manager_waves([m for m in managers if m.host in changing], managers, canary=canary)
    assert [wave.devices for wave in waves] == [(name,) for name in order]
    assert [wave.canary for wave in waves] == [name != "gt0001" for name in order]


def test_a_canary_that_matches_nothing(spec: Path) -> None:
    managers = load_subnet(spec).subnet.managers
    with pytest.raises(FabricError, match="--canary 'x' matches no device that changes"):
        plan_manager_waves(managers, managers, canary="x")


def test_where_hosts_are(spec: Path) -> None:
    site = site_of(job_of(load_spec(spec)))
    assert isinstance(site, SubnetSite)
    assert (site.address("gt0025"), site.model("gt0025")) == ("10.99.0.2", "opensm")
    with pytest.raises(FabricError, match="gt0033: the spec does not say where it is reached"):
        site.address("gt0033")
    with pytest.raises(FabricError, match="gt0002 is not in the spec any more"):
        site.address("gt0002")


def _fabric(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli, [*map(str, words)], catch_exceptions=True)
    return done.exit_code, done.output if done.exception is None or done.exit_code in (0, 2) else str(done.exception)


def test_render_and_plan_against(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert _fabric("render", spec, "-o", out)[0] == 0
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == ["gt0001", "gt0025", "gt0033"]
    assert _fabric("plan", spec, "--against", out)[0] == 0
    changed = tmp_path / "cluster.yaml"
    changed.write_text(spec.read_text().replace("pkey: 0x1002", "pkey: 0x1012"))
    code, text = _fabric("plan", changed, "--against", out, "--json")
    assert code == 2
    groups = json.loads(text)["groups"]
    assert {tuple(group["devices"]): [file["path"] for file in group["files"]] for group in groups} == {
        ("gt0001", "gt0025", "gt0033"): ["/etc/opensm/partitions.conf"]
    }


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("plan", "SPEC", "--zone", "1"), "an InfiniBand spec has no zones"),
        (("plan", "SPEC", "--target", "eos"), "an InfiniBand spec has no target 'eos'"),
        (("plan", "SPEC", "--device", "leaf*"), "--device 'leaf*' matches none of 3 devices"),
        (("trust", "SPEC"), "gt0033: the spec does not say where it is reached"),
    ],
)
def test_refusals(spec: Path, words: tuple[str, ...], says: str) -> None:
    code, text = _fabric(*(spec if word == "SPEC" else word for word in words))
    assert code == 1
    assert says in text


def test_drain_is_for_switches(spec: Path, tmp_path: Path) -> None:
    shutil.copy(spec, tmp_path / "cluster.yaml")
    code, text = _fabric("drain", "gt0001", tmp_path / "cluster.yaml")
    assert code == 1
    assert "backend.kind is infiniband" in text
