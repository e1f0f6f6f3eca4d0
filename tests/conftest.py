"""Fixtures shared by all tests: golden files, the reference folder."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from fabric.cli.boundary import run
from fabric.cli.main import cli
from fabric.design.build import design
from fabric.design.fabric import Fabric
from fabric.spec.cluster import ClusterSpec

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(autouse=True)
def umask_of_its_own() -> Iterator[None]:
    """What a test sets, or a module of Ansible that it runs in this process, is not left to the next one."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the expected files instead of comparing with them."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """With `-n`: what shares a lab runs in one process, so that each lab is booted once; all other tests go where there is time.

    (xdist's own `--dist loadgroup` is without effect with pytest 9.2, whose node ids cannot be given a suffix any more.)
    """
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler.loadscope import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByLab(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return lab_of(nodeid)

    config.option.loadscopereorder = False  # the order is that of `turn`: a file of one test may be the longest
    return ByLab(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a process of `-n`: what takes long begins first, so that no process is left alone with it at the end."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: turn(item.nodeid))


def lab_of(nodeid: str) -> str:
    """What a test shares a lab with: the tests of its file; those of test_lab_*.py and of test_host_*.py all with each other; nobody."""
    file = nodeid.partition("::")[0]
    if not file.startswith("tests/lab/"):
        return nodeid
    shared = (name for name in ("lab", "host") if file.startswith(f"tests/lab/test_{name}_"))
    return next(shared, file)


LONG = (
    *("host", "tests/lab/test_survive.py", "lab", "tests/lab/test_drivers.py", "tests/lab/test_ib_apply.py"),
    *("tests/lab/test_ansible.py", "tests/lab/test_ib_lab.py", "tests/lab/", "tests/verify/test_verify_scale.py"),
    *("tests/packaging/", "tests/targets/opensm/", "tests/playbooks/", "tests/export/test_vagrant.py"),
)
"""Labs, files and folders of which one unit takes seconds to minutes, the longest first."""


LAST = ("tests/lab/test_collectives.py", "tests/export/test_report_browser.py")
"""What measures rates or waits of a real program, for which the machine should have little else to do: after all others."""


def turn(nodeid: str) -> int:
    """When a test is to begin: the place of its lab, file or folder in LONG, all others after them, then LAST."""
    if nodeid.startswith(LAST):
        return len(LONG) + 1
    return next((place for place, name in enumerate(LONG) if lab_of(nodeid).startswith(name)), len(LONG))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: `text` equals tests/golden/NAME."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden file {name}: run pytest --update-golden and read what it wrote"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(scope="session")
def reference_dir() -> Path:
    """The folder of reference material; REFERENCE_DIR, or `shared/reference` beside the checkout. Skips without it."""
    default = Path(__file__).resolve().parents[2] / "shared" / "reference"
    folder = Path(os.environ.get("REFERENCE_DIR", default))
    if not folder.is_dir():
        pytest.skip("the reference folder is not there (set REFERENCE_DIR)")
    return folder


INVENTORIES = Path(__file__).resolve().parents[1] / "inventories"


@functools.cache
def _inventory(name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((INVENTORIES / name / "cluster.yaml").read_text(encoding="utf-8"))
    return data


def edited(inventory: str, changes: dict[str, Any]) -> dict[str, Any]:
    """The spec of an inventory as plain data, with some places changed: {"backend.zones.0.racks": 3}; None deletes."""
    data: dict[str, Any] = copy.deepcopy(_inventory(inventory))
    for path, value in changes.items():
        *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        place: Any = data
        for part in parents:
            place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return data


@pytest.fixture(scope="session")
def make_fabric() -> Callable[..., Fabric]:
    """`make_fabric("lab", {"backend.zones.0.racks": 3})`: the designed fabric of an edited inventory."""
    return lambda inventory="lab", changes=None: design(ClusterSpec.model_validate(edited(inventory, changes or {})))


@pytest.fixture
def spec_file(tmp_path: Path) -> Callable[..., Path]:
    """`spec_file("lab", {...})`: the path of an edited inventory, written as cluster.yaml."""

    def write(inventory: str = "lab", changes: dict[str, Any] | None = None, name: str = "cluster.yaml") -> Path:
        path = tmp_path / name
        path.write_text(yaml.safe_dump(edited(inventory, changes or {}), sort_keys=False), encoding="utf-8")
        return path

    return write


@pytest.fixture
def fabric_cli() -> Callable[..., Result]:
    """`fabric_cli("check", path)`: runs the command line in this process; `.exit_code`, `.stdout`, `.stderr`."""

    def call(*args: object) -> Result:
        return CliRunner().invoke(_Boundary(), [str(arg) for arg in args], catch_exceptions=False)

    return call


class _Boundary(click.Command):
    """The command line inside its error boundary, as the console script runs it."""

    def __init__(self) -> None:
        super().__init__("fabric", add_help_option=False)

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> None:  # type: ignore[override]
        raise SystemExit(run(cli, list(args or [])))
