"""The module fabric_check: no more of check-host is taken than so many bytes and seconds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.playbooks.host_modules import Host, caller, check


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("cat; echo bad >&2; exit 2", {"rc": 2, "stdout": "{}", "stderr": "bad\n"}),
        ("yes", {"failed": True, "msg": "it says more than 65,536 bytes"}),
        ("yes >&2", {"failed": True, "msg": "Timed out after 1 s"}),
        ("sleep 60", {"failed": True, "msg": "Timed out after 1 s"}),
        ("sleep 60 & echo done", {"rc": 0, "stdout": "done\n"}),
    ],
)
def test_what_is_taken(script: str, expected: dict[str, Any], tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    call, began = caller(Host(tmp_path), monkeypatch, capsys), time.monotonic()
    result = call(check, argv=["/bin/sh", "-c", script], stdin="{}", seconds=1, most=1 << 16)
    assert {key: result.get(key) for key in expected} == expected
    assert time.monotonic() - began < 45


def test_a_program_that_is_not_there(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    result = caller(Host(tmp_path), monkeypatch, capsys)(check, argv=["/none/check-host"])
    assert result["msg"] == "/none/check-host: No such file or directory"
