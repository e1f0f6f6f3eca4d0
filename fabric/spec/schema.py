"""The JSON Schema of cluster.yaml, for editors and for the reference pages."""

from __future__ import annotations

from typing import Any

from fabric.spec.cluster import ClusterSpec


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) with descriptions, units, sources and examples."""
    schema = ClusterSpec.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "fabric cluster.yaml, schema 1",
    }
