"""The environment at the operator's seat: kept while the spec stays as it is, and never older than the spec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.errors import FabricError
from fabric.lab.seat import environment
from fabric.lab.state import Lab


def _no_loading(_path: Path) -> None:
    raise AssertionError("the spec was loaded again")


def test_the_spec_is_loaded_once_and_again_when_it_changed(
    tmp_path: Path, spec_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FABRIC_NETOPS_HASH", raising=False)
    monkeypatch.delenv("OTHER", raising=False)
    lab, spec = Lab(tmp_path), spec_file()
    first = environment(lab, spec)
    assert first["FABRIC_NETOPS_HASH"].startswith("$6$")
    assert first["FABRIC_STATE"] == str(tmp_path / "fabric")
    with monkeypatch.context() as patched:
        patched.setattr("fabric.design.load.load_cluster", _no_loading)
        assert environment(lab, spec) == first
        patched.setenv("FABRIC_NETOPS_HASH", "the operator's own")
        assert "FABRIC_NETOPS_HASH" not in environment(lab, spec)
    spec = spec_file(changes={"secrets.netops-hash": {"env": "OTHER"}})
    assert environment(lab, spec)["OTHER"] == first["FABRIC_NETOPS_HASH"]
    assert [path.stat().st_mode & 0o777 for path in tmp_path.glob("stand-ins*")] == [0o600]


@pytest.mark.parametrize("text", ["", "[]", '{"spec": 1}', "{}"])
def test_what_is_damaged_is_made_again(tmp_path: Path, spec_file: Callable[..., Path], text: str) -> None:
    (tmp_path / "stand-ins.json").write_text(text)
    assert environment(Lab(tmp_path), spec_file())["FABRIC_USER"] == "netops"
    assert '"stand_ins"' in (tmp_path / "stand-ins.json").read_text()


def test_a_wrong_spec_is_told(tmp_path: Path, spec_file: Callable[..., Path]) -> None:
    lab, spec = Lab(tmp_path), spec_file()
    environment(lab, spec)
    spec.write_text(f"{spec.read_text()}nonsense: 1\n")
    with pytest.raises(FabricError, match="nonsense"):
        environment(lab, spec)
    spec.unlink()
    with pytest.raises(FabricError, match=r"cluster\.yaml"):
        environment(lab, spec)
