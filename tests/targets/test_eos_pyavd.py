"""Our text against AVD's: the same device, described to pyavd from our design, gives the same lines in the same order.

pyavd is an independent writer of EOS configurations with a typed schema, so a line that both write is a line that EOS knows.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.catalog import catalog
from fabric.design.build import design
from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.design.qos import plan_qos
from fabric.spec.cluster import ClusterSpec
from fabric.targets.eos import normalise, render

pyavd = pytest.importorskip("pyavd")

ROOT = Path(__file__).resolve().parents[2]

EVERYTHING: dict[str, Any] = {
    "addressing": {
        "family": "dual",
        "router_ids": "10.255.0.0/16",
        "ipv4": {"host_links": "10.128.0.0/14", "rtsw_links": "10.64.0.0/14", "ctsw_links": "10.32.0.0/15"},
        "ipv6": {
            "host_links": "2001:db8:8000::/47",
            "rtsw_links": "2001:db8:1::/64",
            "ctsw_links": "2001:db8:2::/64",
            "loopbacks": "2001:db8:f::/64",
        },
    },
    "bgp": {"bfd": {"interval_ms": 300, "multiplier": 3}},
    "qos": {"ecn": {"min_bytes": 2_000_000, "max_bytes": 3_000_000, "probability": 20}},
    "management": {
        "network": "10.0.0.0/16",
        "gateway": "10.0.0.1",
        "vrf": "OOB",
        "dns": ["10.0.0.153", "10.0.0.53"],
        "ntp": ["10.0.0.121", "10.0.0.20"],
        "syslog": ["10.0.0.130", "10.0.0.30"],
        "tacacs": {"servers": ["10.0.0.40", "10.0.0.4"], "key": "tac", "timeout_s": 7},
        "snmp": {"community": "snmp-read", "location": "hall 1", "contact": "noc@example.net"},
        "sflow": {"collectors": ["10.0.0.60", "10.0.0.6"]},
        "users": [
            {"name": "netops", "password_hash": "netops-hash", "ssh_key": "ssh-ed25519 AAAAC3Nza netops@mgmt"},
            {"name": "auditor", "role": "network-operator", "password_hash": "auditor-hash"},
            {"name": "keyonly", "ssh_key": "ssh-ed25519 AAAAC3Nzb keyonly@mgmt"},
        ],
        "login_banner": "Authorised use only.\n\n! every session is recorded\n",
        "motd_banner": "roce-24k",
    },
    "overrides": [{"match": {"name": "*ctsw01"}, "set": {"sflow_sample_rate": 32768, "ecmp_width": 64}}],
}
EOS_RACK = {"grand-teton": {"switch": "arista-7388x5", "nos": "eos", "port_map": "grand-teton", "uplinks": 18}}
DOWN_OPTICAL = {"host": {"cable": "400g-fr4", "length_m": 2.0}}


def fabric_of(**changes: Any) -> Fabric:
    """The 24k cluster with three racks in each of two zones, and sections replaced."""
    spec = yaml.safe_load((ROOT / "inventories/roce-24k/cluster.yaml").read_text())
    spec["backend"]["zones"] = [{"id": "1-2", "racks": 3, "rack_profile": "grand-teton"}]
    for name, value in copy.deepcopy(changes).items():
        if name == "rack_profiles":
            spec["backend"]["rack_profiles"] = value
        elif name == "cabling":
            spec["cabling"].update(value)
        else:
            spec[name] = value
    spec["secrets"] = {name: {"env": "X"} for name in ("netops-hash", "auditor-hash", "tac", "snmp-read")}
    return design(ClusterSpec.model_validate(spec))


# --- from the design to AVD's structured config ----------------------------------------------------------------------------------


def structured(fabric: Fabric, switch: Switch) -> dict[str, Any]:
    """The switch as pyavd structured config, written from the spec and the design, not from our views."""
    side = catalog().switch(switch.model).eos
    assert side is not None
    sand = side.family == "sand"
    ports = fabric.ports(switch)
    config: dict[str, Any] = {
        "hostname": switch.name,
        "config_end": True,
        **base(fabric, switch, side.management_interface.value),
        **quality(fabric, switch, sand=sand),
        **policies(fabric, switch),
        **interfaces(fabric, switch, ports),
        "router_bgp": bgp(fabric, switch, ports),
    }
    if fabric.spec.bgp.bfd and any(group.get("bfd") for group in config["router_bgp"]["peer_groups"]):
        bfd = fabric.spec.bgp.bfd
        config["router_bfd"] = {"interval": bfd.interval_ms, "min_rx": bfd.interval_ms, "multiplier": bfd.multiplier}
    if sand and fabric.spec.load_balancing.method != "ecmp":
        fields = {"udp": {"dst_port": 4791, "payload_bytes": "5-7"}}
        config["load_balance"] = {"policies": {"sand_profiles": [{"name": "ROCE", "fields": fields}]}}
        config["port_channel"] = {"load_balance_sand_profile": "ROCE"}
        config["platform"] = {"sand": {}}  # pyavd writes the line above only when there is a platform
    return config


def base(fabric: Fabric, switch: Switch, interface: str) -> dict[str, Any]:
    spec = fabric.spec.management
    assert spec is not None
    vrf = spec.vrf
    found: dict[str, Any] = {
        "aaa_root": {"disabled": True},
        "local_users": [user(entry) for entry in spec.users],
        "load_interval": {"default": 5},
        "service_routing_protocols_model": "multi-agent",
        "queue_monitor_length": {"enabled": True},
        "lldp": {"timer": 10, "holdtime": 40},
        "logging": {
            "console": "disabled",
            "buffered": {"size": 10000, "level": "informational"},
            "format": {"timestamp": "high-resolution"},
            "vrfs": [{"name": vrf, "source_interface": interface, "hosts": [{"name": host} for host in spec.syslog]}],
        },
        "ip_name_server": {"vrfs": [{"name": vrf, "servers": [{"ip_address": server} for server in spec.dns]}]},
        "dns_domain": fabric.spec.site.domain,
        "spanning_tree": {"mode": "none"},
        "vrfs": [{"name": vrf, "ip_routing": False}],
        "management_interfaces": [
            {"name": interface, "vrf": vrf, "ip_address": f"{fmt4(switch.management)}/{spec.network.prefixlen}"}
        ],
        "static_routes": [{"vrf": vrf, "prefix": "0.0.0.0/0", "next_hop": spec.gateway}],
        "ntp": {
            "local_interface": {"name": interface, "vrf": vrf},
            "vrf": vrf,
            "servers": [{"name": name, "iburst": True, "preferred": name == spec.ntp[0]} for name in spec.ntp],
        },
        "management_ssh": {
            "idle_timeout": spec.ssh_idle_timeout_min,
            "enable": True,
            "authentication": {"protocols": ["password", "public-key"]},
            "connection": {"limit": 50},
            "vrfs": [{"name": vrf, "enable": True}],
        },
        **aaa(fabric, interface),
    }
    if spec.eapi:
        found["management_api_http"] = {"enable_https": True, "enable_vrfs": [{"name": vrf}]}
    if spec.gnmi:
        found["management_api_gnmi"] = {"transport": {"grpc": [{"name": "default", "vrf": vrf}]}}
    banners = {"login": spec.login_banner, "motd": spec.motd_banner}
    found["banners"] = {name: f"{text.rstrip()}\nEOF" for name, text in banners.items() if text}
    if spec.snmp:
        found["snmp_server"] = {
            "location": spec.snmp.location,
            "contact": spec.snmp.contact,
            "communities": [{"name": f"$SECRET{{{spec.snmp.community}}}", "access": "ro"}],
            "vrfs": [{"name": "default", "enable": False}, {"name": vrf, "enable": True}],
            "local_interfaces": [{"name": interface, "vrf": vrf}],
        }
    if spec.sflow:
        targets = [{"destination": address, "port": spec.sflow.port} for address in spec.sflow.collectors]
        found["sflow"] = {
            "sample": fabric.settings_of(switch).sflow_sample_rate or spec.sflow.sample_rate,
            "polling_interval": spec.sflow.polling_interval_s,
            "vrfs": [{"name": vrf, "source_interface": interface, "destinations": targets}],
            "run": True,
        }
    return found


def user(entry: Any) -> dict[str, Any]:
    found = {"name": entry.name, "role": entry.role}
    if entry.role == "network-admin":
        found["privilege"] = 15
    if entry.password_hash:
        found["sha512_password"] = f"$SECRET{{{entry.password_hash}}}"
    if entry.ssh_key:
        found["ssh_key"] = entry.ssh_key
    return found


def aaa(fabric: Fabric, interface: str) -> dict[str, Any]:
    spec = fabric.spec.management
    assert spec is not None
    if spec.tacacs is None:
        return {"aaa_authorization": {"exec": {"default": "local"}}}
    both = "group TACACS local"
    start_stop = {"type": "start-stop", "methods": [{"method": "group", "group": "TACACS"}]}
    key = f"$SECRET{{{spec.tacacs.key}}}"
    return {
        "tacacs_servers": {
            "timeout": spec.tacacs.timeout_s,
            "hosts": [{"host": host, "vrf": spec.vrf, "key": key, "key_type": "7"} for host in spec.tacacs.servers],
        },
        "aaa_server_groups": [
            {
                "name": "TACACS",
                "type": "tacacs+",
                "servers": [{"server": host, "vrf": spec.vrf} for host in spec.tacacs.servers],
            }
        ],
        "aaa_authentication": {"login": {"default": both, "console": "local"}},
        "aaa_authorization": {"serial_console": True, "exec": {"default": both}, "commands": {"all_default": both}},
        "aaa_accounting": {
            "exec": {"default": start_stop},
            "commands": {"default": [{"commands": "all", **start_stop}]},
        },
        "ip_tacacs": {"vrfs": [{"name": spec.vrf, "source_interface": interface}]},
    }


def quality(fabric: Fabric, switch: Switch, *, sand: bool) -> dict[str, Any]:
    qos, plan = fabric.spec.qos, plan_qos(fabric.spec.qos)
    classes: dict[int, list[int]] = {}
    for dscp, number in enumerate(plan.traffic_class_of()):
        classes.setdefault(number, []).append(dscp)
    maps = [f"{' '.join(map(str, dscps))} to traffic-class {number}" for number, dscps in classes.items()]
    queues = [queue for queue in plan.queues if queue.number != 7]
    profile: dict[str, Any] = {
        "name": "ROCE",
        "trust": "dscp",
        "tx_queues" if sand else "uc_tx_queues": [tx_queue(fabric, queue) for queue in queues],
        "priority_flow_control": {
            "enabled": True,
            "priorities": [{"priority": qos.lossless.pfc_priority, "no_drop": True}],
        },
    }
    found: dict[str, Any] = {
        "qos_profiles": [profile],
        "qos": {
            "map": {
                "dscp": maps,
                "traffic_class": [f"{queue.traffic_class} to tx-queue {queue.number}" for queue in queues],
            }
        },
    }
    if qos.pfc_watchdog:
        dog = qos.pfc_watchdog
        times = {"timeout": f"{dog.detect_ms / 1000:g}", "recovery_time": f"{dog.recover_ms / 1000:g}"}
        action = {"drop": "drop", "none": "notify-only"}[dog.action]
        timer = {**times, "polling_interval": "auto"}
        profile["priority_flow_control"]["watchdog"] = {"enabled": True, "action": action, "timer": timer}
        half = f"{min(dog.detect_ms, dog.recover_ms) / 2000:g}"
        found["priority_flow_control"] = {"watchdog": {**times, "polling_interval": half, "action": action}}
    if sand and qos.ecn:
        found["hardware_counters"] = {"features": [{"name": "ecn", "direction": "out"}]}
    if not sand:
        found["platform"] = {"trident": {"mmu": buffers(switch.model, qos.lossless.pfc_priority, qos.lossless.queue)}}
    return found


def tx_queue(fabric: Fabric, queue: Any) -> dict[str, Any]:
    if queue.strict:
        return {"id": queue.number, "priority": "priority strict"}
    found: dict[str, Any] = {"id": queue.number, "priority": "no priority", "bandwidth_percent": queue.weight}
    ecn = fabric.spec.qos.ecn
    if ecn and queue.lossless:
        threshold = {
            "units": "kbytes",
            "min": ecn.min_bytes // 1000,
            "max": ecn.max_bytes // 1000,
            "max_probability": ecn.probability,
            "weight": 0,
        }
        found["random_detect"] = {"ecn": {"count": True, "threshold": threshold}}
    return found


def buffers(model: str, priority: int, queue: int) -> dict[str, Any]:
    cells = catalog().buffers(model)
    size = 254  # bytes a cell of Tomahawk 4
    ingress = {
        "headroom": {"memory": cells.headroom_uplink.value * size},
        "resume": cells.resume_offset.value * size,
        "priority_groups": [{"id": priority, "threshold": "1", "reserved": {"memory": cells.pg_min.value * size}}],
    }
    profile = {"name": "ROCE", "ingress": ingress, "unicast_queues": [{"id": queue, "threshold": "8"}]}
    pool = {"limit": cells.headroom_pool.value * size * 2}
    return {"active_profile": "ROCE", "headroom_pool": pool, "queue_profiles": [profile]}


def interfaces(fabric: Fabric, switch: Switch, ports: list[Port]) -> dict[str, Any]:
    addressing = fabric.spec.addressing
    assert addressing is not None
    used = [ethernet(fabric, port) for port in ports]
    names = {entry["name"] for entry in used}
    unused = [{"name": name, "shutdown": True} for name in lane_one(switch) if name not in names]
    loopback: dict[str, Any] = {"name": "Loopback0"}
    found: dict[str, Any] = {
        "ethernet_interfaces": used + unused,
        "loopback_interfaces": [loopback],
        "ip_routing": True,
    }
    if addressing.ipv4:
        loopback["ip_address"] = f"{fmt4(switch.router_id)}/32"
    if switch.loopback6 is not None:
        loopback["ipv6_addresses"] = [f"{fmt6(switch.loopback6)}/128"]
        found["ipv6_unicast_routing"] = True
    return found


def lane_one(switch: Switch) -> list[str]:
    model = catalog().switch(switch.model)
    if switch.line_card:
        return [port.name for port in model.chassis_ports(switch.line_card)]
    return sorted({f"{port.names['eos'].rpartition('/')[0]}/1" for port in model.ports})


def ethernet(fabric: Fabric, port: Port) -> dict[str, Any]:
    label = f"{port.peer}:{port.peer_port}"
    found: dict[str, Any] = {
        "name": port.slot.name,
        "description": label if port.enabled else f"planned: {label}",
        "shutdown": not port.enabled,
        "mtu": fabric.spec.mtu.ip,
        "speed": port.slot.speed_token,
        "error_correction_encoding": {"reed_solomon": True},
        "switchport": {"enabled": False},
        "service_profile": "ROCE",
    }
    if port.role == "front-end":
        found["description"] = "reserved: front end"
        del found["service_profile"]
    if port.local4 is not None:
        found["ip_address"] = f"{fmt4(port.local4)}/31"
    if port.local6 is not None:
        found["ipv6_addresses"] = [f"{fmt6(port.local6)}/{port.len6}"]
    return found


def policies(fabric: Fabric, switch: Switch) -> dict[str, Any]:
    """Prefix lists and route maps of a CTSW or ATSW, and of an RTSW that sums up its rack."""
    addressing = fabric.spec.addressing
    assert addressing is not None
    rtsw = switch.role == "rtsw"
    four, six = fabric.rack_prefix(switch.zone or 1, switch.number if rtsw else 1)
    families: list[tuple[str, str, dict[str, list[str]]]] = []
    if addressing.ipv4 and four:
        rack = f"{fmt4(four.base)}/{four.length}"
        lists = {
            "LOOPBACKS": [f"{addressing.router_ids} eq 32"],
            "RACKS": [f"{addressing.ipv4.host_links} eq {four.length}"],
            "HOST-LINKS": [f"{rack} eq 31"],
            "LOCAL": [f"{fmt4(switch.router_id)}/32", rack],
        }
        families.append(("ip address", "PL", lists))
    if addressing.ipv6 and six and switch.loopback6:
        rack = f"{fmt6(six.base)}/{six.length}"
        lists = {
            "LOOPBACKS": [f"{addressing.ipv6.loopbacks} eq 128"],
            "RACKS": [f"{addressing.ipv6.host_links} eq {six.length}"],
            "HOST-LINKS": [f"{rack} eq 64"],
            "LOCAL": [f"{fmt6(switch.loopback6)}/128", rack],
        }
        families.append(("ipv6 address", "PL6", lists))
    drained = switch.state == "drained"
    path = ["as-path prepend " + " ".join([str(switch.asn)] * 3)] if drained else []
    use = ["LOOPBACKS", "RACKS", *(["HOST-LINKS", "LOCAL"] if rtsw else [])]
    told = ["LOCAL"] if rtsw else ["LOOPBACKS", "RACKS"]
    matched = {
        "RM-CONNECTED": (["LOOPBACKS", "HOST-LINKS"] if rtsw else ["LOOPBACKS"], []),
        "RM-FABRIC-IN": (["LOOPBACKS", "RACKS"], []),
        "RM-DRAIN-OUT" if drained else "RM-FABRIC-OUT": (told, path),
    }
    return {
        "prefix_lists": [
            prefix_list(kind, name, lists[name]) for _, kind, lists in families if kind == "PL" for name in use
        ],
        "ipv6_prefix_lists": [
            prefix_list(kind, name, lists[name]) for _, kind, lists in families if kind == "PL6" for name in use
        ],
        "route_maps": [
            route_map(
                name, [f"{word} prefix-list {kind}-{entry}" for word, kind, _ in families for entry in entries], path
            )
            for name, (entries, path) in matched.items()
        ],
    }


def prefix_list(kind: str, name: str, rules: list[str]) -> dict[str, Any]:
    numbered = [{"sequence": 10 * place, "action": f"permit {rule}"} for place, rule in enumerate(rules, start=1)]
    return {"name": f"{kind}-{name}", "sequence_numbers": numbered}


def route_map(name: str, matches: list[str], sets: list[str]) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    for place, match in enumerate(matches, start=1):
        entry: dict[str, Any] = {"sequence": 10 * place, "type": "permit", "match": [match]}
        entries.append({**entry, "set": sets} if sets else entry)
    return {"name": name, "sequence_numbers": entries}


def bgp(fabric: Fabric, switch: Switch, ports: list[Port]) -> dict[str, Any]:
    spec = fabric.spec.bgp
    links = [port for port in ports if port.role in ("up", "down")]
    sessions = [(port.peer4, "V4", port) for port in links] + [(port.peer6, "V6", port) for port in links]
    sessions = [entry for entry in sessions if entry[0] is not None]
    out = "RM-DRAIN-OUT" if switch.state == "drained" else "RM-FABRIC-OUT"
    groups: dict[str, dict[str, Any]] = {}
    for _, family, port in sessions:
        name = f"{port.peer_role.upper()}-{family}"
        group = {"name": name, "route_map_in": "RM-FABRIC-IN", "route_map_out": out, "maximum_routes": spec.max_routes}
        if spec.bfd and fabric.by_name[port.peer].nos == "eos":
            group["bfd"] = True
        groups[name] = group
    neighbors = [
        {
            "ip_address": str(ip_address(fmt4(address or 0) if family == "V4" else fmt6(address or 0))),
            "peer_group": f"{port.peer_role.upper()}-{family}",
            "remote_as": str(port.peer_asn),
            "description": port.peer,
        }
        for address, family, port in sessions
        if port.enabled
    ]
    four, six = fabric.rack_prefix(switch.zone or 1, switch.number)
    racks = [f"{fmt4(four.base)}/{four.length}"] if four else []
    racks += [f"{fmt6(six.base)}/{six.length}"] if six else []
    paths = fabric.settings_of(switch).ecmp_width or equal_paths(fabric, switch, links)
    found: dict[str, Any] = {
        "as": str(switch.asn),
        "router_id": fmt4(switch.router_id),
        "updates": {"wait_for_convergence": True, "wait_install": True},
        "bgp": {"default": {"ipv4_unicast": False}},
        "bgp_defaults": ["bgp bestpath as-path multipath-relax"],
        "timers": {"keepalive_time": spec.timers.keepalive_s, "hold_time": spec.timers.hold_s},
        "graceful_restart": {"enabled": True, "restart_time": spec.graceful_restart_s},
        "maximum_paths": {"paths": paths, "ecmp": paths},
        "peer_groups": list(groups.values()),
        "neighbors": neighbors,
        "redistribute": {"connected": {"enabled": True, "route_map": "RM-CONNECTED"}},
    }
    if switch.role == "rtsw":
        found["aggregate_addresses"] = [{"prefix": prefix, "summary_only": True} for prefix in racks]
    for family, key in (("V4", "address_family_ipv4"), ("V6", "address_family_ipv6")):
        active = [{"name": name, "activate": True} for name in groups if name.endswith(family)]
        if active:
            found[key] = {"peer_groups": active}
    return found


def equal_paths(fabric: Fabric, switch: Switch, links: list[Port]) -> int:
    """Uplinks of an RTSW or CTSW; an ATSW reaches a rack through all CTSWs of its zone that it has a cable to."""
    if switch.role == "rtsw":
        return fabric.zones[switch.zone].profile.uplinks
    if switch.role == "ctsw":
        assert fabric.spec.roce.ctsw
        return fabric.spec.roce.ctsw.uplinks
    return max(Counter(fabric.by_name[port.peer].zone for port in links).values())


# --- the comparison --------------------------------------------------------------------------------------------------------------


def by_address(text: str) -> list[str]:
    """Lines, with the block of neighbour statements in order of address.

    pyavd sorts IPv6 addresses as texts ("::101" before "::c1"), we as numbers.
    """
    lines = text.splitlines()
    places = [
        place
        for place, line in enumerate(lines)
        if line.startswith("   neighbor ") and line.split()[1][0] in "0123456789"
    ]
    if not places:
        return lines
    block = [lines[place] for place in places]
    assert places == list(range(places[0], places[0] + len(places)))

    def number(line: str) -> tuple[int, int]:
        parsed = ip_address(line.split()[1])
        return parsed.version, int(parsed)

    return lines[: places[0]] + sorted(block, key=number) + lines[places[-1] + 1 :]


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sand-ctsw-everything": ("z01-ctsw01", EVERYTHING),
    "sand-atsw-everything": ("atsw001", EVERYTHING),
    "sand-ctsw-ipv6": ("z01-ctsw02", {}),
    "sand-atsw-ipv6": ("atsw028", {}),
    "sand-ctsw-drained": (
        "z02-ctsw03",
        {**EVERYTHING, "state": [{"match": {"name": "z02-ctsw03"}, "state": "drained"}]},
    ),
    "sand-ctsw-planned-racks": ("z01-ctsw01", {"state": [{"match": {"name": "z01-rtsw*"}, "state": "planned"}]}),
    "sand-ctsw-bfd-to-eos-racks": ("z01-ctsw01", {**EVERYTHING, "rack_profiles": EOS_RACK, "cabling": DOWN_OPTICAL}),
    "trident-rtsw-everything": ("z01-rtsw002", {**EVERYTHING, "rack_profiles": EOS_RACK, "cabling": DOWN_OPTICAL}),
    "trident-rtsw-ipv6": ("z02-rtsw003", {"rack_profiles": EOS_RACK, "cabling": DOWN_OPTICAL}),
    "sand-ctsw-watchdog-reports": ("z01-ctsw01", {"qos": {"pfc_watchdog": {"detect_ms": 10, "action": "none"}}}),
    "sand-ctsw-control-in-queue-5": ("z01-ctsw01", {"qos": {"control": {"traffic_class": 5, "queue": 5}}}),
    "sand-ctsw-no-watchdog-plain-ecmp": (
        "z01-ctsw01",
        {"qos": {"pfc_watchdog": None, "monitoring": None}, "load_balancing": {"method": "ecmp"}},
    ),
}


def compare(fabric: Fabric, switch: Switch) -> None:
    result = pyavd.validate_structured_config(structured(fabric, switch))
    assert not result.validation_result.violations
    theirs = by_address(normalise(pyavd.get_device_config(result.validated_data)))
    ours = by_address(normalise(render(fabric, switch)[0].content.decode()))
    assert "\n".join(ours) == "\n".join(theirs)


@pytest.mark.parametrize("case", CASES)
def test_same_lines_as_pyavd(case: str) -> None:
    name, changes = CASES[case]
    fabric = fabric_of(**changes)
    compare(fabric, fabric.by_name[name])


def test_every_eos_switch_of_the_lab_is_the_same_from_pyavd() -> None:
    spec = yaml.safe_load((ROOT / "inventories/lab/cluster.yaml").read_text())
    fabric = design(ClusterSpec.model_validate(spec))
    switches = [switch for switch in fabric.switches if switch.nos == "eos"]
    assert {switch.role for switch in switches} == {"rtsw", "ctsw", "atsw"}
    for switch in switches:
        compare(fabric, switch)


def test_reference_device_loses_only_defaults(reference_dir: Path) -> None:
    text = (reference_dir / "eos/ctsw1-7800r3.cfg").read_text()
    lines = Counter(line for line in text.splitlines() if line.strip().strip("!"))
    assert lines - Counter(normalise(text).splitlines()) == {
        "! hand-written example: CTSW (DCS-7808R3, EOS 4.33.1F or later)": 1,
        "   no shutdown": 6,  # five interfaces, and SSH; not that of eAPI
        "   bgp bestpath as-path multipath-relax": 1,
        "qos map dscp 24 26 to traffic-class 3": 1,
        "qos map dscp 48 to traffic-class 6": 1,
        "end": 1,
    }


def shape(line: str) -> str:
    """The keywords of a line: its words of lower-case letters."""
    return " ".join(word for word in line.split() if re.fullmatch(r"[a-z][a-z-]*", word))


BEYOND_THE_REFERENCE = {
    "banner login": "pyavd: banners",
    "banner motd": "pyavd: banners",
    "every session is recorded": "text of a banner",
    "use": "text of a banner",
    "ip routing": "the reference has the form of RFC 5549; AVD writes this one without it",
    "shutdown": "pyavd: ethernet_interfaces.shutdown",
    "neighbor route-map out": "pyavd: peer_groups.route_map_out",
    "no snmp-server vrf default": "pyavd: snmp_server.vrfs",
    "snmp-server community ro": "pyavd: snmp_server.communities",
    "snmp-server contact": "pyavd: snmp_server.contact",
    "snmp-server location hall": "pyavd: snmp_server.location",
    "snmp-server vrf": "pyavd: snmp_server.vrfs",
    "snmp-server vrf local-interface": "pyavd: snmp_server.local_interfaces",
    "username auditor role network-operator secret": "the reference has a privilege between",
    "username keyonly privilege role network-admin": "pyavd: local_users without a password",
    "username keyonly ssh-key": "in the reference with another name",
}
"""Line forms that the reference device does not have, each with where it is known from."""


def test_line_forms_are_those_of_the_reference_device(reference_dir: Path) -> None:
    fabric = fabric_of(**EVERYTHING)
    ours = normalise(render(fabric, fabric.by_name["z01-ctsw01"])[0].content.decode())
    theirs = (reference_dir / "eos/ctsw1-7800r3.cfg").read_text()
    found = {shape(line) for line in ours.splitlines()} - {shape(line) for line in theirs.splitlines()}
    assert found - {""} == set(BEYOND_THE_REFERENCE)


def test_reference_device_is_the_same_from_pyavd(reference_dir: Path) -> None:
    config = yaml.safe_load((reference_dir / "eos/ctsw1.struct.yml").read_text())
    theirs = pyavd.get_device_config(pyavd.validate_structured_config(config).validated_data)
    assert normalise(theirs) == normalise((reference_dir / "eos/ctsw1-7800r3.cfg").read_text())
