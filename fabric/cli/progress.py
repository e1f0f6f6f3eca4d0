"""What a run says while it goes: lines for people, or one JSON event a line.

JSON, version `fabric.apply/1`: the first line is `{"schema": "fabric.apply/1"}`, each other one an event of `fabric.change.events`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import click

from fabric.change.diff_model import printable
from fabric.change.events import (
    GOOD,
    Ended,
    Event,
    Note,
    Observer,
    RunEnded,
    RunStarted,
    Step,
    WaveEnded,
    WaveStarted,
    to_record,
)
from fabric.change.names import compress_names
from fabric.words import counted, verb

SCHEMA = "fabric.apply/1"
_COLOURS = {"done": "green", "unchanged": "green", "dry-run": None, "not-started": "yellow", "pending": "yellow"}
_NAMED = 20


def observer(*, as_json: bool) -> Observer:
    """Prints the events of a run as they come."""
    if not as_json:
        return Lines()
    click.echo(json.dumps({"schema": SCHEMA}))
    return lambda event: click.echo(json.dumps(to_record(event), ensure_ascii=False))


class Lines:
    """The events as lines for people."""

    def __init__(self) -> None:
        self._waves = 0
        self._dry_run = False
        self._hosts = False
        self._last = ""
        self._quiet: list[str] = []

    def __call__(self, event: Event) -> None:
        """One event."""
        if isinstance(event, RunStarted):
            self._start(event)
        elif isinstance(event, WaveStarted):
            number = f"wave {event.number} of {self._waves} ({event.title})"
            title = event.title if event.number > self._waves else number
            click.echo(f"{title}: {compress_names(event.devices)}")
            self._last = ""
        elif isinstance(event, Step):
            self._step(event)
        elif isinstance(event, Ended):
            self._ended(event)
        elif isinstance(event, WaveEnded):
            for problem in event.problems:
                click.secho(f"  unhealthy: {printable(problem)}", fg="red")
        elif isinstance(event, Note):
            click.secho(f"  note: {f'{event.device}: ' if event.device else ''}{printable(event.text)}", fg="yellow")
        elif isinstance(event, RunEnded):
            self._end(event)

    def _start(self, event: RunStarted) -> None:
        self._waves, self._dry_run = len(event.waves), event.dry_run
        self._hosts = event.kind == "hosts"
        timer = "" if self._hosts or event.verb == "rollback" or event.dry_run else f", commit timer {event.timer_s} s"
        number = len(event.hosts)
        first = f"{verb(number, 'is', 'are')} looked at first"
        where = f"in {counted(len(event.waves), 'wave')}" if event.waves else first
        click.echo(f"{event.verb} {event.run}: {counted(number, 'host' if self._hosts else 'device')} {where}{timer}")

    def _step(self, event: Step) -> None:
        if self._hosts:
            self._of_host(event)
        elif event.step == "rolling-back":
            click.secho(f"  {event.device}: rolling back: {printable(event.detail)}", fg="yellow")
        elif event.step == "checking" and event.detail:
            click.secho(f"  {event.device}: {printable(event.detail)}", fg="yellow")
        elif self._dry_run and event.step == "staged":
            lines = "".join(f"    {printable(line)}\n" for line in event.detail.splitlines())
            click.echo(f"  {event.device}: the device's own difference:\n{lines}", nl=False)

    def _of_host(self, event: Step) -> None:
        """One line when a wave comes to its next step, and one for each reboot."""
        if event.step == "rebooting":
            click.secho(f"  {event.device}: rebooting: {printable(event.detail)}", fg="yellow")
        elif event.step not in (self._last, "unknown"):
            click.echo(f"  {event.step}")
        self._last = event.step

    def _ended(self, event: Ended) -> None:
        if event.result == "not-started":
            self._quiet.append(event.device)
            return
        detail = f": {printable(event.detail)}" if event.detail else ""
        click.secho(f"  {event.device} {event.result}{detail}", fg=_COLOURS.get(event.result, "red"))

    def _end(self, event: RunEnded) -> None:
        if self._quiet:
            click.secho(f"not started: {compress_names(self._quiet)}", fg="yellow")
        counts = ", ".join(f"{number:,} {result}" for result, number in sorted(event.counts.items()))
        click.echo(f"{counts or 'nothing to do'}{f'; stopped: {printable(event.stopped)}' if event.stopped else ''}")


def exit_code(ended: Mapping[str, Ended], *, dry_run: bool, back: bool = False) -> int:
    """0 all devices are as declared (`back`: as before the run), 1 not all, 2 a dry run that found something to change.

    2 also where hosts are as declared but for reboots that were not allowed.
    """
    if any(one.result == "pending" for one in ended.values()):
        return 2 if all(one.result in GOOD | {"pending"} for one in ended.values()) else 1
    if not _all_well(ended, back=back):
        return 1
    return 2 if dry_run and ended else 0


def what_next(
    run: str,
    ended: Mapping[str, Ended],
    *,
    back: bool = False,
    unhealthy: bool = False,
    where: str = "",
    hosts: bool = False,
) -> str:
    """What can be done after a run (`back`: its rollback) that did not end well, or whose gates found something; "" else.

    `where`: the options by which the run is found (" -s SPEC --state DIR"), so that the commands work as they stand.
    """
    run += where
    if _all_well(ended, back=back):
        return f"look at what is unhealthy; then: fabric runs rollback {run} (all back)" if unhealthy else ""
    lost = sorted(name for name, one in ended.items() if one.result in ("lost", "broken", "unknown"))
    more = f" and {len(lost) - _NAMED:,} more" if len(lost) > _NAMED else ""
    look = f"look at {', '.join(lost[:_NAMED])}{more}; then: " if lost else "then: "
    if hosts:
        reboot = (
            ", with --allow-reboot for those that wait for it"
            if any(o.result == "pending" for o in ended.values())
            else ""
        )
        return f"{look}fabric runs resume {run} (go on{reboot})"
    return f"{look}fabric runs resume {run} (go on), or fabric runs rollback {run} (all back)"


def _all_well(ended: Mapping[str, Ended], *, back: bool) -> bool:
    return all(one.result == "rolled-back" if back else one.result in GOOD for one in ended.values())
