"""`fabric validate`: do the live devices do what the spec declares?

`--json` prints, version `fabric.validate/1`: {schema, spec, checks, exit_code, passed, failed, unknown, findings: [{check, subject,
verdict, measured, expected, action, evidence, devices, links, count, severity}]}.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabric.cli.common import spec_argument
from fabric.cli.conclude import report_options
from fabric.cli.live import live_options, open_live
from fabric.cli.rendering import progress
from fabric.cli.validate_hosts import KINDS, host_options
from fabric.cli.validate_ib import subnet_options
from fabric.errors import FabricError

if TYPE_CHECKING:
    from fabric.verify.finding import Finding
    from fabric.verify.outcome import Outcome

_CHECKS = ("cabling", "routing", "qos")
_COLLECTIVES = "collectives"
_INFINIBAND = ("sm", "partitions", "errors")


class _ByCheck(click.Command):
    """`fabric validate collectives` is a command of its own, as it shares few options with the checks that only read."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of that command when its name is the first word."""
        if args[:1] == [_COLLECTIVES]:
            name = f"{info_name} {_COLLECTIVES}"
            return self.own_commands()[_COLLECTIVES].make_context(name, args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    @staticmethod
    def own_commands() -> dict[str, click.Command]:
        """Checks that are commands of their own, by name."""
        from fabric.cli.validate_collectives import collectives

        return {_COLLECTIVES: collectives}


@click.command("validate", cls=_ByCheck)
@click.argument("check", type=click.Choice([*_CHECKS, *_INFINIBAND, *KINDS, _COLLECTIVES, "all"]))
@spec_argument
@click.option("--device", "devices", multiple=True, metavar="GLOB", help="Read and judge only these; may be repeated.")
@live_options
@report_options
@click.option(
    "--ping-by", metavar="COMMAND",
    help="Also ping from host to host (routing): how to run a command on {host}, for example 'ssh root@{host}'.",
)  # fmt: skip
@host_options
@subnet_options
@click.pass_context
def validate(context: click.Context, /, *, check: str, spec: Path, **options: Any) -> None:
    """Read the live devices of SPEC and compare what they do with what it declares. Changes nothing.

    cabling: every cable by LLDP. routing: BGP sessions, next hops of every prefix, MTU. qos: the lossless class on every switch,
    and equal image, QoS and buffers within a tier.

    InfiniBand: from a machine with an HCA of the subnet, or by `fabric lab exec SPEC -- fabric validate ...`. cabling: every cable,
    its speed and state. sm: master and standbys, keys really taken, the engine in use, LIDs. routing: the tables of all switches,
    walked for every pair of HCAs. partitions, qos: the tables of every port. errors: counters above thresholds.

    hosts, storage: check-host on every host, by Ansible (docs/hosts.md); --device and --zone select, --max-parallel hosts at once.

    collectives: tests with traffic, by stages, that name the faulty part; options of its own: fabric validate collectives --help.

    Every run is kept in the state folder, for `fabric history`.

    What could not be seen is unknown: listed, never counted as a fault. Exit codes: 2 something is wrong, 0 nothing that could be
    seen is wrong, 1 nothing could be seen.
    """
    from fabric.change.clock import SystemClock
    from fabric.cli.conclude import conclude, wanted

    want = wanted(spec, SystemClock().now(), options)
    context.exit(conclude(_outcome(spec, check, options), want))


def _outcome(spec: Path, check: str, options: dict[str, Any]) -> Outcome:
    """What a check of any kind comes to. Raises FabricError, also for options of another kind."""
    from fabric.cli.conclude import selection
    from fabric.cli.validate_hosts import hosts_given, validate_hosts
    from fabric.cli.validate_ib import is_infiniband, subnet_given, validate_subnet
    from fabric.verify.outcome import Outcome

    if check == _COLLECTIVES:
        raise FabricError("collectives has options of its own", hint=f"fabric validate {_COLLECTIVES} SPEC ...")
    narrowed = selection(options)
    checks: Sequence[str]
    if check in KINDS:
        checks, (name, found) = (check,), validate_hosts(spec, check, options)
    elif hosts_given(options):
        raise FabricError(
            "--only and --skip are for hosts and storage", hint="fabric validate hosts SPEC --only 'gpu.*'"
        )
    elif is_infiniband(spec):
        checks, name, found = validate_subnet(spec, check, options)
    elif check in _INFINIBAND or subnet_given(options):
        raise FabricError(
            "this spec is not of InfiniBand", hint="cabling, routing, qos or all, without InfiniBand's options"
        )
    else:
        checks = _CHECKS if check == "all" else (check,)
        name, found = _ethernet(spec, checks, **options)
    return Outcome(name, checks, found, narrowed)


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
