"""A failure beyond the job is no matter; one in it is a line that says who is cut off, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fabric.design.fabric import Fabric
from fabric.errors import FabricError
from fabric.predict.answer import predict
from fabric.predict.from_design import fabric_net
from fabric.predict.model import Case
from fabric.predict.net import Net

ZONES = {"backend.zones": [{"id": "1-2", "racks": 6, "rack_profile": "grand-teton"}]}
CASE = Case("c", qps=4, seeds=4, sizes=(1 << 30,))
JOB = ("z01-r001-h1", "z01-r002-h2", "z02-r001-h1", "z02-r003-h1")


@pytest.fixture(scope="module")
def net(make_fabric: Callable[..., Fabric]) -> Net:
    return fabric_net(make_fabric("roce-24k", ZONES))


@pytest.mark.parametrize(
    ("job", "failure"),
    [
        ({"gpus": 64}, "z02-rtsw006"),
        ({"gpus": 64, "placement": "zone"}, "z01-rtsw005"),
        ({"hosts": JOB, "placement": "given"}, "z01-rtsw004"),
        ({"hosts": JOB, "placement": "given"}, "z01-rtsw001:eth3/1/1"),  # of the rack's other host
        ({"left_out": ("z01-r001-h1", "z01-r001-h2")}, "z01-rtsw001"),
    ],
)
def test_a_failed_rack_without_ranks_changes_nothing(net: Net, job: dict[str, Any], failure: str) -> None:
    case = replace(CASE, **job)
    whole, broken = predict(net, case), predict(net, replace(case, failures=(failure,)))
    assert replace(broken, case=whole.case) == whole


def test_hosts_that_are_cut_off_are_not_drawn(net: Net) -> None:
    """Each seed draws 23 of 24 hosts, and with the failure never the two of the rack that is gone: there are 22."""
    case = replace(CASE, placement="random", failures=("z01-rtsw001",))
    found = predict(net, replace(case, gpus=22 * 8))
    assert found.gpus == 22 * 8
    with pytest.raises(FabricError, match="184 GPUs are wanted, there are 176: 22 hosts"):
        predict(net, replace(case, gpus=23 * 8))
    with pytest.raises(FabricError, match="cut off 2 hosts of the job: z01-r001-h1, z01-r001-h2 "):
        predict(net, case)


@pytest.mark.parametrize(
    ("failures", "said"),
    [
        (("z01-rtsw001",), "the failures cut off 1 host of the job: z01-r001-h1"),
        (("z01-rtsw001", "z02-rtsw003"), "the failures cut off 2 hosts of the job: z01-r001-h1, z02-r003-h1"),
        (("z01-rtsw001:eth2/1/1",), "the failures cut off 1 host of the job: z01-r001-h1 (NIC 0)"),
        (
            ("z01-rtsw001:eth2/1/1", "z02-rtsw001:eth2/3/1"),
            "the failures cut off 2 hosts of the job: z01-r001-h1, z02-r001-h1 (each loses NICs, 2 in all)",
        ),
    ],
)
def test_who_is_cut_off_is_told(net: Net, failures: tuple[str, ...], said: str) -> None:
    with pytest.raises(FabricError) as error:
        predict(net, replace(CASE, hosts=JOB, placement="given", failures=failures))
    assert error.value.message == said
    assert error.value.hint is not None
    assert error.value.hint.startswith("leave them out: --job FILE")
