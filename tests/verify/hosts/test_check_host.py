"""check-host as a program: children that hang, its file, its exit codes, its words."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.design.hosts import expect
from fabric.design.hosts.expect import Expectation, ExpectedMount, ExpectedPlatform
from fabric.targets.host import render
from fabric.targets.host.check_host import check_host
from fabric.targets.host.nccl import TOPOLOGY
from fabric.verify.hosts.node import main as program
from fabric.verify.hosts.node.gather import gather
from fabric.verify.hosts.node.probe import probe
from fabric.verify.hosts.node.result import CRITICAL, FAIL, PASS, UNKNOWN, WARNING, Result
from fabric.verify.hosts.node.sources import Command, Digest, Files, Probe, Unseen
from tests.targets.host.host_fleets import fleet
from tests.verify.hosts.healthy_host import WANT

TOP = Path(program.__file__).resolve().parents[3]
SHIPPED = [TOP / "design/hosts/expect.py", *sorted((TOP / "verify/hosts/node").glob("*.py"))]


def said(source: Command, deadline_s: float = 60.0) -> str:
    try:
        return gather([source], deadline_s).text(source)
    except Unseen as why:
        return f"unseen: {why}"


def sh(script: str, **values: bool) -> Command:
    return Command(("sh", "-c", script), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (sh("echo one; echo two >&2"), "one\n"),
        (sh("echo one; echo two >&2", errors=True), "one\ntwo\n"),
        (sh("echo no device >&2; exit 9"), "unseen: sh ended with 9: no device"),
        (sh("echo a; echo mismatch; echo version; exit 18"), "unseen: sh ended with 18: mismatch; version"),
        (sh("kill -9 $$"), "unseen: sh ended with -9"),
        (Command(("no-such-tool",)), "unseen: no-such-tool: it is not installed"),
        (sh("printf 12"), "unseen: sh: its answer is cut off"),
        (sh("cat"), ""),
        (sh("echo $LC_ALL"), "C\n"),
    ],
)
def test_commands(source: Command, expected: str) -> None:
    assert said(source) == expected


@pytest.mark.parametrize(
    "script", ["sleep 60", "trap '' TERM; sleep 60", "yes", "sleep 60 & wait", "exec 1>&- 2>&-; sleep 60"]
)
def test_a_command_that_does_not_end_is_left(script: str) -> None:
    began = time.monotonic()
    assert said(sh(script), 0.5) == "unseen: sh: no answer in 0.5 s"
    assert time.monotonic() - began < 45


def test_a_grandchild_that_keeps_the_pipe_holds_nobody_up() -> None:
    began = time.monotonic()
    assert said(sh("echo done; sleep 60 &")) == "done\n"
    assert time.monotonic() - began < 45


def test_what_cannot_even_be_killed_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a process in state D, which no signal reaches."""
    left: list[int] = []
    kill = os.killpg
    monkeypatch.setattr(os, "killpg", lambda group, _signal: left.append(group))
    began = time.monotonic()
    found = gather([Probe("/proc", "h"), sh("sleep 60"), sh("echo hello")], 5)
    assert time.monotonic() - began < 45
    assert found.text(sh("echo hello")) == "hello\n"
    assert len(left) == 1
    kill(left[0], 9)


def test_a_mount_that_hangs_has_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabric.verify.hosts.node.gather.probe", lambda *_a, **_k: time.sleep(60))
    assert gather([Probe("/mnt", "h")], 0.5).text(Probe("/mnt", "h")) == "hangs 0.5"


def test_a_file_that_hangs_costs_only_what_comes_after_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A")
    os.mkfifo(tmp_path / "b")
    wanted = [Files(str(tmp_path / name)) for name in ("a", "b", "c")]
    found = gather(wanted, 8)  # enough to read the first on a busy machine
    assert found.file(wanted[0]) == "A"
    for source in wanted[1:]:
        with pytest.raises(Unseen, match=f"no answer in 8 s while reading {tmp_path}/b"):
            found.files(source)


def test_files_and_digests(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"\xff1")
    (tmp_path / "two").write_text("2\n")
    found = gather([Files(f"{tmp_path}/*"), Files("/no/such"), Digest(str(tmp_path / "two")), Digest("/no/such")])
    assert found.files(Files(f"{tmp_path}/*")) == {f"{tmp_path}/one": "�1", f"{tmp_path}/two": "2\n"}
    assert (found.files(Files("/no/such")), found.files(Digest("/no/such"))) == ({}, {})
    digest = found.files(Digest(str(tmp_path / "two")))[str(tmp_path / "two")]
    assert digest == "53c234e5e8472b6ac51c1ae1cab3fe06fad053beb8ebfd8977b010655bfdd3c3"


def test_the_probe_leaves_nothing(tmp_path: Path) -> None:
    assert probe(str(tmp_path), "h") == ""
    assert list(tmp_path.iterdir()) == []
    assert probe(str(tmp_path / "none"), "h") == "stat ENOENT"
    (tmp_path / f".fabric-check-h-{os.getpid()}").symlink_to("/etc/passwd")
    assert probe(str(tmp_path), "h") == "write EEXIST"
    assert probe("/proc", "h", write=False) == ""
    assert probe("/proc", "h").startswith("write ")


def row(verdict: str, severity: str = CRITICAL) -> Result:
    return Result("gpu.ecc", "GPU 1", verdict, severity, "5 | errors", "none", "reset it")


@pytest.mark.parametrize(
    ("found", "status", "line"),
    [
        ([row(PASS)], 0, "FABRIC OK: 0 failed, 0 unknown, 1 passed"),
        ([row(PASS), row(UNKNOWN)], 3, "FABRIC UNKNOWN: gpu.ecc GPU 1: 5 / errors"),
        ([row(FAIL, WARNING), row(UNKNOWN)], 1, "FABRIC WARNING: gpu.ecc GPU 1: 5 / errors"),
        ([row(FAIL, WARNING), row(FAIL)], 2, "FABRIC CRITICAL: gpu.ecc GPU 1: 5 / errors; gpu.ecc GPU 1: 5 / errors"),
        ([], 3, "FABRIC UNKNOWN: 0 failed, 0 unknown, 0 passed"),
    ],
)
def test_exit_status_and_nagios_line(found: list[Result], status: int, line: str) -> None:
    assert program.status_of(found) == status
    assert program.nagios(found, status)[0] == line


@pytest.fixture
def host_json(tmp_path: Path) -> Callable[..., str]:
    def write(**changes: object) -> str:
        small = Expectation("h1", "lab", "roce", ExpectedPlatform("x"))
        (tmp_path / "host.json").write_text(expect.dumps(dataclasses.replace(small, **changes)))  # type: ignore[arg-type]
        return str(tmp_path / "host.json")

    return write


def test_the_shipped_file_runs_alone(tmp_path: Path, host_json: Callable[..., str]) -> None:
    path = tmp_path / "check-host"
    path.write_bytes(check_host())
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    mount = ExpectedMount("t", "fuse", str(tmp_path), "t")
    ran = subprocess.run(
        [path, "--json", "--only", "host.name", "--only", "storage.*", "--expect", host_json(mounts=(mount,))],
        capture_output=True, text=True, env={"PYTHONPATH": "/no/such"}, cwd="/", check=False,
    )  # fmt: skip
    document = json.loads(ran.stdout)
    assert (ran.returncode, document["schema"], document["host"]) == (2, "fabric.check-host/1", "h1")
    assert {result["check"] for result in document["results"]} == {
        "host.name", "storage.mounted", "storage.client", "storage.probe",
    }  # fmt: skip
    assert check_host() == check_host.__wrapped__()


def test_a_reader_that_leaves_changes_nothing(tmp_path: Path, host_json: Callable[..., str]) -> None:
    path = tmp_path / "check-host"
    path.write_bytes(check_host())
    script = f"python3 {path} --nagios --only host.name --expect {host_json()} | true; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("2\n", "")


def test_the_shipped_sources_are_for_python_3_9_and_need_nothing() -> None:
    for path in SHIPPED:
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
        assert (
            any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
            or len(tree.body) == 1
        )
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword):
                assert node.arg not in ("slots", "kw_only", "strict"), path  # Python 3.10
            modules = (
                [node.module]
                if isinstance(node, ast.ImportFrom)
                else [alias.name for alias in getattr(node, "names", ())]
                if isinstance(node, ast.Import)
                else []
            )
            for module in modules:
                assert (module or "").split(".")[0] in STANDARD or (module or "").startswith(
                    ("fabric.verify.hosts.node", "fabric.design.hosts")
                ), path
    assert any("Optional" in path.read_text() for path in SHIPPED)


STANDARD = {
    "__future__", "argparse", "ast", "collections", "contextlib", "dataclasses", "errno", "fnmatch", "glob", "hashlib", "ipaddress",
    "json", "os", "pathlib", "re", "selectors", "shlex", "signal", "subprocess", "sys", "time", "typing",
    "itertools", "xml",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON: Expecting property name"),
        ("[]", "not an object"),
        ('{"schema": "fabric.host/2"}', "schema 'fabric.host/2', this check-host reads 'fabric.host/1'"),
        ('{"schema": "fabric.host/1"}', "host: missing"),
        ("[" * 100000, "not JSON: nested too deep"),
    ],
)
def test_a_file_that_is_no_expectation_is_one_line(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "host.json").write_text(text)
    assert program.main(["--expect", str(tmp_path / "host.json")]) == 3
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"check-host: {tmp_path}/host.json: {why}") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        ("nics", [3], "nics[0]: not an object"),
        ("nics", {}, "nics: not a list"),
        ("mtu", "9000", "mtu: not a whole number"),
        ("mtu", True, "mtu: not a whole number"),
        ("sysctls", {"a": 1}, "sysctls: not an object of texts"),
        ("qos", {"priority": 3}, "qos.dscps: missing"),
        ("platform", {"name": "x", "acs_off": 1}, "platform.acs_off: not true or false"),
    ],
)
def test_a_wrong_value_is_named(place: str, value: object, why: str) -> None:
    data = json.loads(expect.dumps(WANT))
    data[place] = value
    with pytest.raises(expect.ExpectationError) as error:
        expect.loads(json.dumps(data))
    assert str(error.value) == why


def test_expectations_come_back_as_they_were_and_unknown_keys_are_left_alone() -> None:
    assert expect.loads(expect.dumps(WANT)) == WANT
    newer = {**json.loads(expect.dumps(WANT)), "later": [1]}
    assert expect.loads(json.dumps(newer)) == WANT
    assert expect.dumps(dataclasses.replace(WANT, sysctls=dict(reversed(list(WANT.sysctls.items()))))) == expect.dumps(
        WANT
    )


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([f.name for f in dataclasses.fields(Expectation)]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_no_json_makes_a_traceback(value: object) -> None:
    data = {**json.loads(expect.dumps(WANT)), **value} if isinstance(value, dict) else value
    try:
        expect.loads(json.dumps(data))
    except expect.ExpectationError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--only", "nothing.*"], 3, "check-host: no check fits 'nothing.*'\n"),
        (["--expect", "/no/such"], 3, "check-host: /no/such: No such file or directory\n"),
    ],
)
def test_what_a_caller_can_get_wrong(
    arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(arguments) == status
    assert capsys.readouterr().err == words


def test_checks_are_chosen_by_pattern(host_json: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--list", "--only", "storage.*", "--skip", "storage.layout"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["storage.mounted", "storage.client", "storage.options", "storage.probe"]
    assert program.main(["--nagios", "--only", "host.name", "--expect", host_json()]) == 2
    assert capsys.readouterr().out.startswith("FABRIC CRITICAL: host.name: it calls itself ")


def test_the_rendered_topology_is_one_and_a_slow_link_in_a_dump_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = fleet("rhel-9-roce")
    chosen = (expect.PATH, TOPOLOGY)
    files = {one.path: one.content.decode() for one in render(hosts, hosts.hosts[0]) if one.path in chosen}
    want = expect.loads(files[expect.PATH])
    assert want.topology is not None and want.kernel_arguments == ("iommu=pt",)
    told, dump = tmp_path / "host.json", tmp_path / "dump.xml"
    told.write_text(
        expect.dumps(dataclasses.replace(want, topology=dataclasses.replace(want.topology, dump=str(dump))))
    )
    ask = ["--json", "--expect", str(told), "--only", "nccl.topology", "--deadline", "1"]

    def faults() -> list[tuple[str, str, str]]:
        program.main(ask)
        found = json.loads(capsys.readouterr().out)["results"]
        return [(one["unit"], one["verdict"], one["measured"]) for one in found if one["verdict"] != "pass"]

    dump.write_text(files[TOPOLOGY])
    assert faults() == []
    fast, slow = 'link_speed="32.0 GT/s PCIe" link_width="16"', 'link_speed="2.5 GT/s PCIe" link_width="1"'
    dump.write_text(
        files[TOPOLOGY].replace(f'"0000:3c:00.0" class="0x030200" {fast}', f'"0000:3c:00.0" class="0x030200" {slow}')
    )
    assert faults() == [("GPU 1", "fail", "2.5 GT/s x1")]
    dump.unlink()
    assert [verdict for _, verdict, _ in faults()] == ["unknown"]  # no dump, and no such devices here
    os.mkfifo(dump)
    assert next((unit, text) for unit, _, text in faults()) == ("dump", "head: no answer in 1 s")
