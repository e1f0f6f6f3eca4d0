"""`fabric export kueue|topograph|infragraph`: the topology in the forms of schedulers and simulators, of a RoCE or an InfiniBand spec.

`--json` prints, version `fabric.export/1`: {schema, out, files: [name], bytes}.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabric.cli.common import json_option, spec_argument
from fabric.cli.export_ib import write_files

if TYPE_CHECKING:
    from fabric.design.load import Cluster, SubnetCluster


@click.command("kueue")
@spec_argument
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="For example kueue/.")
@click.option(
    "--nodes", default="nvidia.com/gpu.present=true", show_default=True, metavar="KEY=VALUE",
    help="A label that the GPU nodes have; the flavor is for these.",
)  # fmt: skip
@click.option(
    "--api", type=click.Choice(["v1beta1", "v1beta2"]), default="v1beta2", show_default=True,
    help="Version of Kueue's API.",
)  # fmt: skip
@json_option
def kueue(*, spec: Path, out: Path, nodes: str, api: str, as_json: bool) -> None:
    """Write Kueue's Topology and ResourceFlavor (kueue.yaml) and the labels of the nodes (labels.sh, kubectl) to DIR.

    Levels: zone, rack, host (InfiniBand: pod, scalable unit, host), under Topograph's labels. Nodes bear the names of the hosts.
    """
    from fabric.export.kueue import kueue_files
    from fabric.export.places import topology_of

    cluster = _load(spec)
    files = kueue_files(cluster.spec.name, topology_of(cluster), nodes, api)
    write_files(out, {out / name: content for name, content in files.items()}, as_json)


@click.command("topograph")
@spec_argument
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="For example topograph/."
)
@json_option
def topograph(*, spec: Path, out: Path, as_json: bool) -> None:
    """Write SPEC in NVIDIA Topograph's forms to DIR: graph.json (as its engine `graph`) and model.yaml (for its provider `test`)."""
    from fabric.export.places import topology_of
    from fabric.export.topograph import topograph_files

    cluster = _load(spec)
    files = topograph_files(cluster.spec.name, topology_of(cluster), cluster.spec.hosts.platform)
    write_files(out, {out / name: content for name, content in files.items()}, as_json)


@click.command("infragraph")
@spec_argument
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="For example fabric.yaml; JSON when the name ends in .json.",
)  # fmt: skip
@json_option
def infragraph(*, spec: Path, out: Path, as_json: bool) -> None:
    """Write SPEC as an InfraGraph: hosts, switches and every cable, for ASTRA-sim and other tools that read it."""
    from fabric.design.seats import Seating
    from fabric.export.infragraph import infragraph as document
    from fabric.export.infragraph import text_of

    made = document(Seating(_load(spec)))
    write_files(out, {out: text_of(made, as_json=out.suffix == ".json").encode()}, as_json)


def _load(spec: Path) -> Cluster | SubnetCluster:
    from fabric.design.load import design_loaded, load_spec, subnet_of

    loaded = load_spec(spec)
    return subnet_of(loaded) if loaded.value.backend.kind == "infiniband" else design_loaded(loaded)


COMMANDS = (kueue, topograph, infragraph)
"""Added to the group `fabric export`."""
