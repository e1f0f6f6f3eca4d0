"""Fixtures shared by all tests: golden files, the reference folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the expected files instead of comparing with them."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


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
