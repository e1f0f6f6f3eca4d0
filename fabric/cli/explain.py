"""`fabric explain`.

`--json` prints, version `fabric.explain/1`: {schema, path, value, meaning, formula, source, place}; `place` is "file:line:column", words
when the value is a default, or null.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabric.cli.common import json_option, print_json, spec_option

if TYPE_CHECKING:
    from fabric.design.explain import Explanation
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import Loaded

_OF_HOSTS = ("nccl.", "sysctl.", "firmware.")


@click.command("explain")
@click.argument("path")
@spec_option
@json_option
def explain(*, path: str, spec: Path, as_json: bool) -> None:
    """Print the value at PATH, its formula and its source.

    PATH is a place in the spec (qos.lossless.dscp, backend.zones[0].racks), a number of a device (z01-rtsw001.asn, .router_id, .loopback,
    .management, .prefix), a port (z01-rtsw001/eth8/1/1), a figure of a zone (zone1.ratio, zone1.spare, zone1.power), or a catalog value
    (catalog.tomahawk4.buffers.fuji.headroom_uplink; needs no spec). Of hosts: nccl.NCCL_IB_TC, sysctl.vm.zone_reclaim_mode,
    firmware.CNP_DSCP_P1. Of InfiniBand: a figure (ib.cores, ib.stripe, ib.lids, ib.cages.leaf_up),
    a GUID (leaf0001.guid, "gt0001 mlx5_0.port_guid"), a port (leaf0001/33).
    """
    from fabric.design.explain import explain as explain_path
    from fabric.design.explain import explain_catalog
    from fabric.design.load import design_loaded, load_spec, subnet_of

    place = None
    if path.startswith("catalog."):
        found = explain_catalog(path)
    else:
        loaded = load_spec(spec)
        if path.startswith(_OF_HOSTS):
            found = explain_path(loaded.value, None, path, _of_hosts(loaded))
        elif loaded.value.backend.kind == "roce":
            found = explain_path(loaded.value, design_loaded(loaded).fabric, path)
        else:
            from fabric.design.ib.explain import explain_subnet

            subnet = subnet_of(loaded).subnet
            found = explain_path(loaded.value, None, path, partial(explain_subnet, subnet))
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


def _of_hosts(loaded: Loaded[ClusterSpec]) -> Callable[[str], Explanation | None]:
    from fabric.design.hosts.explain import explain_hosts
    from fabric.design.load import fleet_of

    return partial(explain_hosts, fleet_of(loaded).fleet)
