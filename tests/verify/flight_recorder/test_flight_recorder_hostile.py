"""Dumps are not trusted: each hostile or broken one is refused in one clear line, quickly and in little memory; nothing is a traceback."""

from __future__ import annotations

import contextlib
import json
import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabric.errors import FabricError
from fabric.verify.flight_recorder.analyse import analyse
from fabric.verify.flight_recorder.dump import summary_of
from fabric.verify.flight_recorder.find import find_dumps
from fabric.verify.flight_recorder.jsoned import load_json
from fabric.verify.flight_recorder.load import load_dumps
from fabric.verify.flight_recorder.memberships import Memberships
from fabric.verify.flight_recorder.pickled import LARGEST, load_pickle
from fabric.verify.flight_recorder.place import locate_culprits
from tests.verify.flight_recorder.generate import as_json, dump_of
from tests.verify.flight_recorder.job import Job
from tests.verify.flight_recorder.torch_pickle import TorchPickler

DATA = dump_of(Job(tp=2, dp=2, stop={1: 8}).run(), 0, "2.9")
PICKLE = TorchPickler().dump(DATA)
JSON = as_json(DATA)
_A = b"X\x01\x00\x00\x00aq\x00"


class _Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("run",)


HOSTILE = {
    "code": (b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.", "asks for code, 'os.system'"),
    "code by the stack": (b"\x80\x02X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93.", "uses STACK_GLOBAL"),
    "an object": (pickle.dumps(_Evil(), 2), "asks for code, '__builtin__.print'"),
    "an extension": (b"\x80\x02\x82\x01.", "uses EXT1"),
    "a foreign id": (b"\x80\x02Pabc\n.", "uses PERSID"),
    "another protocol": (pickle.dumps(DATA, 4), "no pickle of protocol 2"),
    "cyclic": (b"\x80\x02]q\x00(h\x00e.", "can contain itself"),
    "cyclic, completed": (b"\x80\x02](K\x01eq\x00(h\x00e.", "can contain itself"),
    "a memo of 16 GiB": (b"\x80\x02](X\x01\x00\x00\x00ar\xff\xff\xff\x7fe.", "can contain itself"),
    "deep": (b"\x80\x02" + b"](" * 3_000_000 + b"e" * 3_000_000 + b".", "nested more than 32 deep"),
    "deep, with gaps": (b"\x80\x02" + b"](N" * 100_000 + b"e" * 100_000 + b".", "nested more than 32 deep"),
    "deep keys": (b"\x80\x02}(NN" + b"\x86N" * 100_000 + b"\x86Nu.", "uses TUPLE2"),
    "deep keys of texts": (b"\x80\x02}(N" + (_A + b"\x86") * 90_000 + b"Nu.", "90,000 pairs of new texts"),
    "huge": (b"\x80\x02](" + b"]" * 20_000_000 + b"e.", "more than the 512 MiB"),
    "a text of 2 GiB": (b"\x80\x02X\xff\xff\xff\x7fabc", "is cut off"),
    "bytes of 8 EiB": (b"\x80\x02\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", "uses BINBYTES8"),
    "no text": (b"\x80\x02X\x01\x00\x00\x00\xff.", "no pickle that PyTorch wrote"),
    "nothing on the stack": (b"\x80\x02u.", "no pickle that PyTorch wrote"),
    "a key that is a list": (b"\x80\x02}(]Nu.", "no pickle that PyTorch wrote"),
    "more after the end": (b"\x80\x02N.N.", "goes on after its end"),
    "no dump": (b"\x80\x02N.", "no flight-recorder dump"),
    "no dump, but a dict": (b"\x80\x02}.", "has no version"),
    "deep JSON": (b'{"version":' + b"[" * 1_000_000, "nested deeper than any dump"),
    "huge JSON": (b'{"a":[' + b"[]," * 8_000_000, "more than the 512 MiB"),
    "a number of a million digits": (b'{"version": ' + b"9" * 1_000_000 + b"}", "is no JSON"),
    "broken JSON": (b'{"version" "2.9", "a": 1}', "is no JSON"),
    "JSON cut off": (JSON[:500], "is cut off"),
    "pickle cut off": (PICKLE[:500], "is cut off"),
    "text": (b"core dumped\n", "neither a pickle of PyTorch nor JSON"),
    "empty": (b"", "is empty"),
}  # fmt: skip


def reason_of(data: bytes, folder: Path) -> str:
    """Why a file of these bytes is not read, by the way that every dump goes."""
    (folder / "dump_3").write_bytes(data)
    loaded = load_dumps(find_dumps([folder]))
    assert not loaded.ranks
    return loaded.unread[0].reason


@pytest.mark.parametrize("name", HOSTILE)
def test_refused_in_one_line(tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    data, expected = HOSTILE[name]
    start = time.process_time()
    reason = reason_of(data, tmp_path)
    assert expected in reason
    assert "\n" not in reason
    assert time.process_time() - start < 5
    assert capfd.readouterr() == ("", "")  # nothing was run


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "dump_1").open("wb") as file:
        file.truncate(LARGEST + 1)
    assert "more than the 64 MiB" in load_dumps(find_dumps([tmp_path])).unread[0].reason


def test_what_pytorch_writes_is_read() -> None:
    assert load_pickle(PICKLE) == pickle.loads(PICKLE) == DATA  # noqa: S301 - our own bytes
    many = {
        "texts": [str(number) for number in range(70_000)],
        "again": [str(number) for number in range(70_000)],
        "float": 1.5,
    }
    assert load_pickle(TorchPickler().dump(many)) == many


def test_cut_off_anywhere_it_is_refused() -> None:
    for form, load in ((PICKLE, load_pickle), (JSON, load_json)):
        for end in range(len(form) - 1):
            with pytest.raises(FabricError):
                load(form[:end])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.text(max_size=5) | st.sampled_from(["2.9", "nccl:send 0->1", "[0, 1]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_value_in_any_field_is_no_traceback(data: st.DataObject) -> None:
    dump = json.loads(json.dumps(DATA))
    place: Any = dump
    while isinstance(place, dict | list) and place:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(min(len(place), 3))))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 2)) == 0:
            place[key] = data.draw(VALUES)
            break
        place = inner
    with contextlib.suppress(FabricError):
        summary_of(dump, 0, "dump_0", Memberships())


@example(PICKLE.index(b"[0, 1") + len(b"[0, 1") - 2, b"\x1c")  # white space to a pattern, and none to int()
@given(st.integers(2, len(PICKLE) - 1), st.binary(min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_changed_bytes_are_no_traceback(place: int, change: bytes) -> None:
    data = PICKLE[:place] + change + PICKLE[place + len(change) :]
    with contextlib.suppress(FabricError):
        summary_of(load_pickle(data), 0, "dump_0", Memberships())


def test_one_dump_of_a_large_job_is_told_in_seconds(tmp_path: Path) -> None:
    ranks = f"[{', '.join(map(str, range(24_576)))}]"
    status = {"last_enqueued_collective": 3, "last_started_collective": 3, "last_completed_collective": 2}
    data = {
        "version": "2.9",
        "pg_config": {"0": {"name": "0", "desc": "", "ranks": ranks}},
        "pg_status": {"0": status},
        "entries": [],
    }
    (tmp_path / "d_0").write_bytes(TorchPickler().dump(data))
    began = time.perf_counter()
    located = locate_culprits(analyse(load_dumps(find_dumps([tmp_path]), processes=1)), {})
    assert {one.culprit.cause for one in located} == {"no-dump"} and len(located) == 24_575
    assert time.perf_counter() - began < 30  # once an hour: each was compared with each
