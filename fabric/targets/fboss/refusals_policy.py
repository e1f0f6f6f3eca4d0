"""What the BGP++ daemon refuses of routing policies, or never looks at (reference: fboss.md 12.7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from fabric.targets.fboss.problem import Problem
from fabric.targets.fboss.refusals_base import Json, has, items, member, network, number, rows, text, twice
from fabric.targets.fboss.schema import enum_value

MATCH_FIELDS: Mapping[str, str] = {
    "COMMUNITY_LIST": "communities_filter",
    "COMMUNITY_COUNT": "community_count",
    "ORIGIN": "origin",
    "AS_PATH": "as_path_filters",
    "AS_PATH_LEN": "as_path_len_filter",
    "AS_PATH_LEN_WITH_CONFED": "as_path_len_with_confed_filter",
    "WEIGHT": "weight",
    "ALWAYS": "",
    "PREFIX_LIST": "prefix_filters",
}
"""Match types that the daemon knows, with the one field that it reads for each ("" = none)."""

ACTION_FIELDS: Mapping[str, str] = {
    "AS_PATH_PREPEND": "set_as_path_prepend",
    "COMMUNITY_LIST": "community_action",
    "LBW_EXT_COMMUNITY": "lbw_ext_community_action",
    "EXT_COMMUNITY_LIST": "ext_communities_action",
    "SET_LOCAL_PREF": "set_local_pref",
    "ORIGIN": "set_origin",
    "NEXT_HOP": "set_nexthop",
    "ADD_BACKUP_ADDR": "add_backup_addr",
    "AS_PATH": "as_path_overwrite_list",
    "MED": "med_action",
    "WEIGHT": "weight_action",
    "AS_PATH_TO_AS_SET": "",
    "PERMIT": "",
    "DENY": "",
    "CONTINUE": "",
    "GOTO": "next_term_id",
}
"""Action types that the daemon knows, with the one field that it reads for each ("" = none)."""

_FINAL = ("PERMIT", "DENY", "CONTINUE", "GOTO")
_MISS = ("NEXT_TERM", "DENY", "LOG_AND_NEXT_TERM", "LOG_AND_DENY", "LOG_AND_ACCEPT")
_LISTS = (
    ("community_lists", "community_list_names"),
    ("aspath_lists", "as_path_list_names"),
    ("prefix_lists", "prefix_list_names"),
)
_PATTERN = re.compile(r"[*+?.^$()\[\]{}|\\]").search


@cache
def _by_number(enum: str, which: tuple[str, ...]) -> dict[int, str]:
    return {enum_value(f"{enum}.{name}"): name for name in which}


def policy_problems(conf: Json) -> Iterator[Problem]:
    """All problems of `policies`; nothing when there are none."""
    policies = member(conf, "policies")
    statements = list(rows(policies, "bgp_policy_statements", "policies.bgp_policy_statements"))
    yield from _names("policies.bgp_policy_statements", policies, "bgp_policy_statements")
    for key, nested in _LISTS:
        yield from _names(f"policies.{key}", policies, key)
        for path, found in rows(policies, key, f"policies.{key}"):
            if items(found, nested):
                yield Problem(f"{path}.{nested}", "a list must not refer to other lists")
    for path, found in rows(policies, "prefix_lists", "policies.prefix_lists"):
        yield from _prefix_list(path, found)
    for path, statement in statements:
        for place, term in rows(statement, "policy_entries", f"{path}.policy_entries"):
            yield from _term(place, term, policies)


def _names(path: str, policies: Json, key: str) -> Iterator[Problem]:
    names = [(f"{place}.name", text(found, "name")) for place, found in rows(policies, key, path)]
    for place, name in names:
        if not name:
            yield Problem(place, "a name is needed")
    yield from twice([row for row in names if row[1]], lambda name: f"{name!r} is declared twice")


def _prefix_list(path: str, found: Json) -> Iterator[Problem]:
    if has(found, "compare_operator"):
        yield Problem(f"{path}.compare_operator", "must not be set")
    either = enum_value("BooleanOperator.OR")
    if number(found, "boolean_operator", either) != either:
        yield Problem(f"{path}.boolean_operator", "only OR is known")
    for place, entry in rows(found, "prefixes", f"{path}.prefixes"):
        base = text(entry, "base_prefix")
        if network(base) is None:
            yield Problem(f"{place}.base_prefix", f"{base!r} is not a prefix")
        if has(entry, "seq_num"):
            yield Problem(f"{place}.seq_num", "must not be set")
        if number(entry, "match_logic") != enum_value("MatchValueLogicOperator.EQUAL"):
            yield Problem(f"{place}.match_logic", "only EQUAL (0) is known")


def _term(path: str, term: Json, policies: Json) -> Iterator[Problem]:
    known = _by_number("FlowControlAction", _MISS)
    miss = number(term, "term_miss_action", enum_value("FlowControlAction.NEXT_TERM"))
    if miss not in known:
        yield Problem(f"{path}.term_miss_action", f"{miss} is none of {', '.join(_MISS)}")
    if items(term, "policy_matches"):
        yield Problem(f"{path}.policy_matches", "is never read: use policy_match_entries", "silent")
    match, place = member(term, "policy_match_entries"), f"{path}.policy_match_entries"
    both = enum_value("BooleanOperator.AND")
    if len(items(match, "match_entries")) > 1 and number(match, "match_logic_type", both) != both:
        yield Problem(f"{place}.match_logic_type", "only AND is known for more than one match")
    for at, entry in rows(match, "match_entries", f"{place}.match_entries"):
        yield from _match(at, entry, policies)
    yield from _actions(f"{path}.policy_action_entries", term, policies)


def _match(path: str, entry: Json, policies: Json) -> Iterator[Problem]:
    kind = _by_number("BgpPolicyAtomicMatchType", tuple(MATCH_FIELDS)).get(number(entry, "type"))
    if kind is None:
        yield Problem(f"{path}.type", f"match type {number(entry, 'type')} is not known to the daemon")
        return
    needed = MATCH_FIELDS[kind]
    if needed and not has(entry, needed):
        yield Problem(f"{path}.{needed}", f"match type {kind} needs it")
    elif kind == "PREFIX_LIST":
        found, place = entry[needed], f"{path}.{needed}"
        yield from _prefix_list(place, found)
        yield from _references(place, found, "prefix_list_names", policies, "prefix_lists")
    elif kind == "COMMUNITY_LIST":
        yield from _community_match(f"{path}.{needed}", entry[needed], policies)


def _references(path: str, holder: Json, key: str, policies: Json, target: str) -> Iterator[Problem]:
    known = {text(found, "name") for found in items(policies, target)}
    for at, name in enumerate(items(holder, key)):
        if name not in known:
            yield Problem(f"{path}.{key}[{at}]", f"{name!r} is not in policies.{target}")


def _community_match(path: str, found: Json, policies: Json) -> Iterator[Problem]:
    either = enum_value("BooleanOperator.OR")
    names = items(found, "community_list_names")
    if not items(found, "communities") and not names:
        yield Problem(f"{path}.communities", "must not be empty")
    yield from _references(path, found, "community_list_names", policies, "community_lists")
    known = {text(one, "name"): one for one in items(policies, "community_lists")}
    for at, name in enumerate(names):
        target = known.get(name)
        if target is None:
            continue
        if number(target, "boolean_operator", either) != number(found, "boolean_operator", either):
            yield Problem(f"{path}.community_list_names[{at}]", f"boolean_operator differs from that of {name!r}")
        if not items(target, "communities"):
            yield Problem(f"{path}.community_list_names[{at}]", f"the list {name!r} holds no communities")


def _actions(path: str, term: Json, policies: Json) -> Iterator[Problem]:
    known = _by_number("BgpPolicyActionType", tuple(ACTION_FIELDS))
    final = []
    for place, action in rows(term, "policy_action_entries", path):
        kind = known.get(number(action, "type"))
        if has(action, "action_type"):
            yield Problem(f"{place}.action_type", "is never read: use type and its field", "silent")
        if kind is None:
            yield Problem(f"{place}.type", f"action type {number(action, 'type')} is not known to the daemon")
            continue
        if kind in _FINAL:
            final.append(place)
        needed = ACTION_FIELDS[kind]
        if needed and not has(action, needed):
            yield Problem(f"{place}.{needed}", f"action type {kind} needs it")
        elif kind == "COMMUNITY_LIST":
            yield from _community_action(f"{place}.{needed}", action[needed], policies)
        elif kind == "NEXT_HOP":
            yield from _next_hop(f"{place}.{needed}", action[needed])
        elif kind == "MED" and number(action[needed], "med_action_type") != enum_value("MedActionType.SET"):
            yield Problem(f"{place}.{needed}.med_action_type", "only SET (1) is known")
    if len(final) > 1:
        yield Problem(final[1], f"a term takes one of {', '.join(_FINAL)}, this one has {len(final)}")


def _community_action(path: str, found: Json, policies: Json) -> Iterator[Problem]:
    yield from _references(path, found, "community_action_list_names", policies, "community_lists")
    if number(found, "action_type") == enum_value("CommunityActionType.REMOVE"):
        return
    for at, community in enumerate(items(found, "communities")):
        if _PATTERN(community):
            yield Problem(f"{path}.communities[{at}]", f"{community!r}: only REMOVE takes a regular expression")


def _next_hop(path: str, found: Json) -> Iterator[Problem]:
    if found.get("set_self"):
        yield Problem(f"{path}.set_self", "is not supported by the daemon")
    elif network(text(member(found, "next_hop"), "next_hop_prefix")) is None:
        yield Problem(f"{path}.next_hop.next_hop_prefix", "needs a valid address")
