"""`fabric plan --hosts`, `apply --hosts` and `runs` of the lab's spec, over fake hosts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fabric.change.events import Step
from fabric.change.journal import Journal
from fabric.cli import hosts as cli_hosts
from fabric.cli.hosts import health_of
from fabric.design.load import load_fleet
from fabric.verify.finding import Finding
from tests.change.hosts.host_scene import Inside, Scene, Slurm

Cli = Callable[..., Result]


@pytest.fixture
def lab(spec_file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The spec, and fake hosts of its names."""
    spec = spec_file("lab")
    scene = Scene(tmp_path, count=0)
    scene.hosts = list(load_fleet(spec).fleet.hosts)
    for name in scene.names:
        scene.set(name, has=1, wants=2)
    monkeypatch.setattr("fabric.change.hosts.runner.runner_of", lambda _executor, _stop: Inside(tmp_path))
    monkeypatch.setattr("fabric.change.hosts.drain.drainer_of", lambda _how, _controller: scene.slurm)
    monkeypatch.setattr(cli_hosts, "looker", lambda _spec, _options: scene.look)
    monkeypatch.delenv("FABRIC_STATE", raising=False)
    return spec, scene


def test_plan_apply_and_nothing_left(fabric_cli: Cli, lab: Any, tmp_path: Path) -> None:
    spec, scene = lab
    planned = fabric_cli("plan", spec, "--hosts", "-o", tmp_path / "p.json")
    count = len(scene.names)
    assert planned.exit_code == 2, planned.output
    assert planned.stdout.splitlines()[:3] == [
        f"{count} devices: {count} to change (against the live hosts)", "", f"{count} devices (host), same change:",
    ]  # fmt: skip
    done = fabric_cli("apply", tmp_path / "p.json", "--auto-approve")
    assert done.exit_code == 0, done.output
    assert f"{count} done" in done.stdout
    assert "commit timer" not in done.stdout
    again = fabric_cli("apply", spec, "--hosts", "--auto-approve", "--json")
    assert (again.exit_code, again.stdout) == (0, '{"schema": "fabric.apply/1"}\n')
    assert "nothing to do" in again.stderr
    listed = json.loads(fabric_cli("runs", "list", "-s", spec, "--json").stdout)["runs"]
    assert [(run["kind"], run["status"]) for run in listed] == [("hosts", "complete")]
    assert "apply hosts" in fabric_cli("runs", "list", "-s", spec).stdout


def test_what_is_said_while_it_goes(fabric_cli: Cli, lab: Any, golden: Callable[[str, str], None]) -> None:
    spec, scene = lab
    second, third = scene.names[1:3]
    scene.set(second, sick=["qos.pfc"])
    scene.set(third, reboot=True)
    done = fabric_cli("apply", spec, "--hosts", "--auto-approve", "--max-failed", "2", "--gate-timeout", "1")
    assert done.exit_code == 1
    run = next((spec.parent / ".fabric" / "runs").iterdir()).name
    text = (done.stdout + done.stderr).replace(run, "RUN").replace(str(spec), "SPEC")
    golden("change/hosts-apply.txt", text)


def test_pending_reboots_are_something_to_see(fabric_cli: Cli, lab: Any) -> None:
    spec, scene = lab
    scene.set(scene.names[0], reboot=True)
    assert fabric_cli("apply", spec, "--hosts", "--auto-approve").exit_code == 2
    assert fabric_cli("plan", spec, "--hosts").stdout.splitlines()[-1] == (
        "  reboot for rdma: waits for it (firmware changes)"
    )
    done = fabric_cli("runs", "resume", "last", "-s", spec, "--auto-approve", "--allow-reboot")
    assert done.exit_code == 0, done.output
    assert f"{scene.names[0]}: rebooting: rdma (firmware changes)" in done.stdout


def test_a_killed_run_goes_on_by_its_own_spec(fabric_cli: Cli, lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, scene = lab

    class Killed(BaseException):
        pass

    real = Journal.append

    def append(self: Journal, event: Any) -> None:
        real(self, event)
        if isinstance(event, Step) and event.step == "examining" and event.device == scene.names[1]:
            raise Killed

    monkeypatch.setattr(Journal, "append", append)
    with pytest.raises(Killed):
        fabric_cli("apply", spec, "--hosts", "--auto-approve")
    monkeypatch.setattr(Journal, "append", real)
    spec.write_text(spec.read_text() + "# edited\n")
    shown = fabric_cli("runs", "show", "last", "-s", spec).stdout
    assert "interrupted" in shown
    assert "open after examining" in shown
    done = fabric_cli("runs", "resume", "last", "-s", spec, "--auto-approve")
    assert done.exit_code == 0, done.output
    assert scene.slurm.out == {}
    assert all(scene.get(name)["has"] == 2 for name in scene.names)


def test_the_way_back_is_an_earlier_spec(fabric_cli: Cli, lab: Any) -> None:
    spec, scene = lab
    fabric_cli("apply", spec, "--hosts", "--auto-approve")
    refused = fabric_cli("runs", "rollback", "last", "-s", spec, "--auto-approve")
    assert (refused.exit_code, "take yours from version control" in refused.stderr) == (1, True)
    spec.write_text(spec.read_text() + "# edited\n")
    for name in scene.names:
        scene.set(name, wants=3)
    fabric_cli("apply", spec, "--hosts", "--auto-approve")
    refused = fabric_cli("runs", "rollback", "last", "-s", spec, "--auto-approve")
    hint = refused.stderr.partition("(hint: ")[2].rstrip(")\n")
    assert hint.startswith("fabric apply --hosts ")
    back = fabric_cli(*hint.split()[1:], "--auto-approve")
    assert back.exit_code == 0, back.output


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("role", ["apply", "--hosts", "--role", "rtsw"]),
        ("timer", ["apply", "--hosts", "--commit-timer", "60"]),
        ("reboot-of-switches", ["apply", "--allow-reboot"]),
        ("against", ["plan", "--hosts", "--against", "."]),
        ("concern-of-switches", ["plan", "--concern", "nccl"]),
        ("no-such-host", ["plan", "--hosts", "--device", "z09*"]),
        ("no-such-zone", ["plan", "--hosts", "--zone", "9"]),
        ("no-such-concern", ["plan", "--hosts", "--concern", "nccll"]),
        ("canary", ["apply", "--hosts", "--canary", "x*"]),
        ("terminal", ["apply", "--hosts"]),
    ],
)
def test_refusals(fabric_cli: Cli, lab: Any, golden: Callable[[str, str], None], name: str, args: list[str]) -> None:
    spec, _ = lab
    done = fabric_cli(args[0], spec, *args[1:])
    assert done.exit_code == 1
    golden(f"errors/hosts-{name}.txt", done.stderr.replace(str(spec), "SPEC"))


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("executor", ("--executor", "dsk=tcp://a:1")),
        ("drain", ("--drain", "slurmm")),
        ("drain-program", ("--drain", "./nowhere")),
        ("scheduler-gone", ("--executor", "dask=tcp://127.0.0.1:9")),
    ],
)
def test_refusals_of_places(
    fabric_cli: Cli,
    spec_file: Callable[..., Path],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    setting: tuple[str, ...],
) -> None:
    monkeypatch.setattr("fabric.change.hosts.dask.CONNECT_S", 1)
    done = fabric_cli("apply", spec_file("lab"), "--hosts", *setting)
    assert done.exit_code == 1
    golden(f"errors/hosts-{name}.txt", done.stderr)


def test_health_from_findings() -> None:
    def finding(check: str, verdict: Any, severity: Any = "critical", subject: str = "a: gpu3") -> Finding:
        return Finding(check, subject, verdict, "4", "8", devices=("a", "b"), severity=severity)

    mixed = [
        finding("gpu.count", "fail"), finding("gpu.ecc", "unknown"), finding("pcie.width", "fail", "warning"),
        finding("nic.mtu", "pass", subject="a, b"),
    ]  # fmt: skip
    assert health_of("a", mixed).problems == {"gpu.count gpu3": "gpu.count gpu3: 4, expected 8"}
    assert health_of("c", mixed).unseen == "no check was made"
    assert health_of("a", [finding("read.host", "unknown", subject="a")]).unseen == "4"


def test_slurm_is_the_default_where_the_spec_has_it(lab: Any) -> None:
    assert isinstance(lab[1].slurm, Slurm)
    with cli_hosts.opened(lab[0], {}) as hosts:
        assert (hosts.drain(None), hosts.drain("none")) == ("slurm", "none")
