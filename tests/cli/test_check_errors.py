"""What cannot be built: one clear line each, with place and arithmetic, exit 1. Golden: tests/golden/check/NAME.txt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

RACK = "backend.rack_profiles.fboss-rack"
NO_BASE = {"hosts": 1, "rack": "orv3", "switch": "wedge400-grandteton", "port_map": "grand-teton", "uplinks": 2}
SHORT = {"cable": "200g-fr4", "length_m": 10}
LONE = {"id": 1, "racks": 1, "rack_profile": "eos-rack"}
NINE = {"backend.growth.zones": 16, "backend.zones.0.id": "1-9", "addressing.ipv6.host_links": "2001:db8:8000::/46"}
BARE = dict.fromkeys(("hosts.os", "hosts.software", "hosts.network", "storage", "scheduler"))
"""What is installed on hosts has its own tests; without it, places stay where they are when an inventory installs another thing."""
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "unknown-platform": ("lab", {"hosts.platform": "grand-teton-h200"}),
    "unknown-nic": ("lab", {"hosts.nic": "connectx-9"}),
    "unknown-switch": ("lab", {f"{RACK}.switch": "minipack3"}),
    "unknown-port-map": ("lab", {f"{RACK}.port_map": "grand"}),
    "unknown-rack-standard": ("lab", {f"{RACK}.rack": "orv4"}),
    "unknown-line-card": ("lab", {"backend.ctsw.line_card": "7800r3a-48d"}),
    "chassis-without-line-card": ("lab", {"backend.ctsw": {"model": "arista-7804r3", "line_card": None, "uplinks": 2}}),
    "unknown-cable": ("lab", {"cabling.rtsw": {"cable": "400g-fr8", "length_m": 10}}),
    "rack-profile-missing": ("lab", {"backend.zones.0.rack_profile": "fboss-racks"}),
    "zone-twice": ("lab", {"backend.zones.1.id": "1-2"}),
    "nos-not-on-box": ("lab", {f"{RACK}.nos": "eos"}),
    "chassis-as-rtsw": ("lab", {f"{RACK}.switch": "arista-7808r3", f"{RACK}.port_map": None}),
    "too-many-hosts": ("lab", {f"{RACK}.hosts": 3, "backend.growth.hosts_per_rack": 4}),
    "too-many-uplinks": ("lab", {f"{RACK}.uplinks": 19, "backend.growth.uplinks": 32}),
    "racks-beyond-ctsw-ports": ("roce-24k", {"backend.zones.0.racks": 261, "backend.growth.racks_per_zone": 512}),
    "racks-beyond-growth": ("roce-24k", {"backend.zones.0.racks": 257}),
    "zone-beyond-growth": ("lab", {"backend.zones.1.id": 5}),
    "hosts-beyond-growth": ("lab", {"backend.growth.hosts_per_rack": 1}),
    "uplinks-beyond-growth": ("lab", {"backend.growth.uplinks": 1}),
    "ctsw-uplinks-beyond-growth": ("lab", {"backend.ctsw.uplinks": 6}),
    "atsws-beyond-growth": ("lab", {"backend.growth.atsws": 1}),
    "huge-counts": ("lab", {"backend.zones.0.racks": 4096, "backend.growth.racks_per_zone": 4096, "backend.growth.zones": 4096}),
    "no-ctsw": ("lab", {"backend.ctsw": None}),
    "no-atsw": ("lab", {"backend.atsw": None}),
    "uplinks-to-nowhere": ("lab", {"backend.atsw": None, "backend.zones.1": LONE, "backend.zones.0.id": 3}),
    "uplinks-do-not-divide": ("roce-24k", {"backend.atsw.count": 27}),
    "atsw-too-small": ("roce-24k", NINE),
    "atsw-slots-too-wide": ("roce-24k", {"backend.growth.ctsws_on_atsw": None}),
    "atsw-slots-too-narrow": ("roce-24k", {"backend.growth.ctsws_on_atsw": 17}),
    "planes-do-not-divide": ("roce-24k", {"backend.atsw.planes": 4, "backend.growth.atsws": 128}),
    "pool-too-small-by-one-bit": ("lab", {"addressing.ipv4.host_links": "10.128.0.0/23"}),
    "pool6-too-small": ("lab", {"addressing.ipv6.host_links": "2001:db8:8000::/56"}),
    "router-ids-too-small": ("lab", {"addressing.router_ids": "10.255.0.0/26"}),
    "management-too-small": ("lab", {"management.network": "10.0.0.0/24", "management.reserved": 176}),
    "pools-overlap": ("lab", {"addressing.ipv4.rtsw_links": "10.128.1.0/24"}),
    "gateway-outside": ("lab", {"management.gateway": "10.9.0.1"}),
    "gateway-among-switches": ("lab", {"management.gateway": "10.0.1.1"}),
    "asn-ranges-meet": ("lab", {"bgp.asn.ctsw": 64610}),
    "asn-reserved": ("lab", {"bgp.asn.atsw": 65535}),
    "asn-runs-out": ("lab", {"bgp.asn.rtsw": 4294967290}),
    "cable-wrong-speed": ("lab", {"cabling.rtsw": {"cable": "200g-fr4", "length_m": 10}}),
    "cable-wrong-medium": ("lab", {f"{RACK}.host_cable": {"cable": "400g-fr4", "length_m": 2}}),
    "cable-too-long": ("lab", {"cabling.host": {"cable": "400g-cr8", "length_m": 7}}),
    "cable-infiniband": ("lab", {"cabling.rtsw": {"cable": "ndr-2xdr4", "length_m": 10}}),
    "headroom-too-small": ("roce-wedge400", {"cabling.rtsw.length_m": 300}),
    "headroom-lr4": ("roce-24k", {"cabling.rtsw": {"cable": "400g-lr4-10km", "length_m": 2500}}),
    "rack-power": ("lab", {f"{RACK}.power_kw": 10.0}),
    "rack-power-declared": ("lab", {"hosts.power_w": 15000}),
    "platform-base-missing": ("lab", {RACK: {**NO_BASE, "uplink_cable": SHORT}}),
    "platform-base-unused": ("lab", {"fboss": {"platform_base": {"wedge400": "base.conf"}}}),
    "watchdog-steps": ("lab", {"qos": {"pfc_watchdog": {"detect_ms": 210}}}),
    "ecmp-too-narrow": ("roce-24k", {"bgp": {"ecmp_width": 16}}),
    "ecmp-too-wide": ("roce-24k", {"bgp": {"ecmp_width": 200}}),
    "too-many-routes": ("roce-24k", {"bgp": {"aggregate_racks": False}}),
    "mtu-beyond-frame": ("lab", {"mtu": {"ip": 9000, "frame": 9000}}),
    "secret-missing": ("lab", {"secrets": {"netops": {"env": "X"}}}),
    "secret-two-sources": ("lab", {"secrets": {"netops-hash": {"env": "X", "file": "y"}}}),
    "user-twice": ("lab", {"management.users": [{"name": "a"}, {"name": "a"}]}),
    "names-meet": ("lab", {"naming": {"rtsw": "sw{zone}{rack}", "ctsw": "sw{zone}{ctsw}"}}),
    "infiniband-cluster-to-render": ("lab", {"backend": {"kind": "infiniband", "hosts": 8193}, "addressing": None, "management": None}),
    "naming-too-wide": ("lab", {"naming": {"rtsw": "z{zone:0999999999d}-{rack}"}}),
    "naming-not-a-number": ("lab", {
        "naming": {"rtsw": "z{zone:,}-{rack}", "atsw": "a{atsw!r}", "ctsw": "{zone.real}{ctsw", "host": "{site:02d}"}}),
    "pools-of-special-addresses": ("lab", {
        "addressing.ipv4.host_links": "224.0.0.0/22", "addressing.router_ids": "0.0.0.0/24", "addressing.ipv6.loopbacks": "fe80::/64",
        "management.network": "127.0.0.0/22", "management.gateway": "127.0.0.1"}),
    "servers-of-special-addresses": ("lab", {
        "management.ntp": ["::1"], "management.dns": ["255.255.255.255"], "management.syslog": ["224.0.0.1"]}),
    "server-twice": ("lab", {"management.ntp": ["10.0.0.20", "10.0.0.20"]}),
    "gateway-is-the-network": ("lab", {"management.gateway": "10.0.0.0"}),
    "vrf-default": ("lab", {"management.vrf": "default"}),
    "texts-with-placeholders": ("lab", {
        "management.login_banner": "hi $SECRET{netops-hash}",
        "management.snmp": {"community": "netops-hash", "location": "$SECRET{x}", "contact": "a "}}),
    "ssh-key": ("lab", {"management.users": [{"name": "a", "ssh_key": "AAAAB3Nza"}, {"name": "b", "ssh_key": "ssh-rsa AAAA $SECRET{x}"}]}),
    "hold-beyond-eos": ("lab", {"bgp.timers": {"keepalive_s": 2401, "hold_s": 7203}}),
    "override-beyond-eos": ("lab", {
        "overrides": [{"match": {"zone": 2}, "set": {"image": "x"}}, {"match": {"name": "z02-ctsw01"}, "set": {"ecmp_width": 601}}]}),
    "override-beyond-fboss": ("lab", {"overrides": [{"match": {"name": "z01-rtsw002"}, "set": {"ecmp_width": 129}}]}),
    "flag-of-wrong-type": ("lab", {"overrides": [{"match": {"zone": 1}, "set": {"agent_args": {"ecmp_width": "wide"}}}]}),
    "trusted-subnet": ("lab", {"fboss": {"trusted_subnets": ["2001:db8::/32", "10.0.0.1"]}}),
    "platform-base-unreadable": ("lab", {"fboss": {"platform_base": {"minipack2": "nowhere.json"}}}),
    "line-card-in-fixed-box": ("lab", {"backend.ctsw": {"model": "minipack2", "nos": "fboss", "uplinks": 2}}),
    "spine-nos": ("lab", {"backend.ctsw": {"model": "minipack2", "line_card": None, "nos": "eos", "uplinks": 2}}),
    "spine-unknown": ("lab", {"backend.atsw.model": "arista-7805r3"}),
    "many-zones-beyond-growth": ("lab", {"backend.zones.1.id": "2-500"}),
    "many-zones-twice": ("lab", {"backend.zones.0.id": "1-3", "backend.zones.1.id": "1-3"}),
    "nic-slower-than-ports": ("lab", {"hosts.nic": "connectx-6"}),
    "several-at-once": ("lab", {"hosts.platform": "dgx", "management.gateway": "10.9.0.1", "backend.zones.0.rack_profile": "x"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_refused(
    name: str,
    spec_file: Callable[..., Path],
    fabric_cli: Callable[..., Result],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inventory, changes = CASES[name]
    path = spec_file(inventory, {**BARE, **changes})
    monkeypatch.chdir(path.parent)
    result = fabric_cli("check", "cluster.yaml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr
    golden(f"check/{name}.txt", result.stderr)
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["cluster.yaml"]
