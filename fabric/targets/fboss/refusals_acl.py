"""What FBOSS refuses of ACLs and of the actions that name them (reference: fboss.md 12.4 and 12.6)."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.targets.fboss.problem import Problem
from fabric.targets.fboss.refusals_base import (
    Json,
    Row,
    Rule,
    View,
    gflag_true,
    has,
    is_mac,
    items,
    member,
    network,
    number,
    rows,
    text,
    twice,
)
from fabric.targets.fboss.schema import enum_value

MATCHERS = frozenset(
    {
        "srcIp",
        "dstIp",
        "proto",
        "tcpFlagsBitMap",
        "srcPort",
        "dstPort",
        "ipFrag",
        "icmpType",
        "dscp",
        "ipType",
        "ttl",
        "dstMac",
        "l4SrcPort",
        "l4DstPort",
        "l4DstPortRange",
        "lookupClassL2",
        "lookupClassNeighbor",
        "lookupClassRoute",
        "packetLookupResult",
        "etherType",
        "vlanID",
        "udfGroups",
        "roceOpcode",
        "roceBytes",
        "roceMask",
        "udfTable",
        "dstIpV6Word3",
        "dstIpV6Word2",
    }
)
"""The fields of an AclEntry of which at least one must be set (isStateUpdateValidCommon)."""

_ICMP = (1, 58)
_L4 = range(65536)
_BYTE = range(256)
_WORD = range(1 << 32)


def acl_entries(view: View) -> list[Row]:
    """The ACLs that FBOSS reads: those of the table groups when `enable_acl_table_group` is true, else `acls`."""
    if not view.acl_tables:
        return list(rows(view.sw, "acls", "sw.acls"))
    return [
        entry
        for path, group in _groups(view)
        for place, table in rows(group, "aclTables", f"{path}.aclTables")
        for entry in rows(table, "aclEntries", f"{place}.aclEntries")
    ]


def _groups(view: View) -> list[Row]:
    return list(rows(view.sw, "aclTableGroups", "sw.aclTableGroups"))


def table_groups(view: View) -> Iterator[Problem]:
    """Table groups against the flag that turns them on."""
    groups = _groups(view)
    if not view.acl_tables:
        if groups:
            yield Problem(groups[0][0], "is ignored: the flag enable_acl_table_group is not true", "silent")
        return
    if not groups:
        yield Problem("sw.aclTableGroups", "is needed: the flag enable_acl_table_group is true")
    if items(view.sw, "acls"):
        yield Problem("sw.acls", "is ignored: the flag enable_acl_table_group is true", "silent")
    stages = [(f"{path}.stage", number(group, "stage")) for path, group in groups]
    yield from twice(stages, lambda stage: f"two table groups for stage {stage}")


def acls(view: View) -> Iterator[Problem]:
    """Every ACL that FBOSS reads."""
    found = acl_entries(view)
    names = [(f"{path}.name", text(acl, "name")) for path, acl in found]
    yield from twice(names, lambda name: f"ACL {name!r} is declared twice")
    groups = member(member(view.sw, "udfConfig"), "udfGroups")
    for path, acl in found:
        if not any(has(acl, key) for key in MATCHERS & acl.keys()):
            yield Problem(path, "an ACL needs at least one matcher")
        yield from _addresses(path, acl)
        yield from _l4(path, acl)
        yield from _icmp(path, acl)
        yield from _udf(path, acl, groups)


def _addresses(path: str, acl: Json) -> Iterator[Problem]:
    for key in ("srcIp", "dstIp"):
        if has(acl, key) and network(acl[key]) is None:
            yield Problem(f"{path}.{key}", f"{acl[key]!r} is not a prefix")
    if has(acl, "dstMac") and not is_mac(acl["dstMac"]):
        yield Problem(f"{path}.dstMac", f"{acl['dstMac']!r} is not a MAC address")
    for key in ("dstIpV6Word3", "dstIpV6Word2"):
        if not has(acl, key):
            continue
        if acl[key] not in _WORD:
            yield Problem(f"{path}.{key}", f"{acl[key]} is wider than 32 bits")
        if has(acl, "dstIp"):
            yield Problem(f"{path}.{key}", "excludes dstIp")


def _l4(path: str, acl: Json) -> Iterator[Problem]:
    for key in ("l4SrcPort", "l4DstPort"):
        if has(acl, key) and acl[key] not in _L4:
            yield Problem(f"{path}.{key}", f"{acl[key]} is outside 0..65535")
    if has(acl, "l4DstPortRange"):
        low, high = number(acl["l4DstPortRange"], "minimum"), number(acl["l4DstPortRange"], "maximum")
        if low not in _L4 or high not in _L4 or low > high:
            yield Problem(f"{path}.l4DstPortRange", f"{low}..{high} is not a range in 0..65535")
        if has(acl, "l4DstPort"):
            yield Problem(f"{path}.l4DstPortRange", "excludes l4DstPort")


def _icmp(path: str, acl: Json) -> Iterator[Problem]:
    if has(acl, "icmpCode") and not has(acl, "icmpType"):
        yield Problem(f"{path}.icmpCode", "needs icmpType")
    for key in ("icmpType", "icmpCode"):
        if has(acl, key) and acl[key] not in _BYTE:
            yield Problem(f"{path}.{key}", f"{acl[key]} is outside 0..255")
    if has(acl, "icmpType") and acl.get("proto") not in _ICMP:
        yield Problem(f"{path}.icmpType", "needs proto 1 (ICMP) or 58 (ICMPv6)")
    if has(acl, "ttl"):
        ttl = acl["ttl"]
        for key, value in (("value", number(ttl, "value")), ("mask", number(ttl, "mask", 255))):
            if value not in _BYTE:
                yield Problem(f"{path}.ttl.{key}", f"{value} is outside 0..255")


def _udf(path: str, acl: Json, groups: Json) -> Iterator[Problem]:
    if has(acl, "udfGroups") and not acl["udfGroups"]:
        yield Problem(f"{path}.udfGroups", "must not be empty")
    named = [(f"{path}.udfGroups[{at}]", name) for at, name in enumerate(items(acl, "udfGroups"))]
    named += [(f"{place}.udfGroup", text(row, "udfGroup")) for place, row in rows(acl, "udfTable", f"{path}.udfTable")]
    for place, name in named:
        if name not in groups:
            yield Problem(place, f"there is no UDF group {name!r}")


def actions(view: View) -> Iterator[Problem]:
    """The ACL, counter and mirrors that each action of the two traffic policies names."""
    known = {text(acl, "name") for _, acl in acl_entries(view)}
    counters = {text(counter, "name") for counter in items(view.sw, "trafficCounters")}
    mirrors = {text(mirror, "name") for mirror in items(view.sw, "mirrors")}
    cpu = "sw.cpuTrafficPolicy.trafficPolicy"
    policies = (
        ("sw.dataPlaneTrafficPolicy", member(view.sw, "dataPlaneTrafficPolicy")),
        (cpu, member(member(view.sw, "cpuTrafficPolicy"), "trafficPolicy")),
    )
    for policy_path, policy in policies:
        for path, row in rows(policy, "matchToAction", f"{policy_path}.matchToAction"):
            if text(row, "matcher") not in known:
                yield Problem(f"{path}.matcher", f"there is no ACL {text(row, 'matcher')!r}")
            action = member(row, "action")
            if has(action, "counter") and action["counter"] not in counters:
                yield Problem(f"{path}.action.counter", f"{action['counter']!r} is not in trafficCounters")
            for key in ("ingressMirror", "egressMirror"):
                if has(action, key) and action[key] not in mirrors:
                    yield Problem(f"{path}.action.{key}", f"there is no mirror {action[key]!r}")


def flowlet_flag(view: View) -> Iterator[Problem]:
    """Flowlet settings without the flag that turns them on (fboss.md section 7)."""
    if gflag_true(view.flags.get("flowletSwitchingEnable", "false")):
        return
    forward = enum_value("FlowletAction.FORWARD")
    for path, row in rows(
        member(view.sw, "dataPlaneTrafficPolicy"), "matchToAction", "sw.dataPlaneTrafficPolicy.matchToAction"
    ):
        if member(row, "action").get("flowletAction") == forward:
            yield Problem(f"{path}.action.flowletAction", "needs the flag flowletSwitchingEnable", "silent")


RULES: tuple[Rule, ...] = (table_groups, acls, actions, flowlet_flag)
"""The rules of this module, in the order in which their problems are reported."""
