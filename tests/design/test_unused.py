"""What has no effect is said by `fabric check`, each at its place; what has an effect is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabric.design.fabric import Fabric
from fabric.design.warnings import warnings
from fabric.targets.job import unsupported

CASES: dict[str, tuple[dict[str, Any], tuple[str | int, ...]]] = {
    "rack profile": ({"backend.rack_profiles.spare": {"switch": "minipack2"}}, ("backend", "rack_profiles", "spare")),
    "secret": ({"secrets.other": {"env": "X"}}, ("secrets", "other")),
    "strict weight": ({"qos": {"control": {"weight": 9}}}, ("qos", "control", "weight")),
    "flowlets": ({"load_balancing": {"flowlets": {"table_size": 512}}}, ("load_balancing", "flowlets")),
    "image": ({"overrides": [{"match": {"zone": 1}, "set": {"image": "x"}}]}, ("overrides", 0, "set", "image")),
    "nothing set": ({"overrides": [{"match": {"zone": 1}, "set": {}}]}, ("overrides", 0, "set")),
    "user": ({"management.users.0.password_hash": None}, ("management", "users", 0)),
    "server": ({"management.ntp": ["10.0.0.20", "2001:db8::1"]}, ("management", "ntp", 1)),
    "sample rate": (
        {"overrides": [{"match": {"zone": 1}, "set": {"sflow_sample_rate": 20000}}], "management.sflow": None},
        ("overrides", 0, "set", "sflow_sample_rate"),
    ),
    "fboss": (
        {"fboss": {"sdk": "sai"}, "backend.zones.0.rack_profile": "eos-rack"},
        ("fboss", "sdk"),
    ),
    "bfd": (
        {
            "bgp.bfd": {"interval_ms": 300},
            "backend.ctsw": {"model": "minipack2", "line_card": None, "nos": "fboss", "uplinks": 2},
        },
        ("bgp", "bfd"),
    ),
    "drained host": ({"state": [{"match": {"role": "host"}, "state": "drained"}]}, ("state", 0, "state")),
}


@pytest.mark.parametrize("case", CASES)
def test_what_has_no_effect_is_said(case: str, make_fabric: Callable[..., Fabric]) -> None:
    changes, path = CASES[case]
    assert path in [remark.path for remark in warnings(make_fabric("lab", changes)) if remark.code == "no-effect"]


@pytest.mark.parametrize("inventory", ["lab", "roce-24k", "roce-wedge400"])
def test_inventories_declare_nothing_in_vain(inventory: str, make_fabric: Callable[..., Fabric]) -> None:
    assert not [remark for remark in warnings(make_fabric(inventory)) if remark.code == "no-effect"]


@pytest.mark.parametrize(
    ("own", "said"), [({"hash_seed": 9}, "hash seed"), ({"agent_args": {"ecmp_width": "64"}}, "agent_args are flags")]
)
def test_override_of_a_late_switch_is_said(own: dict[str, Any], said: str, make_fabric: Callable[..., Fabric]) -> None:
    changes = {"overrides": [{"match": {"name": "z02-ctsw02"}, "set": own}]}
    assert any(said in remark.message for remark in unsupported(make_fabric("lab", changes)))
    assert not any(said in remark.message for remark in unsupported(make_fabric("lab")))


def test_rack_profile_without_racks_refuses_nothing(make_fabric: Callable[..., Fabric]) -> None:
    """Its FBOSS switches would take neither so many paths nor such a detection time."""
    changes = {
        "backend.zones.0.rack_profile": "eos-rack",
        "bgp.ecmp_width": 600,
        "qos": {"pfc_watchdog": {"detect_ms": 210}},
    }
    assert make_fabric("lab", changes).spec.bgp.ecmp_width == 600
