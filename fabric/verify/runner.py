"""Reads what the checks need from all devices at once, and judges it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from fabric.design.fabric import Fabric
from fabric.errors import FabricError
from fabric.targets.base import DeviceRef
from fabric.targets.device import Device, DeviceError
from fabric.verify.cabling import judge_cabling
from fabric.verify.finding import Finding, touching
from fabric.verify.fold import fold
from fabric.verify.lldp_names import printable
from fabric.verify.mtu import Probe, Prober, judge_path, probes, unsent
from fabric.verify.observed import Network, Observed
from fabric.verify.qos import config_path, judge_qos, read_qos
from fabric.verify.route_plan import RoutePlan
from fabric.verify.route_table import compare_routes
from fabric.verify.routing import judge_routing

CHECKS = ("cabling", "routing", "qos")
PARTS: dict[str, tuple[str, ...]] = {
    "cabling": ("lldp", "interfaces"),
    "routing": ("bgp", "interfaces", "routes"),
    "qos": ("configuration",),
}
"""What each check needs besides the version, by which a device tells who it is."""
PARALLEL = 32
DEADLINE_S = 180.0
"""What all questions to one device may take, in seconds (our choice: the routes of a large fabric are some MB of JSON)."""

K = TypeVar("K")
R = TypeVar("R")


class Fan(Protocol):
    """Runs work for many devices at once: (item, result or exception) as they come."""

    def __call__(
        self, work: Callable[[K], R], items: Sequence[K], *, parallel: int, deadline_s: float | None
    ) -> Iterator[tuple[K, R | BaseException]]:
        """See the class."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How devices are read: `open` makes the object of one, `fan` runs many; `progress` is told (done, all)."""

    open: Callable[[DeviceRef], Device]
    fan: Fan
    parallel: int = PARALLEL
    deadline_s: float = DEADLINE_S
    progress: Callable[[int, int], None] | None = None


def observe(
    fabric: Fabric, plan: RoutePlan, reader: Reader, refs: Sequence[DeviceRef], checks: Sequence[str]
) -> Network:
    """What the devices say, as far as the checks need it. Devices that cannot be read are in it with the reason."""
    parts = tuple(dict.fromkeys(part for check in checks for part in PARTS[check]))
    network: dict[str, Observed] = {}

    def work(ref: DeviceRef) -> Observed:
        return _one(fabric, plan, reader, ref, parts)

    answers = reader.fan(work, refs, parallel=reader.parallel, deadline_s=reader.deadline_s)
    for done, (ref, answer) in enumerate(answers, start=1):
        if isinstance(answer, Observed):
            network[ref.name] = answer
        elif isinstance(answer, FabricError):
            network[ref.name] = Observed(ref.name, unreachable=_reason(ref, answer))
        else:
            raise answer
        if reader.progress is not None:
            reader.progress(done, len(refs))
    return {ref.name: network[ref.name] for ref in refs}


def _one(fabric: Fabric, plan: RoutePlan, reader: Reader, ref: DeviceRef, parts: Sequence[str]) -> Observed:
    """Everything of one device; a part that fails leaves the others."""
    device = reader.open(ref)
    try:
        version = device.version()
        said = version.hostname.partition(".")[0].lower()
        if said != ref.name.lower() and version.hostname.lower() != ref.name.lower():
            raise DeviceError(f"at its management address answers {printable(version.hostname)}")
        found: dict[str, Any] = {"version": version}
        errors: dict[str, str] = {}
        for part in parts:
            try:
                found.update(_part(fabric, plan, device, ref, part))
            except FabricError as error:
                errors[part] = _reason(ref, error)
        return Observed(ref.name, errors=errors, **found)
    finally:
        device.close()


def _reason(ref: DeviceRef, error: FabricError) -> str:
    """What went wrong, without the device's name, which stands beside it anyway."""
    return printable(error.message.removeprefix(f"{ref.name}: "), 160)


def _part(fabric: Fabric, plan: RoutePlan, device: Device, ref: DeviceRef, part: str) -> dict[str, Any]:
    switch = fabric.by_name[ref.name]
    if part == "lldp":
        return {"lldp": tuple(device.lldp())}
    if part == "bgp":
        return {"bgp": tuple(device.bgp())}
    if part == "interfaces":
        return {"interfaces": tuple(device.interfaces())}
    if part == "routes":
        return {"routes": compare_routes(plan.expected(switch), device.routes())}
    path = config_path(switch)
    return {"qos": read_qos(fabric, switch, device.read([path]).get(path))}


def judge(
    fabric: Fabric,
    plan: RoutePlan,
    network: Network,
    checks: Sequence[str],
    *,
    only: frozenset[str] | None = None,
) -> list[Finding]:
    """All findings of the checks on what was read; those that touch the devices `only` when it is given."""
    found = list(_unread(network))
    if "cabling" in checks:
        found += judge_cabling(fabric, network)
    if "routing" in checks:
        found += judge_routing(fabric, plan, network)
    if "qos" in checks:
        found += judge_qos(fabric, network)
    return touching(fold(found), only)


def validate(
    fabric: Fabric,
    reader: Reader,
    refs: Sequence[DeviceRef],
    checks: Sequence[str],
    *,
    only: frozenset[str] | None = None,
    prober: Prober | None = None,
    full: bool = False,
) -> list[Finding]:
    """Reads the devices `refs` and gives all findings; with a `prober`, routing also sends pings between hosts (all pairs if `full`)."""
    plan = RoutePlan(fabric)
    network = observe(fabric, plan, reader, refs, checks)
    found = judge(fabric, plan, network, checks, only=only)
    if prober is not None and "routing" in checks:
        found += _paths(fabric, reader, prober, only, full=full)
    return found


def _paths(fabric: Fabric, reader: Reader, prober: Prober, only: frozenset[str] | None, *, full: bool) -> list[Finding]:
    wanted = probes(fabric, full=full, racks=only)
    found: dict[Probe, Finding] = {}

    def work(probe: Probe) -> Finding:
        return judge_path(fabric, prober, probe)

    for probe, answer in reader.fan(work, wanted, parallel=reader.parallel, deadline_s=reader.deadline_s):
        if isinstance(answer, Finding):
            found[probe] = answer
        elif isinstance(answer, FabricError):
            found[probe] = unsent(fabric, probe, printable(answer.message, 160))
        else:
            raise answer
    return [found[probe] for probe in wanted]


def _unread(network: Network) -> Iterator[Finding]:
    """One finding for each device that could not be read, and for each part of one."""
    for name, device in network.items():
        if device.unreachable is not None:
            text = "it is judged from its neighbours as far as they can tell"
            yield Finding("read.device", name, "unknown", device.unreachable, "the device answers", text, (), (name,))
        for part, why in device.errors.items():
            if part not in ("routes", "configuration"):  # these two are said by their checks
                yield Finding(f"read.{part}", name, "unknown", why, f"{part} can be read", "", (), (name,))
