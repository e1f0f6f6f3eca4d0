"""Policies of bgpcpp.conf: only the declared pools pass, in and out.

The daemon reads only the older fields (`policy_match_entries`, `policy_action_entries`), joins the entries of a prefix list by OR, and
takes no sequence numbers (BGP++ source, fboss.md section 11). Of two entries with one base prefix in the lists of a match it keeps
one, so every list here has distinct base prefixes.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Prefix, Switch
from fabric.targets.fboss.box import Json
from fabric.targets.fboss.schema import enum_value

FABRIC_LIST = "FABRIC-{family}"
OWN_LIST = "OWN-{family}"
"""Names of the prefix lists: all that the cluster may announce, and what this rack may; family is V4 or V6."""

DRAIN_PREPENDS = 3
"""How often a drained switch puts its own AS number before a path.

Our choice: the longest path inside a zone has two AS numbers, so that one would do; three is plain to see in `show bgp`.
"""


def rack_length(fabric: Fabric, version: int) -> int:
    """Length of the prefixes that stand for NIC links in BGP: the rack's aggregate, or the single link."""
    if not fabric.spec.bgp.aggregate_racks:
        return 31 if version == 4 else 64
    bits = fabric.numbering.nics.bit_length() - 1
    return (31 if version == 4 else 64) - bits


def fabric_lists(fabric: Fabric) -> list[Json]:
    """One prefix list a family: rack prefixes and loopbacks, each only from its pool and of its exact length."""
    plan = fabric.spec.addressing
    made: list[Json] = []
    if plan is not None and plan.ipv6 is not None:
        rows = [(str(plan.ipv6.host_links), rack_length(fabric, 6)), (str(plan.ipv6.loopbacks), 128)]
        made.append(prefix_list(FABRIC_LIST.format(family="V6"), "racks and loopbacks of the cluster", rows))
    if plan is not None and plan.ipv4 is not None:
        rows = [(str(plan.ipv4.host_links), rack_length(fabric, 4)), (str(plan.router_ids), 32)]
        made.append(prefix_list(FABRIC_LIST.format(family="V4"), "racks and loopbacks of the cluster", rows))
    return made


def own_lists(fabric: Fabric, switch: Switch) -> list[Json]:
    """What an RTSW itself may announce: its rack and its loopback. It is no way from one CTSW to another."""
    four, six = fabric.rack_prefix(switch.zone, switch.number)
    made: list[Json] = []
    if six is not None:
        rows = [(_text6(six), rack_length(fabric, 6))]
        if switch.loopback6 is not None:
            rows.append((f"{fmt6(switch.loopback6)}/128", 128))
        made.append(prefix_list(OWN_LIST.format(family="V6"), "this rack", rows))
    if four is not None:
        rows = [(f"{fmt4(four.base)}/{four.length}", rack_length(fabric, 4)), (f"{fmt4(switch.router_id)}/32", 32)]
        made.append(prefix_list(OWN_LIST.format(family="V4"), "this rack", rows))
    return made


def _text6(prefix: Prefix) -> str:
    return f"{fmt6(prefix.base)}/{prefix.length}"


def prefix_list(name: str, description: str, rows: Sequence[tuple[str, int]]) -> Json:
    """A prefix list: routes inside a base prefix whose length is exactly the given one."""
    exact = enum_value("ComparisonOperator.EQ")
    return {
        "name": name,
        "description": description,
        "prefixes": [
            {
                "base_prefix": base,
                "prefix_len_ranges": [{"value": length, "compare_operator": exact}],
                "match_logic": enum_value("MatchValueLogicOperator.EQUAL"),
            }
            for base, length in rows
        ],
        "boolean_operator": enum_value("BooleanOperator.OR"),
    }


def statement(name: str, description: str, wanted: str, *, prepend: int | None = None) -> Json:
    """A policy that lets the routes of the prefix list `wanted` pass and denies the rest.

    `prepend` is the AS number that a drained switch repeats.
    """
    match = {"type": enum_value("BgpPolicyAtomicMatchType.PREFIX_LIST"), "prefix_filters": _reference(wanted)}
    actions: list[Json] = []
    if prepend is not None:
        repeat = {"asn": prepend, "repeat_times": DRAIN_PREPENDS}
        actions.append({"type": enum_value("BgpPolicyActionType.AS_PATH_PREPEND"), "set_as_path_prepend": repeat})
    actions.append({"type": enum_value("BgpPolicyActionType.PERMIT")})
    always = {"type": enum_value("BgpPolicyAtomicMatchType.ALWAYS")}
    deny = {"type": enum_value("BgpPolicyActionType.DENY")}
    return {
        "name": name,
        "description": description,
        "policy_entries": [_term("declared-pools", match, actions), _term("deny-rest", always, [deny])],
    }


def _reference(wanted: str) -> Json:
    return {"prefix_list_names": [wanted], "prefixes": [], "boolean_operator": enum_value("BooleanOperator.OR")}


def _term(name: str, match: Json, actions: list[Json]) -> Json:
    return {
        "name": name,
        "policy_match_entries": {"match_logic_type": enum_value("BooleanOperator.AND"), "match_entries": [match]},
        "policy_action_entries": actions,
        "term_miss_action": enum_value("FlowControlAction.NEXT_TERM"),
    }
