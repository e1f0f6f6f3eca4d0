"""NVIDIA Topograph's forms of a declared fabric, for which it has no provider of its own.

`graph.json` is what its engine `graph` gives (docs/engines/graph.md of its repository): instances with the switches over them, the nearest
first. `model.yaml` is a model for its provider `test` (docs/modeling.md), from which every engine of it (Slurm, Kubernetes, Slinky) works.
Both were written by that documentation; no Topograph has read them here.
"""

from __future__ import annotations

import json
from typing import Any

from fabric.export.places import places_of
from fabric.targets.host.hostlist import expand
from fabric.targets.host.templates import template
from fabric.targets.host.topology import Topology

GRAPH_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Topograph's instances, as its engine `graph` writes them",
    "type": "object",
    "required": ["instances"],
    "additionalProperties": False,
    "properties": {
        "instances": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "type", "network_layers", "attributes"],
                "additionalProperties": False,
                "properties": {
                    "id": {"type": "string", "minLength": 1},
                    "type": {"type": "string"},
                    "network_layers": {"type": "array", "items": {"type": "string", "minLength": 1}},
                    "attributes": {"type": "object"},
                },
            },
        }
    },
}
"""JSON Schema of `graph.json`, in our words."""


def topograph_files(cluster: str, topology: Topology, kind: str) -> dict[str, bytes]:
    """`graph.json` and `model.yaml`; `kind`: the type of every host, its platform in the catalog."""
    places = places_of(topology)
    instances = [
        {"id": place.host, "type": kind, "network_layers": list(place.layers), "attributes": {}}
        for place in sorted(places, key=lambda place: place.host)
    ]
    model = template("model.yaml", "topograph").render(
        cluster=cluster, topology=topology, places=places, kind=kind, below=lambda names: ", ".join(expand(names))
    )
    graph = json.dumps({"instances": instances}, indent=1) + "\n"
    return {"graph.json": graph.encode(), "model.yaml": model.encode()}
