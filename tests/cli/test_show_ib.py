"""show, explain and check of InfiniBand clusters. Golden: tests/golden/show/ib-*."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

INVENTORIES = Path(__file__).resolve().parents[2] / "inventories"
ALL = ("ib-24k", "ib-lab", "rsc-16k")
Cli = Callable[..., Result]
Golden = Callable[[str, str], None]


@pytest.mark.parametrize("name", ALL)
def test_summary(name: str, fabric_cli: Cli, golden: Golden) -> None:
    golden(
        f"show/ib-summary-{name}.txt", fabric_cli("show", "summary", "-s", INVENTORIES / name / "cluster.yaml").stdout
    )


@pytest.mark.parametrize(
    ("table", "devices"),
    [
        ("devices", ("leaf0001", "gt0048")),
        ("switches", ("leaf0041", "spine06-08", "core08-04")),
        ("hcas", ("gt0048",)),
        ("links", ("gt0048", "core08-04")),
        ("partitions", ("gt0001", "gt0025")),
        ("racks", ("gt0003",)),
        ("cages", ("leaf0001", "spine01-01", "core01-01")),
    ],
)
def test_tables(table: str, devices: tuple[str, ...], fabric_cli: Cli, golden: Golden) -> None:
    spec = INVENTORIES / "ib-lab" / "cluster.yaml"
    shown = fabric_cli("show", table, *devices, "-s", spec)
    assert (shown.exit_code, shown.stderr) == (0, "")
    golden(f"show/ib-{table}.txt", shown.stdout)
    document = json.loads(fabric_cli("show", table, *devices, "-s", spec, "--json").stdout)
    lines = fabric_cli("show", table, *devices, "-s", spec, "--csv").stdout.splitlines()
    assert document["schema"] == f"fabric.show.{table}/1"
    assert len(document["rows"]) == len(lines) - 1 == len(shown.stdout.splitlines()) - 2
    assert ",".join(document["rows"][0]) == lines[0]


EXPLAINED = (
    "ib.leaves", "ib.spines", "ib.pods", "ib.cores", "ib.stripe", "ib.core_ports", "ib.lids", "ib.bisection.leaf", "ib.bisection.spine",
    "ib.cages.leaf_down", "ib.cages.core_down", "leaf0001.guid", "leaf0001.tier", "gt0001 mlx5_1.port_guid", "gt0001 mlx5_1.node_guid",
    "gt0001 mlx5_0.partitions", "leaf0001/9", "backend.hosts_per_unit", "backend.subnet_manager.polling.timeout_ms",
)  # fmt: skip


def test_explain(fabric_cli: Cli, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(INVENTORIES / "ib-lab")
    golden(
        "show/ib-explain.txt", "".join(fabric_cli("explain", path, "-s", "cluster.yaml").stdout for path in EXPLAINED)
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("explain", "ib.core", "-s"), "ib.core: there is no 'core' (hint: did you mean 'cores'?)"),
        (("explain", "leaf0001/65", "-s"), "leaf0001/65: there is no '65'"),
        (
            ("explain", "leaf0001", "-s"),
            "leaf0001 is a device (hint: leaf0001.guid, leaf0001.tier, or a port: leaf0001/PORT)",
        ),
        (
            ("explain", "gt0001 mlx5_0", "-s"),
            "gt0001 mlx5_0 is a device (hint: gt0001 mlx5_0.node_guid, gt0001 mlx5_0.port_guid",
        ),
        (("explain", "leaf9999.guid", "-s"), "nothing is called 'leaf9999.guid'"),
        (("show", "addresses", "-s"), "an InfiniBand cluster has no table of addresses"),
        (("show", "hcas", "gt0099", "-s"), "no device matches 'gt0099' (hint: did you mean 'gt00"),
    ],
)
def test_what_is_not_there(arguments: tuple[str, ...], said: str, fabric_cli: Cli) -> None:
    result = fabric_cli(*arguments, INVENTORIES / "ib-lab" / "cluster.yaml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr


def test_a_roce_cluster_has_no_hcas_table(fabric_cli: Cli) -> None:
    result = fabric_cli("show", "hcas", "-s", INVENTORIES / "lab" / "cluster.yaml")
    assert result.exit_code == 1
    assert "a RoCE cluster has no table of hcas" in result.stderr


@pytest.mark.parametrize("name", ALL)
def test_the_inventories_pass(name: str, fabric_cli: Cli) -> None:
    document = json.loads(fabric_cli("check", INVENTORIES / name / "cluster.yaml", "--json").stdout)
    assert document["ok"]
    assert {entry["code"] for entry in document["warnings"]} <= {"lab-model", "placeholder-guids"}


def test_schema_takes_the_inventories(fabric_cli: Cli) -> None:
    import jsonschema
    import yaml

    validator = jsonschema.Draft202012Validator(json.loads(fabric_cli("schema").stdout))
    for name in ALL:
        data = yaml.safe_load((INVENTORIES / name / "cluster.yaml").read_text(encoding="utf-8"))
        assert list(validator.iter_errors(data)) == []
