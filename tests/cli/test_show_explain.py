"""show, explain, init, schema, check: what they print on the inventories."""

from __future__ import annotations

import csv
import io
import json
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

INVENTORIES = Path(__file__).resolve().parents[2] / "inventories"
ALL = ("lab", "roce-24k", "roce-wedge400")


@pytest.mark.parametrize("inventory", ALL)
def test_inventories_are_fine(
    inventory: str,
    fabric_cli: Callable[..., Result],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(INVENTORIES)
    checked = fabric_cli("check", f"{inventory}/cluster.yaml")
    assert checked.exit_code == 0
    golden(f"show/{inventory}-check.txt", checked.stdout)
    summary = fabric_cli("show", "summary", "-s", f"{inventory}/cluster.yaml")
    golden(f"show/{inventory}-summary.txt", summary.stdout)


@pytest.mark.parametrize("table", ["devices", "links", "addresses", "racks"])
def test_tables_agree_in_all_three_forms(
    table: str, fabric_cli: Callable[..., Result], golden: Callable[[str, str], None]
) -> None:
    spec = INVENTORIES / "lab" / "cluster.yaml"
    text, as_json, as_csv = (fabric_cli("show", table, "-s", spec, *form) for form in ([], ["--json"], ["--csv"]))
    rows = json.loads(as_json.stdout)["rows"]
    assert list(csv.DictReader(io.StringIO(as_csv.stdout))) == [
        {key: "" if value is None else str(value) for key, value in row.items()} for row in rows
    ]
    assert len(text.stdout.splitlines()) == len(rows) + 2
    golden(f"show/lab-{table}.txt", text.stdout)


PATHS = [
    "qos.lossless.dscp", "backend.zones[0].racks", "backend.rack_profiles.grand-teton.uplinks", "bgp.timers.hold_s", "qos.lossless",
    "z03-rtsw100.asn", "z03-rtsw100.router_id", "z03-rtsw100.loopback", "z03-rtsw100.prefix", "z03-rtsw100.management", "z03-rtsw100.state",
    "z03-ctsw05.asn", "atsw007.asn", "z03-rtsw100/eth8/1/1", "z03-rtsw100/eth2/3/1", "z03-rtsw100/eth7/3/1", "z03-ctsw05/Ethernet10/36/1",
    "zone1.ratio", "zone1.port_ratio", "zone1.rack_ratio", "zone1.spare", "zone1.power",
    "catalog.tomahawk4.buffers.fuji.headroom_uplink", "catalog.orv3.power_kw",
    "qos.losless", "backend.zones[1].racks", "z03-rtsw100.as", "z03-rtsw100/eth2/2/1", "zone9.ratio", "zone1.rato", "catalog.tomahawk",
    "catalog.tomahawk4.bufers", "z03-rtsw100", "nothing", "", "backend.zones.x",
]  # fmt: skip


def test_explain(
    fabric_cli: Callable[..., Result], golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(INVENTORIES / "roce-24k")
    said = [fabric_cli("explain", path) for path in PATHS]
    assert {result.exit_code for result in said} == {0, 1}
    golden("show/explain.txt", "\n".join(result.stdout + result.stderr for result in said))


def test_explain_json(fabric_cli: Callable[..., Result]) -> None:
    found = json.loads(
        fabric_cli("explain", "z01-rtsw001.asn", "-s", INVENTORIES / "roce-24k" / "cluster.yaml", "--json").stdout
    )
    assert found == {
        "schema": "fabric.explain/1",
        "path": "z01-rtsw001.asn",
        "value": "4200000000",
        "meaning": "AS number",
        "formula": "4200000000 + (zone 1 - 1) x 256 + (rack 1 - 1)",
        "source": "",
        "place": "nowhere: this is the default",
    }


@pytest.mark.parametrize("kind", ["roce", "infiniband"])
@pytest.mark.parametrize("gpus", [8, 16, 3_072, 3_088, 24_576, 65_536, 350_208])
def test_init_writes_what_check_takes(kind: str, gpus: int, fabric_cli: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    made = fabric_cli("init", "--kind", kind, "--gpus", gpus, "-o", path)
    if kind == "infiniband" and gpus > 40_000:
        assert (made.exit_code, path.exists()) == (1, False)
        return
    assert made.exit_code == 0
    checked = fabric_cli("check", path, "--json")
    assert checked.exit_code == 0
    document = json.loads(checked.stdout)
    assert document["ok"]
    summary = json.loads(fabric_cli("show", "summary", "-s", path, "--json").stdout)
    assert summary["hosts"] >= gpus // 8
    again = fabric_cli("init", "-o", path)
    assert (again.exit_code, again.stderr) == (
        1,
        f"error: {path} exists and is left as it is (hint: choose another with -o)\n",
    )


def test_init_leaves_nothing_of_a_file_that_did_not_fit(fabric_cli: Callable[..., Result], tmp_path: Path) -> None:
    assert (
        fabric_cli("init", "-o", "-").exit_code == 0
    )  # all that it imports is there: no byte code is written under the limit
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        made = fabric_cli("init", "-o", tmp_path / "cluster.yaml")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert (made.exit_code, made.stderr.startswith(f"error: cannot write {tmp_path}/cluster.yaml: ")) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_init_golden(fabric_cli: Callable[..., Result], golden: Callable[[str, str], None]) -> None:
    golden("show/init-roce.yaml", fabric_cli("init", "-o", "-", "--gpus", 24_576).stdout)
    golden("show/init-infiniband.yaml", fabric_cli("init", "-o", "-", "--kind", "infiniband").stdout)
    assert fabric_cli("init", "--name", "../x", "-o", "-").exit_code == 1


def test_schema_accepts_the_inventories(fabric_cli: Callable[..., Result]) -> None:
    import jsonschema
    import yaml

    schema = json.loads(fabric_cli("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for inventory in ALL:
        data = yaml.safe_load((INVENTORIES / inventory / "cluster.yaml").read_text(encoding="utf-8"))
        assert list(validator.iter_errors(data)) == []
    assert list(validator.iter_errors({"schema": 1, "nmae": "x"}))


def test_a_device_that_is_not_there(fabric_cli: Callable[..., Result]) -> None:
    said = fabric_cli("show", "links", "z01-rtsw009", "-s", INVENTORIES / "lab" / "cluster.yaml")
    assert (said.exit_code, said.stderr) == (
        1,
        "error: no device matches 'z01-rtsw009' (hint: did you mean 'z01-rtsw002'?)\n",
    )
