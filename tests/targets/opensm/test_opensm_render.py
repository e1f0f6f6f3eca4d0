"""The rendered files of both flavours, what of them two SMs share, the lab form, the render job."""

from __future__ import annotations

import dataclasses
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.design.ib.model import Subnet
from fabric.design.load import load_subnet
from fabric.errors import DesignError, FabricError
from fabric.targets.base import Artifact, RenderJob
from fabric.targets.opensm import lint, paths, render
from fabric.targets.opensm.conf import read_conf
from fabric.targets.opensm.job import SubnetJob
from fabric.targets.opensm.keys import known_keys, upstream_keys
from fabric.targets.opensm.labform import LabPaths, lab_form
from fabric.targets.opensm.lint_lists import Known
from fabric.targets.opensm.partitions import read_partitions
from fabric.targets.opensm.paths import CONF, PARTITIONS, QOS, SHARP, USER_PARTITIONS
from tests.targets.opensm.ib_subnets import THREE_TIERS, tiny

LAB = LabPaths(Path("/lab/etc"), Path("/lab/osm.log"), Path("/lab/dump"))
FLAVOURS = pytest.mark.parametrize("nvidia", [False, True], ids=["opensm", "nvidia"])


def files(subnet: Subnet, at: int = 0) -> dict[str, bytes]:
    return {artifact.path: artifact.content for artifact in render(subnet, subnet.managers[at])}


@FLAVOURS
def test_golden(nvidia: bool, golden: Callable[[str, str], None]) -> None:
    subnet = tiny(nvidia=nvidia)
    for artifact in render(subnet, subnet.managers[0]):
        name = artifact.path.removeprefix("/etc/opensm/")
        golden(f"opensm/{subnet.flavour}/{name}", artifact.content.decode())
        assert artifact.device == "sm1"
        assert artifact.target == "opensm"
        assert artifact.role == "sm"


@FLAVOURS
def test_the_standby_differs_in_guid_and_priority_only(nvidia: bool) -> None:
    subnet = tiny(nvidia=nvidia)
    master, standby = files(subnet), files(subnet, 1)
    assert master.keys() == standby.keys()
    assert {path for path in master if master[path] != standby[path]} == ({CONF, SHARP} if nvidia else {CONF})
    ours, theirs = (read_conf(each[CONF], subnet.flavour).values for each in (master, standby))
    assert {key for key in ours if ours[key] != theirs[key]} == {"guid", "sm_priority"}


@FLAVOURS
def test_only_known_keys_in_their_own_flavour(nvidia: bool) -> None:
    subnet = tiny(nvidia=nvidia)
    conf = read_conf(files(subnet)[CONF], subnet.flavour)
    assert conf.values.keys() <= known_keys(subnet.flavour).keys()
    assert conf.problems == ()
    assert bool(conf.values.keys() - upstream_keys().keys()) == nvidia


def test_traps_are_impossible() -> None:
    subnet = tiny()
    found = files(subnet)
    conf = read_conf(found[CONF])
    assert conf.text("lmc") == "0"
    assert conf.true("honor_guid2lid_file")
    assert conf.number("log_flags") == 0x07
    assert conf.text("routing_engine") == "ftree,no_fallback"
    assert {"root_guid_file", "cn_guid_file", "io_guid_file", "partition_config_file"} <= conf.values.keys()
    assert max(len(line) for line in found[PARTITIONS].split(b"\n")) < 4094
    assert lint(found, known=Known.of(subnet)) == []


def test_partitions_are_those_of_the_design() -> None:
    subnet = tiny()
    ports = [hca.port_guid for hca in subnet.hcas]
    read = read_partitions(files(subnet)[PARTITIONS], ports=ports, manager=subnet.managers[0].hca.port_guid)
    for partition in subnet.partitions:
        found = read[partition.pkey]
        assert {guid: found[guid] for guid in partition.members} == dict(partition.members)
        assert partition.pkey == 0x7FFF or found.keys() == partition.members.keys()
    managers = {manager.hca.port_guid for manager in subnet.managers}
    assert {guid for guid, kind in read[0x7FFF].items() if kind == "full"} == managers


def test_without_partitions_all_ports_are_full_members() -> None:
    subnet = tiny(THREE_TIERS)
    read = read_partitions(files(subnet)[PARTITIONS], ports=[hca.port_guid for hca in subnet.hcas])
    assert {pkey: set(members.values()) for pkey, members in read.items()} == {0x7FFF: {"full"}}
    assert QOS not in files(subnet)


def test_a_planned_host_is_in_no_file() -> None:
    subnet = tiny()
    hcas = tuple(dataclasses.replace(hca, state="planned") if hca.host == "gt0003" else hca for hca in subnet.hcas)
    text = b"".join(files(dataclasses.replace(subnet, hcas=hcas)).values())
    gone = [f"{hca.port_guid:#018x}".encode() for hca in hcas if hca.state == "planned"]
    assert len(gone) == 8
    assert not any(guid in text for guid in gone)


def test_both_asks_for_both_keys() -> None:
    both: dict[str, Any] = {"name": "b", "pkey": 0x20, "members": [{"hosts": ["gt0001"], "membership": "both"}]}
    conf = read_conf(files(tiny({"backend.partitions": [both], "backend.qos": None}))[CONF])
    assert conf.true("allow_both_pkeys")


@pytest.mark.parametrize(
    ("changes", "seed", "order"),
    [
        ({}, None, False),
        ({"backend.routing": {"engines": ["updn"]}}, "8", True),
        ({**THREE_TIERS, "backend.routing": {"engines": ["updn"]}}, "8", False),
        ({**THREE_TIERS, "backend.routing": {"engines": ["updn"], "options": {"scatter_ports": "5"}}}, "5", False),
    ],
)
def test_turns_that_fall_into_step_are_scattered(changes: dict[str, Any], seed: str | None, order: bool) -> None:
    conf = read_conf(files(tiny(changes))[CONF])
    assert conf.values.get("scatter_ports") == seed
    assert ("guid_routing_order_file" in conf.values) == order


def test_secrets_are_placeholders_in_a_guarded_file() -> None:
    subnet = tiny(nvidia=True)
    found = {artifact.path: artifact for artifact in render(subnet, subnet.managers[0])}
    assert b"m_key $SECRET{ib-m-key}\n" in found[CONF].content
    assert (found[CONF].secret, found[CONF].mode) == (True, 0o600)
    assert not any(artifact.secret for path, artifact in found.items() if path != CONF)


def test_ufm_gets_only_own_partitions() -> None:
    text = files(tiny(nvidia=True))[USER_PARTITIONS].decode()
    assert "tenant-a=0x1001" in text
    assert "0x7fff" not in text


def test_cables_that_may_join_are_those_of_the_design() -> None:
    subnet = tiny(nvidia=True)
    lines = [line.split(",") for line in files(subnet)[paths.TOPOLOGY].decode().splitlines() if line[0] != "#"]
    found = {(subnet.name_of[int(a, 16)], int(p), subnet.name_of[int(b, 16)], int(q)) for a, p, b, q, _, _ in lines}
    assert found == {(link.a, link.a_port, link.b, link.b_port) for link in subnet.links}
    assert len(lines) == len(found)
    assert {tuple(line[4:]) for line in lines} == {("Any", "Active")}


@pytest.mark.parametrize("three", [False, True])
def test_port_groups_have_one_rule_and_no_second_colon(three: bool) -> None:
    text = files(tiny(THREE_TIERS if three else {}, nvidia=True))[paths.GROUPS].decode()
    groups = re.findall(
        r"port-group\n    name: (\w+)\n    use: ([^:\n]+)\n    port-(?:guid|regexp): ([^:\n]+)\nend-port-group\n", text
    )
    names = [name for name, _, _ in groups]
    assert len(names) == len(set(names)) == text.count("end-port-group")
    assert {"root_switches", *(f"rail_mlx5_{rail}" for rail in range(8))} <= set(names)
    assert max(map(len, text.splitlines())) < 1022


BAD_OPTIONS: dict[str, dict[str, Any]] = {
    "unknown": {"backend.subnet_manager.options": {"max_operational_vls": "2"}},
    "NVIDIA's": {"backend.subnet_manager.options": {"ar_sl_mask": "0xffff"}},
    "ours": {"backend.subnet_manager.options": {"lmc": "1"}},
    "twice": {
        "backend.routing": {"options": {"port_shifting": "TRUE"}},
        "backend.subnet_manager.options": {"port_shifting": "TRUE"},
    },
    "value": {"backend.subnet_manager.options": {"subnet_timeout": "300"}},
    "boolean": {"backend.subnet_manager.options": {"daemon": "yes"}},
    "file": {"backend.subnet_manager.options": {"torus_config": "/etc/opensm/torus.conf"}},
    "scatter": {**THREE_TIERS, "backend.routing": {"engines": ["updn"], "options": {"scatter_ports": "0"}}},
}


def test_bad_options(golden: Callable[[str, str], None]) -> None:
    lines = []
    for case, changes in BAD_OPTIONS.items():
        try:
            files(tiny(changes))
        except FabricError as error:
            place = ".".join(map(str, error.path)) + ": " if isinstance(error, DesignError) else ""
            lines += [f"# {case}", f"{place}{error}"]
        else:
            raise AssertionError(f"{case}: nothing was said")
    golden("opensm/refusals/options.txt", "\n".join(lines) + "\n")


def test_an_option_takes_the_place_of_our_own_choice() -> None:
    conf = read_conf(
        files(tiny({"backend.subnet_manager.options": {"log_max_size": "4096", "log_flags": "0x47"}}))[CONF]
    )
    assert conf.problems == ()
    assert (conf.text("log_max_size"), conf.text("log_flags")) == ("4096", "0x47")
    with pytest.raises(FabricError, match="without bit 0x04"):
        files(tiny({"backend.subnet_manager.options": {"log_flags": "0x03"}}))


def test_a_renderer_bug_does_not_ship() -> None:
    subnet = tiny()
    broken = dataclasses.replace(subnet, routing=dataclasses.replace(subnet.routing, engines=("fattree",)))
    with pytest.raises(FabricError, match=r"sm1: opensm.conf:\d+: there is no routing engine 'fattree'"):
        render(broken, broken.managers[0])


def test_a_declared_fallback_is_no_problem() -> None:
    conf = read_conf(files(tiny({"backend.routing": {"fallback": True}}))[CONF])
    assert conf.text("routing_engine") == "ftree"


@FLAVOURS
def test_lab_form(nvidia: bool, golden: Callable[[str, str], None]) -> None:
    subnet = tiny(nvidia=nvidia)
    artifacts = render(subnet, subnet.managers[0])
    made, changes = lab_form(artifacts, LAB)
    golden(f"opensm/lab/{subnet.flavour}.conf", made["opensm.conf"].decode())
    golden(f"opensm/lab/{subnet.flavour}.changes", "\n".join(changes) + "\n")
    for artifact in artifacts:
        if artifact.path != CONF:
            assert made[artifact.path.removeprefix("/etc/opensm/")] == artifact.content
    conf = read_conf(made["opensm.conf"])
    assert conf.problems == ()
    # what was not told stayed byte for byte
    before = artifacts[0].content.decode().splitlines()
    told = {re.split(r"[: ]", change)[0] for change in changes}
    after = made["opensm.conf"].decode().splitlines()
    same = [line for line in before if line.split(" ")[0] not in told]
    assert same == [line for line in after if line.split(" ")[0] not in told]
    assert lab_form([Artifact("x", "sm", "opensm", CONF, made["opensm.conf"])], LAB) == (
        {"opensm.conf": made["opensm.conf"]},
        [],
    )


def test_lab_form_drops_what_breaks_a_simulation() -> None:
    subnet = tiny({"backend.subnet_manager.congestion_control": True})
    made, changes = lab_form(render(subnet, subnet.managers[0]), LAB)
    assert b"congestion_control" not in made["opensm.conf"]
    assert "congestion_control TRUE dropped: the simulator takes its packets for P_Key tables" in changes
    inactive = Artifact("x", "sm", "opensm", CONF, b"sm_inactive TRUE\nrouting_engine dfp\n")
    with pytest.raises(FabricError, match="nothing that stands in for the routing engine 'dfp'"):
        lab_form([inactive], LAB)
    with pytest.raises(FabricError, match=r"there is no /etc/opensm/opensm\.conf"):
        lab_form([], LAB)


def test_job() -> None:
    subnet = tiny()
    job: RenderJob = SubnetJob(subnet, "0" * 64)
    assert [(ref.name, ref.role, ref.target) for ref in job.devices] == [
        ("sm1", "sm", "opensm"),
        ("gt0001", "sm", "opensm"),
    ]
    assert job.render("gt0001") == render(subnet, subnet.managers[1])
    assert {"leaf0001", "spine01", "gt0002", "st1", "gt0002 mlx5_7"} <= job.names
    assert job.normalise("opensm", "x\n") == "x\n"
    with pytest.raises(FabricError, match="an InfiniBand spec has no target 'eos'"):
        SubnetJob(subnet, "", targets={"eos"})


def test_24k_is_rendered_in_budget() -> None:
    """Design and render of 24,576 HCAs in 10 s of CPU is the promise; ours of it is 4 s."""
    spec = Path(__file__).resolve().parents[3] / "inventories" / "ib-24k" / "cluster.yaml"
    subnet = load_subnet(spec).subnet
    start = time.process_time()
    found = files(subnet)
    assert time.process_time() - start < 4
    assert found[paths.TOPOLOGY].count(b"Active") == len(subnet.links)


def test_same_spec_same_bytes() -> None:
    assert files(tiny()) == files(tiny())


_PIECES = (b";", b":", b"\n", b"=", b", ", b"0x", b"pkey 0x1-", b"00", b"\xff", b"\0", b"#", b'"')


@FLAVOURS
def test_mutilated_files_are_told_or_taken_never_a_traceback(nvidia: bool) -> None:
    subnet, chance = tiny(nvidia=nvidia), random.Random(1)  # noqa: S311 - no secret: the same mutilations each time
    whole, known = files(subnet), Known.of(subnet)
    told = 0
    for _ in range(400):
        path = chance.choice(sorted(whole))
        content = bytearray(whole[path])
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(content) or 1)
            content[at : at + chance.randint(0, 20)] = chance.choice(_PIECES) if chance.random() < 0.7 else b""
        told += bool(lint({**whole, path: bytes(content)}, subnet.flavour, known))
    assert told > 200
