"""The files of FBOSS switches: golden files, invariants of every shape, the reference examples, bad specs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fabric.design.fabric import Fabric
from fabric.design.model import Port, Switch
from fabric.errors import DesignError, FabricError
from fabric.targets import fboss
from fabric.targets.fboss import agent_ports
from fabric.targets.fboss.agent_buffers import detection
from fabric.targets.fboss.box import box
from fabric.targets.fboss.refusals_agent import check_agent
from fabric.targets.fboss.refusals_bgp import check_bgp
from fabric.targets.fboss.rendering import AGENT, BGP, FSDB, LED, QSFP
from fabric.targets.fboss.rows import Rows
from fabric.targets.fboss.strict import compile_validator
from tests.targets.fboss_clusters import CLUSTERS, GRAND_TETON, Json, cluster, fabric_of, switches

ENABLED = 2
CELL = 254

GOLDEN = {
    "minipack2-rtsw": ("minipack2", "z01-rtsw001"),
    "minipack2-ctsw": ("minipack2", "z02-ctsw03"),
    "wedge400-200g-rtsw": ("wedge400-200g", "z02-rtsw002"),
    "wedge400-400g-rtsw": ("wedge400-400g", "z01-rtsw001"),
    "elbert-rtsw": ("elbert", "z01-rtsw001"),
    "dual-rtsw": ("dual", "z02-rtsw001"),
    "ipv4-ctsw": ("ipv4", "z01-ctsw01"),
    "dlb-ecn-sflow-rtsw": ("everything", "z01-rtsw001"),
    "drained-rtsw": ("states", "z01-rtsw001"),
    "drained-ctsw": ("states", "z01-ctsw02"),
    "native-odd-classes-rtsw": ("odd-classes", "z01-rtsw002"),
}
"""Name of the golden files -> cluster, switch."""


@cache
def files(name: str, switch: str) -> dict[str, bytes]:
    fabric = cluster(name)
    return {artifact.path: artifact.content for artifact in fboss.render(fabric, fabric.by_name[switch])}


@cache
def agent(name: str, switch: str) -> Json:
    conf: Json = json.loads(files(name, switch)[AGENT])
    return conf


@cache
def bgp(name: str, switch: str) -> Json:
    conf: Json = json.loads(files(name, switch)[BGP])
    return conf


EVERY = [(name, switch) for name in CLUSTERS for switch in switches(cluster(name))]
every = pytest.mark.parametrize(("name", "switch"), EVERY, ids=[f"{name}-{switch.name}" for name, switch in EVERY])


# --- golden files ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", GOLDEN)
def test_agent_and_bgp_files(case: str, golden: Callable[[str, str], None]) -> None:
    made = files(*GOLDEN[case])
    head, _, platform = made[AGENT].decode().partition('\n  "platform": ')
    assert platform.endswith("}\n")  # the section itself is a golden file of test_fboss_platform
    golden(f"fboss/{case}.agent.conf", head + "\n")
    golden(f"fboss/{case}.bgpcpp.conf", made[BGP].decode())


@pytest.mark.parametrize("path", [QSFP, FSDB, LED])
def test_small_files(path: str, golden: Callable[[str, str], None]) -> None:
    golden(f"fboss/{Path(path).name}", files("per-packet-native", "z01-rtsw001")[path].decode())


# --- what holds for every switch -------------------------------------------------------------------------------------------------
@every
def test_nothing_is_refused(name: str, switch: Switch) -> None:
    made = {path: json.loads(content) for path, content in files(name, switch.name).items()}
    known = box(switch.model)
    assert check_agent(made[AGENT], known.inventory, known.asic.name) == []
    assert check_bgp(made[BGP]) == []
    for path, root in ((QSFP, "qsfp"), (FSDB, "fsdb"), (LED, "led")):
        assert compile_validator(root)(made[path]) == []  # type: ignore[arg-type]


@every
def test_ports_agree_with_the_box(name: str, switch: Switch) -> None:
    sw = agent(name, switch.name)["sw"]
    known = box(switch.model).inventory
    up = {port["logicalID"]: port for port in sw["ports"] if port["state"] == ENABLED}
    assert up
    for logical, port in up.items():
        entry = known.ports[logical]
        assert port["name"] == entry.name
        assert port["speed"] == known.profile_speeds[port["profileID"]]
        assert not set(entry.profiles[port["profileID"]]) & up.keys()
        assert not set(entry.overlaps.get(port["profileID"], ())) & up.keys()
    listed = {port["logicalID"] for port in sw["ports"]}
    subsumed = {other for logical, port in up.items() for other in known.ports[logical].profiles[port["profileID"]]}
    native = "saiSdk" not in sw["sdkVersion"]
    assert subsumed <= listed if native else not subsumed & listed


@every
def test_one_svi_a_port(name: str, switch: Switch) -> None:
    fabric, sw = cluster(name), agent(name, switch.name)["sw"]
    svis = {row["vlanID"]: row for row in sw["interfaces"]}
    vlans = {row["id"]: row for row in sw["vlans"]}
    members = {row["logicalPort"]: row["vlanID"] for row in sw["vlanPorts"]}
    assert {10, 4094} <= vlans.keys() and sw["defaultVlan"] == 4094
    ports = {port["logicalID"]: port for port in sw["ports"]}
    assert members.keys() == ports.keys()
    for port in fabric.ports(switch):
        row = ports[port.slot.logical_id]
        want = {"up": 4000 + port.index, "front-end": 4094}.get(port.role, 2000 + port.index)
        assert (row["ingressVlan"], members[row["logicalID"]]) == (want, want)
        assert row["maxFrameSize"] == fabric.spec.mtu.frame
        lldp = {"2": port.peer_port, "5": port.peer} if port.enabled else {}
        assert (row["state"] == ENABLED, row["expectedLLDPValues"]) == (port.enabled, lldp)
        if port.role != "front-end":
            assert vlans[want]["intfID"] == svis[want]["intfID"] == want
            assert svis[want]["mtu"] == fabric.spec.mtu.ip
            assert ("ndp" in svis[want]) == (port.role == "host" and port.local6 is not None)
            assert len(svis[want]["ipAddresses"]) == (port.local4 is not None) + (port.local6 is not None)


@every
def test_the_lossless_class_is_one_path(name: str, switch: Switch) -> None:
    fabric, sw = cluster(name), agent(name, switch.name)["sw"]
    qos = fabric.spec.qos
    qos_map = sw["qosPolicies"][0]["qosMap"]
    mapped = [dscp for entry in qos_map["dscpMaps"] for dscp in entry["fromDscpToTrafficClass"]]
    assert sorted(mapped) == list(range(64))
    lossless, priority = qos.lossless, qos.lossless.pfc_priority
    dscps = next(m for m in qos_map["dscpMaps"] if m["internalTrafficClass"] == lossless.traffic_class)
    assert dscps["fromDscpToTrafficClass"] == list(lossless.dscp)
    assert qos_map["trafficClassToQueueId"][str(lossless.traffic_class)] == lossless.queue
    assert qos_map["trafficClassToPgId"][str(lossless.traffic_class)] == priority
    assert [cls for cls, group in qos_map["trafficClassToPgId"].items() if group == priority] == [
        str(lossless.traffic_class)
    ]
    assert qos_map["pfcPriorityToPgId"][str(priority)] == priority
    assert qos_map["pfcPriorityToQueueId"][str(priority)] == lossless.queue
    for group in sw["portPgConfigs"].values():
        assert [pg["id"] for pg in group if pg["headroomLimitBytes"]] == [priority]
        assert {pg["id"] for pg in group} == set(qos_map["trafficClassToPgId"].values())
    queues = next(iter(sw["portQueueConfigs"].values()))
    assert {queue["id"] for queue in queues} >= set(qos_map["trafficClassToQueueId"].values())
    assert all(1 <= queue["weight"] <= 127 for queue in queues if queue["scheduling"] == 0)
    assert [queue["id"] for queue in queues if "aqms" in queue] == ([lossless.queue] if qos.ecn else [])


@every
def test_buffers_are_whole_cells_and_fit(name: str, switch: Switch) -> None:
    sw, asic = agent(name, switch.name)["sw"], box(switch.model).asic
    (pool,) = sw["bufferPoolConfigs"].values()
    assert pool["sharedBytes"] + pool["headroomBytes"] <= asic.usable_cells_per_itm * CELL
    sizes = [*pool.values()]
    for groups in sw["portPgConfigs"].values():
        sizes += [value for group in groups for key, value in group.items() if key.endswith("Bytes")]
        assert all(group["headroomLimitBytes"] <= pool["headroomBytes"] for group in groups)
    assert all(size % CELL == 0 for size in sizes)
    words = {port["pfc"]["portPgConfigName"]: port["ingressVlan"] // 1000 for port in sw["ports"] if "pfc" in port}
    assert words.items() <= {"downlink_pg_config": 2, "uplink_pg_config": 4}.items()
    assert words.keys() == sw["portPgConfigs"].keys()


@every
def test_bgp_speaks_to_each_live_switch_once_a_family(name: str, switch: Switch) -> None:
    fabric, conf = cluster(name), bgp(name, switch.name)
    ports = [port for port in fabric.ports(switch) if port.role in ("up", "down") and port.enabled]
    families = (fabric.pools.host4 is not None) + (fabric.pools.host6 is not None)
    assert len({peer["peer_addr"] for peer in conf["peers"]}) == len(conf["peers"]) == families * len(ports)
    assert sorted({peer["remote_as_4_byte"] for peer in conf["peers"]}) == sorted({port.peer_asn for port in ports})
    groups = {group["name"]: group for group in conf["peer_groups"]}
    for peer in conf["peers"]:
        six = ":" in peer["peer_addr"]
        group = groups[peer["peer_group_name"]]
        assert group["name"].endswith("V6" if six else "V4")
        assert (group["disable_ipv4_afi"], group["disable_ipv6_afi"]) == (six, not six)
        assert peer["local_addr"] == peer["next_hop6" if six else "next_hop4"]


@every
def test_policies_let_only_declared_pools_pass(name: str, switch: Switch) -> None:
    fabric, policies = cluster(name), bgp(name, switch.name)["policies"]
    lists = {row["name"]: row["prefixes"] for row in policies["prefix_lists"]}
    for statement in policies["bgp_policy_statements"]:
        accept, deny = statement["policy_entries"]
        (match,) = accept["policy_match_entries"]["match_entries"]
        (wanted,) = match["prefix_filters"]["prefix_list_names"]
        own = switch.role == "rtsw" and statement["name"].endswith("_OUT")
        assert wanted == f"{'OWN' if own else 'FABRIC'}-{statement['name'].split('_')[3]}"
        kinds = [action["type"] for action in accept["policy_action_entries"]]
        drained = switch.state == "drained" and statement["name"].endswith("_OUT")
        assert kinds == ([1, 5] if drained else [5])
        assert [action["type"] for action in deny["policy_action_entries"]] == [6]
        assert len(lists[wanted]) == len({row["base_prefix"] for row in lists[wanted]}) == 2
        assert all(row["prefix_len_ranges"][0]["compare_operator"] == 1 for row in lists[wanted])
    plan = fabric.spec.addressing
    assert plan is not None
    if plan.ipv6 is not None:
        assert [row["base_prefix"] for row in lists["FABRIC-V6"]] == [
            str(plan.ipv6.host_links),
            str(plan.ipv6.loopbacks),
        ]


def _inside(prefix: str, rows: list[Json]) -> bool:
    from ipaddress import ip_network

    network: Any = ip_network(prefix)
    return any(
        network.version == ip_network(row["base_prefix"]).version
        and network.subnet_of(ip_network(row["base_prefix"]))
        and network.prefixlen == row["prefix_len_ranges"][0]["value"]
        for row in rows
    )


@every
def test_what_is_announced_passes_our_policies_and_the_neighbours(name: str, switch: Switch) -> None:
    conf = bgp(name, switch.name)
    lists = {row["name"]: row["prefixes"] for row in conf["policies"]["prefix_lists"]}
    for version in ("4", "6"):
        for network in conf[f"networks{version}"]:
            assert _inside(network["prefix"], lists[f"FABRIC-V{version}"])
            if switch.role == "rtsw":
                assert _inside(network["prefix"], lists[f"OWN-V{version}"])


# --- single features -------------------------------------------------------------------------------------------------------------
def test_rack_aggregate_or_single_nic_prefixes() -> None:
    whole, single = bgp("dual", "z01-rtsw001"), bgp("everything", "z01-rtsw001")
    assert [row["prefix"] for row in whole["networks6"]] == ["2001:db8:8000::/60", "2001:db8:f::21/128"]
    assert [row["prefix"] for row in whole["networks4"]] == ["10.128.0.0/27", "10.255.0.33/32"]
    assert len(single["networks6"]) == 16 + 1
    assert agent("dual", "z01-rtsw001")["sw"]["staticRoutesToNull"] == [
        {"routerID": 0, "prefix": "2001:db8:8000::/60"},
        {"routerID": 0, "prefix": "10.128.0.0/27"},
    ]
    assert agent("everything", "z01-rtsw001")["sw"]["staticRoutesToNull"] == []


def test_planned_peers_are_down_and_drained_switches_prepend() -> None:
    sw, conf = agent("states", "z01-rtsw001")["sw"], bgp("states", "z01-rtsw001")
    off = [port for port in sw["ports"] if port["state"] != ENABLED]
    assert len(off) == 8 + 1 + 1  # NICs of the planned host, the planned CTSW, the front-end link
    assert all(port["expectedLLDPValues"] == {} for port in off)
    assert [peer["description"].partition(":")[0] for peer in conf["peers"]] == [
        "z01-ctsw01",
        "z01-ctsw02",
        "z01-ctsw04",
    ]
    assert conf["drain_state"] == 1
    assert "drain_state" not in bgp("states", "z01-ctsw01")
    prepends = [
        action["set_as_path_prepend"]
        for statement in bgp("states", "z01-ctsw02")["policies"]["bgp_policy_statements"]
        for action in statement["policy_entries"][0]["policy_action_entries"]
        if action["type"] == 1
    ]
    asn = cluster("states").by_name["z01-ctsw02"].asn
    assert prepends == [{"asn": asn, "repeat_times": 3}] * 2


def test_overrides_reach_only_their_devices() -> None:
    here, there = agent("everything", "z01-rtsw001"), agent("everything", "z02-rtsw001")
    ctsw = agent("everything", "z02-ctsw01")
    seeds = [conf["sw"]["loadBalancers"][0]["seed"] for conf in (here, there, ctsw)]
    widths = [conf["sw"]["switchSettings"]["ecmpWidth"] for conf in (here, there, ctsw)]
    rates = [conf["sw"]["ports"][0]["sFlowIngressRate"] for conf in (here, there, ctsw)]
    assert (seeds, widths, rates) == ([77, 1, 2], [96, 64, 64], [131072, 65536, 65536])
    assert ["use_full_dlb_scale" in conf["defaultCommandLineArgs"] for conf in (here, there, ctsw)] == [
        False,
        False,
        True,
    ]


def test_flowlets_only_on_rtsw_uplinks() -> None:
    rtsw, ctsw = agent("everything", "z01-rtsw001"), agent("everything", "z01-ctsw01")
    marked = {port["ingressVlan"] // 1000 for port in rtsw["sw"]["ports"] if "flowletConfigName" in port}
    assert marked == {4}
    assert rtsw["defaultCommandLineArgs"]["flowletSwitchingEnable"] == "true"
    assert "flowletSwitchingConfig" not in ctsw["sw"]
    assert "flowletSwitchingEnable" not in ctsw["defaultCommandLineArgs"]
    native = agent("per-packet-native", "z01-rtsw001")["sw"]
    got = [rtsw["sw"]["flowletSwitchingConfig"], native["flowletSwitchingConfig"]]
    assert [row["dynamicSampleRate"] for row in got] == [1000, 1_000_000]
    assert [row["flowletTableSize"] for row in got] == [2048, 256]
    assert [row["dynamicEgressLoadExponent"] for row in got] == [3, 2]


def test_queue_pair_is_hashed_unless_plain_ecmp() -> None:
    assert "udfConfig" not in agent("odd-classes", "z01-rtsw001")["sw"]
    sw = agent("minipack2", "z01-rtsw001")["sw"]
    group = sw["udfConfig"]["udfGroups"]["dstQueuePair"]
    assert (group["startOffsetInBytes"], group["fieldSizeInBytes"], group["type"]) == (13, 3, 0)
    assert sw["loadBalancers"][0]["fieldSelection"]["udfGroups"] == ["dstQueuePair"]


@pytest.mark.parametrize(
    ("asked", "granularity", "actual"),
    [(10, 1, 10), (20, 10, 20), (150, 10, 150), (160, 10, 150), (200, 100, 200), (290, 100, 200), (1500, 100, 1500)],
)
def test_detection_time_is_what_the_timer_counts(asked: int, granularity: int, actual: int) -> None:
    found = detection(asked)
    assert (found.granularity_ms, found.actual_ms) == (granularity, actual)


# --- the reference examples ------------------------------------------------------------------------------------------------------
LEFT_OUT = {
    "agent": {"acls", "udfTable", "roceBytes", "roceMask", "udfGroup", "switchMac"},
    "bgp": {
        "bgp_setting_config", "features", "communities", "localprefs", "community_action", "action_type",
        "compute_ucmp_from_link_bandwidth_community", "advertise_link_bandwidth", "receive_link_bandwidth", "link_bandwidth_bps",
    },
    "qsfp": {"enable_tcvr_validation"},
}  # fmt: skip
"""Keys of the examples that we have no declared fact for: ACK counters, a MAC address, communities, link bandwidth."""

ADDED = {
    "agent": {"mode", "hostname", "seed", "backupSwitchingMode", "l2PktType", "l3pktType", "fabric_queue_config"},
    "bgp": {"boolean_operator"},
}
NAMES = {"rtsw_queue_config", "roceOpcode", "roceUdfFlowlet"}


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            if not key.isdigit():
                yield key
            yield from _keys(member)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


@pytest.mark.parametrize(
    ("example", "kind", "path"),
    [
        ("example-rtsw001.wedge400.agent.conf", "agent", AGENT),
        ("example-rtsw001.wedge400.bgpcpp.conf", "bgp", BGP),
        ("example-qsfp.conf", "qsfp", QSFP),
        ("example-fsdb.conf", "fsdb", FSDB),
        ("example-led.conf", "led", LED),
    ],
)
def test_same_keys_as_the_reference_example(example: str, kind: str, path: str, reference_dir: Path) -> None:
    theirs = json.loads((reference_dir / "fboss" / example).read_text())
    theirs.pop("platform", None)
    ours: set[str] = set()
    for name, switch in (("everything", "z01-rtsw001"), ("dual", "z01-rtsw001")):
        made = json.loads(files(name, switch)[path])
        made.pop("platform", None)
        ours |= set(_keys(made))
    expected = set(_keys(theirs)) - NAMES
    assert expected - ours == LEFT_OUT.get(kind, set())
    assert ours - expected == ADDED.get(kind, set())


SAME_VALUES = (
    "bufferPoolConfigs", "portPgConfigs", "cpuQueues", "cpuTrafficPolicy", "portFlowletConfigs", "clientIdToAdminDistance",
    "arpTimeoutSeconds", "arpRefreshSeconds", "arpAgerInterval", "maxNeighborProbes", "staleEntryInterval", "proactiveArp",
    "defaultVlan", "sdkVersion", "staticRoutesToCPU", "sFlowCollectors",
)  # fmt: skip


def test_same_values_as_the_reference_example(reference_dir: Path) -> None:
    """Where spec and example say the same, so do the files: buffers of a Wedge400, queues, DSCPs, hashing, CPU policy."""
    theirs = json.loads((reference_dir / "fboss" / "example-rtsw001.wedge400.agent.conf").read_text())["sw"]

    def change(spec: Json) -> None:
        CLUSTERS["wedge400-200g"](spec)
        spec["load_balancing"] = {"method": "dlb"}
        spec["qos"] = {"ecn": {}}

    fabric = fabric_of(change)
    ours = json.loads(fboss.render(fabric, fabric.by_name["z01-rtsw001"])[0].content)["sw"]
    assert {key: ours[key] for key in SAME_VALUES} == {key: theirs[key] for key in SAME_VALUES}
    assert list(ours["portQueueConfigs"].values()) == list(theirs["portQueueConfigs"].values())
    assert ours["udfConfig"]["udfGroups"]["dstQueuePair"] == theirs["udfConfig"]["udfGroups"]["dstQueuePair"]
    for key in ("dscpMaps", "trafficClassToPgId", "pfcPriorityToPgId", "pfcPriorityToQueueId"):
        assert ours["qosPolicies"][0]["qosMap"][key] == theirs["qosPolicies"][0]["qosMap"][key]
    for mine, yours in zip(ours["loadBalancers"], theirs["loadBalancers"], strict=True):
        assert {**mine, "seed": 0} == {**yours, "seed": 0}
    place = {
        port["name"]: (port["logicalID"], port["speed"], port["profileID"], port["ingressVlan"])
        for port in theirs["ports"]
    }
    mine = {
        port["name"]: (port["logicalID"], port["speed"], port["profileID"], port["ingressVlan"])
        for port in ours["ports"]
    }
    assert mine == place


# --- bad specs -------------------------------------------------------------------------------------------------------------------
def _set(path: str, value: Any) -> Callable[[Json], None]:
    def change(spec: Json) -> None:
        *way, last = path.split(".")
        for key in way:
            spec = spec.setdefault(key, {})
        spec[last] = value

    return change


BAD = {
    "flag of the wrong type": (
        _set("fboss.agent_args", {"ecmp_width": "wide"}),
        ("fboss", "agent_args", "ecmp_width"),
        "'wide' is not a value for the flag ecmp_width, which is of type uint32",
    ),
    "subnet": (
        _set("fboss.trusted_subnets", ["2001:db8::/32", "everyone"]),
        ("fboss", "trusted_subnets", 1),
        "'everyone' is not a subnet such as 2001:db8::/32",
    ),
    "width of an override": (
        _set("overrides", [{"match": {"role": "rtsw"}, "set": {"ecmp_width": 256}}]),
        ("overrides", 0, "set", "ecmp_width"),
        "an ECMP width of 256 is more than the 128 that TOMAHAWK4 can use",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_spec_gives_one_clear_line(case: str) -> None:
    change, path, message = BAD[case]
    fabric = fabric_of(change)
    with pytest.raises(DesignError) as caught:
        fboss.render(fabric, fabric.by_name["z01-rtsw001"])
    assert (caught.value.path, caught.value.message) == (path, message)


def test_grand_teton_from_the_operators_file(tmp_path: Path) -> None:
    fabric = fabric_of(GRAND_TETON)
    switch = fabric.by_name["z01-rtsw001"]
    with pytest.raises(DesignError, match=r"cannot read the base file gt\.json"):
        fboss.render(fabric, switch, base_dir=tmp_path)
    (tmp_path / "gt.json").write_text(
        json.dumps({"platform": {"chip": {"bcm": {"config": {"portmap_28": "33:100:4"}}}}})
    )
    conf = json.loads(fboss.render(fabric, switch, base_dir=tmp_path)[0].content)
    assert conf["defaultCommandLineArgs"]["mode"] == "wedge400_grandteton"
    assert conf["platform"]["chip"]["bcm"]["config"]["portmap_28"] == "33:100:4"
    assert {port["speed"] for port in conf["sw"]["ports"]} == {400000, 200000}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("expectedLLDPValue", {}, 'Port: expectedLLDPValue: Port has no such key (did you mean "expectedLLDPValues"?)'),
        ("logicalID", 9999, "sw.ports[0].logicalID: 9999 is outside every portIdRange"),
        ("ingressVlan", 77, "sw.interfaces[0].vlanID: VLAN 2001 does not exist"),
    ],
)
def test_a_mistake_of_ours_never_leaves(monkeypatch: pytest.MonkeyPatch, key: str, value: Any, message: str) -> None:
    right = agent_ports.port_rows

    def wrong(ports: Sequence[Port], facts: agent_ports.PortFacts) -> Rows:
        rows = right(ports, facts)
        rows.own[0][key] = value
        return rows

    monkeypatch.setattr(agent_ports, "port_rows", wrong)
    fabric = fabric_of(CLUSTERS["minipack2"])
    with pytest.raises(FabricError) as caught:
        fboss.render(fabric, fabric.by_name["z01-rtsw001"])
    assert caught.value.message.startswith(f"internal: z01-rtsw001: {AGENT}: ")
    assert message in caught.value.message


def test_unsupported_things_are_said() -> None:
    def change(spec: Json) -> None:
        spec["management"].update(
            ntp=["10.0.0.9"],
            sflow={"collectors": ["10.0.0.9", "10.0.0.10"]},
            motd_banner="hello",
            tacacs={"servers": ["10.0.0.9"], "key": "k"},
        )
        spec["secrets"] = {"k": {"env": "K"}}
        spec["fboss"] = {"agent_args": {"ecmp_widht": "64"}, "platform_base": {"minipack2": "base.json"}}

    fabric = fabric_of(change)
    assert fboss.unsupported(fabric, fabric.by_name["z01-rtsw001"]) == [
        "management.{ntp, tacacs, motd_banner}: no FBOSS file holds them; they belong to the switch's Linux image",
        "management.sflow.collectors: FBOSS samples to one mirror, so only 10.0.0.9 gets samples",
        "management.sflow: samples leave through the fabric's own ports, so 10.0.0.9 must be reachable there",
        "fboss.agent_args: FBOSS has no flag 'ecmp_widht' (did you mean \"ecmp_width\"?); it skips it",
    ]


def test_unknown_flag_is_passed_on() -> None:
    fabric = fabric_of(_set("fboss.agent_args", {"brand_new_flag": "1"}))
    conf = json.loads(fboss.render(fabric, fabric.by_name["z01-rtsw001"])[0].content)
    assert conf["defaultCommandLineArgs"]["brand_new_flag"] == "1"


def test_normalise_gives_our_own_form() -> None:
    content = files("minipack2", "z01-rtsw001")[AGENT]
    assert fboss.normalise(AGENT, json.dumps(json.loads(content)).encode()) == content


def test_same_bytes_whatever_was_rendered_before(tmp_path: Path) -> None:
    first, second = fabric_of(CLUSTERS["everything"]), fabric_of(CLUSTERS["everything"])
    forward = [fboss.render(first, switch) for switch in switches(first)]
    backward = [fboss.render(second, switch, base_dir=tmp_path) for switch in reversed(switches(second))]
    assert forward == backward[::-1]


def test_design_is_not_shared_between_specs() -> None:
    plain, seeded = fabric_of(CLUSTERS["minipack2"]), fabric_of(_set("load_balancing", {"seeds": {"rtsw": 9}}))

    def seed(fabric: Fabric) -> int:
        conf = json.loads(fboss.render(fabric, fabric.by_name["z01-rtsw001"])[0].content)
        found: int = conf["sw"]["loadBalancers"][0]["seed"]
        return found

    assert [seed(plain), seed(seeded), seed(plain)] == [1, 9, 1]
