"""`fabric drain` and `undrain`: the device's own configuration with the state `drained` (it prepends its AS number), or without.

The spec stays what declares the network: without `--write` the next `fabric apply` of it brings the traffic back, and that is said.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabric.change.clock import SystemClock
from fabric.change.control import TIMER_S, Options
from fabric.change.files import write_atomic
from fabric.change.show import show_plan
from fabric.change.waves import WAVE_SIZE
from fabric.cli.common import Seconds, spec_argument
from fabric.cli.confirm import ask
from fabric.cli.live import approve_option, gate_option, open_live, state_option, timeout_option
from fabric.cli.running import carry_out, operator
from fabric.errors import FabricError

if TYPE_CHECKING:
    from fabric.cli.live import Live


def _options(command: Any) -> Any:
    for option in reversed(
        (
            click.argument("device"),
            spec_argument,
            state_option,
            timeout_option,
            gate_option,
            approve_option,
            click.option("--write", is_flag=True, help="Also write the state into SPEC, so that it lasts."),
        )
    ):
        command = option(command)
    return command


@click.command("drain")
@_options
@click.option(
    "--wait", "wait_s", type=Seconds(0, 3600), default=120.0, show_default=True,
    help="Seconds for the neighbours to move their traffic away.",
)  # fmt: skip
@click.pass_context
def drain(context: click.Context, /, *, device: str, spec: Path, wait_s: float, **options: Any) -> None:
    """Move traffic away from DEVICE, and say when its neighbours prefer other ways.

    Exit codes: 0 traffic is away, 1 not (or nothing was sent), 2 it is away but for what knows no other way.
    """
    live, code = _change(device, spec, "drained", options)
    context.exit(code or _watch(live, device, wait_s))


@click.command("undrain")
@_options
@click.pass_context
def undrain(context: click.Context, /, *, device: str, spec: Path, **options: Any) -> None:
    """Bring traffic back to DEVICE. Exit codes: 0 done, 1 not."""
    _, code = _change(device, spec, "deployed", options)
    context.exit(code)


def _change(device: str, spec: Path, state: str, options: dict[str, Any]) -> tuple[Live, int]:
    """Plans, shows, asks and applies the one device in its new state; exit code 0 when it holds it."""
    text = _edited(spec, device, state)
    live = open_live(spec, text=text, devices=[device], **options)
    plan = live.plan(strict=True)
    for line in show_plan(plan):
        click.echo(line)
    write: bool = options["write"]
    if not (options["auto_approve"] or (plan.exit_code == 0 and not write) or ask(f"Set {device} to {state}?")):
        return live, 1
    if write:
        write_atomic(spec.resolve(), text.encode(), spec.stat().st_mode & 0o777)
        click.echo(f"{spec} now says that {device} is {state}")
    elif text != _text(spec):
        click.echo(f"{spec} is not changed: the next apply of it undoes this (--write makes it last)")
    if plan.exit_code == 0:
        return live, 0
    one = operator(live, Options(TIMER_S, options["gate_timeout"]), WAVE_SIZE, None, as_json=False)
    return live, carry_out(one, lambda: one.apply(plan), as_json=False)


def _watch(live: Live, device: str, wait_s: float) -> int:
    """Waits until the neighbours have moved; says how it stands."""
    from fabric.change.drain import is_away, neighbours, own_prefixes, verdict, wait_away
    from fabric.change.secrets import Secrets

    addresses = neighbours(live.fabric, device)
    refs = {ref.name: ref for ref in live.job.devices if ref.name in addresses}
    own = own_prefixes(live.fabric, device)
    uses = wait_away(refs, addresses, own, live.connect(Secrets({})), SystemClock(), wait_s)
    click.echo(verdict(device, uses))
    if not is_away(uses):
        return 1
    return 2 if any(use.only for use in uses) else 0


def _text(spec: Path) -> str:
    from fabric.spec.yaml_read import decode, read_bytes

    return decode(read_bytes(spec), str(spec))


def _edited(spec: Path, device: str, state: str) -> str:
    """The spec's text with the device in this state, and nothing else changed. Raises FabricError when that cannot be written."""
    from fabric.change.state_edit import removed, with_state
    from fabric.design.load import design_loaded
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import load_text

    text = _text(spec)
    before = design_loaded(load_text(text, spec, ClusterSpec)).fabric
    if device not in before.by_name:
        from fabric.design.suggest import near

        raise FabricError(f"there is no switch {device!r}", hint=near(device, sorted(before.by_name)))
    if before.by_name[device].state == state:
        return text
    for edited in (removed(text, device), with_state(text, device, state)):
        if edited is None:
            continue
        fabric = design_loaded(load_text(edited, spec, ClusterSpec)).fabric
        states = {switch.name: switch.state for switch in before.switches} | {device: state}
        if {switch.name: switch.state for switch in fabric.switches} == states:
            return edited
    raise FabricError(
        f"{spec}: its `state` is written in a form that this command does not edit",
        hint=f"add {{match: {{name: {device}}}, state: {state}}} to it, then fabric apply",
    )
