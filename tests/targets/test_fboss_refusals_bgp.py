"""Every condition of the bgpcpp.conf refusals: the minimal configuration, one change, the expected problem."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fabric.targets.fboss.refusals_bgp import as_number, check_bgp
from tests.targets.fboss_minimal import DELETE, Change, changed, minimal_bgp

GROUP = "peer_groups.0"
PEER = "peers.0"
TERM = "policies.bgp_policy_statements.0.policy_entries.0"
MATCH = f"{TERM}.policy_match_entries.match_entries"
ACTION = f"{TERM}.policy_action_entries"
LISTS = "policies"


def _row(path: str, message: str, *changes: Change, level: str = "error") -> tuple[list[Change], str, str, str]:
    return list(changes), path, message, level


SESSIONS = [
    _row("router_id", "'::1' is not an IPv4", ("router_id", "::1")),
    _row("router_id", "'' is not an IPv4", ("router_id", DELETE)),
    _row("listen_addr", "'x' is not an IP", ("listen_addr", "x")),
    _row("local_as", "both spellings", ("local_as", 1)),
    _row("local_confed_as", "both spellings", ("local_confed_as", 1), ("local_confed_as_4_byte", 1)),
    _row("local_as_4_byte", "4294967296 is outside", ("local_as_4_byte", 1 << 32)),
    _row("local_as_4_byte", "0 is outside", ("local_as_4_byte", DELETE)),
    _row(f"{GROUP}.remote_as", "both spellings", (f"{GROUP}.remote_as", 1)),
    _row(f"{PEER}.local_as", "both spellings", (f"{PEER}.local_as", 1), (f"{PEER}.local_as_4_byte", 1)),
    _row("peer_groups.1.name", "'UP' is defined twice", ("peer_groups.+", {"name": "UP"}), level="silent"),
    _row(f"{PEER}.peer_addr", "'x' is neither", (f"{PEER}.peer_addr", "x")),
    _row(f"{PEER}.peer_group_name", "no peer group 'x'", (f"{PEER}.peer_group_name", "x")),
    _row(f"{PEER}.local_addr", "'::/0' is not an IP", (f"{PEER}.local_addr", "::/0")),
    _row(f"{PEER}.next_hop4", "is needed on every peer", (f"{PEER}.next_hop4", "")),
    _row(f"{PEER}.next_hop6", "is needed on every peer", (f"{PEER}.next_hop6", DELETE)),
    _row(f"{PEER}.next_hop6", "'10.0.0.1' is not an IPv6", (f"{PEER}.next_hop6", "10.0.0.1")),
    _row(f"{PEER}.local_as_4_byte", "4200000002 is the remote AS too", (f"{PEER}.local_as_4_byte", 4200000002)),
    _row(f"{PEER}.local_as_4_byte", "only for EBGP", (f"{PEER}.local_as_4_byte", 7), (f"{PEER}.remote_as_4_byte", 4200000001)),
    _row(f"{PEER}.remote_as_4_byte", "neither the peer", (f"{GROUP}.remote_as_4_byte", DELETE), level="silent"),
    _row(f"{GROUP}.pre_filter.max_routes", "negative", (f"{GROUP}.pre_filter.max_routes", -1)),
    _row(f"{PEER}.post_filter.warning_limit", "negative", (f"{PEER}.post_filter", {"warning_limit": -1})),
    _row(f"{PEER}.advertise_link_bandwidth", "needs link_bandwidth_bps", (f"{GROUP}.advertise_link_bandwidth", 2)),
    _row(f"{PEER}.receive_link_bandwidth", "needs link_bandwidth_bps", (f"{PEER}.receive_link_bandwidth", 2)),
    _row(f"{PEER}.is_confed_peer", "needs local_confed_as", (f"{GROUP}.is_confed_peer", True)),
    _row(f"{PEER}.ttl_security_hops", "255 is outside 1..254", (f"{PEER}.ttl_security_hops", 255)),
    _row(f"{GROUP}.ttl_security_hops", "0 is outside 1..254", (f"{GROUP}.ttl_security_hops", 0)),
    _row(f"{GROUP}.ingress_policy_name", "no policy 'x'", (f"{GROUP}.ingress_policy_name", "x")),
    _row(f"{PEER}.egress_policy_name", "no policy 'x'", (f"{PEER}.egress_policy_name", "x")),
    _row("networks4.0.prefix", "'x' is not a prefix", ("networks4.0.prefix", "x")),
    _row("networks6.0.prefix", "'' is not a prefix", ("networks6", [{}])),
    _row("networks4.0.policy_name", "no policy 'x'", ("networks4.0.policy_name", "x")),
    _row("thrift_server_config.ecc_curve_name", "enable_tls needs it", ("thrift_server_config", {"enable_tls": True})),
    _row("ucmp_quantizer_config.fixed_quantized_bps_list", "must not be empty", ("ucmp_quantizer_config", {})),
    *(_row("ucmp_quantizer_config.error_pct_threshold", f"{bad} is outside [0, 1)",
           ("ucmp_quantizer_config", {"error_pct_threshold": bad, "fixed_quantized_bps_list": ["1"]})) for bad in (1, -0.1)),
    _row(f"{GROUP}.bgp_peer_timers.hold_time_seconds", "30 is not 3 x", (f"{GROUP}.bgp_peer_timers.keep_alive_seconds", 9),
         level="warning"),
    _row(f"{GROUP}.bgp_peer_timers.out_delay_seconds", "16 is above 15", (f"{GROUP}.bgp_peer_timers.out_delay_seconds", 16),
         level="warning"),
    _row("defaultCommandLineArgs.nonsense", "no flag of this name", ("defaultCommandLineArgs", {"nonsense": ""}),
         level="silent"),
]  # fmt: skip

POLICIES = [
    _row("policies.bgp_policy_statements.1.name", "a name is needed", ("policies.bgp_policy_statements.+", {})),
    _row("policies.bgp_policy_statements.1.name", "'IN' is declared twice", ("policies.bgp_policy_statements.+", {"name": "IN"})),
    _row("policies.prefix_lists.1.name", "'POOLS' is declared twice", ("policies.prefix_lists.+", {"name": "POOLS"})),
    _row("policies.community_lists.0.name", "a name is needed", ("policies.community_lists.0.name", "")),
    _row("policies.community_lists.0.community_list_names", "other lists", ("policies.community_lists.0.community_list_names", ["x"])),
    _row("policies.prefix_lists.0.prefix_list_names", "other lists", ("policies.prefix_lists.0.prefix_list_names", ["x"])),
    _row("policies.aspath_lists.0.as_path_list_names", "other lists", ("policies.aspath_lists.0.as_path_list_names", ["x"])),
    *(_row(f"{TERM}.term_miss_action", f"{bad} is none of NEXT_TERM", (f"{TERM}.term_miss_action", bad)) for bad in (1, 4)),
    _row(f"{TERM}.policy_match_entries.match_logic_type", "only AND", (f"{TERM}.policy_match_entries.match_logic_type", 2)),
    _row(f"{MATCH}.0.type", "match type 6 is not known", (f"{MATCH}.0.type", 6)),
    _row(f"{MATCH}.0.prefix_filters", "PREFIX_LIST needs it", (f"{MATCH}.0.prefix_filters", DELETE)),
    _row(f"{MATCH}.0.community_count", "COMMUNITY_COUNT needs it", (f"{MATCH}.0.type", 9)),
    _row(f"{ACTION}.0.type", "action type 0 is not known", (f"{ACTION}.0.type", DELETE)),
    _row(f"{ACTION}.0.community_action", "COMMUNITY_LIST needs it", (f"{ACTION}.0.community_action", DELETE)),
    _row(f"{ACTION}.1.next_term_id", "GOTO needs it", (f"{ACTION}.1.type", 11)),
    _row(f"{ACTION}.2", "takes one of PERMIT, DENY, CONTINUE, GOTO, this one has 2", (f"{ACTION}.+", {"type": 6})),
    _row("policies.prefix_lists.0.compare_operator", "must not be set", ("policies.prefix_lists.0.compare_operator", 1)),
    _row("policies.prefix_lists.0.boolean_operator", "only OR", ("policies.prefix_lists.0.boolean_operator", 1)),
    _row("policies.prefix_lists.0.prefixes.0.base_prefix", "'x' is not a prefix",
         ("policies.prefix_lists.0.prefixes.0.base_prefix", "x")),
    _row(f"{MATCH}.0.prefix_filters.prefixes.0.seq_num", "must not be set",
         (f"{MATCH}.0.prefix_filters.prefixes", [{"base_prefix": "::/0", "seq_num": 1}])),
    _row("policies.prefix_lists.0.prefixes.0.match_logic", "only EQUAL", ("policies.prefix_lists.0.prefixes.0.match_logic", 1)),
    _row(f"{MATCH}.0.prefix_filters.prefix_list_names.0", "'x' is not in policies.prefix_lists",
         (f"{MATCH}.0.prefix_filters.prefix_list_names.0", "x")),
    _row(f"{MATCH}.1.communities_filter.communities", "must not be empty",
         (f"{MATCH}.1.communities_filter.community_list_names", [])),
    _row(f"{MATCH}.1.communities_filter.community_list_names.0", "'x' is not in policies.community_lists",
         (f"{MATCH}.1.communities_filter.community_list_names.0", "x")),
    _row(f"{MATCH}.1.communities_filter.community_list_names.0", "boolean_operator differs",
         (f"{MATCH}.1.communities_filter.boolean_operator", 1)),
    _row(f"{MATCH}.1.communities_filter.community_list_names.0", "holds no communities",
         ("policies.community_lists.0.communities", [])),
    _row(f"{ACTION}.0.community_action.communities.0", "only REMOVE takes a regular expression",
         (f"{ACTION}.0.community_action.communities.0", "1:.*")),
    _row(f"{ACTION}.0.community_action.community_action_list_names.0", "'x' is not in",
         (f"{ACTION}.0.community_action.community_action_list_names", ["x"])),
    _row(f"{ACTION}.2.set_nexthop.set_self", "not supported", (f"{ACTION}.+", {"type": 8, "set_nexthop": {"set_self": True}})),
    _row(f"{ACTION}.2.set_nexthop.next_hop.next_hop_prefix", "a valid address", (f"{ACTION}.+", {"type": 8, "set_nexthop": {}})),
    _row(f"{ACTION}.2.med_action.med_action_type", "only SET", (f"{ACTION}.+", {"type": 10, "med_action": {"med_action_type": 2}})),
    _row(f"{ACTION}.0.action_type", "is never read", (f"{ACTION}.0.action_type", {"flow_action": 1}), level="silent"),
    _row(f"{TERM}.policy_matches", "is never read", (f"{TERM}.policy_matches", [{}]), level="silent"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "path", "message", "level"), [*SESSIONS, *POLICIES])
def test_one_change_one_problem(changes: list[Change], path: str, message: str, level: str) -> None:
    found = check_bgp(changed(minimal_bgp(), changes))
    place = re.sub(r"\.(\d+)", r"[\1]", path)  # every number in these paths is a list position
    assert any(p.path == place and message in p.message and p.level == level for p in found), found


ALLOWED: list[list[Change]] = [
    [],
    [(f"{PEER}.peer_addr", "2001:db8::/64")],
    [("policies", DELETE), (f"{GROUP}.ingress_policy_name", DELETE)],
    [(f"{GROUP}.advertise_link_bandwidth", 2), (f"{GROUP}.link_bandwidth_bps", "400G")],
    [(f"{PEER}.is_confed_peer", True), ("local_confed_as_4_byte", 65000)],
    [(f"{PEER}.is_confed_peer", False), (f"{GROUP}.is_confed_peer", True)],
    [(f"{GROUP}.is_confed_peer", None), (f"{PEER}.description", None), ("peer_groups.0.local_as_4_byte", 7)],
    [(f"{ACTION}.0.community_action.communities.0", "1:.*"), (f"{ACTION}.0.community_action.action_type", 3)],
    [(f"{ACTION}.+", {"type": 8, "set_nexthop": {"next_hop": {"next_hop_prefix": "10.0.0.1"}}})],
    [("cluster_id", "10.0.0.1"), (f"{PEER}.additional_remote_as_4_byte", 7)],
    [("bgp_setting_config", {"stream_subscriber_limit": 3, "enable_route_refresh": True})],
]


@pytest.mark.parametrize("changes", ALLOWED)
def test_what_the_daemon_takes_is_no_problem(changes: list[Change]) -> None:
    assert check_bgp(changed(minimal_bgp(), changes)) == []


def test_an_as_number_is_read_in_either_spelling() -> None:
    assert [as_number(holder, "local_as") for holder in ({"local_as": 1}, {"local_as_4_byte": 2}, {})] == [1, 2, 0]


@pytest.mark.parametrize("name", ["example-rtsw001.wedge400.bgpcpp.conf", "example-ctsw001.minipack2.bgpcpp.conf"])
def test_reference_configurations_pass(reference_dir: Path, name: str) -> None:
    assert check_bgp(json.loads((reference_dir / "fboss" / name).read_text(encoding="utf-8"))) == []
