"""`fabric plan --hosts`, `fabric apply --hosts` and `fabric runs resume` of such a run: GPU hosts, changed by Ansible in waves.

`--json` and exit codes are those of the commands; 2 of an apply: all is as declared but for reboots that were not allowed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabric.change.hosts.health import GATE_S
from fabric.change.hosts.options import HostOptions
from fabric.change.hosts.waves import WAVE_SIZE
from fabric.cli.confirm import ask
from fabric.cli.host_options import host_options, require_fitting
from fabric.cli.live import state_folder
from fabric.cli.rendering import progress
from fabric.cli.running import carry_out, stopping
from fabric.errors import FabricError
from fabric.words import counted

if TYPE_CHECKING:
    from fabric.change.hosts.health import HostHealth
    from fabric.change.hosts.operate import HostOperator
    from fabric.change.plan import Plan
    from fabric.change.runs import RunRecord
    from fabric.change.waves import Wave
    from fabric.design.hosts.model import HostFleet
    from fabric.verify.finding import Finding


@dataclass(slots=True)
class Hosts:
    """The hosts of a spec that a command is about. `lies_at` is a file that holds `text`, `spec` where the user's own one is."""

    spec: Path
    lies_at: Path
    text: str
    sha256: str
    fleet: HostFleet
    names: frozenset[str]
    declared: frozenset[str]
    chosen: Sequence[str]
    state: Path

    def drain(self, given: str | None) -> str:
        """How hosts are taken out of the scheduler: as asked, or as the spec says."""
        return given or ("slurm" if self.fleet.spec.scheduler is not None else "none")


@contextmanager
def opened(spec: Path, options: Mapping[str, Any], text: str | None = None) -> Iterator[Hosts]:
    """The hosts that a command's options choose; `text` stands in for the spec's bytes. Raises FabricError."""
    from fabric.design.load import fleet_of
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import load_model, load_text
    from fabric.targets.host.scratch import scratch

    with ExitStack() as stack:
        lies_at = spec
        if text is not None or spec.name != "cluster.yaml":
            lies_at = stack.enter_context(scratch("spec")).path / "cluster.yaml"
        loaded = load_model(spec, ClusterSpec) if text is None else load_text(text, spec, ClusterSpec)
        if lies_at != spec:
            lies_at.write_text(loaded.source.text, encoding="utf-8")
        fleet = fleet_of(loaded).fleet
        switches = {nic.switch for host in fleet.hosts for nic in host.nics}
        names = frozenset([*switches, *(host.name for host in fleet.hosts)])
        yield Hosts(
            spec, lies_at, loaded.source.text, loaded.text_sha256, fleet, names, frozenset(loaded.value.secrets),
            _chosen(fleet, options.get("devices") or (), options.get("zones") or ()), state_folder(spec, options.get("state")),
        )  # fmt: skip


def _chosen(fleet: HostFleet, patterns: Sequence[str], zones: Sequence[int]) -> list[str]:
    """The names of installed hosts that the options choose."""
    from fabric.change.names import select_devices
    from fabric.targets.base import DeviceRef

    refs = [
        DeviceRef(host.name, "host", "host")
        for host in fleet.hosts
        if host.state != "planned" and (not zones or host.zone in zones)
    ]
    named = select_devices(refs, patterns) if patterns and refs else refs
    if not named:
        raise FabricError("no host is left by --device and --zone", hint="planned hosts are not changed")
    return [ref.name for ref in named]


@contextmanager
def operating(
    hosts: Hosts, options: HostOptions, canary: str | None, *, as_json: bool | None
) -> Iterator[HostOperator]:
    """An operator over the hosts; `as_json` None: nothing is printed."""
    from fabric.change.control import Control
    from fabric.change.hosts.ansible import require_concern
    from fabric.change.hosts.drain import drainer_of
    from fabric.change.hosts.health import look_nowhere
    from fabric.change.hosts.operate import HostOperator
    from fabric.change.hosts.runner import runner_of
    from fabric.change.hosts.waves import plan_host_waves
    from fabric.cli.progress import observer

    def waves(names: Collection[str]) -> Sequence[Wave]:
        size, reboot = options.wave_size, options.allow_reboot
        return plan_host_waves(hosts.fleet.hosts, names, wave_size=size, canary=canary, reboot=reboot)

    if options.concern:
        require_concern(options.concern)
    control = Control()
    scheduler = hosts.fleet.spec.scheduler
    drainer = drainer_of(options.drain, scheduler.controller if scheduler is not None else None)
    runner = runner_of(options.executor, control.abandoned)
    try:
        yield HostOperator(
            hosts.fleet.hosts, hosts.names, hosts.declared, str(hosts.spec), hosts.text, hosts.sha256, hosts.state, runner, drainer,
            looker(hosts.lies_at, options) if options.health else look_nowhere, waves, options,
            [] if as_json is None else [observer(as_json=as_json)], control=control, lies_at=str(hosts.lies_at),
        )  # fmt: skip
    finally:
        runner.close()


def looker(spec: Path, options: HostOptions) -> Callable[[Sequence[str]], Mapping[str, HostHealth]]:
    """The health of hosts by `fabric validate`: what is critical counts."""

    def look(names: Sequence[str]) -> Mapping[str, HostHealth]:
        from fabric.change.hosts.health import HostHealth
        from fabric.verify.hosts.run import Options, check_hosts

        try:
            found = check_hosts(spec, names, options=Options(forks=options.forks))
        except FabricError as error:
            return {name: HostHealth(unseen=error.message) for name in names}
        return {name: health_of(name, found) for name in names}

    return look


def health_of(name: str, found: Sequence[Finding]) -> HostHealth:
    """What findings say of one host; a host of which nothing was seen has no health."""
    from fabric.change.hosts.health import HostHealth

    mine = [finding for finding in found if name in finding.devices]
    seen = [finding for finding in mine if finding.verdict != "unknown"]
    if not seen:
        return HostHealth(unseen=mine[0].measured if mine else "no check was made")
    bad = [finding for finding in seen if finding.verdict == "fail" and finding.severity == "critical"]
    return HostHealth({f"{f.check} {f.subject.partition(': ')[2]}".strip(): _words(f) for f in bad})


def _words(finding: Finding) -> str:
    unit = finding.subject.partition(": ")[2]
    return f"{finding.check}{f' {unit}' if unit else ''}: {finding.measured}, expected {finding.expected}"


def plan_hosts(context: click.Context, spec: Path, out: Path | None, options: Mapping[str, Any]) -> None:
    """`fabric plan --hosts`."""
    from fabric.change.planfile import plan_document, save_plan
    from fabric.change.show import show_plan

    require_fitting(context, hosts=True)
    with opened(spec, options) as hosts, operating(hosts, host_options(options), None, as_json=None) as one:
        made = _planned(one, hosts, full=options["full"])
    if out is not None:
        save_plan(made, out)
    if options["as_json"]:
        click.echo(json.dumps(plan_document(made), ensure_ascii=False))
    else:
        for line in show_plan(made, "full" if options["full"] else "summary" if options["summary"] else "groups"):
            click.echo(line)
    context.exit(made.exit_code)


def _planned(one: HostOperator, hosts: Hosts, *, full: bool) -> Plan:
    from dataclasses import replace

    with stopping(one.control, hosts=True):
        made = one.plan(hosts.chosen, full=full, progress=progress("asked"))
    return replace(made, spec=str(hosts.spec.resolve()))


def apply_hosts(context: click.Context, spec: Path, plan: Plan | None, options: dict[str, Any]) -> None:
    """`fabric apply --hosts`. `plan`: from a plan file, or None."""
    require_fitting(context, hosts=True)
    if context.get_parameter_source("gate_timeout") is not click.core.ParameterSource.COMMANDLINE:
        options["gate_timeout"] = GATE_S
    if context.get_parameter_source("wave_size") is not click.core.ParameterSource.COMMANDLINE:
        options["wave_size"] = WAVE_SIZE
    with opened(spec, options) as hosts:
        run = host_options(options, hosts.drain(options["drain"]))
        with operating(hosts, run, options["canary"], as_json=options["as_json"]) as one:
            context.exit(_apply(one, hosts, plan, options))


def _apply(one: HostOperator, hosts: Hosts, plan: Plan | None, options: Mapping[str, Any]) -> int:
    from fabric.cli.apply import narrowed, show

    if plan is None:
        plan = _planned(one, hosts, full=options["full"])
    else:
        one.require_current(plan)
        plan = narrowed(plan, set(hosts.chosen))
    todo = {device.name for device in plan.devices if device.kind == "changed"}
    waves = one.waves(todo)
    show(
        plan,
        waves,
        "full" if options["full"] else "summary" if options["summary"] else "groups",
        as_json=options["as_json"],
    )
    unknown = plan.count("unknown")
    if options["dry_run"] or not todo:
        return plan.exit_code
    reboot = f" Up to {one.options.reboots} at once may be rebooted." if one.options.allow_reboot else ""
    if not (options["auto_approve"] or ask(f"Change {counted(len(todo), 'live host')}?{reboot}")):
        return 1
    made = plan
    code = carry_out(one, lambda: one.apply(made), as_json=options["as_json"])
    return 1 if unknown else code


def resume_hosts(record: RunRecord, options: Mapping[str, Any]) -> int:
    """`fabric runs resume` of a run on hosts: by the spec that it was made of, with its options."""
    from fabric.change.hosts.operate import options_of

    changes: dict[str, Any] = {"max_failed": options["max_failed"]}
    changes |= {"allow_reboot": True} if options["allow_reboot"] else {}
    changes |= {"executor": options["executor"]} if options["executor"] else {}
    kept = record.spec_text()
    with opened(options["spec"], {"state": options["state"]}, kept) as hosts:
        if hosts.sha256 != record.started.spec_sha256:
            raise FabricError(
                "the spec has changed since the run, which has not kept its own", hint="fabric apply --hosts"
            )
        with operating(hosts, options_of(record, changes), None, as_json=options["as_json"]) as one:
            counts = ", ".join(f"{number:,} {result}" for result, number in sorted(record.counts.items()))
            if not (options["auto_approve"] or ask(f"Resume run {record.id} ({record.status}: {counts})?")):
                return 1
            return carry_out(one, lambda: one.resume(record.id), as_json=options["as_json"])
