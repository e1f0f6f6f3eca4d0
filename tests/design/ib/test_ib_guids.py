"""Real GUIDs from a file: taken as they stand, or refused with one line each. Golden: tests/golden/check/ib-guids-NAME.txt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.design.ib.build import design_subnet
from fabric.design.ib.model import Subnet
from fabric.errors import FabricError, FabricErrors
from fabric.spec.cluster import ClusterSpec

Spec = Callable[..., ClusterSpec]
SMALL = {"hosts": 2, "hosts_per_unit": 2, "switch_ports": 4, "tiers": 3}


def csv_of(subnet: Subnet, port: Callable[[int], int] = lambda node: node + 1) -> list[str]:
    """Rows with GUIDs of one vendor's range."""
    base = 0x0002_C903_0000_0000
    names = [switch.name for switch in subnet.switches]
    rows = [f"{name},{base + 16 * index:#018x}," for index, name in enumerate(names)]
    for index, hca in enumerate(subnet.hcas, len(names)):
        node = base + 16 * index
        rows.append(f"{hca.name},{node:#018x},{port(node):#018x}")
    return ["name,node_guid,port_guid", *rows]


@pytest.fixture
def rows(make_ib_spec: Spec) -> list[str]:
    return csv_of(design_subnet(make_ib_spec(**SMALL)))


def built(make_ib_spec: Spec, folder: Path, text: str | bytes, name: str = "guids.csv") -> Subnet:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return design_subnet(make_ib_spec(**SMALL, guids={"file": name}), folder)


def test_every_guid_is_taken_and_nothing_else_moves(make_ib_spec: Spec, tmp_path: Path, rows: list[str]) -> None:
    plain = design_subnet(make_ib_spec(**SMALL))
    subnet = built(make_ib_spec, tmp_path, "\n".join(rows))
    given = {row.split(",")[0]: row.split(",")[1:] for row in rows[1:]}
    assert {s.name: f"{s.guid:#018x}" for s in subnet.switches} == {s.name: given[s.name][0] for s in subnet.switches}
    assert {h.name: [f"{h.node_guid:#018x}", f"{h.port_guid:#018x}"] for h in subnet.hcas} == {
        h.name: given[h.name] for h in subnet.hcas
    }
    assert {s.placeholder for s in subnet.switches} | {h.placeholder for h in subnet.hcas} == {False}
    assert subnet.links == plain.links
    assert set(subnet.partitions[0].members) == {hca.port_guid for hca in subnet.hcas}


def test_yaml_and_csv_say_the_same(make_ib_spec: Spec, tmp_path: Path, rows: list[str]) -> None:
    lines = []
    for row in rows[1:]:
        name, node, port = row.split(",")
        lines.append(f"{name}: {{node: {node}, port: {port}}}" if port else f"{name}: {node}")
    one = built(make_ib_spec, tmp_path, "\n".join(lines), "guids.yaml")
    two = built(make_ib_spec, tmp_path, "\n".join(rows))
    assert (one.switches, one.hcas) == (two.switches, two.hcas)


def test_boxes_with_one_guid_for_node_and_port_are_taken(make_ib_spec: Spec, tmp_path: Path, rows: list[str]) -> None:
    same = csv_of(design_subnet(make_ib_spec(**SMALL)), lambda node: node)
    assert all(hca.node_guid == hca.port_guid for hca in built(make_ib_spec, tmp_path, "\n".join(same)).hcas)


def edited(rows: list[str], changes: dict[str, str | None], more: tuple[str, ...] = ()) -> str:
    """The file with the rows of some devices changed (None: left out), and more rows at its end."""
    found = []
    for row in rows:
        name, _, rest = row.partition(",")
        if name not in changes:
            found.append(row)
        elif (new := changes[name]) is not None:
            found.append(new.replace("NODE", rest.split(",")[0]))
    return "\n".join([*found, *more]) + "\n"


CASES: dict[str, Callable[[list[str]], str | bytes]] = {
    "duplicate": lambda rows: edited(rows, {"leaf0002": "leaf0002,0x0002c90300000000,"}),
    "duplicate-port": lambda rows: edited(rows, {"gt0002 mlx5_0": "gt0002 mlx5_0,NODE," + rows[-1].split(",")[2]}),
    "missing": lambda rows: edited(rows, {"gt0001 mlx5_1": None, "leaf0003": None}),
    "unknown-device": lambda rows: edited(rows, {}, ("leaf0099,0x0002c9030000ffff,",)),
    "stands-twice": lambda rows: edited(rows, {}, (rows[1],)),
    "node-for-port": lambda rows: edited(rows, {"gt0001 mlx5_0": "gt0001 mlx5_0,NODE,NODE"}),
    "node-of-another-for-port": lambda rows: edited(
        rows, {"gt0001 mlx5_1": "gt0001 mlx5_1,NODE," + rows[-1].split(",")[1]}
    ),
    "switch-guid-for-port": lambda rows: edited(rows, {"gt0001 mlx5_1": "gt0001 mlx5_1,NODE,0x0002c90300000000"}),
    "no-port": lambda rows: edited(rows, {"gt0001 mlx5_1": "gt0001 mlx5_1,NODE,"}),
    "not-hexadecimal": lambda rows: edited(rows, {"leaf0001": "leaf0001,0x0002c9030000000g,"}),
    "decimal": lambda rows: edited(rows, {"leaf0001": "leaf0001,772374235,"}),
    "zero": lambda rows: edited(rows, {"leaf0001": "leaf0001,0x0000000000000000,"}),
    "too-few-fields": lambda rows: edited(rows, {"leaf0001": "leaf0001,NODE"}),
    "header": lambda rows: edited(rows, {"name": "device,guid"}),
    "no-text": lambda _: b"name,node_guid,port_guid\nleaf0001,\xff\xfe,\n",
    "quote": lambda rows: edited(rows, {}, ('"leaf0001',)),
    "empty": lambda _: "",
    "control-characters": lambda rows: edited(rows, {"leaf0001": "leaf\x1b0001,NODE,"}),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(
    name: str,
    make_ib_spec: Spec,
    tmp_path: Path,
    rows: list[str],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FabricError) as caught:
        built(make_ib_spec, Path(), CASES[name](rows))
    errors = caught.value.errors if isinstance(caught.value, FabricErrors) else [caught.value]
    golden(f"check/ib-guids-{name}.txt", "".join(f"{error}\n" for error in errors))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "guids.yaml:1: wants a mapping of names to GUIDs"),
        (
            "leaf0001: {node: 0x1, nodes: 0x2}\n",
            "guids.yaml:1: leaf0001: wants a GUID, or node and port with a GUID each",
        ),
        ("leaf0001: [1]\n", "guids.yaml:1: leaf0001: wants a GUID, or node and port with a GUID each"),
        ("leaf0001: 'x\n", "guids.yaml:2: is no YAML: found unexpected end of stream"),
    ],
)
def test_yaml_refused(
    text: str, message: str, make_ib_spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FabricError) as caught:
        built(make_ib_spec, Path(), text, "guids.yaml")
    first = caught.value.errors[0] if isinstance(caught.value, FabricErrors) else caught.value
    assert first.message == message


def test_another_kind_of_file(make_ib_spec: Spec, tmp_path: Path) -> None:
    with pytest.raises(FabricError, match=r"guids.txt is neither .csv nor .yaml"):
        built(make_ib_spec, tmp_path, "x", "guids.txt")


def test_a_planned_device_may_have_none(make_ib_spec: Spec, tmp_path: Path, rows: list[str]) -> None:
    (tmp_path / "guids.csv").write_text(
        edited(rows, dict.fromkeys([r.split(",")[0] for r in rows if r.startswith("gt0002")]))
    )
    spec = make_ib_spec(**SMALL, guids={"file": "guids.csv"})
    planned = ClusterSpec.model_validate(
        {
            **spec.model_dump(by_alias=True, exclude_unset=True),
            "state": [{"match": {"name": "gt0002"}, "state": "planned"}],
        }
    )
    subnet = design_subnet(planned, tmp_path)
    assert {hca.host for hca in subnet.hcas if hca.placeholder} == {"gt0002"}
    assert {link.b.split()[0] for link in subnet.links if link.state == "planned"} == {"gt0002"}
