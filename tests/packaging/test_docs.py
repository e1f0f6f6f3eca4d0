"""The documentation says what the code does: generated pages are current, the README's example is a legal spec."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from fabric.cli.main import cli
from tools.gen_docs import outdated

ROOT = Path(__file__).resolve().parents[2]


def test_generated_pages_are_current() -> None:
    assert sorted(outdated()) == [], "run `make gen-docs` and commit what it wrote"


def test_readme_example_passes_check(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    spec = tmp_path / "cluster.yaml"
    spec.write_text(example, encoding="utf-8")
    result = CliRunner().invoke(cli, ["check", str(spec)])
    assert result.exit_code == 0, f"{result.output}{result.exception!r}"
