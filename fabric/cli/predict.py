"""`fabric predict`: what collectives will reach on the declared fabric, before it is built or a job starts.

`--json` prints, version `fabric.prediction/1`: {schema, spec, cluster, walked, nic_gbps, calibration, cases: [{case, gpus, reached: {p5, p50,
p95}, phases, walked, notes, placement_bound, analytic, points: [{size, reached, latency_only, congestion_only, protocol}], waterfall: [{step,
left}], hot: [{name, tier, load, flows, pairs}], tiers, change, bias}], measured: [{test, hosts, size, gbytes, predicted, share, names,
source}]}. Figures are percent of the NICs' line rate, loads 1 = the rate of the link, GB/s bus bandwidth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from fabric.cli.common import json_option, print_json, spec_argument
from fabric.cli.live import state_folder, state_option
from fabric.errors import FabricError
from fabric.predict.model import Algorithm, Collective, Far, Hash, Placement

if TYPE_CHECKING:
    from fabric.design.load import Cluster, SubnetCluster
    from fabric.predict.calibration import Calibration, Compared
    from fabric.predict.model import Case, Prediction
    from fabric.predict.net import Net

_FILE = click.Path(path_type=Path)


@click.command("predict")
@spec_argument
@click.option("--collective", type=click.Choice(get_args(Collective)), help="What is done (default: all_gather).")
@click.option("--algorithm", type=click.Choice(get_args(Algorithm)), help="How (default: ring); tree: all_reduce only.")
@click.option(
    "--far", type=click.Choice(get_args(Far)), help="Algorithm recursive: messages that go far (default: small)."
)
@click.option("--gpus", type=int, metavar="N", help="GPUs of the job, whole hosts (default: all).")
@click.option("--job", type=_FILE, metavar="FILE", help="Hosts of the job in rank order: one a line, or a hostfile.")
@click.option(
    "--placement", type=click.Choice(get_args(Placement)),
    help="Hosts in the fabric's order, shuffled inside zones, shuffled over all, or as --job has them (default: rack).",
)  # fmt: skip
@click.option(
    "--hash", "hashing", type=click.Choice(get_args(Hash)), help="How switches choose a path (default: the spec's)."
)
@click.option("--qps", type=int, metavar="N", help="Queue pairs a connection (default: hosts.nccl.qps).")
@click.option("--channels", type=int, metavar="N", help="NCCL's channels a NIC (default: 1).")
@click.option("--sizes", metavar="SIZES", help="Message sizes: 64M,1G or FIRST:LAST[:FACTOR] (default: 1M:64G:4).")
@click.option("--seeds", type=int, metavar="N", help="Hash functions and orders that are tried (default: 20).")
@click.option(
    "--failure",
    "failures",
    multiple=True,
    metavar="NAME",
    help="A switch or switch:port that is gone; may be repeated.",
)
@click.option("--same-seed", is_flag=True, help="All tiers hash alike: polarisation.")
@click.option("--live", is_flag=True, help="Walk the forwarding tables of the live switches, not those of the design.")
@click.option(
    "--cases",
    type=_FILE,
    metavar="FILE",
    help="Several cases side by side, from a YAML file, instead of these options.",
)
@click.option("--plot", type=_FILE, metavar="FILE", help="Also draw it: FILE.svg, FILE.png or FILE.html.")
@click.option(
    "--measured",
    multiple=True,
    type=_FILE,
    metavar="FILE",
    help="Compare with these results (fabric validate collectives, nccl-tests).",
)
@click.option(
    "--calibrate",
    multiple=True,
    type=_FILE,
    metavar="FILE",
    help="Correct the latency by these results, and keep that.",
)
@state_option
@json_option
def predict(*, spec: Path, as_json: bool, **options: Any) -> None:
    """Predict the bandwidth of collectives on SPEC by message size: with its spread, where it goes, and what would help first.

    Traffic is walked over the forwarding tables of the design, once a seed; a seed draws the switches' hash functions. It is an upper
    bound: measured values lie below. See docs/predict.md.
    """
    plot = options["plot"]
    if plot is not None:
        from fabric.export.prediction_page.write import check_plot_path

        check_plot_path(plot)
    ground = _ground(spec, options["state"], live=options["live"])
    cases = _cases(ground, options)
    calibration = _calibrated(ground, cases[0], options["calibrate"])
    found = _predictions(ground, cases, 1.0 if calibration is None else calibration.scale)
    compared = _compared(ground, cases[0], options["measured"], calibration)
    if as_json:
        _json(spec, ground, found, calibration, compared)
    else:
        _tell(ground, found, calibration, compared)
    if plot is not None:
        from fabric.export.prediction_page.write import plot as draw

        draw(plot, found, title=ground.cluster.spec.name, sources=(str(spec),))
        click.echo(f"wrote {plot}", err=True)


@dataclass(frozen=True)
class _Ground:
    """What all cases stand on."""

    cluster: Cluster | SubnetCluster
    net: Net
    gbps: float
    folder: Path
    walked: str


def _ground(spec: Path, state: Path | None, *, live: bool) -> _Ground:
    from fabric.design.load import design_loaded, load_spec, subnet_of
    from fabric.predict.from_design import design_net
    from fabric.predict.source import nic_gbps

    loaded = load_spec(spec)
    cluster: Cluster | SubnetCluster
    cluster = subnet_of(loaded) if loaded.value.backend.kind == "infiniband" else design_loaded(loaded)
    if live:
        from fabric.cli.predict_live import live_net

        net, walked = live_net(spec, cluster, state), "the forwarding tables of the live switches"
    else:
        net, walked = design_net(cluster), _designed(cluster)
    return _Ground(cluster, net, nic_gbps(cluster), state_folder(spec, state), walked)


def _designed(cluster: Cluster | SubnetCluster) -> str:
    """What was walked; on InfiniBand what stood in for the subnet manager's tables."""
    from fabric.design.load import SubnetCluster

    if not isinstance(cluster, SubnetCluster):
        return "the design"
    from fabric.predict.from_subnet import assumed

    return f"the design, with {assumed(cluster.subnet)}"


_ONE = ("collective", "algorithm", "far", "gpus", "job", "placement", "hashing", "qps", "channels", "sizes", "seeds")


def _cases(ground: _Ground, options: Mapping[str, Any]) -> tuple[Case, ...]:
    """The cases of the file, or the one of the options."""
    from fabric.predict.answer import check
    from fabric.predict.notes import out_of_service
    from fabric.predict.source import declared

    case = replace(declared(ground.cluster.spec), left_out=out_of_service(ground.cluster, ground.net.hosts))
    if options["cases"] is not None:
        from fabric.predict.cases import read_cases

        given = [name for name in _ONE if options[name] is not None]
        if given or options["failures"] or options["same_seed"]:
            option = "--" + {"hashing": "hash"}.get(given[0], given[0]) if given else "--failure and --same-seed"
            raise FabricError(f"--cases has all of its cases in the file, {option} cannot be given with it")
        return read_cases(options["cases"], case)
    changes = _changes(options)
    found = replace(case, **changes, name="asked" if changes else case.name)
    check(found)
    return (found,)


def _changes(options: Mapping[str, Any]) -> dict[str, Any]:
    from fabric.predict.cases import sizes_of
    from fabric.predict.job import read_job

    names = {"hashing": "hash"}
    found = {
        names.get(name, name): options[name]
        for name in _ONE
        if options[name] is not None and name not in ("job", "sizes")
    }
    if options["sizes"] is not None:
        try:
            found["sizes"] = sizes_of(options["sizes"])
        except ValueError as error:
            raise FabricError(f"--sizes: {error}", hint="--sizes 64M,1G or --sizes 1M:16G:4") from None
    if options["failures"]:
        found["failures"] = tuple(dict.fromkeys(options["failures"]))
    if options["same_seed"]:
        found.update(seed_per_tier=False, seed_groups=())
    if options["job"] is None:
        if options["placement"] == "given":
            raise FabricError("--placement given needs --job", hint="a file with the hosts in rank order")
        return found
    if options["gpus"] is not None or options["placement"] in ("zone", "random"):
        other = "--gpus" if options["gpus"] is not None else f"--placement {options['placement']}"
        raise FabricError(f"--job says who runs and in what order, {other} cannot be given with it")
    return {**found, "hosts": read_job(options["job"]), "placement": "given"}


def _predictions(ground: _Ground, cases: Sequence[Case], scale: float) -> list[Prediction]:
    from fabric.predict.answer import predict as answer
    from fabric.predict.effort import notice
    from fabric.predict.notes import with_cluster

    found = []
    for number, case in enumerate(cases, 1):
        if len(cases) > 1:
            click.echo(f"case {number} of {len(cases)}: {case.name}", err=True)
        try:
            if (line := notice(ground.net, case)) is not None:
                click.echo(line, err=True)
            found.append(with_cluster(answer(ground.net, case, gbps=ground.gbps, scale=scale), ground.cluster))
        except FabricError as error:
            if len(cases) == 1:
                raise
            raise FabricError(f"case {case.name!r}: {error.message}", hint=error.hint) from None
    return found


def _calibrated(ground: _Ground, case: Case, files: Sequence[Path]) -> Calibration | None:
    """The kept calibration; first made of the results that are given."""
    from fabric.predict import calibration

    name = ground.cluster.spec.name
    if not files:
        return calibration.load(ground.folder, name)
    from fabric.change.files import cannot, write_atomic
    from fabric.cli.predict_measured import asker, read_measured

    rows = read_measured(ground.cluster, files)
    made = calibration.calibrate(ground.net, name, rows, asker(ground.cluster, case), ground.gbps)
    path = calibration.path_of(ground.folder, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, calibration.encode(made))
    except OSError as error:
        raise cannot("write", path, error) from error
    click.echo(f"kept {path}", err=True)
    return made


def _compared(ground: _Ground, case: Case, files: Sequence[Path], made: Calibration | None) -> list[Compared]:
    if not files:
        return []
    from fabric.cli.predict_measured import asker, read_measured
    from fabric.predict.calibration import compare

    rows = read_measured(ground.cluster, files)
    scale = 1.0 if made is None else made.scale
    found = compare(ground.net, rows, asker(ground.cluster, case), ground.gbps, scale)
    if not found:
        raise FabricError(
            "nothing of these results can be compared",
            hint="collectives of GPUs over two hosts or more, or ib_write_bw",
        )
    return found


def _json(
    spec: Path, ground: _Ground, found: Sequence[Prediction], made: Calibration | None, compared: Sequence[Compared]
) -> None:
    from fabric.predict.telling import SCHEMA, document

    rows = []
    for one in compared:
        row = asdict(one.measured)
        row.update(hosts=list(one.measured.hosts), predicted=asdict(one.predicted), share=one.share)
        rows.append(row)
    body = {
        "spec": str(spec),
        "cluster": ground.cluster.spec.name,
        "walked": ground.walked,
        "nic_gbps": ground.gbps,
        "calibration": None if made is None else asdict(made),
        "cases": [document(one) for one in found],
        "measured": rows,
    }
    print_json(SCHEMA, body)


def _tell(ground: _Ground, found: Sequence[Prediction], made: Calibration | None, compared: Sequence[Compared]) -> None:
    from fabric.predict.telling import beside, lines

    for one in found:
        for line in lines(one):
            click.echo(line)
        click.echo("")
    if len(found) > 1:
        for line in beside(found):
            click.echo(line)
        click.echo("")
    if compared:
        from fabric.cli.predict_measured import comparison

        for line in comparison(compared):
            click.echo(line)
        click.echo("")
    latency = "NCCL's own latency constants, which are pessimistic: --calibrate RESULTS" if made is None else made.said
    click.echo(f"walked: {ground.walked}; 100 % = {ground.gbps:g} Gb/s a NIC; {latency}")
    click.echo(f"this is {found[0].bias}")
