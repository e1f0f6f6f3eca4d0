"""The wheel is complete: away from the checkout, the installed command renders a cluster from what travels with it."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOVED = ("templates", "playbooks", "inventories")
SOURCES = ("fabric", *MOVED)


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False, env=plain
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done


def build(kind: str, source: Path, out: Path) -> Path:
    """One distribution, built with the installed hatchling: nothing is fetched."""
    run(sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", out, source, cwd=out.parent)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel") / "dist")


def tracked() -> set[str]:
    """Where each committed file of the package must stand in the wheel."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so there is nothing to compare the wheel with")
    names = run("git", "ls-files", "--", *SOURCES, cwd=ROOT).stdout.splitlines()
    present = [name for name in names if (ROOT / name).exists()]
    return {f"fabric/_resources/{name}" if name.startswith(MOVED) else name for name in present}


def test_holds_every_committed_file(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = tracked()
    assert wanted - names == set()
    assert {name.split("/")[0] for name in names} == {
        "fabric",
        next(n for n in names if "dist-info" in n).split("/")[0],
    }
    for folder in (
        "fabric/catalog/data/", "fabric/_resources/templates/eos/", "fabric/_resources/inventories/lab/",
        "fabric/_resources/playbooks/plugins/inventory/", "fabric/_resources/playbooks/plugins/modules/",
    ):  # fmt: skip
        assert any(name.startswith(folder) for name in wanted), folder


def test_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = build("sdist", ROOT, tmp_path / "sdist")
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    run("tar", "-xzf", archive, "-C", unpacked, cwd=tmp_path)
    (source,) = unpacked.iterdir()
    again = build("wheel", source, tmp_path / "dist")
    assert digest(again) == digest(wheel)


def digest(wheel: Path) -> dict[str, int]:
    """Each file of a wheel with the checksum of its contents."""
    return {
        info.filename: info.CRC for info in zipfile.ZipFile(wheel).infolist() if not info.filename.endswith("/RECORD")
    }


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """The bin folder of a new environment that holds the wheel; the one that runs the tests lends third-party packages.

    Lending is by a .pth file. Python does not follow the .pth files of a folder that is lent so, hence the editable
    install of the checkout is not lent with the rest: `test_renders_away_from_the_checkout` makes sure.
    """
    home = tmp_path / "env"
    venv.create(home, with_pip=False, symlinks=True)
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        home / "bin" / "python",
        "install",
        "-qq",
        "--no-deps",
        "--no-index",
        wheel,
        cwd=tmp_path,
    )
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "lent.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return home / "bin"


def test_renders_away_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(ROOT / "inventories" / "lab" / "cluster.yaml", elsewhere)
    code = "import fabric, json, sys; print(json.dumps([fabric.__file__, sys.path]))"
    where, path = json.loads(run(installed / "python", "-c", code, cwd=elsewhere).stdout)
    assert Path(where).is_relative_to(installed.parent)
    assert str(ROOT) not in path

    run(installed / "fabric", "check", "cluster.yaml", cwd=elsewhere)
    run(installed / "fabric", "render", "cluster.yaml", "-o", "out", cwd=elsewhere)
    rendered = {
        file.relative_to(elsewhere / "out").as_posix() for file in (elsewhere / "out").rglob("*") if file.is_file()
    }
    assert any(name.endswith("agent.conf") for name in rendered), rendered  # from the catalog
    assert any("startup-config" in name or name.endswith(".cfg") for name in rendered), rendered  # from the templates
