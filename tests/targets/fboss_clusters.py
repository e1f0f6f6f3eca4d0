"""Small clusters whose FBOSS switches show every shape that the renderer knows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

from fabric.design.build import design
from fabric.design.fabric import Fabric
from fabric.design.model import Switch
from fabric.spec.cluster import ClusterSpec

Json = dict[str, Any]

V6 = {
    "host_links": "2001:db8:8000::/48",
    "rtsw_links": "2001:db8:1::/64",
    "ctsw_links": "2001:db8:2::/64",
    "loopbacks": "2001:db8:f::/64",
}
V4 = {"host_links": "10.128.0.0/15", "rtsw_links": "10.64.0.0/14", "ctsw_links": "10.32.0.0/15"}
SFLOW = {"collectors": ["2001:db8:ffff::10"], "sample_rate": 65536}


def base() -> Json:
    """Two zones of two Minipack2 racks, Minipack2 CTSWs, ATSWs of Arista."""
    return {
        "schema": 1,
        "name": "small",
        "site": {"name": "dc1", "domain": "dc1.example.net"},
        "hosts": {"platform": "grand-teton-h100"},
        "backend": {
            "kind": "roce",
            "rack_profiles": {"rack": {"hosts": 2, "switch": "minipack2", "port_map": "grand-teton", "uplinks": 4}},
            "zones": [{"id": "1-2", "racks": 2, "rack_profile": "rack"}],
            "ctsw": {"model": "minipack2", "line_card": None, "nos": "fboss", "uplinks": 2},
            "atsw": {"model": "arista-7804r3", "nos": "eos", "count": 2},
            "growth": {
                "zones": 2,
                "racks_per_zone": 4,
                "hosts_per_rack": 2,
                "uplinks": 16,
                "ctsw_uplinks": 2,
                "atsws": 4,
            },
        },
        "addressing": {"family": "ipv6", "router_ids": "10.255.0.0/16", "ipv6": V6},
        "management": {"network": "10.0.0.0/16", "gateway": "10.0.0.1"},
    }


def _rack(spec: Json, switch: str, port_map: str, *, hosts: int, cable: str | None = None, uplinks: int = 4) -> None:
    spec["backend"]["rack_profiles"]["rack"] = {
        "hosts": hosts,
        "switch": switch,
        "port_map": port_map,
        "uplinks": uplinks,
    }
    spec["backend"]["growth"]["hosts_per_rack"] = hosts
    if cable is not None:
        spec["cabling"] = {"host": {"cable": cable, "length_m": 2}}


def _as_it_is(_: Json) -> None:
    """Minipack2 racks."""


def _wedge400_200g(spec: Json) -> None:
    _rack(spec, "wedge400", "200g", hosts=4, cable="200g-cr4", uplinks=16)
    spec["hosts"]["platform"] = "dgx-a100"


def _wedge400_400g(spec: Json) -> None:
    _rack(spec, "wedge400", "400g", hosts=1)


def _elbert(spec: Json) -> None:
    _rack(spec, "arista-7388x5", "grand-teton", hosts=2, cable="400g-fr4")


def _dual(spec: Json) -> None:
    spec["addressing"].update(family="dual", ipv4=V4)


def _ipv4(spec: Json) -> None:
    spec["addressing"] = {"family": "ipv4", "router_ids": "10.255.0.0/16", "ipv4": V4}


def _everything(spec: Json) -> None:
    """DLB, ECN, sFlow, a fine watchdog time, single NIC prefixes, overrides."""
    spec["load_balancing"] = {"method": "dlb"}
    spec["qos"] = {"ecn": {}, "pfc_watchdog": {"detect_ms": 150, "action": "none"}}
    spec["management"]["sflow"] = SFLOW
    spec["bgp"] = {"aggregate_racks": False, "graceful_restart_s": 0}
    spec["overrides"] = [
        {"match": {"name": "z01-*"}, "set": {"hash_seed": 77, "ecmp_width": 96, "sflow_sample_rate": 131072}},
        {"match": {"role": "ctsw"}, "set": {"agent_args": {"use_full_dlb_scale": "true"}}},
    ]


def _states(spec: Json) -> None:
    spec["state"] = [
        {"match": {"name": "z01-rtsw002"}, "state": "planned"},
        {"match": {"name": "z01-ctsw02"}, "state": "drained"},
        {"match": {"name": "z01-ctsw03"}, "state": "planned"},
        {"match": {"name": "z01-rtsw001"}, "state": "drained"},
        {"match": {"name": "z01-r001-h2"}, "state": "planned"},
    ]


def _odd_classes(spec: Json) -> None:
    """The lossless class on PFC priority 6, which is also the number of the monitoring class; native SDK; plain ECMP."""
    spec["qos"] = {
        "lossless": {"pfc_priority": 6, "scheduling": "strict"},
        "control": {"dscp": [46, 48]},
        "pfc_watchdog": None,
    }
    spec["load_balancing"] = {"method": "ecmp"}
    spec["fboss"] = {"sdk": "native"}


def _per_packet_native(spec: Json) -> None:
    spec["load_balancing"] = {"method": "dlb", "flowlets": {"mode": "per-packet"}}
    spec["fboss"] = {"sdk": "native", "trusted_subnets": ["2001:db8::/32"]}
    spec["qos"] = {"lossless": {"pfc_priority": 0}, "monitoring": None}


def _one_rack(spec: Json) -> None:
    backend = spec["backend"]
    backend.update(zones=[{"id": 1, "racks": 1, "rack_profile": "rack"}], ctsw=None, atsw=None)


def _two_tiers(spec: Json) -> None:
    spec["backend"].update(zones=[{"id": 1, "racks": 3, "rack_profile": "rack"}], atsw=None)
    spec["backend"]["ctsw"]["uplinks"] = 0


def _fboss_atsw(spec: Json) -> None:
    spec["backend"]["atsw"] = {"model": "minipack2", "line_card": None, "nos": "fboss", "count": 1, "planes": 2}


def _grand_teton(spec: Json) -> None:
    """The Grand Teton variant of the Wedge400, with the operator's base file gt.json."""
    _rack(spec, "wedge400-grandteton", "grand-teton", hosts=1, uplinks=8)
    spec["cabling"] = {"rtsw": {"cable": "200g-fr4", "length_m": 50}}
    spec["fboss"] = {"platform_base": {"wedge400-grandteton": "gt.json"}}


CLUSTERS: dict[str, Callable[[Json], None]] = {
    "minipack2": _as_it_is,
    "wedge400-200g": _wedge400_200g,
    "wedge400-400g": _wedge400_400g,
    "elbert": _elbert,
    "dual": _dual,
    "ipv4": _ipv4,
    "everything": _everything,
    "states": _states,
    "odd-classes": _odd_classes,
    "per-packet-native": _per_packet_native,
    "one-rack": _one_rack,
    "two-tiers": _two_tiers,
    "fboss-atsw": _fboss_atsw,
}


GRAND_TETON = _grand_teton


def spec_of(change: Callable[[Json], None]) -> Json:
    """The base spec with a change."""
    spec = copy.deepcopy(base())
    change(spec)
    return spec


def fabric_of(change: Callable[[Json], None]) -> Fabric:
    """The designed fabric of the base spec with a change."""
    return design(ClusterSpec.model_validate(spec_of(change)))


@cache
def cluster(name: str) -> Fabric:
    """One of CLUSTERS, designed once."""
    return fabric_of(CLUSTERS[name])


def switches(fabric: Fabric) -> list[Switch]:
    """The FBOSS switches that get a configuration."""
    return [switch for switch in fabric.switches if switch.nos == "fboss" and switch.state != "planned"]
