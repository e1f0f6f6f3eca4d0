"""Choice of hosts and order of ranks: exact against every other choice; files as their readers take them."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.design.load import load_cluster, load_subnet
from fabric.predict.place import Chosen, Site, Spot, place, site_of
from fabric.predict.rank_order import by_name, changes, rank_files
from fabric.targets.host.hostlist import expand, hostlist

ROOT = Path(__file__).resolve().parents[2]
LAB, IB = (ROOT / "inventories" / name / "cluster.yaml" for name in ("lab", "ib-lab"))


def site(zones: list[list[int]]) -> Site:
    """Free hosts of each rack of each zone; every rack has two hosts."""
    racks = [(z, r, free) for z, zone in enumerate(zones, 1) for r, free in enumerate(zone, 1)]
    spots = tuple(Spot(f"z{z}-r{r}-h{h}", (z, r)) for z, r, free in racks for h in range(1, free + 1))
    return Site(spots, {(z, r): 2 for z, r, _ in racks}, 0, "zone{:02d}")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=4), st.data())
def test_no_choice_is_better(zones: list[list[int]], data: st.DataObject) -> None:
    """Of all numbers of hosts a zone could give, none has fewer zones, and with as few none has more pairs in one zone."""
    room = [sum(zone) for zone in zones]
    if not sum(room):
        return
    wanted = data.draw(st.integers(1, sum(room)))
    found = place(site(zones), wanted)
    assert len(found.hosts) == len(set(found.hosts)) == wanted
    ways = [way for way in itertools.product(*(range(free + 1) for free in room)) if sum(way) == wanted]
    best = min((sum(map(bool, way)), -sum(n * n for n in way)) for way in ways)
    assert (len(found.shares), -sum(share.hosts**2 for share in found.shares)) == best
    zone_of = {name: name.partition("-")[0] for name in found.hosts}
    assert changes(found.hosts, zone_of) == found.borders


@pytest.mark.parametrize(
    ("zones", "wanted", "shares"),
    [
        ([[2, 2], [2, 2]], 3, [("zone01", 3, 4, 2, 1)]),
        ([[2, 2], [2, 1]], 3, [("zone02", 3, 3, 2, 1)]),  # the zone that fits tightest
        ([[1, 2, 2], [0]], 2, [("zone01", 2, 5, 1, 1)]),  # a whole rack rather than two halves
        ([[1, 2, 2], [2]], 6, [("zone01", 5, 5, 3, 2), ("zone02", 1, 2, 1, 0)]),
        (
            [[2], [2, 2], [1]],
            5,
            [("zone02", 4, 4, 2, 2), ("zone03", 1, 1, 1, 0)],
        ),  # the rest where it leaves no other zone broken
    ],
)
def test_shares(zones: list[list[int]], wanted: int, shares: list[tuple[str, int, int, int, int]]) -> None:
    assert [(s.zone, s.hosts, s.free, s.racks, s.whole) for s in place(site(zones), wanted).shares] == shares


def test_infiniband_goes_by_pod_and_scalable_unit() -> None:
    """Two pods of two units of four hosts: a job that one pod can hold does not touch both."""
    spots = tuple(Spot(f"gt{n:04d}", (n // 8, n // 4, n // 2)) for n in range(16) if n not in (0, 9))
    assert place(Site(spots, {}, 1, "su{:04d}"), 7).hosts == tuple(f"gt{n:04d}" for n in range(1, 8))
    found = place(site_of(load_subnet(IB)), 8, ["gt0001"])
    assert [(share.zone, share.hosts) for share in found.shares] == [("su0002", 8)]


def test_out_of_service_is_left_out(spec_file: Callable[..., Path]) -> None:
    state = [
        {"match": {"name": "z01-rtsw001"}, "state": "drained"},
        {"match": {"name": "z01-r002-h1"}, "state": "drained"},
    ]
    found = place(site_of(load_cluster(spec_file("lab", {"state": state}))), 5)
    assert found.hosts == ("z01-r002-h2", "z02-r001-h1", "z02-r001-h2", "z02-r002-h1", "z02-r002-h2")


def test_text_and_files(fabric_cli: Callable[..., Result], golden: Callable[[str, str], None], tmp_path: Path) -> None:
    busy = tmp_path / "busy"
    busy.write_text("# squeue\nz01-r[001-002]-h2 # two\n\n")
    text = fabric_cli("place", LAB, "--hosts", 5, "--busy", busy, "-o", tmp_path / "out").stdout
    golden("predict/place.txt", text.replace(str(tmp_path), "DIR").replace(str(LAB), "SPEC"))
    hosts = ["z01-r001-h1", *(f"z02-r00{rack}-h{unit}" for rack in (1, 2) for unit in (1, 2))]
    lines = {path.name: path.read_text().splitlines() for path in (tmp_path / "out").iterdir()}
    gpus = len(lines["slurm-hosts"]) // 5
    assert [line.split()[0] for line in lines["hostfile"]] == hosts
    assert lines["slurm-hosts"][::gpus] == hosts
    assert [line.split()[1] for line in lines["torchrun.txt"][2:]] == hosts
    nodelist = next(line for line in lines["slurm.sh"] if "--nodelist" in line)
    assert expand(nodelist.partition("nodelist=")[2]) == hosts
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\necho "$SLURM_HOSTFILE" "$@"\n')
    srun.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_SUBMIT_DIR": "/job"}
    said = subprocess.run(
        [tmp_path / "out" / "slurm.sh", "train", "a b"], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout == "/job/slurm-hosts --distribution=arbitrary train a b\n"


def test_json(fabric_cli: Callable[..., Result]) -> None:
    document = json.loads(fabric_cli("place", LAB, "--hosts", 5, "--json").stdout)
    assert (document["schema"], document["hosts"][-1]) == ("fabric.placement/1", "z02-r001-h1")
    assert document["cut"] == {"borders": 2, "flows": 2 * document["cut"]["of"] // 5, "of": document["cut"]["of"]}
    assert document["bound"]["random"]["p50"] <= document["bound"]["ordered"] <= 100


@pytest.mark.parametrize(
    ("name", "arguments", "busy"),
    [
        ("too-many", ["--hosts", "9"], None),
        ("none", ["--hosts", "0"], None),
        ("all-busy", ["--hosts", "1"], "z0[1-2]-r00[1-2]-h[1-2]\n"),
        ("busy-unknown", ["--hosts", "1"], "z01-r001-h1\nz01-r001-h3\n"),
        ("busy-no-list", ["--hosts", "1"], "gt[1-\n"),
        ("busy-bomb", ["--hosts", "1"], "gt[1-9999999]\n"),
        ("busy-missing", ["--hosts", "1", "--busy", "nowhere"], None),
    ],
)
def test_bad_input(
    name: str, arguments: list[str], busy: str | None, fabric_cli: Callable[..., Result],
    golden: Callable[[str, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    if busy is not None:
        Path("busy").write_text(busy)
        arguments = [*arguments, "--busy", "busy"]
    result = fabric_cli("place", LAB, *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    golden(f"errors/place-{name}.txt", result.stderr)


def chosen() -> Chosen:
    """Hosts whose order is not that of their names."""
    return Chosen(("z02-r001-h1", "z01-r010-h2", "z01-r010-h10"), (), 3)


@pytest.mark.lab
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs Open MPI")
def test_open_mpi_maps_ranks_in_the_order_of_the_hostfile(tmp_path: Path) -> None:
    (tmp_path / "hostfile").write_text(rank_files(chosen().hosts, 2, "")["hostfile"])
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    command = ["mpirun", *root, "--do-not-launch", "--display-map", "--hostfile", "hostfile", "true"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240)
    nodes = re.findall(r"Data for node: (\S+).*?(?=Data for node|\Z)", said.stdout, re.DOTALL)
    ranks = [int(rank) for rank in re.findall(r"Process rank: (\d+)", said.stdout)]
    assert (nodes, ranks) == (list(chosen().hosts), list(range(6)))


@pytest.mark.lab
@pytest.mark.skipif(shutil.which("scontrol") is None, reason="needs Slurm's programs")
def test_slurm_reads_the_list_and_sorts_names_as_we_do(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=test\nSlurmctldHost=localhost\nAuthType=auth/none\nCredType=cred/none\n")

    def scontrol(what: str, names: str) -> str:
        environment = {**os.environ, "SLURM_CONF": str(conf)}
        done = subprocess.run(
            ["scontrol", "show", what, names], env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout.strip()

    hosts = list(chosen().hosts)
    assert scontrol("hostnames", hostlist(hosts)).splitlines() == hosts
    mixed = ["z1-r10-h1", "z1-r9-h10", "z1-r9-h2", "a10b1", "a9b1"]
    assert expand(scontrol("hostlistsorted", ",".join(mixed))) == by_name(mixed)
