"""Is traffic away from a drained device? Its neighbours' own forwarding tables say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabric.change.clock import Clock
from fabric.change.control import PARALLEL, OpenDevice
from fabric.change.fan import fan_out
from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.targets.base import DeviceRef
from fabric.targets.facts import Route
from fabric.words import counted, verb

POLL_S = 3.0
"""Between two looks at the neighbours' forwarding tables."""


@dataclass(frozen=True, slots=True)
class Use:
    """How one neighbour uses the device: routes that go over it beside others, and routes that know no other way."""

    neighbour: str
    shared: int
    only: int
    problem: str = ""


def neighbours(fabric: Fabric, device: str) -> dict[str, frozenset[str]]:
    """Neighbouring switch -> the device's addresses on their links: the next hops by which it is used."""
    found: dict[str, set[str]] = {}
    for port in fabric.ports(fabric.by_name[device]):
        if port.peer in fabric.by_name and port.enabled:
            addresses = found.setdefault(port.peer, set())
            addresses |= {fmt4(port.local4)} if port.local4 is not None else set()
            addresses |= {fmt6(port.local6)} if port.local6 is not None else set()
    return {name: frozenset(addresses) for name, addresses in found.items()}


def own_prefixes(fabric: Fabric, device: str) -> frozenset[str]:
    """The routes to the device itself, which no drain moves."""
    switch = fabric.by_name[device]
    six = set() if switch.loopback6 is None else {f"{fmt6(switch.loopback6)}/128"}
    return frozenset({f"{fmt4(switch.router_id)}/32", *six})


def use_of(
    neighbour: str, routes: Iterable[Route], addresses: frozenset[str], own: frozenset[str] = frozenset()
) -> Use:
    """Counts a neighbour's learnt routes over these next hops, but for those to the device's `own` prefixes."""
    shared = only = 0
    for route in routes:
        hops = {hop.address for hop in route.next_hops}
        if route.protocol != "bgp" or route.prefix in own or not hops & addresses:
            continue
        if hops <= addresses:
            only += 1
        else:
            shared += 1
    return Use(neighbour, shared, only)


def look(
    refs: Mapping[str, DeviceRef],
    addresses: Mapping[str, frozenset[str]],
    own: frozenset[str],
    open_device: OpenDevice,
) -> list[Use]:
    """How each neighbour uses the device now; one that cannot be asked has its `problem`."""

    def one(name: str) -> Use:
        device = open_device(refs[name])
        try:
            return use_of(name, device.routes(), addresses[name], own)
        finally:
            device.close()

    found = []
    for name, result in fan_out(one, sorted(refs), parallel=PARALLEL, deadline_s=120.0):
        found.append(result if isinstance(result, Use) else Use(name, 0, 0, str(result)))
    return sorted(found, key=lambda use: use.neighbour)


def wait_away(
    refs: Mapping[str, DeviceRef],
    addresses: Mapping[str, frozenset[str]],
    own: frozenset[str],
    open_device: OpenDevice,
    clock: Clock,
    timeout_s: float,
) -> list[Use]:
    """Looks until no neighbour uses the device beside other ways, or the time is over; the last look."""
    until = clock.now() + timeout_s
    while True:
        uses = look(refs, addresses, own, open_device)
        if is_away(uses) or clock.now() >= until:
            return uses
        clock.sleep(POLL_S)


def is_away(uses: Sequence[Use]) -> bool:
    """Whether every neighbour was asked and prefers another way wherever there is one."""
    return all(not use.shared and not use.problem for use in uses)


def verdict(device: str, uses: Sequence[Use]) -> str:
    """What was found, in one sentence."""
    silent = [use.neighbour for use in uses if use.problem]
    if silent:
        return f"not known to be safe: {', '.join(silent[:3])} could not be asked ({uses_problem(uses)})"
    busy = [use for use in uses if use.shared]
    if busy:
        number = sum(use.shared for use in busy)
        who = f"{len(busy):,} of {counted(len(uses), 'neighbour')} still {verb(len(busy), 'shares', 'share')}"
        return f"not safe yet: {who} {counted(number, 'route')} over {device}"
    only = max((use.only for use in uses), default=0)
    if only:
        lost = f"{counted(only, 'route')} of a neighbour {verb(only, 'knows', 'know')} no other way than {device}"
        return f"traffic through {device} has moved; up to {lost} and {verb(only, 'ends', 'end')} with it"
    return f"safe: none of its {counted(len(uses), 'neighbour')} has a route over {device}"


def uses_problem(uses: Sequence[Use]) -> str:
    """The first reason why a neighbour could not be asked."""
    return next(use.problem for use in uses if use.problem)
