"""A byte order mark, which an editor on Windows puts before a file, is no change of a configuration."""

from __future__ import annotations

from pathlib import Path

from fabric.change.plan import make_plan
from fabric.change.source import TreeSource
from tests.change.fake_cluster import STARTUP
from tests.change.fake_job import FakeJob


def test_a_byte_order_mark_before_a_pulled_file_is_no_change(tmp_path: Path) -> None:
    text = "hostname z01-ctsw01\n!\ninterface Ethernet1/1\n   mtu 9000\n"
    job = FakeJob({"z01-ctsw01": {STARTUP: text}})
    for head in ("\ufeff", "\ufeff! Command: show running-config\n! device: z01-ctsw01\n!\n"):
        (tmp_path / "z01-ctsw01.cfg").write_text(head + text.replace("\n", "\r\n"), encoding="utf-8", newline="")
        plan = make_plan(job, TreeSource(tmp_path), workers=1)
        assert [(d.kind, d.note) for d in plan.devices] == [("same", "")]
    (tmp_path / "z01-ctsw01.cfg").write_text("\ufeff" + text.replace("9000", "9100"), encoding="utf-8")
    (group,) = make_plan(job, TreeSource(tmp_path), workers=1).groups
    assert [line for file in group.files for change in file.changes for line in change.example.lines] == [
        "-    mtu 9100",
        "+    mtu 9000",
    ]
