"""`fabric place`: which hosts a job should get, and the order of its ranks.

`--json` prints, version `fabric.placement/1`: {schema, spec, hosts: [name in rank order], free, zones: [{zone, hosts, free, racks, whole}],
cut: {borders, flows, of}, bound: {ordered, random: {p5, p50, p95}}, bias, out, files}. Bounds are in percent of the NICs' line rate.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabric.cli.common import json_option, print_json, print_table, spec_argument
from fabric.words import counted

if TYPE_CHECKING:
    from fabric.design.load import Cluster, SubnetCluster
    from fabric.predict.expect import Expected
    from fabric.predict.place import Chosen

_LARGEST = 16 << 20


@click.command("place")
@spec_argument
@click.option("--hosts", type=int, required=True, metavar="N", help="How many hosts the job needs.")
@click.option(
    "--busy", type=click.Path(path_type=Path), metavar="FILE",
    help="Hosts that other jobs hold: names or Slurm's lists, one a line (squeue -h -t R -o %N).",
)  # fmt: skip
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="DIR",
    help="Also write hostfile (Open MPI), slurm-hosts and slurm.sh (Slurm), torchrun.txt.",
)  # fmt: skip
@json_option
def place(*, spec: Path, hosts: int, busy: Path | None, out: Path | None, as_json: bool) -> None:
    """Choose N hosts of SPEC for one job by minimum cut over the zones, and order its ranks along the fabric.

    The fewest zones, each as full as can be, whole racks first; hosts that are planned or drained are left out.
    """
    from fabric.design.load import SubnetCluster, design_loaded, load_spec, subnet_of
    from fabric.predict.expect import expected
    from fabric.predict.from_design import design_net
    from fabric.predict.model import BIAS
    from fabric.predict.place import place as choose
    from fabric.predict.place import site_of

    loaded = load_spec(spec)
    cluster: Cluster | SubnetCluster
    cluster = subnet_of(loaded) if loaded.value.backend.kind == "infiniband" else design_loaded(loaded)
    site = site_of(cluster)
    chosen = choose(site, hosts, _busy(busy, cluster) if busy else ())
    net = design_net(cluster)
    bounds = expected(net, chosen.hosts)
    files = _write(out, chosen, net.rails) if out else []
    if as_json:
        print_json("fabric.placement/1", _document(spec, chosen, net.rails, bounds, out, files))
    else:
        _tell(chosen, site.noun, net.rails, bounds)
        takes = "the subnet manager's tables may take" if isinstance(cluster, SubnetCluster) else "hashing takes"
        click.echo(f"{BIAS}; {takes} more: fabric predict --job")
        if out:
            click.echo(f"wrote {out}: {', '.join(files)}")
            if hosts > 1:  # one host sends nothing
                click.echo(f"next: fabric predict {spec} --job {out / files[0]}")


def _busy(path: Path, cluster: Cluster | SubnetCluster) -> set[str]:
    """The hosts of a file; FabricError with its line for what is no host of the cluster."""
    import difflib

    from fabric.change.files import cannot, read_regular
    from fabric.design.hosts.build import rows_of
    from fabric.errors import FabricError
    from fabric.targets.host.hostlist import expand

    try:
        content = read_regular(str(path), _LARGEST)
    except OSError as error:
        raise cannot("read", path, error) from error
    if content is None or len(content) > _LARGEST:
        raise FabricError(
            f"cannot read {path}: {'no such file' if content is None else f'larger than {_LARGEST >> 20} MiB'}"
        )
    known, found = {plan.name for plan in rows_of(cluster)}, set[str]()
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        text = line.partition("#")[0].strip()
        try:
            names = [name for part in text.split() for name in expand(part)]
        except FabricError as error:
            raise FabricError(f"{path}:{number}: {error.message}", hint=error.hint) from error
        if strange := next((name for name in names if name not in known), None):
            near = difflib.get_close_matches(strange, known, n=1)
            raise FabricError(
                f"{path}:{number}: {strange!r} is no host of the cluster",
                hint=f"did you mean {near[0]}?" if near else "fabric show devices lists all names",
            )
        found.update(names)
    return found


def _write(out: Path, chosen: Chosen, gpus: int) -> list[str]:
    from fabric.change.files import cannot, write_atomic
    from fabric.predict.rank_order import rank_files
    from fabric.targets.host.hostlist import hostlist

    files = rank_files(chosen.hosts, gpus, hostlist(chosen.hosts))
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_atomic(out / name, text.encode(), 0o755 if name.endswith(".sh") else 0o644)
    except OSError as error:
        raise cannot("write", error.filename or out, error) from error
    return list(files)


def _tell(chosen: Chosen, noun: str, gpus: int, bounds: Expected) -> None:
    from fabric.predict.expect import SHUFFLES

    hosts = len(chosen.hosts)
    click.echo(
        f"{counted(hosts, 'host')} of {chosen.free:,} free ({counted(hosts * gpus, 'GPU')}), ranks in the order of the fabric"
    )
    rows = [(s.zone, s.hosts, s.free, s.racks, s.whole) for s in chosen.shares]
    print_table((noun, "hosts", "free", "racks", "whole racks"), rows)
    flows, total = chosen.borders * gpus, hosts * gpus
    click.echo(
        f"cut: a ring crosses {counted(chosen.borders, 'border')} between {noun}s, {flows:,} of {counted(total, 'flow')}; "
        f"in random order it would be {100 * chosen.spread:.0f} %"
    )
    shuffled = bounds.shuffled
    click.echo(
        f"placement bound (ring, perfect balance over all paths): {bounds.ordered:.1f} % of line rate in this order, "
        f"{shuffled.p50:.1f} % [{shuffled.p5:.1f}-{shuffled.p95:.1f}] in random order ({SHUFFLES} shuffles)"
    )


def _document(
    spec: Path, chosen: Chosen, gpus: int, bounds: Expected, out: Path | None, files: list[str]
) -> dict[str, Any]:
    from fabric.predict.model import BIAS

    return {
        "spec": str(spec),
        "hosts": list(chosen.hosts),
        "free": chosen.free,
        "zones": [asdict(share) for share in chosen.shares],
        "cut": {"borders": chosen.borders, "flows": chosen.borders * gpus, "of": len(chosen.hosts) * gpus},
        "bound": {"ordered": bounds.ordered, "random": asdict(bounds.shuffled)},
        "bias": BIAS,
        "out": str(out) if out else None,
        "files": files,
    }
