"""What the commands on live devices share: options, the state folder, the way from a device of the spec to its driver."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fabric.change.control import PARALLEL
from fabric.change.gates import GATE_S
from fabric.cli.common import Seconds
from fabric.cli.rendering import progress
from fabric.errors import FabricError

if TYPE_CHECKING:
    from fabric.change.control import OpenDevice
    from fabric.change.plan import Plan
    from fabric.change.secrets import Secrets, SecretSource
    from fabric.change.site import Site
    from fabric.change.waves import Wave
    from fabric.design.fabric import Fabric
    from fabric.targets.base import DeviceRef
    from fabric.targets.device import Device, Login
    from fabric.targets.job import ClusterJob
    from fabric.targets.opensm.job import SubnetJob

F = TypeVar("F", bound=Callable[..., Any])
KNOWN_HOSTS = "known_hosts"

state_option: Callable[[F], F] = click.option(
    "--state",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of journals, locks and host keys (default: $FABRIC_STATE, else .fabric beside the spec).",
)
parallel_option: Callable[[F], F] = click.option(
    "--max-parallel", type=click.IntRange(1, 1024), default=PARALLEL, show_default=True, help="Devices at once."
)
timeout_option: Callable[[F], F] = click.option(
    "--timeout",
    "timeout_s",
    type=Seconds(1, 3600),
    default=30.0,
    show_default=True,
    help="Seconds that one answer of a device may take.",
)
gate_option: Callable[[F], F] = click.option(
    "--gate-timeout",
    type=Seconds(1, 3000),
    default=GATE_S,
    show_default=True,
    help="Seconds for sessions and links to come back.",
)
max_failed_option: Callable[[F], F] = click.option(
    "--max-failed",
    type=click.IntRange(1, 10000),
    default=1,
    show_default=True,
    help="Stop after so many failed devices.",
)
approve_option: Callable[[F], F] = click.option("--auto-approve", is_flag=True, help="Do not ask.")
events_option: Callable[[F], F] = click.option(
    "--json", "as_json", is_flag=True, help="Print the events as JSON, one a line. Never a yes by itself."
)
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--role", "roles", multiple=True, help="Only devices of this role; may be repeated."),
    click.option("--zone", "zones", multiple=True, type=int, help="Only devices of this zone; may be repeated."),
    state_option,
    parallel_option,
    timeout_option,
)


def live_options(command: F) -> F:
    """--role, --zone, --state, --max-parallel, --timeout."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def state_folder(spec: Path, state: Path | None) -> Path:
    """Where the journals, locks and host keys of a spec's cluster are."""
    if state is not None:
        return state
    if os.environ.get("FABRIC_STATE"):
        return Path(os.environ["FABRIC_STATE"])
    return spec.parent / ".fabric"


def driver(ref: DeviceRef, model: str, login: Login, fill: Callable[[bytes], bytes]) -> Device:
    """The driver of a device; here, and not at the top, so that netmiko is imported by who talks to devices."""
    from fabric.targets.open import open_device

    return open_device(ref, model, login, fill)


@dataclass(slots=True)
class Live:
    """A spec with its live devices. `text` is what the spec's file holds, or what stands in for it."""

    spec: Path
    job: ClusterJob | SubnetJob
    only: Sequence[DeviceRef]
    state: Path
    secrets: SecretSource
    parallel: int
    timeout_s: float
    text: str = ""

    @property
    def site(self) -> Site:
        """Where the devices are, and in which order they change."""
        from fabric.change.site import site_of

        return site_of(self.job)

    @property
    def fabric(self) -> Fabric:
        """The design, for commands on switches. Raises FabricError for an InfiniBand spec."""
        from fabric.targets.job import ClusterJob

        if not isinstance(self.job, ClusterJob):
            raise FabricError(f"{self.spec}: backend.kind is infiniband; this command is for the switches of RoCE")
        return self.job.fabric

    def connect(self, secrets: Secrets) -> OpenDevice:
        """The factory of drivers that fill in these secrets."""
        from fabric.change.credentials import Credentials
        from fabric.targets.open import preload

        preload({ref.target for ref in self.only})
        credentials = Credentials.of(os.environ)
        site, known_hosts = self.site, self.state / KNOWN_HOSTS

        def open_one(ref: DeviceRef) -> Device:
            login = credentials.login(ref.target, site.address(ref.name), known_hosts, self.timeout_s)
            return driver(ref, site.model(ref.name), login, secrets.fill)

        return open_one

    def plan(self, *, strict: bool = False, full: bool = False, workers: int | None = None) -> Plan:
        """Reads the devices and plans. With `strict` a device that cannot be read is an error."""
        from dataclasses import replace

        from fabric.change.clock import SystemClock
        from fabric.change.leftovers import dead_changes, record_cleared
        from fabric.change.live import LiveSource, require_all
        from fabric.change.plan import make_plan
        from fabric.change.secrets import Secrets

        with dead_changes(self.state, SystemClock()) as dead:
            source = LiveSource(self.job, self.connect(Secrets({})), self.parallel, dead=dead)
            failed = source.fetch(self.only, progress("read"))
            for device, token in source.cleared:
                record_cleared(dead[device, token], device, SystemClock())
                click.echo(f"{device}: what run {dead[device, token].id} had left staged on it is removed", err=True)
        if strict:
            require_all(failed, len(self.only))
        made = make_plan(
            self.job, source, only=self.only, extras=False, full=full, workers=workers, progress=progress("planned")
        )
        return replace(made, spec=str(self.spec.resolve()))

    def waves(self, wave_size: int, canary: str | None) -> Callable[[Collection[str]], Sequence[Wave]]:
        """The waves over devices of these names."""
        return self.site.waves(wave_size, canary)


def open_live(spec: Path, *, text: str | None = None, **options: Any) -> Live:
    """The devices that a command's options choose; `text` stands in for the spec's bytes. Raises FabricError."""
    from fabric.change.names import select_devices
    from fabric.change.secrets import SecretSource
    from fabric.change.site import site_of
    from fabric.cli.rendering import target_set
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import load_model, load_text
    from fabric.targets import job_of

    loaded = load_model(spec, ClusterSpec) if text is None else load_text(text, spec, ClusterSpec)
    targets = target_set(options.get("targets"))
    job = job_of(loaded, None if targets is None else set(targets))
    named = select_devices(job.devices, options["devices"]) if options.get("devices") else list(job.devices)
    chosen = _narrow(named, site_of(job), options.get("roles") or (), options.get("zones") or ())
    source = SecretSource(loaded.value.secrets, spec.parent, os.environ)
    return Live(
        spec, job, chosen, state_folder(spec, options.get("state")), source,
        options.get("max_parallel", PARALLEL), options.get("timeout_s", 30.0), loaded.source.text,
    )  # fmt: skip


def _narrow(refs: Sequence[DeviceRef], site: Site, roles: Sequence[str], zones: Sequence[int]) -> Sequence[DeviceRef]:
    left = [ref for ref in refs if (not roles or ref.role in roles) and (not zones or site.zone(ref.name) in zones)]
    if not left:
        raise FabricError("no device is left by --device, --role, --zone and --target")
    return left
