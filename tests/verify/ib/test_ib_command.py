"""`fabric validate` of an InfiniBand spec: options, outputs, exit codes, refusals; the texts by a command; the reads of a lab."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import fabric.verify.ib.live
from fabric.errors import FabricError
from fabric.verify.ib.lids import load
from fabric.verify.ib.live import LAB_LOGS, live_reads
from fabric.verify.ib.reads import Path as Path_
from fabric.verify.ib.reads import Unread
from fabric.verify.ib.saquery import path_record
from fabric.verify.ib.sm_by import LOG, STDOUT, CommandTexts
from tests.verify.ib.fake_subnet import SMALL, FakeSubnet, subnet_of

Cli = Callable[..., Result]


@pytest.fixture
def fake() -> FakeSubnet:
    return FakeSubnet(subnet_of("small"))


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, fabric_cli: Cli, spec_file: Callable[..., Path], fake: FakeSubnet) -> Cli:
    """`cli("cabling", ...)`: the command on the fake subnet."""

    @contextmanager
    def reads(*_: Any, **__: Any) -> Iterator[FakeSubnet]:
        yield fake

    monkeypatch.setattr(fabric.verify.ib.live, "live_reads", reads)
    return lambda check, *args: fabric_cli("validate", check, spec_file("ib-lab", SMALL), *args)


def test_outputs_and_exit_codes(cli: Cli, fake: FakeSubnet, tmp_path: Path) -> None:
    assert cli("all").exit_code == 0
    fake.swap(("leaf0001", 2), ("leaf0001", 3))
    failing = cli("all", "--json", "--junit", tmp_path / "found.xml")
    assert failing.exit_code == 2
    document = json.loads(failing.stdout)
    assert (document["schema"], document["failed"], document["exit_code"]) == ("fabric.validate/1", 1, 2)
    assert document["checks"] == ["cabling", "sm", "routing", "partitions", "qos", "errors"]
    suites = ET.parse(tmp_path / "found.xml").getroot()  # noqa: S314 - our own document
    assert [(suite.get("name"), suite.get("failures")) for suite in suites] == [
        ("cabling", "1"), ("sm", "0"), ("routing", "0"), ("partitions", "0"), ("qos", "0"), ("errors", "0"),
    ]  # fmt: skip
    assert "FAIL     cabling.swap: leaf0001:2 and leaf0001:3" in cli("cabling").stdout
    assert cli("sm").exit_code == 0


def test_only_some_devices(cli: Cli, fake: FakeSubnet) -> None:
    fake.cut(("leaf0003", 12))
    assert cli("cabling", "--device", "leaf0003").exit_code == 2
    assert cli("cabling", "--device", "gt0001*", "--device", "leaf0001").exit_code == 0


def test_lids_are_saved_and_compared(cli: Cli, fake: FakeSubnet, tmp_path: Path) -> None:
    saved = tmp_path / "lids.json"
    assert cli("sm", "--save", saved).exit_code == 0
    assert len(load(saved)) == 144
    assert cli("sm", "--against", saved).exit_code == 0
    fake.lid["spine01"] = 150
    moved = cli("sm", "--against", saved)
    assert moved.exit_code == 2
    assert "1 of 144 LIDs changed: spine01 from 137 to 150" in moved.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("sm", "--role", "sm"), "--ping-by, --role and --zone are for RoCE"),
        (("cabling", "--ping-by", "ssh {host}"), "--ping-by, --role and --zone are for RoCE"),
        (("cabling", "--against", "x.json"), "--against compares LIDs, which is part of sm"),
        (("sm", "--against", "/no/such/x.json"), "/no/such/x.json: no such file"),
        (("sm", "--sm-by", "ssh root"), "--sm-by 'ssh root' names neither {host} nor {address}"),
        (("sm", "--sm-by", "ssh '{host}"), '--sm-by "ssh \'{host}": No closing quotation'),
        (("sm", "--device", "leaf99*"), "--device 'leaf99*' fits no switch, host or HCA of the design"),
    ],
)
def test_refusals(cli: Cli, args: tuple[str, ...], message: str) -> None:
    done = cli(*args)
    assert (done.exit_code, message in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize(
    "args", [("sm",), ("errors",), ("partitions",), ("all", "--save", "x"), ("qos", "--ca", "mlx5_0")]
)
def test_infiniband_words_for_a_roce_spec(
    fabric_cli: Cli, spec_file: Callable[..., Path], args: tuple[str, ...]
) -> None:
    check, *options = args
    done = fabric_cli("validate", check, spec_file(), *options)
    assert (done.exit_code, "this spec is not of InfiniBand" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "other/1", "lids": {}}', '{"schema": "fabric.lids/1", "lids": {"x": 1}}']
)
def test_a_file_that_holds_no_lids(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lids.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FabricError, match="holds no saved LIDs"):
        load(path)


def test_texts_by_a_command(tmp_path: Path, fake: FakeSubnet) -> None:
    way, manager = tmp_path / "way", fake.subnet.managers[0]
    way.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/said\ncase "$2" in tail) echo a log;; *) echo gone >&2; exit 3;; esac\n',
        encoding="utf-8",
    )
    way.chmod(0o755)
    found = CommandTexts.of(f"{way} root@{{address}}")(manager)
    assert (found.log, found.stdout) == ("a log\n", Unread("journalctl on gt0001 ended with 3: gone"))
    said = (tmp_path / "said").read_text(encoding="utf-8").splitlines()
    assert said == [f"root@10.99.0.1 {' '.join(command)}" for command in (STDOUT, LOG)]
    assert CommandTexts.of("/no/such/{host}")(manager).log == Unread("/no/such/gt0001: No such file or directory")


RECORD = "PathRecord dump:\n\t\tpkey....................0x9002\n\t\tsl......................0x1\n\t\trate....................0x91\n"


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        (f"printf '{RECORD}'", Path_(0x9002, 1, 17)),
        ("echo", None),
        ("echo refused >&2; exit 5", "saquery ended with 5: refused"),
    ],
)
def test_path_records(tmp_path: Path, script: str, answer: Path_ | str | None) -> None:
    program = tmp_path / "saquery"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/said\n{script}\n', encoding="utf-8")
    program.chmod(0o755)
    if isinstance(answer, str):
        with pytest.raises(FabricError, match="ended with 5: refused"):
            path_record(1, 9, str(program))
    else:
        assert path_record(1, 9, str(program)) == answer
    assert (tmp_path / "said").read_text(encoding="utf-8") == "--src-to-dst 1:9\n"
    with pytest.raises(FabricError, match="No such file"):
        path_record(1, 9, str(tmp_path / "none"))


def test_no_way_into_a_subnet(fabric_cli: Cli, spec_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    done = fabric_cli("validate", "cabling", spec_file("ib-lab"))
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_texts_of_a_lab(tmp_path: Path, fake: FakeSubnet, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoWire:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(fabric.verify.ib.live, "open_subnet", lambda *_: NoWire())
    monkeypatch.setenv(LAB_LOGS, str(tmp_path))
    (tmp_path / "gt0001").mkdir()
    (tmp_path / "gt0001" / "opensm.log").write_text("a log", encoding="utf-8")
    with live_reads(None) as reads:
        texts = reads.texts(fake.subnet.managers)
    assert (texts["gt0001"].log, texts["gt0001"].stdout) == ("a log", Unread("opensm.out: No such file or directory"))
    monkeypatch.delenv(LAB_LOGS)
    with live_reads(None) as reads:
        assert reads.texts(fake.subnet.managers)["gt0001"].log == Unread(
            "what opensm on gt0001 wrote was not asked for (--sm-by)"
        )
