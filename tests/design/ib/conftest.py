"""Small InfiniBand specs for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabric.design.ib.build import design_subnet
from fabric.design.ib.model import Subnet
from fabric.spec.cluster import ClusterSpec

MakeSpec = Callable[..., ClusterSpec]
MakeSubnet = Callable[..., Subnet]


def ib_spec(platform: str = "grand-teton-h100", **backend: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "schema": 1,
            "name": "ib",
            "site": {"name": "dc1", "domain": "example.net"},
            "hosts": {"platform": platform},
            "backend": {"kind": "infiniband", **backend},
        }
    )


@pytest.fixture(scope="session")
def make_ib_spec() -> MakeSpec:
    """`make_ib_spec(hosts=64)`: a spec of that back end."""
    return ib_spec


@pytest.fixture(scope="session")
def make_subnet() -> MakeSubnet:
    """`make_subnet(hosts=64)`: its subnet."""
    return lambda **backend: design_subnet(ib_spec(**backend))
