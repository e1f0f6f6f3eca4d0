"""`fabric validate`: do the live devices do what the spec declares?

`--json` prints, version `fabric.validate/1`: {schema, spec, checks, exit_code, passed, failed, unknown, findings: [{check, subject,
verdict, measured, expected, action, evidence, devices, links, count, severity}]}.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabric.cli.common import json_option, spec_argument
from fabric.cli.live import live_options, open_live
from fabric.cli.rendering import progress
from fabric.cli.validate_hosts import KINDS, host_options
from fabric.cli.validate_ib import subnet_options
from fabric.errors import FabricError

if TYPE_CHECKING:
    from fabric.verify.finding import Finding

_CHECKS = ("cabling", "routing", "qos")
_INFINIBAND = ("sm", "partitions", "errors")


@click.command("validate")
@click.argument("check", type=click.Choice([*_CHECKS, *_INFINIBAND, *KINDS, "all"]))
@spec_argument
@click.option("--device", "devices", multiple=True, metavar="GLOB", help="Read and judge only these; may be repeated.")
@live_options
@json_option
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write JUnit XML.")
@click.option(
    "--full", is_flag=True, help="Show evidence, every unknown and every pass; with --ping-by ping all pairs."
)
@click.option(
    "--ping-by", metavar="COMMAND",
    help="Also ping from host to host (routing): how to run a command on {host}, for example 'ssh root@{host}'.",
)  # fmt: skip
@host_options
@subnet_options
@click.pass_context
def validate(
    context: click.Context,
    /,
    *,
    check: str,
    spec: Path,
    as_json: bool,
    junit: Path | None,
    full: bool,
    ping_by: str | None,
    **options: Any,
) -> None:
    """Read the live devices of SPEC and compare what they do with what it declares. Changes nothing.

    cabling: every cable by LLDP. routing: BGP sessions, next hops of every prefix, MTU. qos: the lossless class on every switch,
    and equal image, QoS and buffers within a tier.

    InfiniBand: from a machine with an HCA of the subnet, or by `fabric lab exec SPEC -- fabric validate ...`. cabling: every cable,
    its speed and state. sm: master and standbys, keys really taken, the engine in use, LIDs. routing: the tables of all switches,
    walked for every pair of HCAs. partitions, qos: the tables of every port. errors: counters above thresholds.

    hosts, storage: check-host on every host, by Ansible (docs/hosts.md); --device and --zone select, --max-parallel hosts at once.

    What could not be seen is unknown: listed, never counted as a fault. Exit codes: 2 something is wrong, 0 nothing that could be
    seen is wrong, 1 nothing could be seen.
    """
    from fabric.cli.validate_hosts import hosts_given, validate_hosts
    from fabric.cli.validate_ib import is_infiniband, subnet_given, validate_subnet
    from fabric.verify import report

    checks: Sequence[str]
    if check in KINDS:
        checks, (name, found) = (check,), validate_hosts(spec, check, {**options, "ping_by": ping_by})
    elif hosts_given(options):
        raise FabricError(
            "--only and --skip are for hosts and storage", hint="fabric validate hosts SPEC --only 'gpu.*'"
        )
    elif is_infiniband(spec):
        checks, name, found = validate_subnet(spec, check, {**options, "ping_by": ping_by})
    elif check in _INFINIBAND or subnet_given(options):
        raise FabricError(
            "this spec is not of InfiniBand", hint="cabling, routing, qos or all, without InfiniBand's options"
        )
    else:
        checks = _CHECKS if check == "all" else (check,)
        name, found = _ethernet(spec, checks, full=full, ping_by=ping_by, **options)
    if junit is not None:
        _write(junit, found, name)
    if as_json:
        click.echo(json.dumps(report.document(found, str(spec), checks), ensure_ascii=False))
    else:
        for line in report.lines(found, full=full):
            click.secho(line, fg=_colour(line))
    context.exit(report.exit_code(found))


def _ethernet(
    spec: Path, checks: Sequence[str], *, full: bool, ping_by: str | None, **options: Any
) -> tuple[str, list[Finding]]:
    """The cluster's name and all findings of a RoCE cluster."""
    from fabric.change.fan import fan_out
    from fabric.change.secrets import Secrets
    from fabric.verify.ping import CommandProber
    from fabric.verify.runner import Reader
    from fabric.verify.runner import validate as run

    prober = None if ping_by is None else CommandProber.of(ping_by)
    live = open_live(spec, **options)
    whole = len(live.only) == len(live.job.devices)
    reader = Reader(live.connect(Secrets({})), fan_out, live.parallel, progress=progress("read"))
    found = run(
        live.fabric, reader, live.only, checks, prober=prober, full=full,
        only=None if whole else frozenset(ref.name for ref in live.only),
    )  # fmt: skip
    return live.fabric.spec.name, found


def _colour(line: str) -> str | None:
    word = line.partition(" ")[0]
    return {"FAIL": "red", "WARN": "yellow", "unknown": "yellow", "WARNING:": "yellow"}.get(word)


def _write(path: Path, found: Any, name: str) -> None:
    from fabric.change.files import write_atomic
    from fabric.verify.junit import junit_xml

    write_atomic(path, junit_xml(found, name))
