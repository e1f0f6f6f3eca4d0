"""Real opensm on a simulated fabric takes what we render: no token unknown, no value rejected, no bad line, every port as declared."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fabric.design.ib.model import Subnet
from fabric.targets.opensm import render
from fabric.targets.opensm.conf import read_conf
from fabric.targets.opensm.keys import upstream_keys
from fabric.targets.opensm.partitions import read_partitions, read_rules
from fabric.targets.opensm.paths import PARTITIONS
from fabric.targets.opensm.values import number
from tests.targets.opensm.ib_subnets import THREE_TIERS, tiny
from tests.targets.opensm.opensm_run import THERE, Seen, run

pytestmark = pytest.mark.skipif(not THERE or shutil.which("ibsim") is None, reason="opensm and ibsim are not installed")

CASES: Mapping[str, tuple[dict[str, Any], bool]] = {
    "upstream": ({}, False),
    "the lab form of NVIDIA's": ({}, True),
    "Up/Down": ({"backend.routing": {"engines": ["updn"]}}, False),
    "three tiers, no partitions": (THREE_TIERS, False),
    "every kind of QoS rule": (
        {
            "backend.qos": {
                "max_vls": 8,
                "sl2vl": [0, 1, 2, 3, 4, 5, 6, 7, *[15] * 8],
                "vlarb_high": "0:64,7:255",
                "vlarb_low": "1:64",
                "high_limit": 10,
                "ulps": [
                    {"ulp": "any", "partition": "tenant-a", "sl": 1},
                    {"ulp": "any", "service_id": "0x10000-0x1ffff", "sl": 2},
                    {"ulp": "ipoib", "sl": 3},
                    {"ulp": "ipoib", "partition": "tenant-a", "sl": 4},
                    {"ulp": "sdp", "port_num": "1-9", "sl": 5},
                    {"ulp": "sdp", "sl": 5},
                    {"ulp": "rds", "sl": 6},
                    {"ulp": "iser", "port_num": "3260", "sl": 7},
                    {"ulp": "iser", "sl": 7},
                    {"ulp": "srp", "target": "st1 mlx5_0", "sl": 1},
                    {"ulp": "any", "source": "st1 mlx5_0", "sl": 1},
                    {"ulp": "any", "target": "st1 mlx5_0", "sl": 2},
                    {"ulp": "default", "sl": 0},
                ],
            }
        },
        False,
    ),
    "both": (
        {
            "backend.qos": None,
            "backend.partitions": [
                {
                    "name": "a",
                    "pkey": 0x11,
                    "members": [{"hosts": ["gt0001", "gt0003"], "membership": "both"}, {"hosts": ["gt0002"]}],
                },
            ],
        },
        False,
    ),
}
_MEMBER = {"full": {0x8000}, "limited": {0}, "both": {0x8000, 0}}
_HARMLESS = "Failed to setup routing engine 'no_fallback'"


@pytest.mark.parametrize("case", CASES)
def test_taken(case: str, tmp_path: Path) -> None:
    changes, nvidia = CASES[case]
    subnet = tiny(changes, nvidia=nvidia)
    artifacts = render(subnet, subnet.managers[0])
    seen = run(subnet, artifacts, tmp_path / "run")
    assert not re.findall(r".*(?:Unrecognized token|Invalid Cached|Parsing error|Warning:).*", seen.out)
    _every_value_is_in_force((tmp_path / "run" / "opensm.conf").read_text(), seen)
    bad = re.findall(r".*(?:\bERR\b|PARSE|0x01 ->|not found|Errors during|No routing engine able).*", seen.log)
    assert [line for line in bad if _HARMLESS not in line] == []
    engine = {"ar_updn": "updn"}.get(subnet.routing.engines[0], subnet.routing.engines[0])
    assert re.findall(r"(\S+) tables configured on all switches", seen.log)[-1] == engine
    _keys_are_those_of_the_file(subnet, artifacts[1].content, seen)
    assert artifacts[1].path == PARTITIONS


SPELLINGS = """\
Default = 0x7fff : ALL_CAS=limited , SELF=full ;  # blanks around signs
a=0x1, ipoib , mtu = 5, rate=3 :
	{0}=full
 {1}=limited ; b=0x2:{0}=full,{1}=full;
c=4, defmember=full : {0}, {1}=limited, ;

d=0x10, indx0 :

  # a comment line
  {2}=full  # a comment
 , {0}=limited ;
e=0x7ffe : ALL=limited, {2}=full ;
f=0x20 : SELF=full, {1:X}=full ;
"""


def test_what_our_reader_takes_opensm_takes_alike(tmp_path: Path) -> None:
    """Every way of writing that our reader lets pass, in one file: opensm makes of it what we read."""
    subnet = tiny({"backend.partitions": [], "backend.qos": None})
    ports = [f"{hca.port_guid:#018x}" for hca in subnet.hcas]
    text = SPELLINGS.replace("{1:X}", "0x" + ports[1][2:].upper()).format(*ports).encode()
    artifacts = [
        dataclasses.replace(artifact, content=text) if artifact.path == PARTITIONS else artifact
        for artifact in render(subnet, subnet.managers[0])
    ]
    seen = run(subnet, artifacts, tmp_path / "run")
    assert "PARSE" not in seen.log
    assert len(read_rules(text)[0]) == 7
    _keys_are_those_of_the_file(subnet, text, seen)


def test_aggregation_nodes_do_not_end_the_tree(tmp_path: Path) -> None:
    """Every switch of a SHARP fabric shows one more CA: ftree takes it because root and CN files are both there."""
    subnet = tiny()
    seen = run(subnet, render(subnet, subnet.managers[0]), tmp_path / "run", aggregation_nodes=True)
    assert re.findall(r"(\S+) tables configured on all switches", seen.log)[-1] == "ftree"
    assert not re.findall(r"ERR AB|Errors during", seen.log)


def _every_value_is_in_force(conf: str, seen: Seen) -> None:
    read = read_conf(conf)
    for name, value in read.values.items():
        default = upstream_keys()[name].default
        if (
            value is not None
            and value != default
            and not (number(value) is not None and number(value) == number(default or "x"))
        ):
            echoed = seen.echoed[name]
            assert echoed == value or number(echoed) == number(value), name


def _keys_are_those_of_the_file(subnet: Subnet, content: bytes, seen: Seen) -> None:
    """P_Key tables of all HCA ports against our own reading of the file."""
    ports = [hca.port_guid for hca in subnet.hcas]
    wanted: dict[int, set[int]] = {guid: set() for guid in ports}
    for pkey, members in read_partitions(content, ports=ports, manager=subnet.managers[0].hca.port_guid).items():
        for guid, membership in members.items():
            wanted[guid] |= {pkey | bit for bit in _MEMBER[membership]}
    assert {guid: set(keys) for guid, keys in seen.pkeys.items()} == wanted
