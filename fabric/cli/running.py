"""Running a change from the command line: the operator over live devices, Ctrl-C, the report."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from fabric.change.control import Control, Options
from fabric.change.events import Ended, Event, RunStarted, WaveEnded
from fabric.change.runs import began
from fabric.cli.live import state_folder
from fabric.cli.progress import exit_code, observer, what_next

if TYPE_CHECKING:
    from fabric.change.hosts.operate import HostOperator
    from fabric.change.operate import Operator
    from fabric.cli.live import Live

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def operator(live: Live, options: Options, wave_size: int, canary: str | None, *, as_json: bool) -> Operator:
    """The operator of a cluster, with its events printed."""
    from fabric.change.operate import Operator

    return Operator(
        live.job, str(live.spec), live.state, live.secrets, live.connect, live.waves(wave_size, canary), options,
        [observer(as_json=as_json)], spec_text=live.text,
    )  # fmt: skip


def carry_out(
    one: Operator | HostOperator, work: Callable[[], dict[str, Ended]], *, as_json: bool, dry_run: bool = False
) -> int:
    """Does `work` of the operator under its signals; says what can be done next; the exit code."""
    runs: list[RunStarted] = []
    problems: list[str] = []

    def remember(event: Event) -> None:
        if isinstance(event, RunStarted):
            runs.append(event)
        elif isinstance(event, WaveEnded):
            problems.extend(event.problems)

    one.observers = [*one.observers, remember]
    with stopping(one.control, hosts=hasattr(one, "drainer")):
        ended = work()
    back = bool(runs) and runs[-1].verb == "rollback"
    after = "" if dry_run or not runs or not began(one.state, runs[-1].run) else what_next(
        runs[-1].run, ended, back=back, unhealthy=bool(problems), where=_where(one), hosts=runs[-1].kind == "hosts",
    )  # fmt: skip
    if after and not as_json:
        click.echo(after, err=True)
    return 1 if problems else exit_code(ended, dry_run=dry_run, back=back)


def _where(one: Operator | HostOperator) -> str:
    """The options by which `fabric runs` finds the runs of this operator; "" when the defaults do."""
    spec = "" if one.spec == os.environ.get("FABRIC_SPEC", "cluster.yaml") else f" -s {shlex.quote(one.spec)}"
    usual = state_folder(Path(one.spec), None) == one.state
    return f"{spec}{'' if usual else f' --state {shlex.quote(str(one.state))}'}"


@contextmanager
def stopping(control: Control, *, hosts: bool = False) -> Iterator[None]:
    """Ctrl-C (or a hang-up, or a request to end) stops in order; a second one leaves the devices to their timers.

    `hosts` have no timer: the second one ends Ansible where it stands.
    """

    def handle(_number: int, _frame: FrameType | None) -> None:
        if control.interrupt() == 1:
            done = "hosts in work are finished" if hosts else "devices in flight are finished or returned"
            text = f"stopping: {done}, nothing further starts; once more to leave them"
        else:
            left = "Ansible is ended where it stands" if hosts else "devices in flight are returned by their own timers"
            text = f"leaving: {left}; fabric runs resume finds out"
        click.echo(f"\n{text}", err=True)

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
