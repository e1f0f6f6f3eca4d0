"""What cannot come up again before the far end is changed too: it is not waited for at a device's own gate, but never forgotten.

A session or link is deferred when this device's change touches its own end of it (addresses, AS numbers, families; state, speed), and
the far end is a device of the same run that is still to be changed. It is looked at when the far end has been changed, by the far end's
gate or that of their common wave, and by the final gate of the run.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fabric.change.gates import Health
from fabric.change.names import compress_names
from fabric.targets.ends import Ends, FarEnds, canonical
from fabric.words import verb


@dataclass(frozen=True, slots=True)
class Deferred:
    """One session (`name` is the peer) or link (`name` is the port) of a device, over `port`, and what is at its far end."""

    device: str
    name: str
    port: str
    far: str
    far_port: str

    @property
    def is_link(self) -> bool:
        """Whether it is a link."""
        return self.name == self.port

    def data(self) -> dict[str, Any]:
        """As JSON data, for the journal."""
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Deferred:
        """The inverse of `data`."""
        return cls(*(str(data.get(key, "")) for key in ("device", "name", "port", "far", "far_port")))


def words(found: Sequence[Deferred]) -> str:
    """What is deferred, in one line; "" for nothing."""
    sessions, links = [d for d in found if not d.is_link], [d for d in found if d.is_link]
    parts = [f"BGP {verb(len(sessions), 'session', 'sessions')} to {_some(sessions)}"] if sessions else []
    parts += [f"{verb(len(links), 'link', 'links')} {_some(links)}"] if links else []
    far = compress_names(sorted({d.far for d in found}))
    return f"not waited for until {far} is changed: {' and '.join(parts)}" if found else ""


def _some(found: Sequence[Deferred], limit: int = 4) -> str:
    more = f" and {len(found) - limit:,} more" if len(found) > limit else ""
    return ", ".join(d.name for d in found[:limit]) + more


def expect(before: Health, old: Ends, new: Ends) -> Health:
    """What must be up after a change, and what of it the change touches at this end.

    A session to a new address stands for the one that was established over the same port in the same family before.
    """
    links = {name for name in before.links & new.links.keys() if old.links.get(name) != new.links[name]}
    up = {canonical(peer): peer for peer in before.peers}
    gone = {
        (end.port, ":" in peer)
        for peer, end in old.sessions.items()
        if peer in up and peer not in new.sessions and end.port
    }
    peers, touched = set(before.peers), set(links)
    for peer, end in new.sessions.items():
        if peer in up:
            if old.sessions.get(peer) != end or end.port in links:
                touched.add(up[peer])
        elif peer not in old.sessions and (end.port, ":" in peer) in gone:
            peers.add(peer)
            touched.add(peer)
    return Health(frozenset(peers), before.links, frozenset(touched))


class Ledger:
    """What is deferred in a run, and which of its devices are changed by now. Safe for threads."""

    def __init__(
        self, todo: Collection[str] = (), done: Collection[str] = (), entries: Iterable[Deferred] = ()
    ) -> None:
        """`todo` are the devices still to be changed; `done` and `entries` are of earlier parts of the run."""
        self._lock = threading.Lock()
        self._todo, self._done = set(todo), set(done)
        self._entries = {(entry.device, entry.name): entry for entry in entries}

    def __bool__(self) -> bool:
        """Whether anything was ever deferred."""
        return bool(self._entries)

    def settle(self, device: str, *, changed: bool) -> None:
        """A device is through: it is as the run wants it, or it stays as it is."""
        with self._lock:
            self._todo.discard(device)
            if changed:
                self._done.add(device)

    def again(self, devices: Collection[str]) -> None:
        """Devices that hold their old state are to be changed after all."""
        with self._lock:
            self._todo |= set(devices)

    def done(self) -> list[str]:
        """The devices that are changed."""
        return sorted(self._done)

    def defer(self, device: str, health: Health, ends: Ends, far_ends: FarEnds) -> list[Deferred]:
        """What of the touched sessions and links of a device waits for a device still to be changed; it is on record now."""
        ports = {peer: end.port for peer, end in ends.sessions.items()}
        found: list[Deferred] = []
        with self._lock:
            for name in sorted(health.touched):
                port = ports.get(canonical(name), name)
                far, far_port = far_ends.get(port, ("", ""))
                if far in self._todo and far != device:
                    found.append(Deferred(device, name, port, far, far_port))
            self._entries |= {(device, entry.name): entry for entry in found}
        return found

    def expected(self, device: str, health: Health, ends: Ends) -> Health:
        """What is to be waited for on a device now: without what still waits for its far end, with what far ends deferred on it."""
        with self._lock:
            open_ = {e.name for e in self._entries.values() if e.device == device and e.far in self._todo}
            owed = [e for e in self._entries.values() if e.far == device and e.device in self._done]
        links = {entry.far_port for entry in owed if entry.is_link}
        over = {(entry.far_port, ":" in entry.name) for entry in owed if not entry.is_link}
        known = {canonical(peer) for peer in health.peers}
        peers = {peer for peer, end in ends.sessions.items() if (end.port, ":" in peer) in over and peer not in known}
        return replace(health, peers=(health.peers - open_) | peers, links=(health.links - open_) | links)

    def unfinished(self) -> list[str]:
        """What was deferred on devices that the run did not come to, one sentence a device."""
        with self._lock:
            left = [e for e in self._entries.values() if e.device in self._done and e.far in self._todo]
        return [f"{name}: {words([e for e in left if e.device == name])}" for name in sorted({e.device for e in left})]
