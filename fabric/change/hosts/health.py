"""The health of hosts around a change: what was well before must be well after it; what was not is told, and blames nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric.change.clock import Clock

POLL_S = 5.0
"""Between two looks at hosts: services come up after a reboot one after the other (our choice)."""
GATE_S = 300.0
"""How long a host has to be well again after its change (our choice: a fabric manager alone may take a minute after a boot)."""


@dataclass(frozen=True, slots=True)
class HostHealth:
    """What is wrong with a host: key of a check -> one line. `unseen` says why nothing could be seen at all; then it is no verdict."""

    problems: Mapping[str, str] = field(default_factory=dict)
    unseen: str = ""


Look = Callable[[Sequence[str]], Mapping[str, HostHealth]]
"""The health of these hosts now. A host that is missing in the answer was not seen."""


def look_nowhere(_hosts: Sequence[str]) -> Mapping[str, HostHealth]:
    """Without a gate: everything is well."""
    return {host: HostHealth() for host in _hosts}


def worse(before: HostHealth | None, now: HostHealth) -> HostHealth:
    """What is wrong now and was not before. A host that was not seen before has to be well in everything."""
    known = before.problems if before is not None and not before.unseen else {}
    return HostHealth({key: text for key, text in now.problems.items() if key not in known}, now.unseen)


def wait_well(
    look: Look,
    before: Mapping[str, HostHealth],
    hosts: Sequence[str],
    clock: Clock,
    until: float,
    stop: Callable[[], bool],
) -> dict[str, HostHealth]:
    """Looks until nothing is worse than before, or the time `until` is reached: what is worse on each host then."""
    found: dict[str, HostHealth] = {}
    left = list(hosts)
    while left:
        seen = look(left)
        for host in left:
            found[host] = worse(before.get(host), seen.get(host, HostHealth(unseen="it was not seen")))
        left = [host for host in left if found[host].problems or found[host].unseen]
        now = clock.now()
        if not left or now >= until or stop():
            break
        clock.sleep(min(POLL_S, until - now))
    return found
