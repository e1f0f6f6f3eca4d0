"""`fabric validate hosts`: who is asked, with what, and what becomes of the answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fabric.design.hosts import expect
from fabric.errors import FabricError
from fabric.verify.hosts.ansible import Job
from fabric.verify.hosts.answers import findings
from fabric.verify.hosts.run import Options, check_hosts
from fabric.verify.report import lines

NAMES = ["h1", "h2", "h3"]


def answer(*rows: tuple[str, str, str], severity: str = "critical") -> dict[str, Any]:
    """(check, verdict, unit) of each result."""
    results = [
        {
            "check": check,
            "verdict": verdict,
            "unit": unit,
            "severity": severity,
            "measured": "m",
            "expected": "e",
            "action": "a",
        }
        for check, verdict, unit in rows
    ]
    return {"rc": 2, "stdout": json.dumps({"schema": "fabric.check-host/1", "host": "x", "results": results})}


def told(answers: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str, int]]:
    return [(f.check, f.subject, f.verdict, f.count) for f in findings(NAMES, answers)]


def test_equal_results_are_one_finding_and_others_stay_apart() -> None:
    bad, good = ("gpu.driver", "fail", ""), ("gpu.ecc", "pass", "GPU 0")
    answers = {"h1": answer(bad, good), "h2": answer(good, bad), "h3": answer(good, ("nic.mtu", "fail", "beth1"))}
    assert told(answers) == [
        ("gpu.driver", "h1, h2", "fail", 2),
        ("gpu.ecc", "h1, h2, h3", "pass", 3),
        ("nic.mtu", "h3: beth1", "fail", 1),
    ]


@pytest.mark.parametrize(
    ("raw", "measured"),
    [
        (None, "it told nothing before the end"),
        ({"unreachable": True, "msg": "ssh: no route\nto host"}, "not reached: ssh: no route to host"),
        ({"rc": 2, "msg": "Error executing command."}, "check-host is not installed"),
        ({"rc": 2, "msg": "Error executing command: [Errno 2] No such file or directory: b'/usr/libexec/fabric/check-host'"},
         "check-host is not installed"),
        ({"failed": True, "msg": "Timed out after 120 second(s)."}, "check-host did not end in time"),
        ({"failed": True, "msg": "it says more than 1,048,576 bytes"}, "check-host was cut off: it says more than 1,048,576 bytes"),
        ({"rc": 3, "stdout": "", "stderr": "check-host: -: mtu: not a whole number"},
         "check-host gave no results: check-host: -: mtu: not a whole number"),
        ({"rc": 0, "stdout": '{"schema": "other/9", "results": []}'}, 'check-host gave no results: {"schema": "other/9", "results": []}'),
        ({"rc": 0, "stdout": '{"schema": "fabric.check-host/1", "results": 3}'},
         'check-host gave no results: {"schema": "fabric.check-host/1", "results": 3}'),
        ({"rc": 0, "stdout": "[" * 100000}, None),
    ],
)  # fmt: skip
def test_a_host_without_results_is_unknown_and_blamed_for_nothing(raw: Any, measured: str | None) -> None:
    found = findings(["h1"], {} if raw is None else {"h1": raw})
    assert [(f.check, f.verdict, f.devices) for f in found] == [("read.host", "unknown", ("h1",))]
    assert measured in (None, found[0].measured) and len(found[0].measured) < 200


def test_what_a_host_says_is_made_harmless() -> None:
    rows = {"check": "x\x1b[31m", "verdict": "excellent", "severity": 3, "measured": "a\nb" * 500, "unit": None}
    raw = {"stdout": json.dumps({"schema": "fabric.check-host/1", "results": [rows, "no object"]})}
    (found,) = findings(["h1"], {"h1": raw})
    assert (found.verdict, found.severity, found.subject) == ("unknown", "critical", "h1")
    assert "\x1b" not in found.check and "\n" not in found.measured and len(found.measured) <= 200


@pytest.fixture
def asked(lab: Path) -> tuple[list[Job], Callable[..., Any]]:
    jobs: list[Job] = []

    def ask(job: Job) -> Mapping[str, Mapping[str, Any]]:
        jobs.append(job)
        return {}

    def check(*args: Any, **values: Any) -> Any:
        return check_hosts(lab, *args, ask=ask, **values)

    return jobs, check


@pytest.fixture(scope="session")
def lab() -> Path:
    return Path(__file__).resolve().parents[3] / "inventories/lab/cluster.yaml"


def test_each_host_is_sent_what_the_spec_says_of_it(asked: tuple[list[Job], Callable[..., Any]]) -> None:
    jobs, check = asked
    found = check(["z01-r002-h1", "z01-r001-h1"], "storage", Options(skip=("storage.layout",), deadline_s=5))
    job = jobs[0]
    assert list(job.expected) == ["z01-r001-h1", "z01-r002-h1"]
    assert expect.loads(job.expected["z01-r002-h1"].decode()).host == "z01-r002-h1"
    assert job.arguments[:2] == ("--deadline", "5")
    assert {word for word in job.arguments if "." in word} == {
        "storage.mounted", "storage.client", "storage.options", "storage.probe",
    }  # fmt: skip
    assert [(f.check, f.count) for f in found] == [("read.host", 2)]


def test_mistakes_are_one_line(asked: tuple[list[Job], Callable[..., Any]]) -> None:
    _, check = asked
    for values, line in (
        ((["nobody"],), "nobody is no host of this spec"),
        ((None, "hosts", Options(only=("storage.probe",))), "no check fits 'storage.probe'"),
        ((None, "storage", Options(skip=("*",))), "all checks are skipped"),
    ):
        with pytest.raises(FabricError) as error:
            check(*values)
        assert error.value.message == line


FAKE = """#!/usr/bin/env python3
import json, os, pathlib, sys
folder = pathlib.Path(os.environ["ANSIBLE_CALLBACK_TREE_DIR"])
extra = json.loads(sys.argv[sys.argv.index("--extra-vars") + 1])
limit = pathlib.Path(sys.argv[sys.argv.index("--limit") + 1][1:]).read_text().split()
print({SAYS!r}, file=sys.stderr)
if {CODE}:
    sys.exit({CODE})
folder.mkdir()
for host in limit:
    want = json.loads(pathlib.Path(extra["fabric_expect"], host).read_text())
    verdict = "pass" if want["host"] == host else "fail"
    unit = "x" * (9 << 20 if host == os.environ.get("LOUD") else 0)
    row = dict(check="host.name", unit=unit, verdict=verdict, severity="critical", measured=host, expected=host, action="")
    (folder / host).write_text(json.dumps(dict(rc=0, stdout=json.dumps(dict(schema="fabric.check-host/1", results=[row])))))
"""


@pytest.fixture
def ansible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def write(code: int = 0, says: str = "") -> None:
        path = tmp_path / "ansible-playbook"
        path.write_text(FAKE.replace("{CODE}", str(code)).replace("{SAYS!r}", repr(says)))
        path.chmod(0o755)
        monkeypatch.setenv("FABRIC_ANSIBLE_PLAYBOOK", os.fspath(path))
        monkeypatch.setenv("FABRIC_STATE", os.fspath(tmp_path / "state"))  # the spec is the inventory's own

    return write


def test_the_command_asks_all_hosts_of_a_zone_at_once(
    ansible: Callable[..., None], fabric_cli: Callable[..., Result], lab: Path
) -> None:
    ansible()
    ran = fabric_cli("validate", "hosts", lab, "--zone", "1", "--json")
    document = json.loads(ran.stdout)
    assert (ran.exit_code, document["checks"], document["passed"]) == (
        0,
        ["hosts"],
        len(document["findings"][0]["devices"]),
    )
    assert all(name.startswith("z01-") for name in document["findings"][0]["devices"])


def test_the_spec_may_have_any_name(
    ansible: Callable[..., None], fabric_cli: Callable[..., Result], spec_file: Callable[..., Path]
) -> None:
    ansible()
    assert fabric_cli("validate", "storage", spec_file(name="other.yaml"), "--device", "z01-r001-h1").exit_code == 0


def test_a_host_that_says_too_much_is_unknown_and_the_others_are_judged(
    ansible: Callable[..., None], fabric_cli: Callable[..., Result], lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ansible()
    monkeypatch.setenv("LOUD", "z01-r001-h2")
    ran = fabric_cli("validate", "hosts", lab, "--device", "z01-r001-*", "--json")
    found = {f["verdict"]: (f["check"], f["devices"], f["measured"]) for f in json.loads(ran.stdout)["findings"]}
    assert found["pass"][1] == ["z01-r001-h1"]
    assert found["unknown"] == (
        "read.host",
        ["z01-r001-h2"],
        "check-host was cut off: it says more than 8,388,608 bytes",
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("hosts", "--device", "gt*"), "error: --device 'gt*' fits no host of the spec"),
        (("hosts", "--role", "rtsw"), "error: --role is not for hosts (hint: --device GLOB and --zone N select hosts)"),
        (("cabling", "--only", "gpu.*"), "error: --only and --skip are for hosts and storage (hint: fabric validate hosts SPEC --only 'gpu.*')"),
        (("hosts", "--skip", "gp.*"), "error: no check fits 'gp.*' (hint: the checks are listed in docs/reference/host-checks.md)"),
        (("hosts",), "error: ansible-playbook ended with code 4: there is no sudo"),
    ],
)  # fmt: skip
def test_refusals(
    arguments: tuple[str, ...], line: str, ansible: Callable[..., None], fabric_cli: Callable[..., Result], lab: Path
) -> None:
    ansible(4, "[WARNING]: x\n[ERROR]: there is no sudo")
    ran = fabric_cli("validate", arguments[0], lab, *arguments[1:])
    assert (ran.exit_code, ran.stderr.strip()) == (1, line)


def test_the_report_tells_warnings_and_silent_hosts_apart() -> None:
    answers = {
        "h1": answer(("nic.flaps", "fail", "beth0"), severity="warning"),
        "h2": answer(("gpu.ecc", "fail", "GPU 0")),
    }
    told = list(lines(findings(NAMES, answers)))
    assert [line for line in told if line.startswith(("FAIL", "WARN"))] == [
        "WARN     nic.flaps: h1: beth0",
        "FAIL     gpu.ecc: h2: GPU 0",
        "WARNING: 1 host could not be read",
        "WARNING: 1 result is unknown: not proven right, not proven wrong",
    ]
