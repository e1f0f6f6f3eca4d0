"""`fabric export slurm`: Slurm's topology, of a RoCE or an InfiniBand spec.

`--json` prints, version `fabric.export/1`: {schema, out, files: [name], bytes}.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fabric.cli.common import json_option, spec_argument
from fabric.cli.export_ib import write_files


@click.command("slurm")
@spec_argument
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="For example slurm/.")
@click.option(
    "--topology", type=click.Choice(["tree", "block"]), help="Another plugin than scheduler.topology (default: tree)."
)
@click.option("--yaml", "as_yaml", is_flag=True, help="topology.yaml (Slurm 25.05 and later), as scheduler.yaml says.")
@json_option
def slurm(*, spec: Path, out: Path, topology: str | None, as_yaml: bool, as_json: bool) -> None:
    """Write topology.conf (or topology.yaml) and fabric-topology.conf, which slurm.conf includes, to DIR.

    RoCE: a leaf is a rack's RTSW, over it the zone. InfiniBand: a scalable unit. GPU hosts only; planned ones are left out.
    """
    from fabric.design.load import design_loaded, load_spec, subnet_of
    from fabric.spec.scheduler import Slurm
    from fabric.targets.host import topology as made

    loaded = load_spec(spec)
    declared = loaded.value.scheduler or Slurm(kind="slurm")
    changes: dict[str, Any] = {"yaml": True} if as_yaml else {}
    if topology is not None and topology != declared.topology:
        changes |= {"topology": topology, "block_sizes": None}
    if loaded.value.backend.kind == "infiniband":
        found = made.of_subnet(subnet_of(loaded).subnet)
    else:
        found = made.of_fabric(design_loaded(loaded).fabric)
    files = made.topology_files(loaded.value.name, found, declared.model_copy(update=changes))
    write_files(out, {out / name: content for name, content in files.items()}, as_json)
