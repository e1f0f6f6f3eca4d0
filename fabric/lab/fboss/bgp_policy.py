"""Policies of bgpcpp.conf as FRR's prefix lists and route maps.

A route that no term takes is denied. What a policy says and FRR is not given is refused (`NotImitatedError`), never passed over: the lab must
not let routes through, or hold them back, other than the switch would.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Any

from fabric.errors import FabricError

Json = dict[str, Any]

_STEP = 10
_WORD = re.compile(r"[A-Za-z0-9_.:-]+").fullmatch
_TESTS: dict[str, Callable[[int, int], bool]] = {
    "EQ": lambda length, value: length == value,
    "NE": lambda length, value: length != value,
    "GE": lambda length, value: length >= value,
    "LE": lambda length, value: length <= value,
    "GT": lambda length, value: length > value,
    "LT": lambda length, value: length < value,
}
_DENY_MISS = ("DENY", "LOG_AND_DENY")
_ACCEPT_MISS = ("LOG_AND_ACCEPT",)


class NotImitatedError(FabricError):
    """The file is right, but holds something that the virtual BGP daemon cannot do."""


def word(name: str) -> str:
    """A name that goes into FRR's configuration as it is; NotImitatedError for one that would be more than one word there."""
    if not _WORD(name):
        raise NotImitatedError(f"{name!r} is no name that FRR can be given")
    return name


def name_of(enum: str, number: int) -> str:
    """The name of an enum's value; the number as text when it has none."""
    from fabric.targets.fboss.schema import (
        load_schema,  # here: the command line only asks for other things of this module
    )

    return next((name for name, value in load_schema().enums[enum].items() if value == number), str(number))


def policies(conf: Json) -> list[str]:
    """Lines of all prefix lists and route maps; NotImitatedError names the policy and what of it cannot be done."""
    found = conf.get("policies") or {}
    lists = {one["name"]: one for one in found.get("prefix_lists") or []}
    lines: list[str] = []
    for statement in found.get("bgp_policy_statements") or []:
        lines += _Statement(statement, lists).lines()
    return lines


class _Statement:
    """One policy: its terms become entries of one route map, numbered in steps so that a GOTO can name them."""

    def __init__(self, statement: Json, lists: dict[str, Json]) -> None:
        self._name: str = word(statement["name"])
        self._terms: list[Json] = statement.get("policy_entries") or []
        self._lists = lists
        self._first = {term.get("name"): _STEP * (3 * at + 1) for at, term in enumerate(self._terms)}

    def lines(self) -> list[str]:
        """Prefix lists first, then the route map."""
        made: list[str] = []
        for at, term in enumerate(self._terms):
            made += self._term(term, _STEP * (3 * at + 1), at)
        return made

    def _term(self, term: Json, number: int, at: int) -> Iterator[str]:
        verdict, sets = self._actions(term)
        families: list[list[str]] = [[]]
        for match in (term.get("policy_match_entries") or {}).get("match_entries") or []:
            kind = name_of("BgpPolicyAtomicMatchType", match["type"])
            if kind == "PREFIX_LIST":
                entries = self._prefixes(match["prefix_filters"])
                families, lists = _by_family(f"{self._name}-{at + 1}", entries)
                yield from lists
            elif kind != "ALWAYS":
                raise NotImitatedError(f"policy {self._name!r}: match type {kind} is not imitated")
        for offset, matches in enumerate(families):
            yield f"route-map {self._name} {verdict[0]} {number + offset}"
            yield from (f" {line}" for line in (*matches, *sets, *verdict[1:]))
        yield from self._miss(term, number + _STEP)

    def _miss(self, term: Json, number: int) -> Iterator[str]:
        miss = name_of("FlowControlAction", term.get("term_miss_action") or 3)
        if miss in _DENY_MISS:
            yield f"route-map {self._name} deny {number}"
        elif miss in _ACCEPT_MISS:
            yield f"route-map {self._name} permit {number}"

    def _prefixes(self, found: Json) -> list[Json]:
        entries = list(found.get("prefixes") or [])
        for name in found.get("prefix_list_names") or []:
            entries += self._lists[name].get("prefixes") or []
        return entries

    def _actions(self, term: Json) -> tuple[list[str], list[str]]:
        """(permit or deny and what follows a match, `set` lines)."""
        verdict = ["permit", "on-match next"]  # without PERMIT or DENY the next term decides
        sets: list[str] = []
        for action in term.get("policy_action_entries") or []:
            kind = name_of("BgpPolicyActionType", action["type"])
            if kind in ("PERMIT", "DENY"):
                verdict = [kind.lower()]
            elif kind == "GOTO":
                verdict = ["permit", f"on-match goto {self._goto(action['next_term_id'])}"]
            elif kind != "CONTINUE":
                sets.append(self._set(kind, action))
        return verdict, [] if verdict == ["deny"] else sets

    def _goto(self, name: str) -> int:
        if name not in self._first:
            raise NotImitatedError(f"policy {self._name!r}: GOTO {name!r}, which is no term of it")
        return self._first[name]

    def _set(self, kind: str, action: Json) -> str:
        if kind == "AS_PATH_PREPEND":
            wanted = action["set_as_path_prepend"]
            return "set as-path prepend " + " ".join([str(wanted.get("asn", 0))] * wanted.get("repeat_times", 0))
        if kind == "SET_LOCAL_PREF" and action["set_local_pref"].get("local_pref") is not None:
            return f"set local-preference {action['set_local_pref']['local_pref']}"
        if kind == "MED":
            return f"set metric {action['med_action'].get('med_value', 0)}"
        if kind == "COMMUNITY_LIST":
            return self._communities(action["community_action"])
        raise NotImitatedError(f"policy {self._name!r}: action {kind} is not imitated")

    def _communities(self, found: Json) -> str:
        how = name_of("CommunityActionType", found.get("action_type", 0))
        values = " ".join(word(value) for value in found.get("communities") or [])
        if how not in ("ADD", "SET") or not values:
            raise NotImitatedError(f"policy {self._name!r}: communities are only added or set, by value, not {how}")
        return f"set community {values}" + (" additive" if how == "ADD" else "")


def _by_family(name: str, entries: list[Json]) -> tuple[list[list[str]], list[str]]:
    """(one list of match lines a family that the prefixes have, lines of the prefix lists). No prefixes match nothing."""
    matches: list[list[str]] = []
    lists: list[str] = []
    for version, word in ((4, "ip"), (6, "ipv6")):
        rows = [row for entry in entries for row in prefix_rows(entry, version)]
        if rows or (version == 4 and not entries):
            rows = rows or ["deny any"]
            lists += [f"{word} prefix-list {name} seq {5 * at} {row}" for at, row in enumerate(rows, 1)]
            matches.append([f"match {word} address prefix-list {name}"])
    return matches, lists


def prefix_rows(entry: Json, version: int) -> list[str]:
    """`permit P ge A le B` for each run of lengths that an entry takes; [] for an entry of the other family.

    Without ranges an entry takes its own length alone (our reading: the source of the daemon's list is not quoted in full).
    """
    base = ipaddress.ip_network(entry["base_prefix"], strict=False)
    if base.version != version:
        return []
    ranges = entry.get("prefix_len_ranges") or [{"value": base.prefixlen, "compare_operator": 1}]
    tests = [(_test(one.get("compare_operator", 0)), one.get("value", 0)) for one in ranges]
    lengths = [n for n in range(base.prefixlen, base.max_prefixlen + 1) if all(test(n, value) for test, value in tests)]
    return [f"permit {base}{_bounds(base.prefixlen, low, high, base.max_prefixlen)}" for low, high in _runs(lengths)]


def _test(operator: int) -> Callable[[int, int], bool]:
    name = name_of("ComparisonOperator", operator)
    if name not in _TESTS:
        raise NotImitatedError(f"a prefix list compares lengths by {name}, which is not imitated")
    return _TESTS[name]


def _runs(lengths: list[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for at, length in enumerate(lengths):
        if at + 1 == len(lengths) or lengths[at + 1] != length + 1:
            yield lengths[start], length
            start = at + 1


def _bounds(own: int, low: int, high: int, longest: int) -> str:
    if low == high == own:
        return ""
    return (f" ge {low}" if low > own else "") + (f" le {high}" if high < longest or low == own else "")
