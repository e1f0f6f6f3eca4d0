"""`fabric plan`, `apply`, `drift`, `runs` and `drain` over scripted devices of the lab's spec."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fabric.change.clock import SystemClock
from fabric.change.events import Event
from fabric.change.journal import Journal
from fabric.change.runs import load_run
from fabric.cli.boundary import run
from fabric.cli.live import open_live
from fabric.cli.main import cli
from fabric.errors import FabricError
from tests.change.fake_fleet import Fleet, fails, lost, refused
from tests.change.forked import at_terminal

HASH = "$6$salt$veryveryveryLongHashValue"
Cli = Callable[..., Result]


@pytest.fixture
def spec(spec_file: Callable[..., Path]) -> Path:
    return spec_file("lab")


@pytest.fixture
def fleet(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """Devices that hold what the spec declares, but an MTU."""
    fleet = Fleet(SystemClock(), tmp_path)
    install(fleet, spec)
    monkeypatch.setattr("fabric.cli.live.driver", fleet.driver)
    monkeypatch.setenv("FABRIC_NETOPS_HASH", HASH)
    for name in (
        "FABRIC_STATE",
        "FABRIC_USER",
        "FABRIC_FBOSS_USER",
        "FABRIC_PASSWORD",
        "FABRIC_KEY_FILE",
        "FABRIC_VAULT_FILE",
    ):
        monkeypatch.delenv(name, raising=False)
    return fleet


def install(fleet: Fleet, spec: Path) -> None:
    for name, files in _files(spec.read_text()).items():
        fleet.install(name, dict(files))


@functools.cache
def _files(text: str) -> dict[str, dict[str, str]]:
    """Device -> path -> content: what a spec declares, but an MTU."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder, "cluster.yaml")
        spec.write_text(text)
        job = open_live(spec).job
        files = {ref.name: {a.path: a.content.decode() for a in job.render(ref.name)} for ref in job.devices}
    changes = (("$SECRET{netops-hash}", HASH), ("9000", "8000"))
    return {
        name: {path: functools.reduce(lambda t, c: t.replace(*c), changes, text) for path, text in by_path.items()}
        for name, by_path in files.items()
    }


def test_plan_reads_the_live_devices(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    done = fabric_cli("plan", spec, "--summary")
    assert done.exit_code == 2, done.stderr
    assert "10 devices: 10 to change (against the live devices)" in done.stdout
    assert {call for _, call in fleet.calls} == {"read", "pending", "close"}
    login = fleet.logins["z02-rtsw001"]
    assert (login.username, login.known_hosts) == ("netops", str(spec.parent / ".fabric" / "known_hosts"))
    assert fleet.logins["z01-rtsw001"].username == "root"


def test_apply_then_nothing_to_do(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    done = fabric_cli("apply", spec, "--auto-approve")
    assert done.exit_code == 0, done.output
    assert "10 done" in done.stdout
    assert HASH not in done.output
    assert HASH in fleet.running("z02-rtsw001")["/mnt/flash/startup-config"]
    again = fabric_cli("apply", spec, "--auto-approve")
    assert (again.exit_code, again.stdout) == (0, "nothing to do: 10 devices as declared (against the live devices)\n")
    assert fabric_cli("drift", spec).exit_code == 0
    state = spec.parent / ".fabric"
    for file in state.rglob("*"):
        assert not file.is_file() or HASH not in file.read_text()
        assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("source", ["spec", "plan file"])
def test_what_is_shown_before_the_question(
    fabric_cli: Cli, spec: Path, fleet: Fleet, tmp_path: Path, source: str
) -> None:
    name = "z02-rtsw001"
    fleet.edit(name, "/mnt/flash/startup-config", "")
    what = spec
    if source == "plan file":
        what = tmp_path / "p.json"
        fabric_cli("plan", spec, "-o", what, "--device", name)
    shown = {
        form: fabric_cli("apply", what, "--device", name, *form.split()).stdout.splitlines()
        for form in ("", "--summary", "--full")
    }
    assert all(any(line.startswith("waves: 1") for line in lines) for lines in shown.values())
    assert sum(line.startswith("    ") for line in shown[""]) == 60  # 59 of the change and the last word
    assert sum("more lines (--full)" in line for line in shown[""]) == 1
    assert not [line for line in shown["--summary"] if line.startswith("    ")]
    assert len(shown["--full"]) > len(shown[""])
    assert fabric_cli("apply", what, "--full", "--summary").exit_code == 1


def test_apply_a_plan_file(fabric_cli: Cli, spec: Path, fleet: Fleet, tmp_path: Path) -> None:
    plan = tmp_path / "p.json"
    assert fabric_cli("plan", spec, "-o", plan).exit_code == 2
    fleet.calls.clear()
    done = fabric_cli("apply", plan, "--auto-approve", "--device", "z01-*")
    assert done.exit_code == 0, done.output
    assert {name[:3] for name, _ in fleet.calls} == {"z01"}
    spec.write_text(spec.read_text() + "# a comment\n")
    stale = fabric_cli("apply", plan, "--auto-approve")
    assert (stale.exit_code, stale.stderr) == (
        1,
        "error: the spec has changed since the plan was made (hint: make a new plan)\n",
    )


def test_a_plan_whose_spec_has_moved(fabric_cli: Cli, spec: Path, fleet: Fleet, tmp_path: Path) -> None:
    plan, moved = tmp_path / "plan.json", tmp_path / "moved.yaml"
    fabric_cli("plan", spec, "-o", plan, "--device", "z01-rtsw001")
    spec.rename(moved)
    done = fabric_cli("apply", plan, "--auto-approve")
    hint = "(hint: give it with --spec where it is now)"
    assert (done.exit_code, done.stderr) == (1, f"error: {spec}, of which {plan} was made, is not there {hint}\n")
    assert fabric_cli("apply", plan, "--spec", moved, "--device", "z01-rtsw001", "--auto-approve").exit_code == 0


@pytest.mark.parametrize("harm", [{"role": "ctsw"}, {"target": "eos"}])
def test_a_plan_that_was_edited(
    fabric_cli: Cli, spec: Path, fleet: Fleet, tmp_path: Path, harm: dict[str, str]
) -> None:
    out, before = tmp_path / "plan.json", fleet.running("z01-rtsw001")
    fabric_cli("plan", spec, "-o", out)
    plan = json.loads(out.read_text())
    plan["devices"]["z01-rtsw001"] |= harm
    out.write_text(json.dumps(plan))
    done = fabric_cli("apply", out, "--auto-approve")
    assert (done.exit_code, "z01-rtsw001" in done.stderr, fleet.running("z01-rtsw001")) == (1, True, before)


@pytest.mark.parametrize("option", ["--timeout", "--gate-timeout"])
def test_seconds_are_a_number(fabric_cli: Cli, spec: Path, fleet: Fleet, option: str) -> None:
    done = fabric_cli("apply", spec, "--auto-approve", option, "nan")
    assert (done.exit_code, "nan" in done.stderr) == (1, True)


def test_runs_list_with_a_damaged_journal(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    assert fabric_cli("apply", spec, "--auto-approve").exit_code == 0
    bad = spec.parent / ".fabric/runs/20200101-000000"
    bad.mkdir()
    (bad / "journal.jsonl").write_bytes(b"x\n{}\n")
    for options in ([], ["--json"]):
        listed = fabric_cli("runs", "list", "-s", spec, *options)
        assert (listed.exit_code, "complete" in listed.stdout, "damaged" in listed.stderr) == (1, True, True)
    assert fabric_cli("plan", spec).exit_code == 0


def test_a_plan_of_another_tool_version(fabric_cli: Cli, spec: Path, fleet: Fleet, tmp_path: Path) -> None:
    plan = tmp_path / "p.json"
    fabric_cli("plan", spec, "-o", plan)
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "tool_version": "0.0"}))
    fleet.calls.clear()
    done = fabric_cli("apply", plan, "--auto-approve")
    assert done.exit_code == 1
    assert "the plan was made by fabric 0.0" in done.stderr
    assert fleet.calls == []


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_without_a_terminal_nothing_is_sent(fabric_cli: Cli, spec: Path, fleet: Fleet, options: list[str]) -> None:
    done = fabric_cli("apply", spec, *options)
    assert done.exit_code == 1
    assert "nothing was sent: there is no terminal" in done.stderr
    assert {call for _, call in fleet.calls} == {"read", "pending", "close"}


def test_json_events(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    done = fabric_cli("apply", spec, "--auto-approve", "--json", "--role", "atsw")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows[0] == {"schema": "fabric.apply/1"}
    assert rows[1]["event"] == "run-started"
    assert rows[1]["hosts"] == ["atsw001", "atsw002"] or len(rows[1]["hosts"]) == 2
    assert rows[-1]["event"] == "run-ended"
    assert rows[-1]["counts"] == {"done": 2}


def test_missing_secret_is_one_line_and_no_device_is_touched(
    fabric_cli: Cli, spec: Path, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FABRIC_NETOPS_HASH")
    done = fabric_cli("apply", spec, "--auto-approve")
    assert done.exit_code == 1
    assert done.stderr.endswith(
        "error: secret 'netops-hash' is not set (hint: set the environment variable FABRIC_NETOPS_HASH)\n"
    )
    assert {call for _, call in fleet.calls} == {"read", "pending", "close"}


def test_dry_run_shows_the_devices_difference_without_secrets(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    done = fabric_cli("apply", spec, "--dry-run", "--device", "z02-rtsw*")
    assert done.exit_code == 2, done.output
    assert "the device's own difference" in done.stdout
    assert HASH not in done.output
    assert "sha512 <secret>" in done.stdout
    assert not [c for c in fleet.calls if c[1] == "commit"]


def test_unreachable_is_listed_and_not_fatal_unless_strict(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    fleet.hook = fails("z01-rtsw001", "read", lost("z01-rtsw001"))
    done = fabric_cli("plan", spec, "--summary")
    assert "could not read z01-rtsw001: the connection was lost" in done.stdout
    assert done.exit_code == 1
    assert fabric_cli("drift", spec).exit_code == 2
    strict = fabric_cli("plan", spec, "--strict")
    assert "error: could not read z01-rtsw001" in strict.stderr
    applied = fabric_cli("apply", spec, "--auto-approve")
    assert applied.exit_code == 1
    assert "9 done" in applied.stdout


def test_drift_as_json(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    fabric_cli("apply", spec, "--auto-approve")
    path = "/etc/coop/bgpcpp/bgpcpp.conf"
    fleet.edit("z01-rtsw001", path, fleet.running("z01-rtsw001")[path].replace("9000", "8000"))
    done = fabric_cli("drift", spec, "--json")
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert (found["schema"], found["checked"], found["same"], found["unreadable"]) == ("fabric.drift/1", 10, 9, [])
    assert [d["device"] for d in found["differs"]] == ["z01-rtsw001"]
    assert found["differs"][0]["files"][0]["path"] == path
    assert found["differs"][0]["files"][0]["lines"]


def test_runs_list_show_resume_rollback(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    old = {name: fleet.running(name) for name in ("z01-rtsw001", "z02-ctsw02")}
    fleet.hook = fails("z01-ctsw01", "stage", refused())
    failed = fabric_cli("apply", spec, "--auto-approve")
    assert failed.exit_code == 1
    run = load_run(spec.parent / ".fabric", "last").id
    assert f"then: fabric runs resume {run} -s {spec} (go on), or fabric runs rollback {run} -s {spec}" in failed.stderr
    show = fabric_cli("runs", "show", "last", "-s", spec)
    assert "failed: z01-ctsw01: the device refuses the configuration: % Invalid input at line 7" in show.stdout
    fleet.hook = lambda _d, _p: None
    assert fabric_cli("runs", "resume", "last", "-s", spec).exit_code == 1  # nobody to ask
    resumed = fabric_cli("runs", "resume", "last", "-s", spec, "--auto-approve")
    assert resumed.exit_code == 0, resumed.output
    listed = json.loads(fabric_cli("runs", "list", "-s", spec, "--json").stdout)["runs"]
    assert [(run["verb"], run["status"], run["counts"]) for run in listed] == [("resume", "complete", {"done": 10})]
    back = fabric_cli("runs", "rollback", "last", "-s", spec, "--auto-approve")
    assert back.exit_code == 0, back.output
    assert {name: fleet.running(name) for name in old} == old
    assert json.loads(fabric_cli("runs", "show", "last", "-s", spec, "--json").stdout)["status"] == "rolled back"


ANSWERS = [
    (b"yes\n", 0, True), (b"y\n", 1, False), (b"YES\n", 1, False), (b"yes please\n", 1, False), (b" yes\n", 1, False),
    (b"\n", 1, False), (b"\x04", 1, False), (b"yes\x04\x04", 1, False), (b"\x03", 1, False), (b"no\nyes\n", 1, False),
]  # fmt: skip


def no_space(_journal: Journal, _event: Event) -> None:
    raise FabricError("cannot write the journal: no space left on the device")


def test_a_run_that_never_began_is_not_to_be_resumed(
    fabric_cli: Cli, spec: Path, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Journal, "append", no_space)
    done = fabric_cli("apply", spec, "--auto-approve")
    assert (done.exit_code, "no space left" in done.stdout, "fabric runs" in done.stderr) == (1, True, False)


@pytest.mark.parametrize(("typed", "code", "changed"), ANSWERS)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_only_a_typed_yes_changes_anything(
    spec: Path, fleet: Fleet, tmp_path: Path, typed: bytes, code: int, changed: bool, options: list[str]
) -> None:
    before = fleet.running("z01-rtsw001")
    process, terminal = at_terminal(lambda: run(cli, ["apply", str(spec), "--device", "z01-rtsw001", *options]))
    said = read_until(terminal, b"accepted: ")
    os.write(terminal, typed)
    said += read_until(terminal, None)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == code, said.decode()
    assert (fleet.running("z01-rtsw001") != before) is changed
    assert (b"nothing was sent" in said) is not changed


def read_until(terminal: int, words: bytes | None) -> bytes:
    """What the terminal shows up to these words, or to its end."""
    said = b""
    while words is None or words not in said:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # Linux says EIO when the last writer is gone
            piece = b""
        if not piece:
            assert words is None, said.decode()
            break
        said += piece
    return said


def test_drain_waits_for_the_neighbours(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    fabric_cli("apply", spec, "--auto-approve")
    before = spec.read_text()
    done = fabric_cli("drain", "z01-ctsw01", spec, "--auto-approve", "--wait", 0)
    assert done.exit_code == 0, done.output
    assert "is not changed: the next apply of it undoes this" in done.stdout
    assert "safe: none of its 4 neighbours has a route over z01-ctsw01" in done.stdout
    assert spec.read_text() == before
    assert "RM-DRAIN-OUT" in str(fleet.running("z01-ctsw01"))
    back = fabric_cli("undrain", "z01-ctsw01", spec, "--auto-approve")
    assert back.exit_code == 0


@pytest.mark.parametrize(
    ("hops", "code", "words"),
    [
        (
            {"10.9.0.0/24": ["HERE", "10.64.0.99"]},
            1,
            "not safe yet: 1 of 4 neighbours still shares 1 route over z01-ctsw01",
        ),
        ({"10.9.0.0/24": ["HERE"]}, 2, "knows no other way"),
        ({"10.9.0.0/24": ["10.64.0.99"]}, 0, "safe: none of its 4 neighbours"),
    ],
)
def test_drain_says_what_the_neighbours_do(
    fabric_cli: Cli, spec: Path, fleet: Fleet, hops: dict[str, list[str]], code: int, words: str
) -> None:
    from fabric.change.drain import neighbours
    from fabric.design.load import load_cluster

    fabric_cli("apply", spec, "--auto-approve")
    here = sorted(neighbours(load_cluster(spec).fabric, "z01-ctsw01")["z01-rtsw001"])[0]
    state = fleet.load("z01-rtsw001")
    state["routes"] = [[prefix, [here if hop == "HERE" else hop for hop in found]] for prefix, found in hops.items()]
    fleet.save("z01-rtsw001", state)
    done = fabric_cli("drain", "z01-ctsw01", spec, "--auto-approve", "--wait", 0)
    assert (done.exit_code, words in done.stdout) == (code, True), done.output


def test_drain_write_keeps_comments_and_undrain_takes_it_back(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    fabric_cli("apply", spec, "--auto-approve")
    spec.write_text("# mine\n" + spec.read_text())
    before = spec.read_text()
    assert fabric_cli("drain", "z01-ctsw01", spec, "--auto-approve", "--wait", 0, "--write").exit_code == 0
    assert spec.read_text() == before + "state:\n  - {match: {name: z01-ctsw01}, state: drained}\n"
    assert fabric_cli("drift", spec).exit_code == 0
    assert fabric_cli("undrain", "z01-ctsw01", spec, "--auto-approve", "--write").exit_code == 0
    assert spec.read_text() == before
    assert fabric_cli("drift", spec).exit_code == 0


def test_drain_write_through_a_link(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    link = spec.with_name("link.yaml")
    link.symlink_to(spec.name)
    fabric_cli("drain", "z01-ctsw01", link, "--auto-approve", "--wait", 0, "--write")
    assert (link.is_symlink(), "state: drained" in spec.read_text()) == (True, True)


def test_a_drained_run_is_resumed_by_its_own_spec(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    fabric_cli("apply", spec, "--auto-approve")
    fleet.hook = fails("z01-ctsw01", "stage", lost("z01-ctsw01"))
    assert fabric_cli("drain", "z01-ctsw01", spec, "--auto-approve", "--wait", 0).exit_code == 1
    fleet.hook = lambda _name, _point: None
    before = spec.read_text()
    done = fabric_cli("runs", "resume", "last", "-s", spec, "--auto-approve")
    assert (done.exit_code, spec.read_text()) == (0, before), done.output
    assert "finished by the spec that it was made of" in done.stderr
    assert "RM-DRAIN-OUT" in str(fleet.running("z01-ctsw01"))
    kept = sorted((spec.parent / ".fabric" / "runs").glob("*/spec.yaml"))
    assert [file.read_text().startswith(before) for file in kept] == [True, True]
    assert {file.stat().st_mode & 0o777 for file in kept} == {0o600}


@pytest.mark.parametrize("harm", ["none", "removed", "edited"])
def test_resume_when_the_spec_was_edited_since(fabric_cli: Cli, spec: Path, fleet: Fleet, harm: str) -> None:
    fleet.hook = fails("z01-ctsw01", "stage", refused())
    fabric_cli("apply", spec, "--auto-approve", "--role", "ctsw")
    fleet.hook = lambda _name, _point: None
    spec.write_text(spec.read_text().replace("10.0.0.20", "10.0.0.21"))
    kept = next((spec.parent / ".fabric" / "runs").glob("*/spec.yaml"))
    if harm == "removed":
        kept.unlink()
    elif harm == "edited":
        kept.write_text(kept.read_text() + "# by hand\n")
    done = fabric_cli("runs", "resume", "last", "-s", spec, "--auto-approve")
    assert done.exit_code == (0 if harm == "none" else 1), done.output
    assert ("the spec has changed since the plan was made" in done.stderr) is (harm != "none")
    assert ("10.0.0.20" in str(fleet.running("z01-ctsw01"))) is True


def test_a_spec_with_something_like_a_secret_is_not_kept(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    spec.write_text(spec.read_text() + "# the old password: hunter2\n")
    assert fabric_cli("apply", spec, "--auto-approve", "--role", "atsw").exit_code == 0
    state = spec.parent / ".fabric"
    assert not [file for file in state.rglob("*") if file.is_file() and "hunter2" in file.read_text()]


def test_drain_of_no_device(fabric_cli: Cli, spec: Path, fleet: Fleet) -> None:
    done = fabric_cli("drain", "z01-ctsw09", spec, "--auto-approve")
    assert done.exit_code == 1
    assert "there is no switch 'z01-ctsw09'" in done.stderr


def test_canary_that_breaks_bgp(fabric_cli: Cli, spec: Path, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fleet.running("z01-rtsw001")
    fleet.faults = {"z01-rtsw001": {"breaks-bgp"}}
    done = fabric_cli("apply", spec, "--auto-approve", "--gate-timeout", 1)
    assert done.exit_code == 1
    assert "z01-rtsw001 rolled-back: health gate: BGP session to 10.0.0.1 was established and is idle" in done.stdout
    assert "stopped: canary z01-rtsw001: rolled-back" in done.stdout
    assert fleet.running("z01-rtsw001") == before


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Host keys that devices show, by address; "AAAA" where none is set."""
    keys: dict[str, str] = {}
    monkeypatch.setattr(
        "fabric.cli.trust.fetch", lambda host: ("ssh-ed25519", keys.get(host, "AAAA"), "SHA256:" + host)
    )
    return keys


def test_trust(fabric_cli: Cli, spec: Path, fleet: Fleet, shown: dict[str, str]) -> None:
    assert fabric_cli("trust", spec).exit_code == 1  # nobody to ask
    known = spec.parent / ".fabric" / "known_hosts"
    assert not known.exists()
    done = fabric_cli("trust", spec, "--auto-approve")
    assert done.exit_code == 0, done.output
    assert len(known.read_text().splitlines()) == 10
    assert known.stat().st_mode & 0o777 == 0o600
    assert fabric_cli("trust", spec).exit_code == 0
    host = known.read_text().split()[0]
    shown[host] = "BBBB"
    changed = fabric_cli("trust", spec, "--auto-approve")
    assert changed.exit_code == 1
    assert "has CHANGED" in changed.stderr
    assert "BBBB" not in known.read_text()
    assert fabric_cli("trust", spec, "--auto-approve", "--replace").exit_code == 0
    assert f"{host} ssh-ed25519 BBBB" in known.read_text().splitlines()
    assert len(known.read_text().splitlines()) == 10
