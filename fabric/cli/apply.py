"""`fabric apply`: brings the live devices to what the spec declares, in waves, each device under its own timer.

`--json`: see `fabric.cli.progress`. Exit codes: 0 all devices are as declared, 1 not all (or nothing was sent), 2 a dry run that
found something to change.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabric.change.control import TIMER_S, Options
from fabric.change.planfile import load_plan
from fabric.change.show import Detail, show_plan
from fabric.change.waves import WAVE_SIZE
from fabric.cli.confirm import ask
from fabric.cli.host_options import apply_options, require_fitting
from fabric.cli.hosts import apply_hosts
from fabric.cli.live import (
    approve_option,
    events_option,
    gate_option,
    live_options,
    max_failed_option,
    open_live,
)
from fabric.cli.running import carry_out, operator
from fabric.errors import FabricError
from fabric.words import counted

if TYPE_CHECKING:
    from fabric.change.plan import Plan
    from fabric.change.waves import Wave

SHOWN = 60
"""Lines that are shown of each group's change: a new chassis has thousands, and the waves follow them (our choice)."""
_OPTIONS: tuple[Any, ...] = (
    click.option(
        "--device", "devices", multiple=True, metavar="GLOB", help="Only devices of this name; may be repeated."
    ),
    click.option("--target", "targets", metavar="NAMES", help="Only these kinds of device: eos, fboss, opensm."),
    live_options,
    click.option(
        "--wave-size",
        type=click.IntRange(1, 4096),
        default=WAVE_SIZE,
        show_default=True,
        help="Most devices in a wave.",
    ),
    click.option(
        "--canary", metavar="GLOB", help="These devices first (default: one of each role and operating system)."
    ),
    click.option(
        "--commit-timer",
        type=click.IntRange(30, 3600),
        default=TIMER_S,
        show_default=True,
        help="Seconds after which a device returns by itself.",
    ),
    gate_option,
    max_failed_option,
    click.option("--strict", is_flag=True, help="A device that cannot be read is an error."),
    apply_options,
    events_option,
)


def run_options(command: Any) -> Any:
    """The options of a run."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("apply")
@click.argument(
    "what", metavar="[SPEC|PLAN]", envvar="FABRIC_SPEC", default="cluster.yaml", type=click.Path(path_type=Path)
)
@click.option("-s", "--spec", type=click.Path(path_type=Path), help="The spec of PLAN, when it has moved since.")
@run_options
@approve_option
@click.option("--dry-run", is_flag=True, help="Stage, show each device's own difference, discard.")
@click.option("--full", is_flag=True, help="Show every line of every device before asking.")
@click.option("--summary", is_flag=True, help="Show only which devices and files, and how many lines.")
@click.pass_context
def apply(
    context: click.Context, /, *, what: Path, spec: Path | None, auto_approve: bool, dry_run: bool, **options: Any
) -> None:
    """Bring the devices to what SPEC declares, or carry out PLAN (from `fabric plan -o`), in waves by failure domain.

    Each device is changed under its own timer, looked at, confirmed and read back. The first failed canary, or --max-failed
    devices, stop the rest. Only the typed word `yes`, or --auto-approve, sends anything.

    With --hosts: the GPU hosts, by Ansible. A wave is asked in check mode, drained, changed, read back, looked at and given back.
    """
    if options["full"] and options["summary"]:
        raise click.UsageError("--full and --summary exclude each other")
    detail: Detail = "full" if options["full"] else "summary" if options["summary"] else "groups"
    plan = load_plan(what) if is_plan(what) else None
    path = spec or _spec(what, plan)
    if options["hosts"] or (plan is not None and plan.of_hosts):
        apply_hosts(context, path, plan, {**options, "auto_approve": auto_approve, "dry_run": dry_run})
        return
    require_fitting(context, hosts=False)
    live = open_live(path, **options)
    run = Options(
        options["commit_timer"], options["gate_timeout"], options["max_parallel"], options["max_failed"], dry_run
    )
    one = operator(live, run, options["wave_size"], options["canary"], as_json=options["as_json"])
    if plan is not None:
        one.require_current(plan)
        plan = narrowed(plan, {ref.name for ref in live.only})
    else:
        plan = live.plan(strict=options["strict"], full=options["full"])
    waves = one.waves([device.name for device in plan.devices if device.kind in ("changed", "new")])
    show(plan, waves, detail, as_json=options["as_json"])
    if not waves:
        context.exit(1 if plan.count("unknown") else 0)
    if not (auto_approve or dry_run or ask(_question(waves))):
        context.exit(1)
    code = carry_out(one, lambda: one.apply(plan), as_json=options["as_json"], dry_run=dry_run)
    context.exit(1 if plan.count("unknown") else code)


def is_plan(path: Path) -> bool:
    """Whether a file is a plan and no spec: a plan is JSON, which begins with a brace."""
    if not path.is_file():  # to read from a pipe would be to wait for ever
        return path.suffix == ".json"
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip().startswith(b'{"schema"')
    except OSError:
        return path.suffix == ".json"


def _spec(what: Path, plan: Plan | None) -> Path:
    if plan is None:
        return what
    if not plan.spec:
        raise FabricError(f"{what} does not say which spec it was made of", hint="give it with --spec")
    if not Path(plan.spec).exists():
        raise FabricError(
            f"{plan.spec}, of which {what} was made, is not there", hint="give it with --spec where it is now"
        )
    return Path(plan.spec)


def narrowed(plan: Plan, chosen: Collection[str]) -> Plan:
    """The plan of the chosen devices alone; nothing is planned anew."""
    devices = tuple(device for device in plan.devices if device.name in chosen)
    groups = [replace(g, devices=tuple(n for n in g.devices if n in chosen)) for g in plan.groups]
    return replace(plan, devices=devices, groups=tuple(g for g in groups if g.devices))


def show(plan: Plan, waves: Sequence[Wave], detail: Detail, *, as_json: bool) -> None:
    """The plan and its waves, on standard error when standard output is for JSON."""
    for line in show_plan(plan, detail, SHOWN if detail == "groups" else None):
        click.echo(line, err=as_json)
    if waves:
        canaries, largest = sum(wave.canary for wave in waves), max(len(wave.devices) for wave in waves)
        text = f"waves: {len(waves):,} ({canaries:,} of canaries), of at most {largest:,} at once"
        click.echo(f"\n{text}", err=as_json)


def _question(waves: Sequence[Wave]) -> str:
    number = sum(len(wave.devices) for wave in waves)
    return f"Change {counted(number, 'live device')}?"
