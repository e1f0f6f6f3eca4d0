"""A small InfiniBand spec for the tests of the opensm target: three hosts of eight HCAs, a storage host, an SM host; radix 16, two tiers."""

from __future__ import annotations

import copy
from typing import Any

from fabric.design.ib.build import design_subnet
from fabric.design.ib.model import Subnet
from fabric.spec.cluster import ClusterSpec

_BASE: dict[str, Any] = {
    "schema": 1,
    "name": "tiny",
    "site": {"name": "dc1", "domain": "dc1.example.net"},
    "hosts": {"platform": "grand-teton-h100"},
    "backend": {
        "kind": "infiniband",
        "switch": "qm9700",
        "switch_ports": 16,
        "hosts": 3,
        "hosts_per_unit": 8,
        "services": [
            {"name": "st1", "purpose": "storage", "ports": [{"unit": 1, "leaf": 1, "port": 8}]},
            {"name": "sm1", "purpose": "sm", "ports": [{"unit": 1, "leaf": 2, "port": 8}]},
        ],
        "partitions": [
            {"name": "tenant-a", "pkey": 0x1001, "members": [{"hosts": ["gt0001"]}], "sl": 1, "ipoib": {"mtu": 4096}},
            {
                "name": "shared",
                "pkey": 0x1002,
                "members": [{"hosts": ["st1"]}, {"hosts": ["gt*"], "membership": "limited"}],
            },
        ],
        "qos": {"ulps": [{"ulp": "any", "partition": "tenant-a", "sl": 1}]},
        "subnet_manager": {
            "hosts": [{"host": "sm1"}, {"host": "gt0001", "address": "10.0.0.1"}],
        },
    },
}
_NVIDIA: dict[str, Any] = {
    "backend.routing": {"engines": ["ar_updn"]},
    "backend.subnet_manager.flavour": "nvidia",
    "backend.subnet_manager.sharp": True,
    "backend.subnet_manager.congestion_control": True,
    "backend.subnet_manager.adaptive_routing": {"shield": "pfrn", "asymmetric_flow": 1, "pfrn_sl": 3},
    "backend.subnet_manager.keys": {"m_key": "ib-m-key", "sa_key": "ib-sa-key"},
    "secrets": {"ib-m-key": {"env": "IB_M_KEY"}, "ib-sa-key": {"env": "IB_SA_KEY"}},
}
THREE_TIERS: dict[str, Any] = {
    "backend.switch_ports": 8,
    "backend.hosts_per_unit": 4,
    "backend.hosts": 8,
    "backend.services": [],
    "backend.partitions": [],
    "backend.qos": None,
    "backend.subnet_manager.hosts": [{"host": "gt0001"}],
}


def tiny(changes: dict[str, Any] | None = None, *, nvidia: bool = False) -> Subnet:
    """The small subnet, with some places of its spec changed; None deletes."""
    data = copy.deepcopy(_BASE)
    for path, value in {**(_NVIDIA if nvidia else {}), **(changes or {})}.items():
        *parents, last = path.split(".")
        place = data
        for part in parents:
            place = place.setdefault(part, {})
        place[last] = value
    return design_subnet(ClusterSpec.model_validate(data))
