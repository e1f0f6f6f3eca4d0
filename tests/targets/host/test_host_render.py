"""What stands on a host: one golden text for each distribution and back end, and what holds for all of them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fabric.change.tree import write_tree
from fabric.design.hosts import expect
from fabric.design.ip import fmt4, fmt6
from fabric.design.load import load_fleet
from fabric.errors import FabricError
from fabric.targets.base import Artifact
from fabric.targets.host import CONCERNS, render, render_concern, services
from fabric.targets.host.check_host import PATH as PROGRAM
from fabric.targets.host.job import SHARED, HostJob
from fabric.targets.host.rdma import read_request_code
from fabric.targets.host.storage import word
from tests.targets.host.host_fleets import CASES, fleet, fleet_of

ROOT = Path(__file__).resolve().parents[3]
PLACES = ("/etc/", "/usr/libexec/fabric/")


def first(case: str) -> list[Artifact]:
    """The files of the first host."""
    return render(fleet(case), fleet(case).hosts[0])


def text(files: list[Artifact], path: str) -> str:
    """One of them."""
    return next(file.content.decode() for file in files if file.path == path)


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str, golden: Callable[[str, str], None]) -> None:
    lines = [
        f"==> {file.path} {file.mode:04o}{' secret' if file.secret else ''}\n{file.content.decode()}"
        for file in first(case)
        if file.path not in (PROGRAM, expect.PATH)
    ]
    lines.append(f"==> services\n{' '.join(services(fleet(case)))}\n")
    golden(f"host/{case}.txt", "".join(lines))


@pytest.mark.parametrize("case", CASES)
def test_the_parts_are_the_whole(case: str) -> None:
    hosts = fleet(case)
    plan = hosts.hosts[1]
    whole = render(hosts, plan)
    assert [file for concern in CONCERNS for file in render_concern(hosts, plan, concern)] == whole
    assert render_concern(hosts, plan, "checks") == [file for file in whole if file.path in (PROGRAM, expect.PATH)]
    job = HostJob(hosts, "0")
    in_tree = {(f.path, f.content, f.mode) for name in (SHARED, plan.name) for f in job.render(name)}
    assert in_tree == {(f.path, f.content, f.mode) for f in whole}
    assert len({file.path for file in whole}) == len(whole)
    own = {file.path for file in job.render(plan.name)}
    assert own.isdisjoint(file.path for file in job.render(SHARED))


@pytest.mark.parametrize("case", CASES)
def test_modes(case: str) -> None:
    for file in first(case):
        assert file.path.startswith(PLACES)
        script = file.content.startswith((b"#!/bin/sh", b"#!/usr/bin/env", b"#!/usr/bin/python3"))
        private = file.secret or file.path.endswith((".env", ".nmconnection"))
        assert file.mode == (0o755 if script else 0o600 if private else 0o644), file.path
        assert (b"$SECRET{" in file.content) == file.secret


@pytest.mark.parametrize("case", CASES)
def test_expectation(case: str) -> None:
    hosts = fleet(case)
    for plan in (hosts.hosts[0], hosts.hosts[len(hosts.hosts) - 1]):
        files = render(hosts, plan)
        said = expect.loads(text(files, expect.PATH))
        assert expect.dumps(said) == text(files, expect.PATH)
        assert said.files == {
            file.path: hashlib.sha256(file.content).hexdigest()
            for file in files
            if not file.secret and file.path != expect.PATH
        }
        assert (said.host, len(said.nics)) == (plan.name, 8)
        for nic, found in zip(plan.nics, said.nics, strict=True):
            four = [f"{fmt4(nic.local4)}/{nic.len4}"] if nic.local4 is not None else []
            six = [f"{fmt6(nic.local6)}/{nic.len6}"] if nic.local6 is not None else []
            assert list(found.addresses) == four + six
            assert (found.switch, found.switch_port, found.pci) == (nic.switch, nic.switch_port, nic.pci or "")
            assert int(found.guid or "0", 16) == (nic.guid or 0)
        conf = [line for line in text(files, "/etc/nccl.conf").splitlines() if not line.startswith("#")]
        assert conf == [f"{setting.key}={setting.value}" for setting in (*hosts.nccl, *plan.nccl)]
        assert dict(said.nccl) == dict(line.split("=", 1) for line in conf)


def test_hosts_take_turns_at_the_servers() -> None:
    hosts = fleet("rhel-9-roce")
    path = "/etc/systemd/system/mnt-data\\x2d1.mount"
    found = [line for plan in hosts.hosts for line in text(render(hosts, plan), path).splitlines() if "What=" in line]
    assert set(found) == {"What=10.0.0.50:/data", "What=[2001:db8::50]:/data"}


def test_equal_bytes_in_another_process() -> None:
    program = (
        "import hashlib, sys; from pathlib import Path; from fabric.design.load import load_fleet; from fabric.targets.host import render\n"
        "fleet = load_fleet(Path(sys.argv[1])).fleet; digest = hashlib.sha256()\n"
        "[digest.update(f.content) for plan in reversed(list(fleet.hosts)) for f in render(fleet, plan)]; print(digest.hexdigest())"
    )
    spec = ROOT / "inventories" / "lab" / "cluster.yaml"
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program, spec], capture_output=True, text=True, env=environment, check=True, cwd=ROOT
    )
    digest = hashlib.sha256()
    hosts = load_fleet(spec).fleet
    for plan in reversed(list(hosts.hosts)):
        for file in render(hosts, plan):
            digest.update(file.content)
    assert done.stdout.strip() == digest.hexdigest()


@pytest.mark.parametrize(("name", "match", "planned"), [("lab", "z02-r002-*", 2), ("ib-24k", "*017", 4)])
def test_planned_hosts_have_no_files(name: str, match: str, planned: int) -> None:
    hosts = fleet_of(name, {"state": [{"match": {"name": match}, "state": "planned"}]})
    job = HostJob(hosts, "0")
    names = [ref.name for ref in job.devices]
    left_out = {row.name for row in hosts.hosts if row.state == "planned"}
    assert (names[0], len(names), len(left_out)) == (SHARED, 1 + len(hosts.hosts) - planned, planned)
    assert job.names >= {*names[1:]}
    assert not left_out & {*job.names, *names}


@pytest.mark.parametrize(("size", "code"), [(128, "0000"), (256, "1000"), (512, "2000"), (4096, "5000")])
def test_read_request(size: int, code: str) -> None:
    assert read_request_code(size) == code  # NCO: 4096 is 5000


@pytest.mark.parametrize(
    ("text_", "said"),
    [("--a=b", "--a=b"), ("100%", "100%%"), ("$HOME", "$$HOME"), ("a b", '"a b"'), ('a"b', '"a\\"b"'), ("a\\b", "a\\\\b"), ("", '""')],
)  # fmt: skip
def test_word_of_a_command_line(text_: str, said: str) -> None:
    assert word(text_) == said


def test_unknown_concern() -> None:
    hosts = fleet("debian-12-roce")
    with pytest.raises(FabricError, match="no concern 'storrage'") as caught:
        render_concern(hosts, hosts.hosts[0], "storrage")
    assert caught.value.hint == "did you mean 'storage'?"
    with pytest.raises(FabricError, match="no concern"):
        services(hosts, "storrage")
    assert services(hosts, "checks") == ()


def test_command(fabric_cli: Callable[..., Result], tmp_path: Path) -> None:
    spec, out = ROOT / "inventories" / "lab" / "cluster.yaml", tmp_path / "out"
    chosen = fabric_cli("render", "--target", "host", "--device", "z01-r001-h1", spec, "-o", out)
    assert chosen.exit_code == 0, chosen.stderr
    assert {path.name for path in out.iterdir() if path.is_dir()} == {SHARED, "z01-r001-h1"}
    hosts = load_fleet(spec).fleet
    for file in render(hosts, hosts.hosts[0]):
        found = [path for name in (SHARED, "z01-r001-h1") if (path := out / name / file.path[1:]).exists()]
        assert [path.read_bytes() for path in found] == [file.content]
    missing = fabric_cli("plan", "--target", "host", "--against", out, spec, "--json")
    assert (missing.exit_code, missing.stderr) == (2, "")
    devices = json.loads(missing.stdout)["devices"]
    assert {name for name, device in devices.items() if device["kind"] == "same"} == {SHARED, "z01-r001-h1"}
    whole = fabric_cli("render", "--target", "host", spec, "-o", out)
    assert whole.exit_code == 0
    (out / SHARED / "etc" / "nccl.conf").write_text("NCCL_DEBUG=INFO\n")
    plan = fabric_cli("plan", "--target", "host", "--against", out, spec)
    assert plan.exit_code == 2
    assert "NCCL_DEBUG=INFO" in plan.stdout
    assert "all-hosts" in plan.stdout


def test_a_tree_holds_escaped_names_of_units(tmp_path: Path) -> None:
    job = HostJob(fleet("rhel-9-infiniband"), "0")
    report = write_tree(job, tmp_path / "out", only=job.devices[:2])
    assert report.files == sum(len(job.render(ref.name)) for ref in job.devices[:2])
    assert list((tmp_path / "out").glob("*/etc/systemd/system/mnt-data?x2d1.mount"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["render", "--target", "host,eos", "-o", "out"], "target host stands alone, not with eos"),
        (["plan", "--target", "host"], "hosts are not changed device by device (hint: fabric plan --hosts, fabric apply --hosts)"),
    ],
)  # fmt: skip
def test_refused(arguments: list[str], said: str, fabric_cli: Callable[..., Result]) -> None:
    result = fabric_cli(*arguments, ROOT / "inventories" / "lab" / "cluster.yaml")
    assert (result.exit_code, said in result.stderr, len(result.stderr.splitlines())) == (1, True, 1)


def test_3072_hosts_in_five_seconds() -> None:
    hosts = load_fleet(ROOT / "inventories" / "roce-24k" / "cluster.yaml").fleet
    start = time.process_time()
    job = HostJob(hosts, "0")
    count = sum(len(job.render(ref.name)) for ref in job.devices)
    assert time.process_time() - start < 5
    assert (len(job.devices), count > 30_000) == (3073, True)
