"""What `fabric validate hosts` and `fabric validate storage` do: check-host on all hosts at once, by Ansible."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fabric.errors import FabricError
from fabric.words import counted

if TYPE_CHECKING:
    from fabric.design.hosts.model import HostFleet
    from fabric.verify.finding import Finding

F = TypeVar("F", bound=Callable[..., Any])
KINDS = ("hosts", "storage")
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--only",
        multiple=True,
        metavar="ID",
        help="hosts, storage: only these checks, such as 'gpu.*'; may be repeated.",
    ),
    click.option("--skip", multiple=True, metavar="ID", help="hosts, storage: not these checks; may be repeated."),
)


def host_options(command: F) -> F:
    """--only, --skip."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def hosts_given(options: dict[str, Any]) -> bool:
    """Takes the hosts' own options out of a command's; whether any of them was given."""
    return any([options.pop(name) for name in ("only", "skip")])  # noqa: C419 - all must go


def validate_hosts(spec: Path, part: str, options: Mapping[str, Any]) -> tuple[str, list[Finding]]:
    """The cluster's name and all findings. FabricError for what is no option of hosts."""
    from fabric.design.load import load_fleet
    from fabric.verify.hosts.run import Options, check_hosts

    others = [name for name in ("roles", "ping_by", "sm_by", "save", "against", "ca", "ca_port") if options.get(name)]
    if others:
        raise FabricError(
            f"--{others[0].rstrip('s').replace('_', '-')} is not for hosts",
            hint="--device GLOB and --zone N select hosts",
        )
    fleet = load_fleet(spec).fleet
    names = _chosen(fleet, options["devices"], options["zones"])
    if sys.stderr.isatty():
        click.echo(f"asking {counted(len(names), 'host')}", err=True)
    deadline = options["timeout_s"]
    asked = Options(options["only"], options["skip"], deadline, options["max_parallel"], 3 * deadline + 60)
    return fleet.spec.name, check_hosts(spec, names, "storage" if part == "storage" else "hosts", asked)


def _chosen(fleet: HostFleet, patterns: Sequence[str], zones: Sequence[int]) -> list[str]:
    """Names of the hosts that are there; a pattern that fits none is an error."""
    there = [plan for plan in fleet.hosts if plan.state != "planned"]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(plan.name, pattern) for plan in there):
            raise FabricError(f"--device {pattern!r} fits no host of the spec")
    return [
        plan.name
        for plan in there
        if (not zones or plan.zone in zones)
        and (not patterns or any(fnmatch.fnmatchcase(plan.name, pattern) for pattern in patterns))
    ]
