"""What `fabric validate` does for an InfiniBand spec."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fabric.errors import FabricError

if TYPE_CHECKING:
    from fabric.design.ib.model import Subnet
    from fabric.verify.finding import Finding
    from fabric.verify.ib.reads import Observed

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--sm-by", metavar="COMMAND",
        help="InfiniBand: how to run a command on the SM host {host} (at {address}), for example 'ssh root@{host}', to read what opensm wrote.",
    ),
    click.option(
        "--save", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="InfiniBand: also write the LIDs of now."
    ),
    click.option(
        "--against", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
        help="InfiniBand (sm): no LID may differ from those that --save wrote, for example before a handover.",
    ),
    click.option("--ca", default="", metavar="NAME", help="InfiniBand: the HCA to ask through (default: the first active port)."),
    click.option("--ca-port", type=click.IntRange(0, 254), default=0, help="InfiniBand: its port."),
)  # fmt: skip


def subnet_options(command: F) -> F:
    """--sm-by, --save, --against, --ca, --ca-port."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def subnet_given(options: dict[str, Any]) -> bool:
    """Takes InfiniBand's own options out of a command's; whether any of them was given."""
    return any([options.pop(name) for name in ("sm_by", "save", "against", "ca", "ca_port")])  # noqa: C419 - all must go


def is_infiniband(spec: Path) -> bool:
    """Is the back end of a spec InfiniBand?"""
    from fabric.design.load import load_spec

    return load_spec(spec).value.backend.kind == "infiniband"


def validate_subnet(spec: Path, check: str, options: Mapping[str, Any]) -> tuple[Sequence[str], str, list[Finding]]:
    """The checks, the cluster's name and all findings, by the command's options. FabricError when there is no way into the subnet."""
    from fabric.design.load import load_subnet
    from fabric.verify.ib.judge import CHECKS
    from fabric.verify.ib.lids import load
    from fabric.verify.ib.live import live_reads
    from fabric.verify.ib.runner import validate
    from fabric.verify.ib.sm_by import CommandTexts

    if options["ping_by"] is not None or options["roles"] or options["zones"]:
        raise FabricError(
            "--ping-by, --role and --zone are for RoCE", hint="--device GLOB selects switches and HCAs by name"
        )
    subnet = load_subnet(spec).subnet
    checks = CHECKS if check == "all" else (check,)
    if options["against"] is not None and "sm" not in checks:
        raise FabricError("--against compares LIDs, which is part of sm", hint="fabric validate sm SPEC --against FILE")
    only = _chosen(subnet, options["devices"]) if options["devices"] else None
    lids = None if options["against"] is None else load(options["against"])
    texts = None if options["sm_by"] is None else CommandTexts.of(options["sm_by"])
    with live_reads(texts, ca=options["ca"], port=options["ca_port"]) as reads:
        seen, found = validate(subnet, reads, checks, saved_lids=lids, only=only, progress=_progress)
    if options["save"] is not None:
        _save(options["save"], seen)
    return checks, subnet.spec.name, found


def _save(path: Path, seen: Observed) -> None:
    from fabric.change.files import write_atomic
    from fabric.verify.ib.lids import saved_lids
    from fabric.verify.ib.reads import Unread

    if isinstance(seen.topology, Unread):
        raise FabricError(f"no LIDs to save: {seen.topology.why}")
    write_atomic(path, saved_lids(seen.topology))


def _chosen(subnet: Subnet, patterns: Sequence[str]) -> frozenset[str]:
    """Names of switches, hosts and HCAs that a pattern fits; an HCA also goes by its host."""
    names: set[str] = {*subnet.switch, *subnet.hca, *(hca.host for hca in subnet.hcas)}
    found: set[str] = set()
    for pattern in patterns:
        hits = set(fnmatch.filter(names, pattern))
        if not hits:
            raise FabricError(f"--device {pattern!r} fits no switch, host or HCA of the design")
        found |= hits
    found |= {hca.name for hca in subnet.hcas if hca.host in found}
    return frozenset(found)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        click.echo(text, err=True)
