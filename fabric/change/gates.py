"""Health gates: what was up before a change is up again after it.

A BGP session that was established must be established again, by its peer; a link that was up must be up. What the new configuration
no longer holds is not waited for: a peer that is gone on the device and in no file that we sent, a link that is switched off. What
waits for its far end to be changed too is in `fabric.change.deferred`. A device that is `Examined` says itself what else is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabric.change.clock import Clock
from fabric.targets.base import Artifact
from fabric.targets.device import Device, DeviceError, Examined
from fabric.targets.facts import BgpSession, InterfaceState

ESTABLISHED = "established"
POLL_S = 2.0
"""Between two looks at a device."""
GATE_S = 90.0
"""How long sessions and links have to come back: an FBOSS agent's restart with its BGP convergence fits (our choice)."""


@dataclass(frozen=True, slots=True)
class Health:
    """What is up on a device: BGP peers with an established session, interfaces that run.

    `touched` are those of them whose own end the change touches, so that they depend on the far end.
    """

    peers: frozenset[str]
    links: frozenset[str]
    touched: frozenset[str] = frozenset()

    def data(self) -> dict[str, Any]:
        """As JSON data, for the journal."""
        return {"peers": sorted(self.peers), "links": sorted(self.links), "touched": sorted(self.touched)}

    def and_(self, other: Health) -> Health:
        """What is in either."""
        return Health(self.peers | other.peers, self.links | other.links, self.touched | other.touched)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Health:
        """The inverse of `data`."""
        return cls(*(frozenset(map(str, data.get(key, ()))) for key in ("peers", "links", "touched")))


def health(device: Device) -> Health:
    """What is up now. Raises DeviceError."""
    peers = frozenset(s.peer for s in device.bgp() if s.state == ESTABLISHED)
    return Health(peers, frozenset(i.name for i in device.interfaces() if i.oper_up))


def missing(
    before: Health, sessions: Iterable[BgpSession], interfaces: Iterable[InterfaceState], declared: bytes
) -> list[str]:
    """What was up and is not up again, one sentence each. `declared` is the text of all files sent to the device."""
    states = {session.peer: session.state for session in sessions}
    links = {interface.name: interface for interface in interfaces}
    found: list[str] = []
    for peer in sorted(before.peers):
        state = states.get(peer)
        if state is None and _names(declared, peer):
            found.append(f"BGP session to {peer} was established and is gone")
        elif state not in (None, ESTABLISHED):
            found.append(f"BGP session to {peer} was established and is {state}")
    for name in sorted(before.links):
        link = links.get(name)
        if link is None and _names(declared, name):
            found.append(f"link {name} was up and is gone")
        elif link is not None and not link.oper_up and link.admin_up is not False:
            found.append(f"link {name} was up and is down")
    return found


def _names(declared: bytes, name: str) -> bool:
    """Whether the files name it; 10.0.0.1 is not in 10.0.0.11, nor Ethernet1/1 in Ethernet1/10."""
    return re.search(rb"(?<![\w.:/-])" + re.escape(name.encode()) + rb"(?![\w.:/-])", declared) is not None


def wait_healthy(
    device: Device, before: Health, artifacts: Sequence[Artifact], clock: Clock, until: float
) -> list[str]:
    """Looks until everything is up again or the time `until` is reached; what is then missing, [] when nothing is."""
    declared = b"\n".join(artifact.content for artifact in artifacts)
    while True:
        try:
            found = missing(before, device.bgp(), device.interfaces(), declared)
            found += device.problems() if isinstance(device, Examined) else []
        except DeviceError as error:
            found = [f"the device cannot be asked: {error.message}"]
        if not found or clock.now() >= until:
            return found
        clock.sleep(POLL_S)


def summary(problems: Sequence[str], limit: int = 3) -> str:
    """The first few problems in one line."""
    more = f", and {len(problems) - limit:,} more" if len(problems) > limit else ""
    return "; ".join(problems[:limit]) + more
