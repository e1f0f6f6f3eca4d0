"""The command: reading devices through their interface, the report, exit codes, JSON and JUnit."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import fabric.cli.live
from fabric.design.build import design
from fabric.spec.cluster import ClusterSpec
from fabric.targets.base import DeviceRef
from fabric.targets.device import DeviceError
from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, Route, Version
from fabric.targets.job import ClusterJob
from fabric.verify import report
from fabric.verify.finding import Finding
from fabric.verify.junit import junit_xml
from fabric.verify.ping import CommandProber
from fabric.verify.runner import PARTS, Reader, validate
from tests.conftest import edited
from tests.verify.simulated import Simulated, converge

LAB = design(ClusterSpec.model_validate(edited("lab", {})))
JOB = ClusterJob(LAB, "0" * 64)


class FakeDevice:
    """A device of a simulated network; `asked` collects what was asked of all devices."""

    def __init__(self, sim: Simulated, tables: dict[str, list[Route]], ref: DeviceRef, asked: list[str]) -> None:
        self.ref, self._sim, self._tables, self._asked = ref, sim, tables, asked
        self._switch = sim.fabric.by_name[ref.name]

    def version(self) -> Version:
        self._asked.append("version")
        if self.ref.name in self._sim.unreachable | self._sim.dead:
            raise DeviceError(f"{self.ref.name}: connection timed out")
        return Version(self._sim.images.get("hostname of " + self.ref.name, self.ref.name), None, "4.30.1F", 1.0)

    def lldp(self) -> list[LldpNeighbor]:
        self._asked.append("lldp")
        return list(self._sim.lldp(self._switch))

    def bgp(self) -> list[BgpSession]:
        self._asked.append("bgp")
        return list(self._sim.bgp(self._switch))

    def interfaces(self) -> list[InterfaceState]:
        self._asked.append("interfaces")
        return list(self._sim.interfaces(self._switch))

    def routes(self) -> list[Route]:
        self._asked.append("routes")
        if self.ref.name == "atsw001" and "no routes" in self._sim.images:
            raise DeviceError("atsw001: show ip route: the answer is not JSON")
        return self._tables[self.ref.name]

    def read(self, paths: Sequence[str]) -> dict[str, bytes | None]:
        self._asked.append("configuration")
        return {artifact.path: artifact.content for artifact in JOB.render(self.ref.name) if artifact.path in paths}

    def close(self) -> None:
        self._asked.append("close")


def in_turn(
    work: Callable[[Any], Any], items: Sequence[Any], *, parallel: int, deadline_s: float | None
) -> Iterator[tuple[Any, Any]]:
    for item in items:
        try:
            result: Any = work(item)
        except DeviceError as error:
            result = error
        yield item, result


def reader(sim: Simulated, asked: list[str]) -> Reader:
    tables = converge(sim)
    return Reader(lambda ref: FakeDevice(sim, tables, ref, asked), in_turn)  # type: ignore[arg-type, return-value]


def run(sim: Simulated, *checks: str, asked: list[str] | None = None, **options: Any) -> list[Finding]:
    refs = [ref for ref in JOB.devices if not options.get("only") or ref.name in options["only"]]
    return validate(sim.fabric, reader(sim, [] if asked is None else asked), refs, checks, **options)


@pytest.mark.parametrize("check", PARTS)
def test_only_what_a_check_needs_is_read(check: str) -> None:
    asked: list[str] = []
    findings = run(Simulated(LAB), check, asked=asked)
    assert set(asked) == {"version", "close", *PARTS[check]}
    assert {finding.verdict for finding in findings} == {"pass"}
    assert report.exit_code(findings) == 0


def broken() -> Simulated:
    """The demo's faults: two crossed cables and a cut one; and a silent host, an unreachable switch."""
    sim = Simulated(LAB, silent_hosts={"z01-r001-h1"}, unreachable={"atsw002"})
    sim.swap(("z01-ctsw01", "Ethernet3/1/1"), ("z01-ctsw01", "Ethernet3/2/1"))
    sim.cut(("z02-rtsw002", "Ethernet8/1/1"))
    return sim


@pytest.mark.parametrize("full", [False, True], ids=["short", "full"])
def test_report(golden: Callable[[str, str], None], full: bool) -> None:
    findings = run(broken(), "cabling", "routing", "qos")
    assert report.exit_code(findings) == 2
    name = "full" if full else "short"
    golden(f"verify/report-{name}.txt", "\n".join(report.lines(findings, full=full)) + "\n")


def test_healthy_report(golden: Callable[[str, str], None]) -> None:
    golden(
        "verify/report-healthy.txt", "\n".join(report.lines(run(Simulated(LAB), "cabling", "routing", "qos"))) + "\n"
    )


def test_document_and_junit_say_the_same() -> None:
    findings = run(broken(), "cabling", "routing", "qos")
    document = report.document(findings, "cluster.yaml", ["cabling"])
    assert json.loads(json.dumps(document))["schema"] == "fabric.validate/1"
    assert document["failed"] == sum(f["verdict"] == "fail" for f in document["findings"]) == 2
    top = ET.fromstring(junit_xml(findings, "lab"))  # noqa: S314 - our own document
    assert len(top.findall(".//failure")) == document["failed"]
    assert len(top.findall(".//testcase")) == len(findings)
    assert {suite.get("name") for suite in top} == {"read", "cabling", "routing", "qos"}
    assert sum(int(suite.get("skipped") or 0) for suite in top) == len(top.findall(".//skipped"))


def test_junit_of_hostile_text() -> None:
    finding = Finding("cabling.link", "a\x00:<b>&\ud800", "fail", "\x1b]0;x\x07", "]]>", "x", ("\x0b",))
    top = ET.fromstring(junit_xml([finding], "lab"))  # noqa: S314 - our own document
    assert [case.get("name") for case in top.iter("testcase")] == ["a?:<b>&?"]


def test_selection_judges_only_its_own_links() -> None:
    only = frozenset({"z01-ctsw01"})
    findings = run(broken(), "cabling", "routing", only=only)
    assert {f.check for f in findings if f.verdict == "fail"} == {"cabling.swap"}
    assert all("z01-ctsw01" in finding.devices for finding in findings)
    assert not [f for f in run(Simulated(LAB), "cabling", "routing", "qos", only=only) if f.verdict != "pass"]


def test_part_that_cannot_be_read_leaves_the_others() -> None:
    findings = run(Simulated(LAB, images={"no routes": "x"}), "routing")
    assert [(f.check, f.subject, f.measured) for f in findings if f.verdict != "pass"] == [
        ("routing.routes", "atsw001", "show ip route: the answer is not JSON")
    ]


def test_another_device_at_the_address_is_not_judged_as_this_one() -> None:
    findings = run(Simulated(LAB, images={"hostname of atsw001": "printer"}), "cabling")
    assert [(f.check, f.subject, f.measured) for f in findings if f.verdict != "pass"] == [
        ("read.device", "atsw001", "at its management address answers printer")
    ]


class FakeProber:
    """Loses what is larger than the limit of the source; None where the host cannot be asked."""

    def __init__(self, limits: dict[str, int | None]) -> None:
        self.limits = limits

    def ping(self, src_host: str, dst_address: str, size: int, df: bool) -> bool | None:
        limit = self.limits.get(src_host, 9000)
        assert df == (size > 56)
        return None if limit is None else size + (48 if ":" in dst_address else 28) <= limit


def test_pings() -> None:
    prober = FakeProber({"z01-r001-h1": 1500, "z01-r001-h2": None, "z02-r001-h1": 0})
    found = [
        f for f in run(Simulated(LAB), "routing", prober=prober) if f.check in ("routing.path-mtu", "routing.reach")
    ]
    told = {(f.subject.partition(" ")[0], f.check, f.verdict) for f in found if f.verdict != "pass"}
    assert told == {
        ("z01-r001-h1", "routing.path-mtu", "fail"),
        ("z01-r001-h2", "routing.path-mtu", "unknown"),
        ("z02-r001-h1", "routing.reach", "fail"),
    }
    assert len(found) == 2 * (8 + 8)
    assert (
        len([f for f in run(Simulated(LAB), "routing", prober=prober, full=True) if " -> " in f.subject]) == 2 * 8 * 7
    )


@pytest.mark.parametrize(
    ("script", "answer"), [("exit 0", True), ("exit 1", False), ("exit 2", None), ("exit 255", None)]
)
def test_command_prober(tmp_path: Path, script: str, answer: bool | None) -> None:
    way = tmp_path / "way"
    way.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/said\n{script}\n', encoding="utf-8")
    way.chmod(0o755)
    assert CommandProber.of(f"{way} root@{{host}}").ping("h1", "192.0.2.1", 8972, True) is answer
    assert (tmp_path / "said").read_text(encoding="utf-8") == "root@h1 ping -n -q -c 1 -W 2 -s 8972 -M do 192.0.2.1\n"
    assert CommandProber.of("/no/such/{host}").ping("h1", "192.0.2.1", 56, False) is None


Cli = Callable[..., Result]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, fabric_cli: Cli, spec_file: Callable[..., Path]) -> Callable[..., Result]:
    """`cli(sim, "cabling", ...)`: the command on a simulated network."""

    def call(sim: Simulated, check: str, *args: object) -> Result:
        tables = converge(sim)
        monkeypatch.setattr(fabric.cli.live, "driver", lambda ref, *_: FakeDevice(sim, tables, ref, []))
        return fabric_cli("validate", check, spec_file(), *args)

    return call


def test_command(cli: Callable[..., Result], tmp_path: Path) -> None:
    assert cli(Simulated(LAB), "all").exit_code == 0
    failing = cli(broken(), "all", "--junit", tmp_path / "found.xml")
    assert failing.exit_code == 2
    assert "FAIL     cabling.swap: z01-ctsw01:Ethernet3/1/1 and z01-ctsw01:Ethernet3/2/1" in failing.stdout
    assert ET.parse(tmp_path / "found.xml").getroot().tag == "testsuites"  # noqa: S314 - our own document
    assert json.loads(cli(broken(), "cabling", "--json").stdout)["exit_code"] == 2
    one = cli(broken(), "cabling", "--device", "z01-ctsw02")
    assert (one.exit_code, "1 failed" in one.stdout) == (0, False)


def test_command_when_nothing_can_be_read(cli: Callable[..., Result]) -> None:
    result = cli(Simulated(LAB, unreachable=set(LAB.by_name)), "all")
    assert result.exit_code == 1
    assert "WARNING: 10 devices could not be read" in result.stdout


def test_command_refuses(cli: Callable[..., Result], tmp_path: Path) -> None:
    result = cli(Simulated(LAB), "routing", "--ping-by", "ssh root@host")
    assert (result.exit_code, "names no {host}" in result.stderr) == (1, True)
    result = cli(Simulated(LAB), "cabling", "--junit", tmp_path / "no" / "such.xml")
    assert result.exit_code == 1
