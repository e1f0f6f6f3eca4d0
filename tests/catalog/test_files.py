"""Every data file loads, says where its facts come from, and has a JSON Schema."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from fabric.catalog import KINDS, Catalog
from fabric.catalog.loader import DATA
from fabric.catalog.schema import SCHEMAS, json_schema
from fabric.errors import FabricError

TABLES = ("profiles.yaml", "nccl.yaml", "host_settings.yaml", "collectives.yaml", "nccl_latency.yaml")
ENTRIES = [(kind, name) for kind in KINDS for name in Catalog().names(kind)]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_loads(kind: str, name: str) -> None:
    assert Catalog().get(kind, name).model_dump(exclude_none=True)["name"] == name


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_travels_between_processes(kind: str, name: str) -> None:
    entry = Catalog().get(kind, name)
    copy = pickle.loads(pickle.dumps(entry))  # noqa: S301  # our own bytes
    assert copy.model_dump() == entry.model_dump()
    assert getattr(copy, "ports", None) == getattr(entry, "ports", None)


def test_no_file_is_left_out() -> None:
    loaded = {DATA / KINDS[kind][0] / f"{name}.yaml" for kind, name in ENTRIES}
    known = Catalog()
    tables = {known.switch(name).port_table for name in known.names("switch")} - {None}
    loaded |= {DATA / "ports" / f"{table}.json" for table in tables} | {DATA / name for name in TABLES}
    assert {path for path in DATA.rglob("*") if path.is_file()} == loaded


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.yaml")), ids=lambda path: path.name)
def test_yaml_files_open_with_a_comment(path: Path) -> None:
    assert path.read_text().startswith("# ")


@pytest.mark.parametrize("kind", SCHEMAS)
def test_schema_is_strict(kind: str) -> None:
    schema = json_schema(kind)
    assert schema["type"] == "object"
    definitions = [schema, *schema.get("$defs", {}).values()]
    assert all(one["additionalProperties"] is False for one in definitions if one.get("type") == "object")


def test_schema_of_an_unknown_kind() -> None:
    with pytest.raises(FabricError, match="unknown kind of catalog file 'x'"):
        json_schema("x")
