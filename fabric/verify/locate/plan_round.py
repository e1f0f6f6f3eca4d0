"""One round of a plan under construction: its groups, who is busy, and what the uplinks still carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fabric.verify.collectives.model import Stage
from fabric.verify.collectives.stages import Group
from fabric.verify.locate.plan_state import State


class Round:
    """The groups of one round, and who is still free."""

    def __init__(self, state: State, test: str) -> None:
        self.state = state
        self.test = test
        self._groups: list[Group] = []
        self._busy: set[str] = set()
        self._up: Counter[tuple[str, ...]] = Counter()
        self._out: Counter[int] = Counter()

    @property
    def groups(self) -> tuple[Group, ...]:
        """What was added so far."""
        return tuple(self._groups)

    def free(self, host: str) -> bool:
        """Whether nothing else uses a host in this round."""
        return host not in self._busy

    def add(self, stage: Stage, hosts: Sequence[str], rails: Iterable[tuple[int, ...]] = ((),), test: str = "") -> None:
        """One group for each set of rails, of these hosts, which are then busy."""
        self._groups += [Group(stage, test or self.test, tuple(hosts), some) for some in rails]
        self._busy.update(hosts)
        places = self.state.places
        if len(hosts) == 2 and places.group(hosts[0]) != places.group(hosts[1]):
            self._up.update(places.group(host) for host in hosts)
            if places.zone(hosts[0]) != places.zone(hosts[1]):
                self._out.update(places.zone(host) for host in hosts)

    def fits(self, a: str, b: str) -> bool:
        """Whether two hosts are free and the uplinks between them have room for both beside what is in the round already."""
        places = self.state.places
        if not (self.free(a) and self.free(b)):
            return False
        if places.group(a) == places.group(b):
            return True
        abroad = places.zone(a) != places.zone(b)
        return all(
            self._up[places.group(host)] < places.upward(host)
            and not (abroad and self._out[places.zone(host)] >= max(1, places.abroad(places.zone(host))))
            for host in (a, b)
        )

    def pair_up(self, stage: Stage, hosts: Iterable[str]) -> list[str]:
        """Pairs of neighbours in the list; who is left over."""
        waiting = [host for host in hosts if self.free(host)]
        for a, b in zip(waiting[::2], waiting[1::2], strict=False):
            self.add(stage, (a, b))
        return waiting[len(waiting) // 2 * 2 :]

    def partner(self, host: str) -> str | None:
        """A free proven host that this one has not met, the nearest; among suspects only when nobody is proven."""
        state, places = self.state, self.state.places
        met = state.met.get(host, {})
        near = places.groups[places.group(host)]
        zone = places.by_zone[places.zone(host)]
        pools = [(pool, want) for want in (state.spotless, state.proven) for pool in (near, zone, state.mixed)]
        if not state.proven:
            pools.append((state.mixed, frozenset(state.hosts)))
        for pool, want in pools:
            if want:
                for other in pool:
                    if other in want and other != host and other not in met and self.fits(host, other):
                        return other
        return None
