"""What `render` and `plan` share: the options that choose devices, the loaded job, progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fabric.cli.common import json_option, spec_argument
from fabric.errors import FabricError
from fabric.words import counted

if TYPE_CHECKING:
    from fabric.change.pool import Progress
    from fabric.targets.base import DeviceRef, RenderJob

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    spec_argument,
    click.option(
        "--device", "devices", multiple=True, metavar="GLOB", help="Only devices whose name matches; may be repeated."
    ),
    click.option(
        "--target", "targets", metavar="NAMES", help="Only these kinds of device: eos, fboss, opensm; host alone."
    ),
    click.option(
        "--workers", type=click.IntRange(1, 256), help="Processes to render in (default: 2; 1 on a single core)."
    ),
    json_option,
)


def selection(command: F) -> F:
    """SPEC (else $FABRIC_SPEC, else ./cluster.yaml), --device, --target, --workers, --json."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def target_set(targets: str | None) -> frozenset[str] | None:
    """`eos,fboss` as a set; None when nothing was asked for. Raises FabricError for an empty list."""
    if targets is None:
        return None
    names = frozenset(name.strip() for name in targets.split(",") if name.strip())
    if not names:
        raise FabricError("--target names no kind of device", hint="for example --target eos,fboss")
    return names


def open_job(
    spec: Path, devices: Sequence[str], targets: frozenset[str] | None
) -> tuple[RenderJob, Sequence[DeviceRef] | None]:
    """The job of a spec, and the devices that the patterns choose (None: all). Raises FabricError for what is wrong in the spec."""
    from fabric.change.names import select_devices
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import load_model
    from fabric.targets import render_job
    from fabric.targets.host.job import HostJob

    job: RenderJob = render_job(load_model(spec, ClusterSpec), None if targets is None else set(targets))
    if targets is not None and not job.devices:
        raise FabricError(f"the spec has no device of target {', '.join(sorted(targets))}")
    if not devices:
        return job, None
    chosen = select_devices(job.devices, devices)
    return job, job.with_shared(chosen) if isinstance(job, HostJob) else chosen


def progress(verb: str) -> Progress | None:
    """A counter on stderr, when that is a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        end = "\r\033[K" if done == total else ""
        click.echo(f"\r{verb} {done:,} of {counted(total, 'device')}{end}", nl=False, err=True)

    return show
