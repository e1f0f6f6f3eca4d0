"""What the results so far say of each host and pair, as the plan needs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import zip_longest

from fabric.verify.locate.gates import Judged, Verdict
from fabric.verify.locate.locate import Case, examine
from fabric.verify.locate.places import FULL, Places

Pair = frozenset[str]


class State:
    """Who met whom, and how it ended. Only hosts that were chosen are planned for; results of others are ignored.

    `pooled`: the same with repeated results as one, which is what `locate` explains; with more, the plan would end too early.
    """

    def __init__(
        self,
        places: Places,
        judged: Iterable[Judged],
        hosts: Sequence[str],
        pooled: Callable[[], Sequence[Judged]] | None = None,
    ) -> None:
        self.places = places
        self.hosts = hosts
        self.judged = list(judged)
        self._pooled = pooled or (lambda: self.judged)
        self.met: dict[str, dict[str, list[Verdict]]] = {}
        """host -> partner -> verdicts of all rails together, or of as many as the uplinks between them carry."""
        self.by_rail: dict[str, dict[int, list[Verdict]]] = {}
        self.alone: dict[str, list[Verdict]] = {}
        self.gpus: dict[str, dict[tuple[int, ...], Verdict]] = {}
        self.pairs: dict[Pair, list[Verdict]] = {}
        self.with_rails: dict[Pair, tuple[int, ...]] = {}
        self.rail_pairs: set[Pair] = set()
        self.rail_met: dict[str, dict[str, set[int]]] = {}
        """host -> partner -> the rails that were measured alone with it."""
        self.flows: list[Judged] = []
        self.larger: list[Judged] = []
        chosen = set(hosts)
        for one in self.judged:
            if chosen.issuperset(one.measurement.hosts):
                self._take(one)

    def _take(self, one: Judged) -> None:
        m, verdict = one.measurement, one.verdict
        if len(m.hosts) == 1:
            host = m.hosts[0]
            if m.rails and len(m.rails) < len(self.places.seats[host]):
                self.gpus.setdefault(host, {})[m.rails] = verdict
            elif m.stage == "node":
                self.alone.setdefault(host, []).append(verdict)
        elif len(m.hosts) > 2:
            self.larger.append(one)
        elif m.stage == "paths":
            self.flows.append(one)
        elif m.stage == "rails":
            self._take_rail(one)
        elif verdict != "good" or self.places.ceiling(m) >= FULL:  # else it says nothing of the hosts
            a, b = m.hosts
            self.pairs.setdefault(frozenset(m.hosts), []).append(verdict)
            self.with_rails[frozenset(m.hosts)] = m.rails
            self.met.setdefault(a, {}).setdefault(b, []).append(verdict)
            self.met.setdefault(b, {}).setdefault(a, []).append(verdict)

    def _take_rail(self, one: Judged) -> None:
        m = one.measurement
        self.rail_pairs.add(frozenset(m.hosts))
        for host, mate in (m.hosts, m.hosts[::-1]):
            self.rail_met.setdefault(host, {}).setdefault(mate, set()).update(m.rails)
            for rail in m.rails:
                self.by_rail.setdefault(host, {}).setdefault(rail, []).append(one.verdict)

    def bad_rails(self, host: str) -> list[int]:
        """The rails of a host that were bad alone, in order."""
        return sorted(rail for rail, verdicts in self.by_rail.get(host, {}).items() if "bad" in verdicts)

    def partners(self, host: str, verdict: Verdict) -> list[str]:
        """Those with whom a host had a result of that kind, all rails together."""
        return [partner for partner, found in self.met.get(host, {}).items() if verdict in found]

    @cached_property
    def proven(self) -> frozenset[str]:
        """Hosts that were good with a partner, and are not bad alone."""
        return frozenset(
            host for host in self.hosts if self.partners(host, "good") and "bad" not in self.alone.get(host, ())
        )

    @cached_property
    def spotless(self) -> frozenset[str]:
        """Proven hosts without any bad result."""
        return frozenset(host for host in self.proven if not self.partners(host, "bad"))

    @cached_property
    def mixed(self) -> list[str]:
        """The hosts, one of each zone in turn: partners from afar are not all of one zone."""
        chosen = set(self.hosts)
        turns = zip_longest(*self.places.by_zone.values())
        return [host for turn in turns for host in turn if host in chosen]

    @cached_property
    def suspects(self) -> list[str]:
        """Hosts that were bad or grey with a partner and good with none."""
        return [
            host
            for host in self.hosts
            if not self.partners(host, "good") and (self.partners(host, "bad") or self.partners(host, "grey"))
        ]

    @cached_property
    def strained(self) -> list[tuple[str, str]]:
        """Pairs that were bad although both hosts were good with others, and that no fault explains yet: a way, or an uplink."""
        found = [
            tuple(sorted(pair))
            for pair, verdicts in self.pairs.items()
            if "bad" in verdicts and all(self._good_elsewhere(host, pair) for host in pair)
        ]
        if not found:
            return []
        done = {
            j.measurement.hosts if j.measurement.hosts[0] < j.measurement.hosts[-1] else j.measurement.hosts[::-1]
            for one in self._case.explained
            if one.suspect[0] not in ("some", "uplinks") or any(kind == "zone" for kind, *_ in one.equals)
            for j in self._case.bad(one.of)
        }
        return [(a, b) for a, b in found if (a, b) not in done]

    @cached_property
    def _case(self) -> Case:
        return examine(self.places, self._pooled())

    @cached_property
    def lone_rails(self) -> list[tuple[str, str, tuple[int, ...]]]:
        """Two hosts and the rail that is bad alone between them, though neither is suspected and nothing explains it."""
        if not any("bad" in verdicts for rails in self.by_rail.values() for verdicts in rails.values()):
            return []
        suspects, chosen = set(self.suspects), set(self.hosts)
        left = [j.measurement for j in self._case.bad(self._case.left)]
        return [
            (*m.hosts, m.rails)
            for m in left
            if m.stage == "rails"
            and m.rails
            and len(m.hosts) == 2
            and suspects.isdisjoint(m.hosts)
            and chosen.issuperset(m.hosts)
        ]

    @cached_property
    def shut_in(self) -> list[str]:
        """Suspects whose every rail is bad beyond their switches, for which their zone's uplinks are the reason."""
        suspects = [
            host
            for host in self.suspects
            if len(self.bad_rails(host)) == len(self.places.seats[host])
            and not any(self.places.group(mate) == self.places.group(host) for mate in self.rail_met[host])
        ]
        if not suspects:
            return []
        zones = {s[2] for one in self._case.explained for s in (one.suspect, *one.equals) if s[0] == "zone"}
        return [host for host in suspects if self.places.zone(host) in zones]

    @cached_property
    def doubted_zones(self) -> list[int]:
        """Zones whose uplinks explain bad results, while no flow has shown yet that it is all of them, and not one that many met."""
        if not any("bad" in verdicts for verdicts in self.pairs.values()):
            return []
        seen = {
            self.places.zone(host)
            for j in self.flows
            for host in j.measurement.hosts
            if self.places.span(j.measurement) == "zones"
        }
        found = [s for one in self._case.explained for s in (one.suspect, *one.equals) if s[0] == "zone"]
        return [zone for _, _, zone in dict.fromkeys(found) if zone not in seen]

    @cached_property
    def group_met(self) -> set[frozenset[tuple[str, ...]]]:
        """Which groups of hosts under the same switches have met which."""
        return {frozenset(self.places.group(host) for host in pair) for pair in self.pairs}

    @cached_property
    def zones_met(self) -> dict[frozenset[int], int]:
        """How often pairs met across each two zones."""
        found = Counter(frozenset(self.places.zone(host) for host in pair) for pair in self.pairs)
        return {zones: count for zones, count in found.items() if len(zones) == 2}

    def _good_elsewhere(self, host: str, pair: Pair) -> bool:
        return any("good" in found for other, found in self.met[host].items() if other not in pair)

    def crossings(self, host: str) -> int:
        """How many partners under other switches a host has met."""
        own = self.places.group(host)
        return sum(self.places.group(partner) != own for partner in self.met.get(host, ()))

    def proven_up(self, host: str) -> bool:
        """Whether a host, and all under its switches together, have met enough others across: twice as many as can at once."""
        hosts = self.places.groups[self.places.group(host)]
        wanted = 2 * min(len(hosts), self.places.upward(host))
        return self.crossings(host) >= 2 or sum(self.crossings(other) for other in hosts) >= wanted
