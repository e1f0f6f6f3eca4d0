"""`fabric export topo|ndt|ibnetdiscover|ibsim`: an InfiniBand design in the forms of other tools.

`--json` prints, version `fabric.export/1`: {schema, out, files: [name], bytes}.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fabric.cli.common import json_option, keep_inputs, spec_argument
from fabric.errors import FabricError
from fabric.words import counted

if TYPE_CHECKING:
    from fabric.design.ib.model import Subnet

SCHEMA = "fabric.export/1"
F = TypeVar("F", bound=Callable[..., Any])


def _out(kind: str, example: str) -> Callable[[F], F]:
    return click.option(
        "-o", "--out", required=True, type=click.Path(path_type=Path), metavar=kind, help=f"For example {example}."
    )


@click.command("topo")
@spec_argument
@_out("DIR", "ibdm/")
@click.option(
    "--no-speeds", is_flag=True, help="Cables without width and speed: Debian's ibdmchk knows them to 10G only."
)
@json_option
def topo(*, spec: Path, out: Path, no_speeds: bool, as_json: bool) -> None:
    """Write SPEC's cables as a .topo file with its IBNL files: ibdiagnet compares a fabric with it, ibdmchk checks it by itself.

    Both look for the IBNL files in the folder that IBDM_IBNL_PATH names.
    """
    from fabric.export.ib_topo import topo_files

    files = topo_files(_subnet(spec), speeds=not no_speeds)
    write_files(out, {out / name: text.encode() for name, text in files.items()}, as_json)


@click.command("ndt")
@spec_argument
@_out("FILE", "ndt.csv")
@json_option
def ndt(*, spec: Path, out: Path, as_json: bool) -> None:
    """Write SPEC's cables as a CSV for UFM's NDT plugin, which compares a fabric with it."""
    from fabric.export.ib_ndt import ndt_csv

    write_files(out, {out: ndt_csv(_subnet(spec)).encode()}, as_json)


@click.command("ibsim")
@spec_argument
@_out("FILE", "fabric.net")
@click.option("--aggregation-nodes", is_flag=True, help="With a SHARP aggregation node behind each switch.")
@json_option
def ibsim(*, spec: Path, out: Path, aggregation_nodes: bool, as_json: bool) -> None:
    """Write SPEC as a net file of the InfiniBand simulator ibsim."""
    from fabric.lab.ib.net import net_text

    write_files(out, {out: net_text(_subnet(spec), aggregation_nodes).encode()}, as_json)


@click.command("ibnetdiscover")
@spec_argument
@_out("FILE", "golden.cache")
@json_option
def ibnetdiscover(*, spec: Path, out: Path, as_json: bool) -> None:
    """Write what ibnetdiscover would see of SPEC, as a cache: `ibnetdiscover --diff FILE` on the live fabric then prints differences.

    Its exit code is 0 with and without differences: look for an empty output. Do not use `iblinkinfo --diff` with it, since the cache
    holds no LIDs. Needs ibsim and infiniband-diags on this machine, and the real GUIDs in SPEC to be of use.
    """
    from fabric.export.ib_netdiscover import Net, netdiscover_cache
    from fabric.lab.ib.net import TABLE, hca_id, net_size, net_text

    subnet = _subnet(spec)
    size = net_size(subnet)
    seat = next(hca for hca in subnet.hcas if hca.state != "planned")
    net = Net(net_text(subnet), size.nodes, size.switches, size.ports, TABLE, hca_id(seat))
    write_files(out, {out: netdiscover_cache(net)}, as_json)
    made_up = sum(switch.placeholder for switch in subnet.switches) + sum(hca.placeholder for hca in subnet.hcas)
    if made_up:
        click.echo(
            f"note: {counted(made_up, 'GUID')} of the design are placeholders: no live fabric has them", err=True
        )


def _subnet(spec: Path) -> Subnet:
    from fabric.design.load import load_spec, subnet_of

    loaded = load_spec(spec)
    if loaded.value.backend.kind != "infiniband":
        raise FabricError(
            f"{spec}: backend.kind is roce; this form is for InfiniBand only",
            hint="of RoCE: fabric export containerlab, infragraph, kueue, slurm, topograph",
        )
    return subnet_of(loaded).subnet


def write_files(out: Path, files: Mapping[Path, bytes], as_json: bool) -> None:
    """Writes the files, making their folders, and says so; FabricError when that cannot be."""
    from fabric.change.files import cannot, write_atomic

    keep_inputs(files, (click.get_current_context().params["spec"],))
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, content)
    except OSError as error:
        raise cannot("write", error.filename or out, error) from error
    size = sum(map(len, files.values()))
    if as_json:
        names = sorted(path.name for path in files)
        click.echo(json.dumps({"schema": SCHEMA, "out": str(out), "files": names, "bytes": size}))
    else:
        click.echo(f"wrote {out} ({counted(len(files), 'file')}, {counted(size, 'byte')})")


COMMANDS = (topo, ndt, ibsim, ibnetdiscover)
"""Added to the group `fabric export`."""
