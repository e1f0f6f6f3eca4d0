"""`fabric export`: the design in the forms of other tools."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fabric.cli import export_ib, export_jobs, export_slurm
from fabric.cli.common import json_option, keep_inputs, spec_argument
from fabric.errors import FabricError
from fabric.words import counted

SCHEMA = "fabric.export/1"


@click.group("export")
def export() -> None:
    """The design in the forms of other tools."""


for _command in (*export_ib.COMMANDS, export_slurm.slurm, *export_jobs.COMMANDS):
    export.add_command(_command)


@export.command("containerlab")
@spec_argument
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The topology file, for example lab.clab.yml; configurations go to the folder FILE.d beside it.",
)  # fmt: skip
@click.option("--ceos-image", metavar="IMAGE", help="Image of the EOS switches (default: ceos:latest).")
@click.option("--frr-image", metavar="IMAGE", help="Image that stands in for FBOSS (default: frrouting/frr:latest).")
@click.option("--host-image", metavar="IMAGE", help="Image of the hosts: a shell and `ip` (default: that of FRR).")
@json_option
def containerlab_command(
    *, spec: Path, out: Path, ceos_image: str | None, frr_image: str | None, host_image: str | None, as_json: bool
) -> None:
    """Write SPEC as a containerlab topology: cEOS for EOS switches, FRR for FBOSS switches, Linux hosts.

    The configurations are those of `fabric render`, without the lines that cEOS refuses. No secret is in them: users get the
    password `admin`. JSON: {schema, out, folder, nodes, links, files}.
    """
    from fabric.change.files import cannot, require_regular, write_atomic
    from fabric.design.load import load_spec
    from fabric.export.containerlab import Images, containerlab
    from fabric.targets import render_devices

    keep_inputs((out,), (spec,))
    loaded = load_spec(spec)
    if loaded.value.backend.kind != "roce":
        raise FabricError(
            f"{spec}: backend.kind is infiniband; this form is for RoCE only",
            hint="of InfiniBand: fabric export ibsim, ibnetdiscover, topo, ndt, infragraph, kueue, slurm, topograph",
        )
    job = render_devices(loaded, None)
    default = Images()
    frr = frr_image or default.frr
    images = Images(ceos_image or default.ceos, frr, host_image or frr)
    folder = out.with_name(out.name + ".d")
    made = containerlab(job.fabric, job, folder.name, images)
    try:
        require_regular(out)
        for path, text in made.files.items():
            target = out.parent / path
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, text.encode())
        write_atomic(out, made.topology.encode())  # last: a topology file that is there is complete
    except OSError as error:
        raise cannot("write", error.filename or out, error) from error
    if as_json:
        counts = {"nodes": made.nodes, "links": made.links, "files": len(made.files)}
        click.echo(json.dumps({"schema": SCHEMA, "out": str(out), "folder": str(folder), **counts}))
    else:
        click.echo(
            f"wrote {out} ({counted(made.nodes, 'node')}, {counted(made.links, 'link')}) and {counted(len(made.files), 'file')} to {folder}"
        )
