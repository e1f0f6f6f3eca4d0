"""`fabric tune`: the cheapest changes with which a collective reaches a target on the declared fabric.

`--json` prints, version `fabric.tuning/1`: {schema, spec, cluster, target, state: declared | found | none, before, after, knobs: {before,
after}, cost, edits: [{path, before, after}], by_hand, nccl: {key: value}, tried: [{knobs, cost, reached, bound, said}], written, calibration,
bias}.
`before` and `after` are cases of `fabric.prediction/1`; `reached` and `bound` are percent of the NICs' line rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from fabric.cli.common import json_option, spec_argument
from fabric.cli.live import state_folder, state_option
from fabric.errors import FabricError
from fabric.predict.model import Algorithm, Collective, Placement

if TYPE_CHECKING:
    from fabric.design.ib.model import Subnet
    from fabric.design.load import Cluster, SubnetCluster
    from fabric.predict.calibration import Calibration
    from fabric.predict.knobs import Edit, Knobs
    from fabric.predict.model import Case, Prediction
    from fabric.predict.net import Net
    from fabric.predict.trials import Tuning
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import Loaded

_SMALL = 256  # GPUs of the small cluster of the published figure


def _number(_context: click.Context, _option: click.Parameter, value: float) -> float:
    """The value, unless it is no number: `nan` lies in every range of click's."""
    if isnan(value):
        raise click.BadParameter("nan is no number.")
    return value


@click.command("tune")
@spec_argument
@click.option(
    "--target", type=click.FloatRange(1, 100), default=90.0, show_default=True, metavar="PERCENT", callback=_number,
    help="Of the NICs' line rate, for large messages, in 19 of 20 draws of the hash (percentile 5).",
)  # fmt: skip
@click.option(
    "--collective", type=click.Choice(get_args(Collective)), default="all_gather", show_default=True, help="What is done."
)  # fmt: skip
@click.option("--algorithm", type=click.Choice(get_args(Algorithm)), default="ring", show_default=True, help="How.")
@click.option("--gpus", type=int, metavar="N", help="GPUs of the job, whole hosts (default: all).")
@click.option(
    "--job", type=click.Path(path_type=Path), metavar="FILE", help="Hosts of the job in rank order, which stays."
)
@click.option(
    "--placement", type=click.Choice([name for name in get_args(Placement) if name != "given"]),
    help="How ranks stand today (default: by `scheduler`; random without one).",
)  # fmt: skip
@click.option("--channels", type=int, default=1, show_default=True, metavar="N", help="NCCL's channels a NIC today.")
@click.option(
    "--most-qps", type=click.IntRange(1, 128), default=128, show_default=True, metavar="N", help="Queue pairs at most."
)  # fmt: skip
@click.option("--seeds", type=int, default=20, show_default=True, metavar="N", help="Hash functions and orders.")
@click.option("--write", is_flag=True, help="Write the changes into SPEC; comments and order stay.")
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE",
    help="Also draw small, large as is, large tuned: FILE.svg, FILE.png or FILE.html.",
)  # fmt: skip
@state_option
@json_option
@click.pass_context
def tune(
    context: click.Context, /, *, spec: Path, write: bool, plot: Path | None, as_json: bool, **options: Any
) -> None:
    """Search queue pairs, channels, rank order, hash seeds and uplinks of SPEC for the cheapest changes that reach the target.

    On InfiniBand: the routing engine, rank order and uplinks; its paths know no queue pairs.

    Exit codes: 0 the spec reaches it, as declared or as written; 2 changes are proposed, or some are left to be made by hand; 1 nothing
    within the ports and the room for growth reaches it.
    """
    from fabric.cli.tune_text import Shown, print_document, tell

    if plot is not None:
        from fabric.export.prediction_page.write import check_plot_path

        check_plot_path(plot)
    ground = _ground(spec, options["state"])
    if ground.infiniband and context.get_parameter_source("most_qps") is not click.core.ParameterSource.DEFAULT:
        raise FabricError(
            f"{spec}: backend.kind is infiniband, where paths know no queue pairs", hint="without --most-qps"
        )
    found = _search(ground, options)
    text = _edited(ground, {edit.path: edit.after for edit in found.edits})
    changed = _accepted(ground, text) if found.edits else ground.cluster
    if write and found.edits:
        _write(ground, text)
    written = write and bool(found.edits)
    nccl = _settings_changed(ground.cluster, changed)
    shown = Shown(spec, ground.cluster.spec.name, found, nccl, ground.made, written)
    (print_document if as_json else tell)(shown)
    if plot is not None:
        _draw(plot, ground, found)
    context.exit(_code(found, written=written))


@dataclass(frozen=True)
class _Ground:
    """The declared cluster: its file, its text, its network, and what was measured on it."""

    spec: Path
    text: str
    cluster: Cluster | SubnetCluster
    net: Net
    gbps: float
    made: Calibration | None

    @property
    def infiniband(self) -> bool:
        """Whether the subnet manager's tables are the paths."""
        return self.cluster.spec.backend.kind == "infiniband"

    def ask(self, net: Net, case: Case) -> Prediction:
        """A prediction with the rate of these NICs, its latency corrected by a measured run where one is kept."""
        from fabric.predict.answer import predict
        from fabric.predict.notes import with_cluster

        scale = 1.0 if self.made is None else self.made.scale
        return with_cluster(predict(net, case, gbps=self.gbps, scale=scale, advice=False), self.cluster)


def _ground(spec: Path, state: Path | None) -> _Ground:
    from fabric.predict.calibration import load
    from fabric.predict.from_design import design_net
    from fabric.predict.source import nic_gbps
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import load_text
    from fabric.spec.yaml_read import decode, read_bytes

    text = decode(read_bytes(spec), str(spec))
    cluster = _designed(load_text(text, spec, ClusterSpec))
    made = load(state_folder(spec, state), cluster.spec.name)
    return _Ground(spec, text, cluster, design_net(cluster), nic_gbps(cluster), made)


def _designed(loaded: Loaded[ClusterSpec]) -> Cluster | SubnetCluster:
    from fabric.design.load import design_loaded, subnet_of

    return subnet_of(loaded) if loaded.value.backend.kind == "infiniband" else design_loaded(loaded)


def _search(ground: _Ground, options: Mapping[str, Any]) -> Tuning:
    from fabric.predict.answer import check
    from fabric.predict.model import Case
    from fabric.predict.notes import out_of_service

    hosts: tuple[str, ...] = ()
    if options["job"] is not None:
        from fabric.predict.job import read_job

        if options["gpus"] is not None or options["placement"] is not None:
            raise FabricError("--job says who runs and in what order; --gpus and --placement cannot be given with it")
        hosts = read_job(options["job"])
    start = _declared(ground.cluster, options)
    start = replace(start, placement="given") if hosts else start
    case = Case(
        "as declared", collective=options["collective"], algorithm=options["algorithm"], gpus=options["gpus"], hosts=hosts,
        placement=start.placement, seeds=options["seeds"], left_out=out_of_service(ground.cluster, ground.net.hosts),
    )  # fmt: skip
    check(start.of(case))
    return _found(ground, case, start, options)


def _declared(cluster: Cluster | SubnetCluster, options: Mapping[str, Any]) -> Knobs:
    from fabric.design.load import Cluster
    from fabric.predict import knobs, tune_ib

    today = {"channels": options["channels"], "placement": options["placement"]}
    return (
        knobs.declared(cluster.fabric, **today)
        if isinstance(cluster, Cluster)
        else tune_ib.declared(cluster.subnet, **today)
    )


def _found(ground: _Ground, case: Case, start: Knobs, options: Mapping[str, Any]) -> Tuning:
    from fabric.design.load import Cluster
    from fabric.predict.from_design import design_net
    from fabric.predict.tune import tune as search
    from fabric.predict.tune_ib import tune_subnet

    cluster = ground.cluster
    if isinstance(cluster, Cluster):
        return search(
            cluster.fabric, ground.net, case, start, target=options["target"], most_qps=options["most_qps"], ask=ground.ask,
            build=lambda wider: design_net(_changed(ground, wider.edits)),
        )  # fmt: skip

    def build(edits: Sequence[Edit]) -> tuple[Subnet, Net]:
        changed = _changed(ground, edits)
        assert not isinstance(changed, Cluster)  # noqa: S101 - no edit changes the kind
        return changed.subnet, design_net(changed)

    return tune_subnet(cluster.subnet, ground.net, case, start, target=options["target"], build=build, ask=ground.ask)


def _write(ground: _Ground, text: str) -> None:
    """The spec becomes `text`; FabricError when somebody else has changed it meanwhile."""
    from fabric.change.files import write_atomic
    from fabric.spec.yaml_read import decode, read_bytes

    spec = ground.spec
    if decode(read_bytes(spec), str(spec)) != ground.text:
        raise FabricError(f"{spec} was changed during the search, so nothing is written", hint="run it again")
    write_atomic(spec.resolve(), text.encode(), spec.stat().st_mode & 0o777)
    click.echo(f"wrote {spec}", err=True)  # at once, so that it is known whatever comes behind


def _changed(ground: _Ground, edits: Sequence[Edit]) -> Cluster | SubnetCluster:
    """The spec with some edits; FabricError where ports, cables or the room for growth do not allow them."""
    return _accepted(ground, _edited(ground, {edit.path: edit.after for edit in edits}))


def _edited(ground: _Ground, values: Mapping[tuple[str | int, ...], int | str]) -> str:
    from fabric.spec.yaml_edit import with_values

    return with_values(ground.text, str(ground.spec), values)


def _accepted(ground: _Ground, text: str) -> Cluster | SubnetCluster:
    """The cluster of a changed text, as far as `fabric check` would take it."""
    from fabric.design.load import Cluster
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import load_text
    from fabric.targets.trial import accept
    from fabric.targets.trial_subnet import accept_subnet

    cluster = _designed(load_text(text, ground.spec, ClusterSpec))
    if isinstance(cluster, Cluster):
        accept(cluster)
    else:
        accept_subnet(cluster)
    return cluster


def _settings_changed(before: Cluster | SubnetCluster, after: Cluster | SubnetCluster) -> dict[str, str]:
    """Lines of nccl.conf that the changes of the spec change."""
    from fabric.catalog import catalog
    from fabric.design.hosts.nccl import derived, merged
    from fabric.design.hosts.qos import qos_of

    old, new = (
        {
            row.key: row.value
            for row in merged(
                derived(one.spec, catalog().host(one.spec.hosts.platform), qos_of(one.spec)),
                one.spec.hosts.nccl.overrides,
            )
        }
        for one in (before, after)
    )
    return {key: value for key, value in new.items() if old.get(key) != value}


def _code(found: Tuning, *, written: bool) -> int:
    if found.chosen is None:
        return 1
    left = found.by_hand or (found.edits and not written)
    return 2 if left else 0


def _draw(plot: Path, ground: _Ground, found: Tuning) -> None:
    from fabric.export.prediction_page.write import plot as draw

    size = draw(plot, _three(ground, found), title=ground.cluster.spec.name, sources=(str(ground.spec),))
    click.echo(f"wrote {plot}, {size:,} bytes", err=True)


def _together(cluster: Cluster | SubnetCluster) -> int:
    """Hosts of the first zone, or of a scalable unit: a small job stays among them."""
    from fabric.design.load import Cluster

    if not isinstance(cluster, Cluster):
        return cluster.spec.infiniband.hosts_per_unit
    first = next(iter(cluster.fabric.zones.values()))
    return first.racks * first.profile.hosts


def _three(ground: _Ground, found: Tuning) -> list[Prediction]:
    """The published figure: small, large as is, large tuned."""
    case = found.before.case
    drawn: list[Prediction] = []
    small = min(_SMALL, _together(ground.cluster) * ground.net.rails, found.before.gpus)
    if small < found.before.gpus:
        asked: Case = replace(case, name="small", gpus=small - small % ground.net.rails, hosts=(), placement="rack")
        drawn.append(ground.ask(ground.net, asked))
    name = "large as is" if drawn else "as is"
    drawn.append(replace(found.before, case=replace(case, name=name)))
    if found.after is not None and not found.done:
        drawn.append(
            replace(found.after, case=replace(found.after.case, name="large tuned" if len(drawn) == 2 else "tuned"))
        )
    return drawn
