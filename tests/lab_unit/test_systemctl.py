"""The part of systemctl that all virtual boxes share, on a box whose units are only words."""

import json
from pathlib import Path

import pytest

from fabric.errors import FabricError
from fabric.lab import systemctl
from fabric.lab.fboss.node import Node


class Words:
    """Units `good` (active), `bad` (failed), `off` (inactive); none takes a reload."""

    units = ("good", "bad", "off")
    changes = ("start", "stop", "restart", "reload")

    def __init__(self, folder: Path) -> None:
        (folder / "node.json").write_text(json.dumps({"name": "box"}), encoding="utf-8")
        self.node = Node(folder)

    def own_state(self, unit: str) -> str:
        return {"good": "active", "bad": "failed", "off": "inactive"}[unit]

    def pid(self, unit: str) -> int:
        return 77 if unit == "good" else 0

    def change(self, verb: str, unit: str) -> None:
        if verb == "reload":
            raise FabricError(f"{unit} takes no reload")

    def more(self, unit: str) -> dict[str, str]:  # noqa: ARG002 - the same of all
        return {"NRestarts": "0"}


@pytest.mark.parametrize(
    ("words", "status", "out", "error"),
    [
        ("is-active good", 0, "active\n", ""),
        ("is-active bad off.service", 3, "failed\ninactive\n", ""),
        ("is-active -q good", 0, "", ""),
        ("is-active nothere", 3, "inactive\n", ""),
        ("is-failed bad", 0, "", ""),
        ("is-failed good", 1, "", ""),
        ("show -p MainPID --value good", 0, "77\n", ""),
        ("show -pLoadState,SubState nothere.service", 0, "LoadState=not-found\nSubState=dead\n", ""),
        ("show --property=Result,NRestarts bad", 0, "Result=exit-code\nNRestarts=0\n", ""),
        ("status nothere", 4, "", "Unit nothere.service could not be found.\n"),
        ("restart good.service", 0, "", ""),
        ("reload good", 1, "", "Job for good.service failed: good takes no reload\n"),
        ("start nothere", 5, "", "Failed to start nothere.service: Unit nothere.service not found.\n"),
        ("stop nothere", 5, "", "Failed to stop nothere.service: Unit nothere.service not loaded.\n"),
        ("stop none.timer", 5, "", "Failed to stop none.timer: Unit none.timer not loaded.\n"),
        (
            "list-timers",
            0,
            "NEXT                        LEFT       LAST PASSED UNIT ACTIVATES\n\n0 timers listed.\n",
            "",
        ),
        ("daemon-reload", 0, "", ""),
        ("start", 1, "", "Too few arguments.\n"),
        ("dance", 1, "", "Unknown command verb 'dance'.\n"),
    ],
)
def test_words_and_exit_codes_are_those_of_systemd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, status: int, out: str, error: str
) -> None:
    assert systemctl.run(Words(tmp_path), words.split()) == status
    assert capsys.readouterr() == (out, error)
