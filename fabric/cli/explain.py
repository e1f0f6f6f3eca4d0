"""`fabric explain`.

`--json` prints, version `fabric.explain/1`: {schema, path, value, meaning, formula, source, place}; `place` is "file:line:column", words
when the value is a default, or null.
"""

from __future__ import annotations

from pathlib import Path

import click

from fabric.cli.common import json_option, print_json, spec_option


@click.command("explain")
@click.argument("path")
@spec_option
@json_option
def explain(*, path: str, spec: Path, as_json: bool) -> None:
    """Print the value at PATH, its formula and its source.

    PATH is a place in the spec (qos.lossless.dscp, backend.zones[0].racks), a number of a device (z01-rtsw001.asn, .router_id, .loopback,
    .management, .prefix), a port (z01-rtsw001/eth8/1/1), a figure of a zone (zone1.ratio, zone1.spare, zone1.power), or a catalog value
    (catalog.tomahawk4.buffers.fuji.headroom_uplink; needs no spec).
    """
    from fabric.design.explain import explain as explain_path
    from fabric.design.explain import explain_catalog
    from fabric.design.load import design_loaded, load_spec

    place = None
    if path.startswith("catalog."):
        found = explain_catalog(path)
    else:
        loaded = load_spec(spec)
        fabric = design_loaded(loaded).fabric if loaded.value.backend.kind == "roce" else None
        found = explain_path(loaded.value, fabric, path)
        if found.place is not None:
            at, _, node = loaded.source.find(found.place)
            place = f"{spec}:{at.line}:{at.column}" if node is not None else "nowhere: this is the default"
    if as_json:
        body = {"value": found.value, "meaning": found.meaning, "formula": found.formula, "source": found.source}
        print_json("fabric.explain/1", {"path": found.path, **body, "place": place})
        return
    rows = [
        ("value", found.value),
        ("meaning", found.meaning),
        ("formula", found.formula),
        ("source", found.source),
        ("declared", place),
    ]
    click.echo(found.path)
    for name, text in rows:
        if text:
            click.echo(f"  {name:<9} {text}")
