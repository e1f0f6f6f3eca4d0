"""`fabric schema`."""

from __future__ import annotations

import json

import click


@click.command("schema")
def schema() -> None:
    """Print the JSON Schema of cluster.yaml, for editors (YAML language server) and other tools."""
    from fabric.spec.schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
