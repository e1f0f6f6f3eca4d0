"""`fabric render` and `fabric plan` as commands: options, exit codes, what is printed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import fabric.cli.plan
import fabric.cli.render
from fabric.change.names import select_devices
from fabric.errors import FabricError
from fabric.targets.base import Artifact, DeviceRef


class Job:
    """Three devices of one small file."""

    spec_sha256 = "0" * 64
    names = frozenset({"rtsw1", "rtsw2", "ctsw1"})

    def __init__(self, mtu: int, targets: frozenset[str] | None) -> None:
        self.mtu = mtu
        all_devices = [
            DeviceRef("rtsw1", "rtsw", "fboss"),
            DeviceRef("rtsw2", "rtsw", "fboss"),
            DeviceRef("ctsw1", "ctsw", "eos"),
        ]
        self.devices = [device for device in all_devices if targets is None or device.target in targets]

    def render(self, name: str) -> list[Artifact]:
        if name == "ctsw1":
            return [
                Artifact(
                    name, "ctsw", "eos", "/mnt/flash/startup-config", f"interface E1\n   mtu {self.mtu}\n".encode()
                )
            ]
        return [Artifact(name, "rtsw", "fboss", "/etc/coop/agent.conf", json.dumps({"mtu": self.mtu}).encode())]

    def normalise(self, _target: str, text: str) -> str:
        return text


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spec's file name is the MTU that it declares."""

    def open_job(
        spec: Path, devices: Sequence[str], targets: frozenset[str] | None
    ) -> tuple[Job, list[DeviceRef] | None]:
        job = Job(int(spec.name), targets)
        return job, select_devices(job.devices, devices) if devices else None

    monkeypatch.setattr(fabric.cli.render, "open_job", open_job)
    monkeypatch.setattr(fabric.cli.plan, "open_job", open_job)


def render(*arguments: str) -> Result:
    return CliRunner().invoke(fabric.cli.render.render, arguments)


def plan(*arguments: str, **options: str) -> Result:
    return CliRunner().invoke(fabric.cli.plan.plan, arguments, env=options or None)


def test_render_says_what_it_did(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    said = re.sub(r"[\d.]+ s\n", "T s\n", render("9000", "-o", out).output)
    assert said == f"wrote 3 files for 3 devices to {out} (0.1 kB in all), 0 unchanged, 0 removed in T s\n"
    for name in "abcdefg":
        (tmp_path / "out" / name).write_text("")
    done = render("9214", "-o", out, "--device", "rtsw*", "--json")
    shown = json.loads(done.output)
    assert (done.exit_code, shown.pop("seconds") >= 0) == (0, True)
    assert shown == {
        "schema": "fabric.render/1", "out": out, "devices": 2, "files": 2, "bytes": 26, "written": 2, "unchanged": 0,
        "removed": 0, "unmanaged": [],
    }  # fmt: skip
    assert render("9214", "-o", out).output.endswith("not ours, left alone: a, b, c, d, e, ... and 2 more\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["9000", "--device", "rtws1"],
            "--device 'rtws1' matches none of 3 devices (hint: did you mean rtsw1, rtsw2, ctsw1?)",
        ),
        (["9000", "--target", " ,"], "--target names no kind of device (hint: for example --target eos,fboss)"),
    ],
)
def test_render_refuses(tmp_path: Path, arguments: list[str], message: str) -> None:
    refused = render(*arguments, "-o", str(tmp_path / "out"))
    assert isinstance(refused.exception, FabricError)
    assert str(refused.exception) == message
    assert not (tmp_path / "out").exists()


def test_plan_exit_codes_and_output(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    render("9000", "-o", out)
    same = plan("9000", "--against", out)
    assert (same.exit_code, same.output) == (0, f"nothing to do: 3 devices as declared (against {out})\n")
    changed = plan("9214", "--against", out, "-o", str(tmp_path / "plan.json"))
    assert changed.exit_code == 2
    assert (
        "2 devices (rtsw), same change:\n  rtsw1..2\n  /etc/coop/agent.conf: changed, ~1\n    ~ mtu: 9000 -> 9214\n"
        in changed.output
    )
    as_json = plan("9214", "--against", out, "--json")
    assert (as_json.exit_code, json.loads(as_json.output)) == (2, json.loads((tmp_path / "plan.json").read_text()))
    assert "mtu" not in plan("9214", "--against", out, "--summary").output
    assert plan("9214", "--against", out, "--full").output.count("~ mtu: 9000 -> 9214") == 2
    assert plan("9214", "--against", out, "--target", "eos").output.startswith("1 device: 1 to change")
    assert plan("--against", out, FABRIC_SPEC="9000").exit_code == 0


def test_plan_could_not(tmp_path: Path) -> None:
    out = tmp_path / "out"
    render("9000", "-o", str(out))
    place = out / "rtsw1/etc/coop/agent.conf"
    place.unlink()
    place.symlink_to("/etc/hostname")
    failed = plan("9000", "--against", str(out))
    assert failed.exit_code == 1
    assert f"could not read rtsw1: cannot read {place}: a part of the path is a symbolic link" in failed.output
    assert plan("9000", "--against", str(out), "--full", "--summary").exit_code == 2  # click's own usage error


@pytest.mark.parametrize("command", [fabric.cli.render.render, fabric.cli.plan.plan])
def test_the_spec_has_a_default(command: click.Command) -> None:
    (spec,) = [parameter for parameter in command.params if parameter.name == "spec"]
    assert (spec.default, spec.envvar) == ("cluster.yaml", "FABRIC_SPEC")
