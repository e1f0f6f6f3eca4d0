"""nccl.conf files as people write them; golden: tests/golden/check/nccl-NAME.txt."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

FILES = Path(__file__).parent / "nccl"
MADE = {
    "long-value.conf": b"NCCL_IB_TC=200\nNCCL_RAS_ADDR=" + b"x" * 1024 + b"\n",
    "windows.conf": b"NCCL_IB_TC=200\r\nNCCL_IB_TIMEOUT=22\r\n",
    "latin1.conf": b"# caf\xe9\n",
    "nul.conf": b"NCCL_IB_TC=2\x0000\n",
    "empty.conf": b"",
    "many.conf": b"NCCL_ALGO\n" * 40,
}


@pytest.mark.parametrize("name", [*sorted(path.name for path in FILES.glob("*.conf")), *MADE])
def test_file(
    name: str,
    spec_file: Callable[..., Path],
    fabric_cli: Callable[..., Result],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = spec_file("lab")
    monkeypatch.chdir(spec.parent)
    conf = spec.parent / name
    if name in MADE:
        conf.write_bytes(MADE[name])
    else:
        shutil.copy(FILES / name, conf)
    result = fabric_cli("check", "--nccl-conf", name, "cluster.yaml")
    warned = [line for line in result.stdout.splitlines() if line.startswith(name)]
    golden(
        f"check/nccl-{conf.stem}.txt",
        f"exit {result.exit_code}\n" + result.stderr + "".join(f"{line}\n" for line in warned),
    )


@pytest.mark.parametrize(("nccl", "code"), [("2.28.9", 1), ("2.30.4", 0)])
def test_carriage_return_by_version(
    nccl: str, code: int, spec_file: Callable[..., Path], fabric_cli: Callable[..., Result], tmp_path: Path
) -> None:
    spec = spec_file("lab", {"hosts.software.nccl": nccl})
    conf = tmp_path / "nccl.conf"
    conf.write_bytes(MADE["windows.conf"])
    assert fabric_cli("check", "--nccl-conf", conf, spec).exit_code == code


def test_several_files_are_told_together(
    spec_file: Callable[..., Path], fabric_cli: Callable[..., Result], tmp_path: Path
) -> None:
    spec = spec_file("lab")
    for name in ("a.conf", "b.conf"):
        (tmp_path / name).write_text("NCCL_IB_TC=0\n")
    result = fabric_cli("check", "--nccl-conf", tmp_path / "a.conf", "--nccl-conf", tmp_path / "b.conf", spec)
    assert [line.split(":")[1].rpartition("/")[2] for line in result.stderr.splitlines()] == ["a.conf", "b.conf"]


def test_a_file_that_is_not_there(
    spec_file: Callable[..., Path], fabric_cli: Callable[..., Result], tmp_path: Path
) -> None:
    result = fabric_cli("check", "--nccl-conf", tmp_path / "none.conf", spec_file("lab"))
    assert (result.exit_code, result.stderr) == (1, f"error: {tmp_path / 'none.conf'}: no such file\n")
