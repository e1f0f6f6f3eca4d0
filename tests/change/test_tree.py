"""The tree on disk: what is written, kept, removed, refused; kills, full disks, links."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.change import files, tree_work
from fabric.change.pool import usable_cpus
from fabric.change.tree import TreeReport, write_tree
from fabric.errors import FabricError
from fabric.targets.base import Artifact
from tests.change.fake_job import FakeJob, many

AGENT = "/etc/coop/agent.conf"
BGP = "/etc/coop/bgpcpp.conf"


def listing(top: Path) -> dict[str, str]:
    """Every file below `top` but the manifest, with its text."""
    return {
        str(path.relative_to(top)): path.read_text()
        for path in sorted(top.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


def counts(report: TreeReport) -> tuple[int, int, int]:
    return report.written, report.unchanged, report.removed


def manifest(top: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads((top / "manifest.json").read_text())["files"]
    return found


def test_writes_once_then_only_what_changed(tmp_path: Path) -> None:
    job = FakeJob({"rtsw1": {AGENT: "{}", BGP: "{}"}, "ctsw1": {"/mnt/flash/startup-config": "hostname ctsw1\n"}})
    assert counts(write_tree(job, tmp_path)) == (3, 0, 0)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert counts(write_tree(job, tmp_path)) == (0, 3, 0)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == {
        path: stamp for path, stamp in before.items() if path.is_file()
    }
    changed = FakeJob({"rtsw1": {AGENT: '{"a": 1}'}, "ctsw1": job.files["ctsw1"]})
    assert counts(write_tree(changed, tmp_path)) == (1, 1, 1)
    assert listing(tmp_path) == {
        "rtsw1/etc/coop/agent.conf": '{"a": 1}', "ctsw1/mnt/flash/startup-config": "hostname ctsw1\n",
    }  # fmt: skip


def test_manifest_tells_hash_size_role_and_mode(tmp_path: Path) -> None:
    write_tree(FakeJob({"rtsw1": {AGENT: "{}"}}, mode=0o600), tmp_path)
    document = json.loads((tmp_path / "manifest.json").read_text())
    assert document["schema"] == "fabric.tree/1"
    assert document["spec_sha256"] == "a" * 64
    assert document["files"] == {
        "rtsw1/etc/coop/agent.conf": {
            "sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
            "size": 2, "device": "rtsw1", "role": "rtsw", "target": "fboss", "mode": "0600",
        }
    }  # fmt: skip
    assert (tmp_path / "rtsw1/etc/coop/agent.conf").stat().st_mode & 0o777 == 0o600


def test_a_changed_mode_is_put_right(tmp_path: Path) -> None:
    job = FakeJob({"rtsw1": {AGENT: "{}"}})
    write_tree(job, tmp_path)
    (tmp_path / "rtsw1/etc/coop/agent.conf").chmod(0o666)
    assert write_tree(job, tmp_path).written == 1
    assert (tmp_path / "rtsw1/etc/coop/agent.conf").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_write_the_same_tree(tmp_path: Path, workers: int) -> None:
    job = many(100)
    seen: list[tuple[int, int]] = []
    report = write_tree(job, tmp_path, workers=workers, progress=lambda done, total: seen.append((done, total)))
    assert counts(report) == (100, 0, 0)
    assert seen[-1] == (100, 100)
    assert listing(tmp_path) == {f"{n}{AGENT}": job.files[n][AGENT] for n in job.files}
    assert not list(tmp_path.rglob(".fabric-tmp-*"))


def test_undeclared_devices_go_with_their_folders_and_foreign_files_stay(tmp_path: Path) -> None:
    write_tree(FakeJob({"rtsw1": {AGENT: "{}"}, "rtsw2": {AGENT: "{}"}}), tmp_path)
    (tmp_path / "rtsw1/etc/notes.txt").write_text("mine")
    (tmp_path / "README").write_text("mine")
    report = write_tree(FakeJob({"rtsw1": {BGP: "{}"}}), tmp_path)
    assert counts(report) == (1, 0, 2)
    assert report.unmanaged == ("rtsw1/etc/notes.txt", "README")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README", "manifest.json", "rtsw1"]


def test_filters_leave_everything_else(tmp_path: Path) -> None:
    job = FakeJob({"rtsw1": {AGENT: "{}"}, "rtsw2": {AGENT: "{}"}, "ctsw1": {"/mnt/flash/startup-config": "x\n"}})
    write_tree(job, tmp_path)
    less = FakeJob({"rtsw1": {BGP: "{}"}}, spec_sha256="b" * 64)
    assert counts(write_tree(less, tmp_path, only=less.devices)) == (1, 0, 1)
    assert sorted(manifest(tmp_path)) == [
        "ctsw1/mnt/flash/startup-config", "rtsw1/etc/coop/bgpcpp.conf", "rtsw2/etc/coop/agent.conf",
    ]  # fmt: skip
    assert json.loads((tmp_path / "manifest.json").read_text())["spec_sha256"] == "a" * 64
    eos = FakeJob({"ctsw1": {"/mnt/flash/boot-config": "y\n"}})
    assert counts(write_tree(eos, tmp_path, targets=frozenset({"eos"}))) == (1, 0, 1)
    assert "rtsw2/etc/coop/agent.conf" in manifest(tmp_path)
    assert counts(write_tree(job, tmp_path)) == (2, 1, 2)
    assert len(manifest(tmp_path)) == 3


def as_file(top: Path) -> Path:
    (top / "out").write_text("I am a file")
    return top / "out"


def below_file(top: Path) -> Path:
    return as_file(top) / "below"


def foreign(top: Path) -> Path:
    (top / "out").mkdir()
    (top / "out/thesis.txt").write_text("mine")
    return top / "out"


def damaged(top: Path) -> Path:
    (top / "out").mkdir()
    (top / "out/manifest.json").write_text('{"schema": ')
    return top / "out"


def escaping_manifest(top: Path) -> Path:
    (top / "out").mkdir()
    (top / "victim").write_text("mine")
    row = {"sha256": "", "size": 1, "device": "..", "role": "", "target": "", "mode": "0644"}
    document = {"schema": "fabric.tree/1", "tool_version": "", "spec_sha256": "", "files": {"../victim": row}}
    (top / "out/manifest.json").write_text(json.dumps(document))
    return top / "out"


def linked_device(top: Path) -> Path:
    write_tree(FakeJob({"rtsw2": {AGENT: "{}"}}), top / "out")
    (top / "elsewhere").mkdir()
    (top / "out/rtsw1").symlink_to(top / "elsewhere")
    return top / "out"


def linked_below(top: Path) -> Path:
    write_tree(FakeJob({"rtsw1": {"/x": "{}"}}), top / "out")
    (top / "elsewhere").mkdir()
    (top / "out/rtsw1/etc").symlink_to(top / "elsewhere")
    return top / "out"


def device_is_file(top: Path) -> Path:
    write_tree(FakeJob({"rtsw2": {AGENT: "{}"}}), top / "out")
    (top / "out/rtsw1").write_text("")
    return top / "out"


REFUSED = [
    (as_file, "cannot render into {out}: it is a file, or below one (hint: choose an empty folder)"),
    (below_file, "cannot render into {out}: it is a file, or below one (hint: choose an empty folder)"),
    (lambda _: Path("/"), "cannot render into /: it is the root of the file system (hint: choose an empty folder)"),
    (
        foreign,
        "cannot render into {out}: it is not empty and has no manifest.json of ours ('thesis.txt' is there)"
        " (hint: choose another or an empty folder)",
    ),
    (
        damaged,
        "{out}/manifest.json is damaged: Expecting value: line 1 column 12 (char 11)"
        " (hint: it is not a manifest that fabric wrote; choose another folder)",
    ),
    (
        escaping_manifest,
        "{out}/manifest.json is damaged: '../victim' is not a path of this tree"
        " (hint: it is not a manifest that fabric wrote; choose another folder)",
    ),
    (
        linked_device,
        "{out}/rtsw1 is a symbolic link; fabric does not write through links (hint: remove the link)",
    ),
    (
        linked_below,
        "{out}/rtsw1/etc is a symbolic link; fabric does not write through links (hint: remove the link)",
    ),
    (device_is_file, "{out}/rtsw1 is a file, where the folder of a device belongs (hint: remove the file)"),
]


@pytest.mark.parametrize(("prepare", "message"), REFUSED)
def test_refuses_with_one_line_and_writes_nothing(tmp_path: Path, prepare: object, message: str) -> None:
    out = prepare(tmp_path)  # type: ignore[operator]
    before = {str(p): p.stat().st_mtime_ns for p in sorted(tmp_path.rglob("*"))}
    with pytest.raises(FabricError) as refused:
        write_tree(FakeJob({"rtsw1": {AGENT: "{}"}}), out)
    assert str(refused.value) == message.format(out=out)
    assert {str(p): p.stat().st_mtime_ns for p in sorted(tmp_path.rglob("*"))} == before


@pytest.mark.parametrize(
    ("device", "path"),
    [
        ("../x", AGENT), ("a/b", AGENT), ("", AGENT), (".", AGENT), ("a..b", AGENT), ("a\nb", AGENT), ("rtsw\uff11", AGENT),
        ("manifest.json", AGENT), ("rtsw1", "etc/x"), ("rtsw1", "/etc/../../x"), ("rtsw1", "//x"), ("rtsw1", "/"),
        ("rtsw1", "/etc/x\n"), ("rtsw1", "/.fabric-tmp-1"), ("rtsw1", "/etc/./x"), ("rtsw1", "/x\0y"),
    ],
)  # fmt: skip
def test_names_that_escape_are_refused(tmp_path: Path, device: str, path: str) -> None:
    with pytest.raises(FabricError):
        write_tree(FakeJob({device: {path: "{}"}}), tmp_path / "out")
    assert not list(tmp_path.rglob("*"))


def test_a_linked_file_is_replaced_not_followed(tmp_path: Path) -> None:
    job = FakeJob({"rtsw1": {AGENT: "{}"}})
    write_tree(job, tmp_path / "out")
    victim = tmp_path / "victim"
    victim.write_text("{}")
    place = tmp_path / "out/rtsw1/etc/coop/agent.conf"
    place.unlink()
    place.symlink_to(victim)
    write_tree(FakeJob({"rtsw1": {AGENT: '{"new": 1}'}}), tmp_path / "out")
    assert victim.read_text() == "{}"
    assert not place.is_symlink()
    assert place.read_text() == '{"new": 1}'


def test_a_render_error_leaves_no_trace_in_a_new_folder(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="rtsw2 cannot be rendered"):
        write_tree(FakeJob({"rtsw1": {AGENT: "{}"}, "rtsw2": {AGENT: "{}"}}, fail_on="rtsw2"), tmp_path / "out")
    assert not list(tmp_path.rglob("*"))


def test_an_error_in_a_worker_keeps_its_hint(tmp_path: Path) -> None:
    job = many(60)
    job.fail_on = "rtsw0059"
    with pytest.raises(FabricError) as failed:
        write_tree(job, tmp_path / "out", workers=2)
    assert str(failed.value) == "rtsw0059 cannot be rendered (hint: because the test says so)"


@pytest.mark.skipif(usable_cpus() < 2, reason="one core: there are no workers to kill")
def test_a_killed_worker_is_one_line(tmp_path: Path) -> None:
    here = os.getpid()

    class Dying(FakeJob):
        def render(self, name: str) -> list[Artifact]:
            if name == "rtsw0030" and os.getpid() != here:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().render(name)

    with pytest.raises(FabricError) as failed:
        write_tree(Dying(many(60).files), tmp_path, workers=2)
    assert str(failed.value) == "a worker process was killed (hint: most likely out of memory; try --workers 1)"
    assert counts(write_tree(many(60), tmp_path))[2] == 0
    assert len(listing(tmp_path)) == 60


def test_full_disk_keeps_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(many(4), tmp_path)
    before = listing(tmp_path)
    real = files.write_temporary
    calls = iter(range(100))

    def full(*arguments: object) -> str:
        if next(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(tree_work, "write_temporary", full)
    with pytest.raises(FabricError) as failed:
        write_tree(many(4, size=200), tmp_path)
    assert str(failed.value) == f"cannot write {tmp_path}/rtsw0002{AGENT}: no space left on the device"
    assert {k: v for k, v in listing(tmp_path).items() if "fabric-tmp" not in k} == before


def test_a_new_device_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = files.write_new
    calls = iter(range(100))

    def full(*arguments: object) -> None:
        assert not (tmp_path / "rtsw2").exists()
        if next(calls) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(*arguments)  # type: ignore[arg-type]

    write_tree(FakeJob({"rtsw1": {AGENT: "{}"}}), tmp_path)
    before = listing(tmp_path)
    monkeypatch.setattr(tree_work, "write_new", full)
    both = FakeJob({"rtsw1": {AGENT: "{}"}, "rtsw2": {AGENT: "{}", BGP: "{}"}})
    with pytest.raises(FabricError) as failed:
        write_tree(both, tmp_path)
    assert str(failed.value) == f"cannot write {tmp_path}/rtsw2{BGP}: no space left on the device"
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", "rtsw1", ".fabric-tmp-journal"}
    assert counts(write_tree(both, tmp_path)) == (2, 1, 0)
    assert listing(tmp_path) == before | {f"rtsw2{AGENT}": "{}", f"rtsw2{BGP}": "{}"}


def test_folders_of_a_killed_run_go_and_links_are_not_followed(tmp_path: Path) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine"
    job = FakeJob({"rtsw1": {AGENT: "{}"}})
    write_tree(job, out)
    half = out / ".fabric-tmp-1-0/etc"
    half.mkdir(parents=True)
    (half / "half").write_text("{")
    mine.mkdir()
    (mine / "notes").write_text("mine")
    (half / "link").symlink_to(mine)
    (out / ".fabric-tmp-1-1").symlink_to(mine)
    assert counts(write_tree(job, out)) == (0, 1, 0)
    assert {path.name for path in out.iterdir()} == {"manifest.json", "rtsw1"}
    assert (mine / "notes").read_text() == "mine"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB of its own; skips where we may not mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=False, capture_output=True
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("may not mount a tmpfs here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_really_full_disk(small_disk: Path) -> None:
    write_tree(many(10), small_disk / "out")
    with pytest.raises(FabricError, match="no space left on the device"):
        write_tree(many(10, size=200_000), small_disk / "out", workers=1)
    assert not [path for path in small_disk.rglob(".fabric-tmp-*") if "journal" not in path.name]
    for path in small_disk.rglob("agent.conf"):
        json.loads(path.read_text())
    assert counts(write_tree(many(10), small_disk / "out")) == (0, 10, 0)


def test_a_read_only_disk(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(FabricError) as failed:
        write_tree(many(2), small_disk / "out")
    assert str(failed.value) == f"cannot open the folder {small_disk}/out: the file system is read-only"
    with pytest.raises(FabricError) as failed:
        write_tree(many(2), small_disk)
    assert str(failed.value) == f"cannot write to the folder {small_disk}: the file system is read-only"


SLOW = textwrap.dedent(
    """
    import sys, time
    sys.path.insert(0, {tests!r})
    from pathlib import Path
    from tests.change.fake_job import many
    from fabric.change.tree import write_tree
    job = many(400, size=20_000)
    render = job.render
    # slow enough to be met at work, and never done, however late the kill comes
    job.render = lambda name: (time.sleep(0.006 if name < "rtsw0300" else 600), render(name))[1]
    write_tree(job, Path(sys.argv[1]), workers=2)
    """
)


def kill_in_the_middle(out: Path) -> None:
    """Renders 400 devices in another process, kills it with SIGKILL when some are there, and waits until its workers are gone as well."""
    script = SLOW.format(tests=str(Path(__file__).resolve().parents[2]))
    run = subprocess.Popen([sys.executable, "-c", script, str(out)])
    deadline = time.monotonic() + 120
    try:
        while len(list(out.glob("rtsw*"))) < 50:
            assert run.poll() is None and time.monotonic() < deadline, run.returncode
            time.sleep(0.005)
    finally:
        run.kill()
        run.wait()
    handle = os.open(out, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)  # comes when the last process that had it is gone
    os.close(handle)


def test_kill_9_leaves_whole_files_and_the_next_run_owns_them(tmp_path: Path) -> None:
    out = tmp_path / "out"
    kill_in_the_middle(out)
    assert not (out / "manifest.json").exists()
    in_place = sorted(out.glob("rtsw*/**/agent.conf"))  # not those in folders of devices that are still built aside
    assert [str(path.relative_to(out)) for path in in_place] == [
        f"{path.name}{AGENT}" for path in sorted(out.glob("rtsw*"))
    ]
    assert 50 <= len(in_place) <= 300
    for path in in_place:
        assert len(json.loads(path.read_text())["pad"]) == 20_000
    in_place[0].with_name(".fabric-tmp-1-agent.conf").write_text("half")
    stale = [path for path in in_place if path.relative_to(out).parts[0] > "rtsw0004"]
    report = write_tree(many(5, size=20_000), out)
    assert counts(report) == (5 - (len(in_place) - len(stale)), len(in_place) - len(stale), len(stale))
    assert not report.unmanaged
    assert sorted(listing(out)) == [f"rtsw{i:04}{AGENT}" for i in range(5)]


def test_two_renders_at_once(tmp_path: Path) -> None:
    from fabric.change.tree_scan import locked

    write_tree(many(2), tmp_path)
    with locked(tmp_path), pytest.raises(FabricError, match="another render is writing to"):
        write_tree(many(2), tmp_path)
