"""What is said beside the figures, in the text, as data and on the page; and who takes no part in a prediction."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Cli = Callable[..., Result]
DRAINED = [
    {"match": {"name": "z01-r002-h1"}, "state": "drained"},
    {"match": {"name": "z02-rtsw003"}, "state": "drained"},
]
SMALL = {
    "backend.zones": [{"id": "1-2", "racks": 6, "rack_profile": "grand-teton"}],
    "state": DRAINED,
    "backend.ctsw.uplinks": 4,
    "backend.atsw.count": 4,
}
QUICK = ("--seeds", 1, "--sizes", "1G")


@pytest.fixture
def spec(spec_file: Callable[..., Path]) -> Path:
    """24 hosts, of which one is drained and two stand under a drained RTSW; a thin core."""
    return spec_file("roce-24k", SMALL)


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (("--collective", "all_to_all"), "12 of 20 phases were walked, at even distances, and stand for all"),
        (("--hash", "dlb"), "dlb is reckoned as perfect balance at every switch, which flowlets only come near to"),
        (("--hash", "pinned"), "pinned paths are the plan of a controller that knows all flows; no switch here is set up for it"),
        ((), "3 drained hosts left out; --job takes them in"),
        (
            ("--placement", "random", "--qps", 16),
            "EOS has no known hash seed, so ctsw and atsw are walked as different; if they hash alike, 50 % of what",
        ),
    ],
)  # fmt: skip
def test_a_note_stands_beside_the_figure_and_on_the_page(
    spec: Path, fabric_cli: Cli, options: tuple[str, ...], note: str
) -> None:
    page = spec.parent / "out.html"
    text = fabric_cli("predict", spec, *QUICK, *options, "--plot", page).stdout.splitlines()
    assert text[1].startswith("  large messages reach")
    assert any(line.startswith(f"  note: {note}") for line in text[2:6])
    assert f'<p class="bias">{note}' in page.read_text()


@pytest.mark.parametrize(("options", "phases"), [(("--collective", "all_to_all"), (20, 12)), ((), (1, 1))])
def test_how_many_phases_stand_for_how_many(
    spec: Path, fabric_cli: Cli, options: tuple[str, ...], phases: tuple[int, int]
) -> None:
    (case,) = json.loads(fabric_cli("predict", spec, *QUICK, *options, "--json").stdout)["cases"]
    assert (case["phases"], case["walked"]) == phases
    assert any("phases" in one for one in case["notes"]) == (phases[1] < phases[0])


@pytest.mark.parametrize("placement", ["rack", "zone", "random"])
def test_drained_hosts_take_no_part(spec: Path, fabric_cli: Cli, placement: str) -> None:
    found = json.loads(fabric_cli("predict", spec, *QUICK, "--placement", placement, "--json").stdout)["cases"][0]
    assert (found["gpus"], found["case"]["left_out_total"]) == (21 * 8, 3)
    assert found["case"]["left_out"] == ["z01-r002-h1", "z02-r003-h1", "z02-r003-h2"]
    more = fabric_cli("predict", spec, *QUICK, "--placement", placement, "--gpus", 22 * 8)
    assert more.exit_code == 1
    assert "there are 168: 21 hosts" in more.stderr


def test_drained_hosts_that_a_job_names_are_told(spec: Path, fabric_cli: Cli) -> None:
    job = spec.parent / "hosts"
    job.write_text("z01-r001-h1\nz01-r002-h1\n")
    found = json.loads(fabric_cli("predict", spec, *QUICK, "--job", job, "--json").stdout)["cases"][0]
    assert found["gpus"] == 16
    assert "the job names 1 drained host: z01-r002-h1; it takes part all the same" in found["notes"]


@pytest.mark.parametrize("hosts", [1, 20, 21])
def test_place_never_takes_drained_hosts(spec: Path, fabric_cli: Cli, hosts: int) -> None:
    found = json.loads(fabric_cli("place", spec, "--hosts", hosts, "--json").stdout)
    assert (len(set(found["hosts"])), found["free"]) == (hosts, 21)
    assert not {"z01-r002-h1", "z02-r003-h1", "z02-r003-h2"} & set(found["hosts"])
    assert fabric_cli("place", spec, "--hosts", 22).exit_code == 1


def test_seeds_that_are_not_known_are_no_matter_where_nothing_crosses(spec: Path, fabric_cli: Cli) -> None:
    (case,) = json.loads(fabric_cli("predict", spec, *QUICK, "--gpus", 64, "--json").stdout)["cases"]
    assert case["notes"] == ["3 drained hosts left out; --job takes them in"]


def test_drained_hosts_of_infiniband(spec_file: Callable[..., Path], fabric_cli: Cli) -> None:
    every = json.loads(fabric_cli("predict", spec_file("ib-lab"), *QUICK, "--json").stdout)["cases"][0]
    assert (every["case"]["left_out_total"], every["notes"]) == (0, [])
    adaptive = json.loads(fabric_cli("predict", spec_file("ib-lab"), *QUICK, "--hash", "spray", "--json").stdout)[
        "cases"
    ][0]
    assert [note.split(",")[0] for note in adaptive["notes"]] == [
        "adaptive routing is reckoned as perfect balance over all equal paths"
    ]
    spec = spec_file("ib-lab", {"state": [{"match": {"name": "gt0002"}, "state": "drained"}]})
    less = json.loads(fabric_cli("predict", spec, *QUICK, "--json").stdout)["cases"][0]
    assert (less["case"]["left_out"], less["notes"]) == (["gt0002"], ["1 drained host left out; --job takes them in"])
    assert (every["gpus"] - less["gpus"]) * 48 == every["gpus"]
    assert "gt0002" not in json.loads(fabric_cli("place", spec, "--hosts", 47, "--json").stdout)["hosts"]
