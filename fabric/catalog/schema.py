"""JSON Schema of the catalog's data files, for editors and for a reader of the format."""

from __future__ import annotations

from typing import Any

from fabric.catalog.base import Model
from fabric.catalog.loader import KINDS
from fabric.catalog.nccl import HostSettings, NcclLatency, NcclTable
from fabric.catalog.ports import PortTable, ProfileTable
from fabric.errors import FabricError

SCHEMAS: dict[str, type[Model]] = {
    **{kind: model for kind, (_, model) in KINDS.items()},
    "port-table": PortTable,
    "profiles": ProfileTable,
    "nccl": NcclTable,
    "nccl-latency": NcclLatency,
    "host-settings": HostSettings,
}
"""Kind of file -> its model: the kinds of KINDS, the port tables in ports/, profiles.yaml, nccl*.yaml and host_settings.yaml."""


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of files of `kind`; raises FabricError for an unknown kind."""
    if kind not in SCHEMAS:
        raise FabricError(f"unknown kind of catalog file {kind!r}", hint=f"known: {', '.join(SCHEMAS)}")
    schema = SCHEMAS[kind].model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
