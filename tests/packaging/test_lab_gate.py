"""tools/lab_gate.py: a skipped lab test fails the run that asked for the gate, and only that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAD = "import pytest\n\n\ndef test_plain():\n    pass\n\n\n"
CASES = {
    "lab test skipped": (HEAD + "@pytest.mark.lab\ndef test_lab():\n    pytest.skip('not root')\n", 1),
    "lab test skipped by its fixture": (
        HEAD + "@pytest.fixture\ndef ns():\n    pytest.skip('no')\n\n\n@pytest.mark.lab\ndef test_lab(ns):\n    pass\n",
        1,
    ),
    "lab test passed": (HEAD + "@pytest.mark.lab\ndef test_lab():\n    pass\n", 0),
    "another test skipped": (HEAD + "def test_other():\n    pytest.skip('no reference')\n", 0),
    "module in tests/lab skipped whole": ("import pytest\n\npytest.skip('not root', allow_module_level=True)\n", 1),
    "nothing to run": ("", 5),
}


XDIST = ["lab test skipped", "module in tests/lab skipped whole"]  # a report takes another way there


@pytest.mark.parametrize(
    ("case", "more"), [*((case, ()) for case in CASES), *((case, ("-p", "xdist", "-n1")) for case in XDIST)]
)
def test_gate(tmp_path: Path, case: str, more: tuple[str, ...]) -> None:
    text, code = CASES[case]
    folder = tmp_path / "tests" / "lab"
    folder.mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    lab: needs the lab\n")
    (folder / "test_it.py").write_text(text)
    if code != 5:
        (tmp_path / "tests" / "test_more.py").write_text("def test_more():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.lab_gate", *more]
    env = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == code, run.stdout + run.stderr
    assert ("LAB TEST SKIPPED" in run.stdout) == (code == 1)
    assert " in " in run.stdout.strip().splitlines()[-1], "pytest's closing line is the last"
