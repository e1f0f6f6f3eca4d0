"""The offline plan: kinds, groups, fingerprints, hostile files, the plan file, what is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.change.plan import Plan, make_plan
from fabric.change.planfile import load_plan, plan_document, save_plan
from fabric.change.show import Detail, show_plan
from fabric.change.source import TreeSource
from fabric.change.tree import write_tree
from fabric.errors import FabricError
from tests.change.fake_job import FakeJob

AGENT = "/etc/coop/agent.conf"
STARTUP = "/mnt/flash/startup-config"


def agent(name: str, mtu: int, ports: int = 3) -> str:
    rows = [
        {"logicalID": i, "name": f"eth2/{i}/1", "maxFrameSize": mtu, "description": f"{name}:eth2/{i}/1"}
        for i in range(1, ports + 1)
    ]
    return json.dumps({"sw": {"ports": rows}}, indent=1)


def eos(name: str, mtu: int, octet: int) -> str:
    ports = "".join(
        f"interface Ethernet3/{i}/1\n   description rtsw{i:03}:eth1\n   mtu {mtu}\n   ip address 10.{octet}.{i}.0/31\n!\n"
        for i in range(1, 5)
    )
    return f"! device: {name}\nhostname {name}\n!\n{ports}end\n"


def cluster(mtu: int = 9000, racks: int = 12) -> FakeJob:
    files = {f"rtsw{i:03}": {AGENT: agent(f"rtsw{i:03}", mtu)} for i in range(1, racks + 1)}
    files |= {f"ctsw{i}": {STARTUP: eos(f"ctsw{i}", mtu, i)} for i in (1, 2)}
    return FakeJob(files)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write_tree(cluster(), tmp_path / "tree")
    return tmp_path / "tree"


def kinds(plan: Plan) -> dict[str, str]:
    return {device.name: device.kind for device in plan.devices}


def test_nothing_to_do(tree: Path) -> None:
    plan = make_plan(cluster(), TreeSource(tree))
    assert set(kinds(plan).values()) == {"same"}
    assert (plan.exit_code, plan.groups) == (0, ())
    assert list(show_plan(plan)) == [f"nothing to do: 14 devices as declared (against {tree})"]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("detail", ["groups", "summary", "full"])
def test_one_change_everywhere_is_shown_once(
    tree: Path, workers: int, detail: Detail, golden: Callable[[str, str], None]
) -> None:
    plan = make_plan(cluster(mtu=9214, racks=11), TreeSource(tree), workers=workers, full=detail == "full")
    assert plan.exit_code == 2
    assert [(g.role, len(g.devices)) for g in plan.groups] == [("rtsw", 11), ("ctsw", 2), ("", 1)]
    golden(f"change/plan-{detail}.txt", "\n".join(show_plan(plan, detail)).replace(str(tree), "TREE") + "\n")


@pytest.mark.parametrize(
    ("limit", "last"),
    [(None, "+ line 69"), (71, "+ line 69"), (70, "... 1 more line (--full)"), (60, "... 11 more lines (--full)")],
)
def test_a_long_change_is_cut_on_demand(tmp_path: Path, limit: int | None, last: str) -> None:
    """The line that names the file counts as one."""
    (tmp_path / "ctsw1.cfg").write_text("hostname a\n")
    new = "hostname a\n" + "".join(f"line {number}\n" for number in range(70))
    plan = make_plan(FakeJob({"ctsw1": {"/mnt/flash/startup-config": new}}), TreeSource(tmp_path))
    assert list(show_plan(plan, "groups", limit))[-1].strip() == last
    assert len(list(show_plan(plan, "full"))) == len(list(show_plan(plan)))


def test_new_extra_removed_and_filters(tree: Path) -> None:
    job = cluster(racks=11)
    files = {**job.files, "rtsw099": {AGENT: "{}"}, "rtsw001": {"/etc/coop/bgpcpp.conf": "{}"}}
    plan = make_plan(FakeJob(files), TreeSource(tree))
    assert {k: v for k, v in kinds(plan).items() if v != "same"} == {
        "rtsw001": "changed", "rtsw012": "extra", "rtsw099": "new",
    }  # fmt: skip
    changed = next(group for group in plan.groups if group.kind == "changed")
    assert [(file.path, file.kind) for file in changed.files] == [("/etc/coop/bgpcpp.conf", "new"), (AGENT, "removed")]
    one = make_plan(FakeJob(files), TreeSource(tree), only=[d for d in job.devices if d.name == "rtsw002"])
    assert kinds(one) == {"rtsw002": "same"}


def test_pulled_configurations(tmp_path: Path) -> None:
    job = cluster(racks=1)
    (tmp_path / "rtsw001/etc/coop").mkdir(parents=True)
    (tmp_path / "rtsw001/etc/coop/agent.conf").write_text(json.dumps(json.loads(job.files["rtsw001"][AGENT])))
    (tmp_path / "ctsw1.cfg").write_text("! Command: show running-config\n" + job.files["ctsw1"][STARTUP])
    (tmp_path / "old9.cfg").write_text("hostname old9\n")
    plan = make_plan(job, TreeSource(tmp_path))
    assert kinds(plan) == {"rtsw001": "same", "ctsw1": "same", "ctsw2": "new", "old9": "extra"}


def test_what_a_device_hides_is_no_change(tmp_path: Path) -> None:
    declared = {"ctsw1": {STARTUP: "interface Ethernet1\n   no shutdown\n   mtu 9214\n"}}
    (tmp_path / "ctsw1.cfg").write_text("interface Ethernet1\n   mtu 9214\n")
    assert kinds(make_plan(FakeJob(declared), TreeSource(tmp_path))) == {"ctsw1": "changed"}
    assert kinds(make_plan(FakeJob(declared, hidden=frozenset({"no shutdown"})), TreeSource(tmp_path))) == {
        "ctsw1": "same"
    }


def test_fingerprint_follows_what_counts(tree: Path) -> None:
    def prints() -> dict[str, str]:
        return {device.name: device.fingerprint for device in make_plan(cluster(mtu=1), TreeSource(tree)).devices}

    before = prints()
    (tree / f"ctsw1{STARTUP}").write_text("! Time: now\n" + cluster().files["ctsw1"][STARTUP])
    assert prints() == before
    (tree / f"ctsw1{STARTUP}").write_text(cluster().files["ctsw1"][STARTUP] + "ip routing\n")
    (tree / f"rtsw002{AGENT}").unlink()
    after = prints()
    assert {name for name in before if before[name] != after[name]} == {"ctsw1", "rtsw002"}


@pytest.mark.parametrize(
    ("device", "content", "note"),
    [
        ("rtsw001", b"\x00\xff\xfe binary", "the running file is not JSON: byte 1 is not UTF-8"),
        (
            "rtsw001",
            b"{",
            "the running file is not JSON: line 1, column 2: Expecting property name enclosed in double quotes",
        ),
        ("rtsw001", b"[" * 200_000, "the running file is not JSON: maximum recursion depth exceeded"),
        ("rtsw001", b'{"a":' * 500 + b"1" + b"}" * 500, "the running file is nested too deeply to be a configuration"),
        ("ctsw1", b"\xff", "the running file is not text: byte 0 is not UTF-8"),
        ("ctsw1", b"a\x00b", "the running file is not text: byte 1 is NUL"),
        ("ctsw1", b"x" * (33 << 20), "the running file is larger than 32 MiB"),
        ("ctsw1", b"".join(b"line %d\n" % i for i in range(30_000)), "more than 20,000 lines differ"),
    ],
)
def test_hostile_files(tree: Path, device: str, content: bytes, note: str) -> None:
    path = AGENT if device == "rtsw001" else STARTUP
    (tree / (device + path)).write_bytes(content)
    plan = make_plan(cluster(), TreeSource(tree))
    (group,) = plan.groups
    assert group.devices == (device,)
    assert group.files[0].kind == "replaced"
    assert group.files[0].note.startswith(note)


def test_a_device_that_cannot_be_read_is_unknown(tree: Path) -> None:
    (tree / "elsewhere").mkdir()
    (tree / f"rtsw001{AGENT}").unlink()
    (tree / f"rtsw001{AGENT}").symlink_to("/etc/passwd")
    plan = make_plan(cluster(), TreeSource(tree))
    assert (kinds(plan)["rtsw001"], plan.exit_code) == ("unknown", 1)
    assert (
        f"could not read rtsw001: cannot read {tree}/rtsw001{AGENT}: a part of the path is a symbolic link"
        in show_plan(plan)
    )


def test_secrets_are_nowhere(tree: Path, tmp_path: Path) -> None:
    for name, old in (("ctsw1", "hunter2"), ("ctsw2", "hunter3")):
        text = cluster().files[name][STARTUP].replace("end\n", f"tacacs-server key 7 {old}\nenable secret {old}\n")
        (tree / f"{name}{STARTUP}").write_text(text)
    plan = make_plan(cluster(), TreeSource(tree), full=True)
    save_plan(plan, tmp_path / "p")
    for text in ("\n".join(show_plan(plan, "full")), "\n".join(show_plan(plan)), (tmp_path / "p").read_text()):
        assert "hunter" not in text
        assert "enable secret <secret>" in text


@pytest.mark.parametrize("full", [False, True])
def test_plan_file_round_trip(tree: Path, tmp_path: Path, full: bool) -> None:
    plan = make_plan(cluster(mtu=9214, racks=13), TreeSource(tree), full=full)
    path = tmp_path / "plan.json"
    save_plan(plan, path)
    assert path.stat().st_mode & 0o777 == 0o600
    back = load_plan(path)
    assert back.devices == plan.devices
    assert plan_document(back) == plan_document(plan) == json.loads(path.read_text())
    assert list(show_plan(back)) == list(show_plan(plan))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no plan file {path} (hint: make one with fabric plan -o)"),
        ("{", "it is no JSON, or was cut off: line 1, column 2"),
        ("[]", "something in it is of another kind than it should be"),
        ('{"schema": "fabric.plan/9"}', "schema 'fabric.plan/9', this fabric reads 'fabric.plan/1'"),
        ('{"schema": "fabric.plan/1", "devices": {"a": {}}}', "the key 'role' is missing"),
        ("[" * 100_000, "it is nested too deep"),
    ],
)
def test_bad_plan_files(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "p"
    if content is not None:
        path.write_text(content)
    with pytest.raises(FabricError) as refused:
        load_plan(path)
    assert message.format(path=path) in str(refused.value)
    assert "\n" not in str(refused.value)


def _touched(path: Path) -> Path:
    path.touch()
    return path


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda top: top / "none", "there is no folder {path} (hint: render a tree there, or pull configurations into it)"),
        (lambda top: _touched(top / "f"), "cannot read the folder {path}: a part of the path is not a folder"),
    ],
)  # fmt: skip
def test_bad_sources(tmp_path: Path, prepare: Callable[[Path], Path], message: str) -> None:
    path = prepare(tmp_path)
    with pytest.raises(FabricError) as refused:
        TreeSource(path)
    assert str(refused.value) == message.format(path=path)
