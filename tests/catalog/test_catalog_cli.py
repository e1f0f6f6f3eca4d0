"""`fabric catalog list|show`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from fabric.catalog import KINDS
from fabric.cli.catalog import catalog
from fabric.errors import FabricError


def run(*args: str) -> Result:
    return CliRunner().invoke(catalog, args, env={"COLUMNS": "140"}, catch_exceptions=True)


@pytest.mark.parametrize("model", ["minipack2", "arista-7804r3", "qm9700", "tomahawk4", "400g-fr4"])
def test_show(model: str, golden: Callable[[str, str], None]) -> None:
    golden(f"catalog/show-{model}.txt", run("show", model).output)


def test_list(golden: Callable[[str, str], None]) -> None:
    golden("catalog/list.txt", run("list").output)


def test_list_json_of_a_kind() -> None:
    document = json.loads(run("list", "asic", "--json").output)
    assert document["version"] == 1
    assert [entry["name"] for entry in document["entries"]] == ["jericho2c-plus", "tomahawk3", "tomahawk4"]


@pytest.mark.parametrize("kind", KINDS)
def test_list_knows_every_kind(kind: str) -> None:
    assert {entry["kind"] for entry in json.loads(run("list", kind, "--json").output)["entries"]} == {kind}


@pytest.mark.parametrize(
    ("model", "options", "count", "first"),
    [
        ("minipack2", [], 128, "eth2/1/1"),
        ("arista-7808r3", [], 288, "Ethernet3/1/1"),
        ("arista-7804r3", ["--line-card", "7800r3a-36p"], 144, "Ethernet3/1/1"),
        ("qm9700", [], 64, "1"),
    ],
)
def test_show_json_ports(model: str, options: list[str], count: int, first: str) -> None:
    document = json.loads(run("show", model, "--ports", "--json", *options).output)
    assert (document["version"], document["kind"], document["name"]) == (1, "switch", model)
    assert (len(document["ports"]), document["ports"][0]["name"]) == (count, first)


def test_ports_only_when_asked_for() -> None:
    assert "ports" not in json.loads(run("show", "minipack2", "--json").output)
    lines = run("show", "wedge400-grandteton", "--ports").output.splitlines()
    assert any("35: 0-7 (eth1/2/3)" in line for line in lines)
    assert any("Ethernet6/36/1" in line for line in run("show", "arista-7804r3", "--ports").output.splitlines())


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["show", "minipack"], "unknown entry 'minipack'"),
        (["show", "tomahawk4", "--ports"], "tomahawk4 is no switch"),
        (["show", "minipack2", "--ports", "--line-card", "7800r3a-36d"], "takes no line cards"),
        (["show", "arista-7804r3", "--ports", "--line-card", "x"], "does not take line card 'x'"),
    ],
)
def test_refusals(args: list[str], message: str) -> None:
    result = run(*args)
    assert isinstance(result.exception, FabricError)
    assert message in str(result.exception)
