"""fabric export for InfiniBand: every cable as designed, read back by a reader of its own or by the tool that the file is for."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fabric.design.ib.model import IbLink, Subnet
from fabric.errors import FabricError
from fabric.export import ib_netdiscover
from fabric.export.ib_common import standing_cables
from fabric.export.ib_ndt import HEADER, ndt_csv
from fabric.export.ib_netdiscover import Net, netdiscover_cache
from fabric.export.ib_topo import topo_files
from fabric.lab.ib.net import TABLE, hca_id, net_size, net_text
from tests.targets.opensm.ib_subnets import THREE_TIERS, tiny

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "inventories" / "ib-lab" / "cluster.yaml"
simulated = pytest.mark.skipif(
    shutil.which("ibsim") is None or shutil.which("ibnetdiscover") is None,
    reason="ibsim or infiniband-diags not installed",
)


def cables(subnet: Subnet) -> set[frozenset[tuple[str, int]]]:
    return {frozenset({(link.a, link.a_port), (link.b, link.b_port)}) for link in standing_cables(subnet)}


def read_topo(text: str) -> set[frozenset[tuple[str, int]]]:
    """A strict reader of .topo files: every line is a system, a cable or a comment."""
    found: list[frozenset[tuple[str, int]]] = []
    system = ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if head := re.fullmatch(r"[A-Z0-9]+ (\S+)", line):
            system = head[1]
            continue
        cable = re.fullmatch(r"   P(\d+) (?:-4x-\d+G)?-> [A-Z0-9]+ (\S+) (?:(\S+)/)?P(\d+)", line)
        assert cable is not None, line
        far = f"{cable[2]} {cable[3]}" if cable[3] else cable[2]
        found.append(frozenset({(system, int(cable[1])), (far, int(cable[4]))}))
    assert len(found) == len(set(found)), "a cable stands twice"
    return set(found)


@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("speeds", [False, True])
def test_topo_holds_every_cable_once(three: bool, speeds: bool) -> None:
    subnet = tiny(THREE_TIERS if three else {})
    files = topo_files(subnet, speeds=speeds)
    assert read_topo(files["tiny.topo"]) == cables(subnet)
    assert ("-4x-100G->" in files["tiny.topo"]) == speeds
    kinds = {line.split()[0] for line in files["tiny.topo"].splitlines() if line[:1] == "M"}
    assert {f"{kind}.ibnl" for kind in kinds} < set(files)
    assert "GT8.ibnl" in files
    for name, text in files.items():
        if name.endswith(".ibnl"):
            assert text.startswith(f"TOPSYSTEM {name.removesuffix('.ibnl')}\n\nNODE ")


def test_topo_golden(golden: Callable[[str, str], None]) -> None:
    for name, text in topo_files(tiny()).items():
        golden(f"export/ib/{name}", text)


def test_planned_cables_are_left_out() -> None:
    subnet = tiny()
    links: list[IbLink] = [
        dataclasses.replace(link, state="planned") if link.b_port == 9 else link for link in subnet.links
    ]
    assert len(cables(dataclasses.replace(subnet, links=tuple(links)))) < len(subnet.links)


def test_ndt(golden: Callable[[str, str], None]) -> None:
    subnet = tiny()
    text = ndt_csv(subnet)
    rows = list(csv.reader(io.StringIO(text)))
    assert text.startswith(HEADER + "\n")
    assert len(rows) == 1 + len(subnet.links)
    assert {len(row) for row in rows} == {len(rows[0])} == {20}
    assert rows[1][2:4] + rows[1][5:7] == ["leaf0001", "Port 1/1/1", "gt0001 mlx5_0", "Port 1"]
    golden("export/ib/ndt.csv", text)


@pytest.fixture(scope="module")
def ibdmchk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path] | None:
    """Debian's ibdmchk and its libraries: installed, or unpacked from its packages; None where neither works."""
    if found := shutil.which("ibdmchk"):
        return Path(found), Path("/usr/lib")
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return None
    folder = tmp_path_factory.mktemp("ibutils")
    try:
        subprocess.run(
            ["apt-get", "download", "ibutils", "libibdm1"], cwd=folder, capture_output=True, timeout=60, check=True
        )
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, folder / "root"], capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    library = next(folder.glob("root/usr/lib/*/libibdmcom.so.1"), None)
    return (folder / "root/usr/bin/ibdmchk", library.parent) if library else None


@pytest.mark.parametrize("three", [False, True])
def test_ibdmchk_takes_the_design(three: bool, tmp_path: Path, ibdmchk: tuple[Path, Path] | None) -> None:
    tool = ibdmchk
    if tool is None:
        pytest.skip("Debian's ibutils can be neither found nor downloaded")
    subnet = tiny(THREE_TIERS if three else {})
    for name, text in topo_files(subnet, speeds=False).items():
        (tmp_path / name).write_text(text)
    env = {**os.environ, "IBDM_IBNL_PATH": str(tmp_path), "LD_LIBRARY_PATH": str(tool[1])}
    argv = [str(tool[0]), "-t", "tiny.topo", "-n", "gt0001/mlx5_0", "-p", "1", "-u"]
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    systems, nodes = (
        len(subnet.switches) + len({hca.host for hca in subnet.hcas}),
        len(subnet.switches) + len(subnet.hcas),
    )
    assert f"Defined {systems}/{nodes} systems/nodes" in done.stdout
    pairs = len(subnet.hcas) * (len(subnet.hcas) - 1)
    assert f"No credit loops found in:{pairs} CA to CA paths" in done.stdout
    assert not re.findall(r"^-[EW]-.*", done.stdout, re.MULTILINE)


def net_of(subnet: Subnet) -> Net:
    size = net_size(subnet)
    return Net(net_text(subnet), size.nodes, size.switches, size.ports, TABLE, hca_id(subnet.hcas[0]))


@simulated
def test_the_golden_cache_shows_a_swap_and_nothing_else(tmp_path: Path) -> None:
    subnet = tiny()
    first, second = subnet.links[0], subnet.links[1]
    swapped = [
        dataclasses.replace(first, b=second.b, b_port=second.b_port),
        dataclasses.replace(second, b=first.b, b_port=first.b_port),
        *subnet.links[2:],
    ]
    (tmp_path / "golden").write_bytes(netdiscover_cache(net_of(subnet)))
    (tmp_path / "same").write_bytes(netdiscover_cache(net_of(subnet)))
    (tmp_path / "live").write_bytes(netdiscover_cache(net_of(dataclasses.replace(subnet, links=tuple(swapped)))))

    def differences(live: str) -> str:
        argv = ["ibnetdiscover", "--load-cache", live, "--diff", "golden"]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0  # either way: only the output tells
        return done.stdout

    assert differences("same") == ""
    assert {link.b for link in (first, second)} <= set(re.findall(r'# "([^"]+)"', differences("live")))


@simulated
def test_a_broken_net_is_one_line() -> None:
    with pytest.raises(FabricError, match="ibsim did not take the design"):
        netdiscover_cache(dataclasses.replace(net_of(tiny()), text='Switch 4 "a"\n[1] "nothing"[1]\n'), timeout_s=60)


def test_missing_tools_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ib_netdiscover, "which", lambda *_, **__: None)
    with pytest.raises(FabricError, match="ibsim, ibnetdiscover"):
        netdiscover_cache(Net("", 1, 1, 1, 1, ""))


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("topo", ["GT8.ibnl", "MQM9700.ibnl", "ib-lab.topo"]),
        ("ndt", ["out"]),
        ("slurm", ["fabric-topology.conf", "topology.conf"]),
        ("ibsim", ["out"]),
        pytest.param("ibnetdiscover", ["out"], marks=simulated),
    ],
)
def test_command(kind: str, files: list[str], fabric_cli: Callable[..., Result], tmp_path: Path) -> None:
    result = fabric_cli("export", kind, LAB, "-o", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    assert (said["schema"], said["files"]) == ("fabric.export/1", files)
    written = [path for path in (tmp_path / "out", *(tmp_path / "out").glob("*")) if path.is_file()]
    assert sum(path.stat().st_size for path in written) == said["bytes"] > 0


def test_a_roce_spec_is_refused(fabric_cli: Callable[..., Result], tmp_path: Path) -> None:
    result = fabric_cli("export", "ndt", ROOT / "inventories" / "lab" / "cluster.yaml", "-o", tmp_path / "x")
    assert result.exit_code == 1
    assert "backend.kind is roce" in result.stderr
    assert not (tmp_path / "x").exists()
