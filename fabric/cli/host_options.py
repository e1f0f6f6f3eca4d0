"""The options of `fabric plan --hosts`, `fabric apply --hosts` and `fabric runs resume`, and what a run makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from fabric.change.hosts.health import GATE_S
from fabric.change.hosts.options import DRAIN_S, REBOOTS, RUN_S, HostOptions
from fabric.change.hosts.waves import WAVE_SIZE
from fabric.cli.common import Seconds

F = TypeVar("F", bound=Callable[..., Any])
_SHARED: tuple[Callable[[Any], Any], ...] = (
    click.option("--hosts", is_flag=True, help="The GPU hosts, by Ansible, instead of switches and subnet managers."),
    click.option("--concern", metavar="NAME", help="hosts: the playbook of one concern (network, nccl, ...) instead of all."),
    click.option(
        "--executor", metavar="WHERE", help="hosts: local (default), or dask=ADDRESS: Dask workers share the hosts of a wave."
    ),
    click.option(
        "--run-timeout", type=Seconds(10, 86400), default=RUN_S, show_default=True, help="hosts: seconds of one run of Ansible."
    ),
)  # fmt: skip
_APPLY: tuple[Callable[[Any], Any], ...] = (
    click.option("--allow-reboot", is_flag=True, help="hosts: those that wait for a reboot may be rebooted, drained."),
    click.option(
        "--max-reboots", type=click.IntRange(1, 1024), default=REBOOTS, show_default=True, help="hosts: most reboots at once."
    ),
    click.option(
        "--drain", metavar="HOW", help="hosts: slurm, none, or a program (default: the spec's scheduler)."
    ),
    click.option(
        "--drain-timeout", type=Seconds(0, 30 * 86400), default=DRAIN_S, show_default=True,
        help="hosts: seconds that jobs have to end.",
    ),
    click.option("--no-health", is_flag=True, help="hosts: do not look at their health around the change."),
)  # fmt: skip
resume_options: tuple[Callable[[Any], Any], ...] = (
    click.option("--allow-reboot", is_flag=True, help="hosts: those that wait for a reboot may be rebooted now."),
    click.option("--executor", metavar="WHERE", help="hosts: local or dask=ADDRESS (default: as the run was)."),
)
_NOT_FOR_HOSTS = ("roles", "targets", "strict", "against", "commit_timer", "timeout_s", "workers")
_ONLY_FOR_HOSTS = (
    "concern", "executor", "run_timeout", "allow_reboot", "max_reboots", "drain", "drain_timeout", "no_health",
)  # fmt: skip
_FLAGS = {"roles": "role", "targets": "target", "timeout_s": "timeout"}


def plan_options(command: F) -> F:
    """--hosts, --concern, --executor, --run-timeout."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


def apply_options(command: F) -> F:
    """Those of a plan, and what a change of hosts may do."""
    for option in reversed((*_SHARED, *_APPLY)):
        command = option(command)
    return command


def require_fitting(context: click.Context, *, hosts: bool) -> None:
    """A usage error for options of the other kind of devices, that somebody has given."""
    for name in _NOT_FOR_HOSTS if hosts else _ONLY_FOR_HOSTS:
        source = context.get_parameter_source(name)
        if source is click.core.ParameterSource.COMMANDLINE:
            flag = f"--{_FLAGS.get(name, name).replace('_', '-')}"
            raise click.UsageError(f"{flag} is not for hosts" if hosts else f"{flag} is for hosts: add --hosts")


def host_options(options: Mapping[str, Any], drain: str = "none") -> HostOptions:
    """The options of a command line, of a plan or of an apply."""
    gate = options.get("gate_timeout", GATE_S)
    return HostOptions(
        forks=options["max_parallel"],
        wave_size=options.get("wave_size", WAVE_SIZE),
        max_failed=options.get("max_failed", 1),
        allow_reboot=options.get("allow_reboot", False),
        reboots=options.get("max_reboots", REBOOTS),
        gate_s=gate,
        drain_s=options.get("drain_timeout", DRAIN_S),
        run_s=options["run_timeout"],
        concern=options["concern"] or "",
        drain=drain,
        executor=options["executor"] or "local",
        health=not options.get("no_health", False),
    )
