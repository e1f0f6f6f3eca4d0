"""What cannot be built of InfiniBand, and what deserves a second look: one clear line each. Golden: tests/golden/check/ib-NAME.txt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

B = "backend."
SM = "backend.subnet_manager."
ROOTS = [f"core{plane:02d}-{core:02d}" for plane in range(1, 9) for core in range(1, 5)]
A, C = [{"units": "1-3"}], [{"units": "4-6"}]
TENANT = {"name": "a", "pkey": 0x1001, "members": A}
AR = {"adaptive_routing": {}, "flavour": "nvidia"}
REFUSED: dict[str, dict[str, Any]] = {
    "switch-unknown": {B + "switch": "qm9701"},
    "switch-of-ethernet": {B + "switch": "minipack2"},
    "switch-of-other-speed": {B + "switch": "qm8700"},
    "switch-ports": {B + "switch_ports": 66},
    "units-beyond-growth": {B + "hosts": 65},
    "endpoints-beyond-three-tiers": {B + "growth.units": 17},
    "lids": {B + "switch_ports": None, B + "hosts": 8192, B + "hosts_per_unit": 32, B + "growth": None},
    "four-tiers": {B + "tiers": 4},
    "two-tiers-too-few": {B + "tiers": 2},
    "unit-too-wide": {B + "hosts_per_unit": 9},
    "uplinks-beyond-ports": {B + "leaf_uplinks": 9},
    "pod-too-wide": {B + "leaves_per_pod": 9},
    "hosts-do-not-divide": {B + "cabling": "host-per-leaf", B + "hosts_per_unit": 6},
    "lmc": {B + "lmc": 1},
    "sharp-host-per-leaf": {B + "cabling": "host-per-leaf", SM + "flavour": "nvidia", SM + "sharp": True},
    "sharp-upstream": {SM + "sharp": True},
    "engine-of-nvidia": {B + "routing.engines": ["ar_updn"]},
    "engine-typo": {B + "routing.engines": ["fattree"]},
    "engine-of-a-file": {B + "routing.engines": ["updn", "file"]},
    "adaptive-routing": {SM + "adaptive_routing": {}},
    "adaptive-routing-engine": {SM + "adaptive_routing": {}, SM + "flavour": "nvidia"},
    "root-missing": {B + "routing.roots": ROOTS[1:]},
    "root-is-a-leaf": {B + "routing.roots": [*ROOTS[:-1], "leaf0001"]},
    "root-guid-of-an-hca": {B + "routing.roots": [*ROOTS, "0x0000a00000000001"]},
    "root-unknown": {B + "routing.roots": [*ROOTS, "core99-01"]},
    "compute-node-guid": {B + "routing.compute_nodes": ["0x0000a00000000000"]},
    "sm-host-without-hca": {SM + "hosts": [{"host": "ufm1"}]},
    "sm-host-is-a-switch": {SM + "hosts": [{"host": "leaf0001"}]},
    "sm-rail": {SM + "hosts": [{"host": "gt0001", "rail": 8}]},
    "sm-priorities": {SM + "hosts": [{"host": "gt0001", "priority": 3}, {"host": "gt0002", "priority": 3}]},
    "sm-host-twice": {SM + "hosts": [{"host": "gt0001"}, {"host": "gt0001", "rail": 1}]},
    "sm-address-twice": {SM + "hosts": [{"host": "gt0001", "address": "10.99.0.1"}, {"host": "gt0002", "address": "10.99.0.1"}]},
    "sm-priority-16": {SM + "hosts": [{"host": "gt0001", "priority": 16}]},
    "sm-in-a-switch": {
        SM + "hosts": [{"switch": "leaf0001"}], B + "switch_ports": None, B + "hosts_per_unit": 32, B + "hosts": 512, B + "growth": None},
    "sm-in-a-switch-small": {SM + "hosts": [{"switch": "leaf0001"}]},
    "sm-secret": {SM + "keys": {"m_key": "ib-m-key"}},
    "pkey-twice": {B + "partitions": [TENANT, {"name": "b", "pkey": 0x1001, "members": C}]},
    "pkey-with-membership-bit": {B + "partitions": [{**TENANT, "pkey": 0x9001}], B + "qos": None},
    "pkey-default-full-bit": {B + "partitions": [{**TENANT, "pkey": 0xFFFF}]},
    "pkey-default-as-tenant": {B + "partitions": [{**TENANT, "pkey": 0x7FFF}]},
    "pkey-zero": {B + "partitions": [{**TENANT, "pkey": 0}]},
    "default-full-beside-tenants": {B + "partitions": [TENANT, {"name": "Default", "pkey": 0x7FFF, "members": [{}]}], B + "qos": None},
    "partition-nobody-full": {B + "partitions": [{**TENANT, "members": [{"membership": "limited"}]}], B + "qos": None},
    "partition-both-ways": {B + "qos": None, B + "partitions": [
        {**TENANT, "members": [{"units": 1}, {"hosts": ["gt0001"], "membership": "limited"}]}]},
    "partition-host-unknown": {B + "partitions": [{**TENANT, "members": [{"hosts": ["gt0049", "gx*"]}]}], B + "qos": None},
    "partition-unit-unknown": {B + "partitions": [{**TENANT, "members": [{"units": "1-7"}]}], B + "qos": None},
    "partition-rate": {B + "partitions": [{**TENANT, "ipoib": {"rate": 250}}], B + "qos": None},
    "partition-rate-too-high": {B + "partitions": [{**TENANT, "ipoib": {"rate": 600}}], B + "qos": None},
    "sl-without-qos": {B + "partitions": [{**TENANT, "sl": 1}], B + "qos": None},
    "sl-dropped": {B + "partitions": [{**TENANT, "sl": 2}], B + "qos": {"sl2vl": [0, 1, *[15] * 14]}},
    "sl2vl-length": {B + "qos": {"sl2vl": [0] * 15}},
    "sl2vl-beyond-vls": {B + "qos": {"sl2vl": [0, 2, *[0] * 14]}},
    "vlarb-beyond-vls": {B + "qos": {"vlarb_high": "0:64,2:64"}},
    "vlarb-form": {B + "qos": {"vlarb_high": "0=64"}},
    "vlarb-weight": {B + "qos": {"vlarb_high": "0:256"}},
    "ulp-partition": {B + "qos.ulps": [{"ulp": "any", "partition": "tenant-c", "sl": 1}]},
    "ulp-default-first": {B + "qos.ulps": [{"ulp": "default", "sl": 0}, {"ulp": "ipoib", "sl": 1}]},
    "ulp-key": {B + "qos.ulps": [{"ulp": "rds", "partition": "tenant-a", "sl": 1}]},
    "option-unknown": {SM + "options": {"max_operational_vls": "2"}},
    "option-of-routing-unknown": {B + "routing.options": {"scatter_port": "8"}},
    "option-boolean": {SM + "options": {"use_ucast_cache": "true"}},
    "option-of-a-key": {SM + "options": {"m_key": "0x1234567812345678"}, B + "routing.options": {"sa_key": "0x2"}},
    "option-hash": {B + "routing.options": {"root_guid_file": "/etc/a#b"}},
    "service-port-of-a-host": {B + "services": [{"name": "ufm1", "purpose": "sm", "ports": [{"unit": 1, "leaf": 1, "port": 1}]}]},
    "service-port-of-an-uplink": {B + "services": [{"name": "ufm1", "ports": [{"unit": 1, "leaf": 1, "port": 16}]}]},
    "service-port-beyond": {B + "services": [{"name": "ufm1", "ports": [{"unit": 1, "leaf": 9, "port": 1}, {"unit": 9, "leaf": 1, "port": 1}]}]},
    "service-named-as-host": {B + "hosts": 47, B + "services": [{"name": "gt0001", "ports": [{"unit": 6, "leaf": 1, "port": 8}]}]},
    "spines-of-pods-alike": {B + "naming": {"spine": "s{spine:02d}"}},
    "naming": {B + "naming": {"host": "gt", "core": "core{core}", "leaf": "l{pod}{leaf}"}},
    "cable-of-ethernet": {B + "cables": {"host": {"cable": "400g-fr4", "length_m": 10}}},
    "cable-too-long": {B + "cables": {"leaf": {"cable": "ndr-2xsr4", "length_m": 51}}},
    "cable-speed": {B + "cables": {"leaf": {"cable": "hdr-optical", "length_m": 5}}},
    "rack-power": {B + "hosts_per_rack": 6},
    "nic-unknown": {"hosts.nic": "connectx-9"},
    "nic-speed": {"hosts.nic": "connectx-6"},
    "state-by-zone": {"state": [{"match": {"zone": 1}, "state": "planned"}]},
    "unknown-keys": {B + "hosts_per_su": 8, SM + "flavor": "opensm"},
    "guids-both": {B + "guids": {"scheme": "placeholder", "file": "guids.csv"}},
    "guid-file-missing": {B + "guids": {"file": "guids.csv"}},
}  # fmt: skip
REMARKS: dict[str, dict[str, Any]] = {
    "uneven-stripe": {B + "core_stripe": "minimal", B + "growth": None},
    "part-unit": {B + "hosts": 47},
    "oversubscribed": {B + "leaf_uplinks": 4, B + "spine_uplinks": 4},
    "split-unit": {B + "leaves_per_pod": 6},
    "one-sm": {SM + "hosts": [{"host": "gt0001"}]},
    "no-sm": {SM + "hosts": []},
    "idle-service": {
        B + "hosts": 40, B + "services": [{"name": "ufm1", "purpose": "sm", "ports": [{"unit": 6, "leaf": 1, "port": 1}]}],
        B + "partitions": None, B + "qos": None, SM + "flavour": "nvidia", B + "routing.engines": ["ar_updn"],
        SM + "adaptive_routing": {"shield": "off", "pfrn_sl": 2}},
    "engine": {B + "routing.engines": ["updn"]},
    "weights": {B + "qos.vlarb_high": "0:63,1:0", B + "qos.vlarb_low": "0:64"},
    "hosts-of-no-tenant": {B + "partitions": [TENANT], B + "qos": None},
    "upstream-on-ndr": {B + "switch_ports": None, B + "hosts_per_unit": 32, B + "guids": None, B + "partitions": None, B + "qos": None},
    "roce-sections": {"mtu": {"ip": 4000}, "secrets": {"x": {"env": "X"}}, "state": [{"match": {"name": "leaf9*"}, "state": "drained"}]},
    "sharp-and-congestion": {
        SM + "flavour": "nvidia", SM + "sharp": True, SM + "congestion_control": True, B + "routing.engines": ["ar_updn"]},
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(
    name: str,
    spec_file: Callable[..., Path],
    fabric_cli: Callable[..., Result],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = spec_file("ib-lab", REFUSED[name])
    monkeypatch.chdir(path.parent)
    result = fabric_cli("check", "cluster.yaml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr
    golden(f"check/ib-{name}.txt", result.stderr)
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["cluster.yaml"]


@pytest.mark.parametrize("name", REMARKS)
def test_remarked(
    name: str,
    spec_file: Callable[..., Path],
    fabric_cli: Callable[..., Result],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = spec_file("ib-lab", REMARKS[name])
    monkeypatch.chdir(path.parent)
    result = fabric_cli("check", "cluster.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    golden(f"check/ib-remark-{name}.txt", result.stdout)
