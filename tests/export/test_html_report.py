"""The page as text: what is in it, that nothing can break out of it, and that it refers to nothing outside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import struct
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any, get_args

import pytest

from fabric.export.html_report import heat as heating
from fabric.export.html_report import html_report
from fabric.export.html_report.drawing import draw
from fabric.export.html_report.heat import BROKEN, TOP, UNMADE, heat
from fabric.export.html_report.page import KINDS, ROWS
from fabric.export.html_report.rails import rail_charts
from fabric.verify.collectives.model import Measurement, Part, PartKind
from fabric.verify.finding import Finding
from fabric.verify.history import Offender
from tests.export.pages import GOOD, page, pairs, parts, seating, slow_seat

HOSTILE = "</script></style><script>pwned=1</script><img src=x onerror=pwned=1>\"'><svg/onload=pwned=1>&lt;{{7*7}}\u2028\udcff\x00"


class Tags(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_what_was_found_is_there() -> None:
    text = html.unescape(html_report(page()))
    where = seating()
    seat = slow_seat(where)
    for words in (
        seat.cable, "host cable with its switch port", "confidence 93 %", "swap the cable", "The evidence fits as well: its NIC",
        "2 found wrong", "87 C", "no login", "hang, cut off after 60 s", "results.jsonl", "abababababab", "1: no login", "12 passed",
        "2026-01-31T12:00:00Z", f"all_gather, {seat.host}", "SLOW",
    ):  # fmt: skip
        assert words in text
    assert html_report(page()) == html_report(page())


def test_nothing_found_and_nothing_judged() -> None:
    good = [Finding("cabling.link", "a <-> b", "pass", "x", "x")]
    assert "nothing that could be seen is wrong" in html_report(page(findings=good, parts=[], measurements=[]))
    empty = html_report(page(findings=[], parts=[], measurements=[]))
    for words in (
        "nothing could be judged",
        "No part was located",
        "No two hosts were measured",
        "No test was made on single",
    ):
        assert words in empty


def test_offenders_and_left_out_rows() -> None:
    many = [Finding("gpu.ecc", f"h{number}", "fail", "x", "y") for number in range(ROWS + 5)]
    lemon = Offender("z09-r001-h1", 3, 7, "2026-01-01", "2026-01-09", True, ("gpu.ecc",))
    text = html_report(page(findings=many, offenders=[lemon]))
    assert text.count("<b>FAIL</b>") == ROWS
    assert "5 more failed" in text
    assert '<tr><th scope="row">z09-r001-h1</th><td>3</td>' in text


def hostile() -> str:
    """A page where everything that can come from outside is hostile."""
    bad = HOSTILE
    finding = Finding(bad, bad, "fail", bad, bad, bad, (bad,), (bad,))
    one = Measurement("pairs", bad, (bad, f"{bad}2"), (), 8, (1.0,), source=bad, trunks=(bad,))
    broken = Measurement("pairs", "x", (bad, "b"), (1,), state="broken", reason=bad)
    unmade = Measurement("rails", "x", (bad, "b"), (2,), state="unmade", reason=bad)
    cable = parts(seating())["cable"]
    part = replace(cable, place=bad, evidence=(bad,), others=(bad,), next=bad, hosts=(*cable.hosts, bad))
    lemon = Offender(bad, 3, 7, bad, bad, True, (bad,))
    shown = page(
        findings=[finding, replace(finding, verdict="unknown"), replace(finding, verdict="pass")],
        measurements=[one, broken, unmade, replace(one, rails=(3,))], parts=[part, Part("host", bad, 0.5), Part("setting", bad, 1)],
        sources=[bad], offenders=[lemon],
    )  # fmt: skip
    return html_report(replace(shown, title=bad, at=bad, tool=bad, spec_sha256=bad))


def test_hostile_names_stay_text() -> None:
    tags = Tags(hostile()).found
    assert [tag for tag, _ in tags if tag == "img"] == []
    assert [attrs for tag, attrs in tags if tag == "script"] == [{"type": "application/json", "id": "data"}, {}]
    assert not [name for _, attrs in tags for name in attrs if name.startswith("on") or name == "style"]
    assert "{{7*7}}" in hostile()  # a template in a name is no template


@pytest.mark.parametrize("make", [lambda: html_report(page()), hostile])
def test_the_policy_allows_this_style_and_script_and_nothing_else(make: Any) -> None:
    text = make()
    (policy,) = [
        attrs["content"] for tag, attrs in Tags(text).found if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for name, tag in (("style-src", "style"), ("script-src", "script")):
        (inner,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert (rules["default-src"], rules["base-uri"], rules["form-action"]) == ("'none'",) * 3


def test_nothing_outside_is_named() -> None:
    text = html_report(page())
    for tag, attrs in Tags(text).found:
        for name in ("src", "href", "action", "data", "srcset", "poster"):
            value = attrs.get(name)
            assert value is None or value.startswith("#") or value == "data:,", (tag, attrs)
    assert not re.search(r"https?:|@import|url\((?!#)", text)


def decoded(text: str) -> tuple[int, ...]:
    data = base64.b64decode(text)
    return struct.unpack(f"<{len(data) // 2}H", data)


def test_the_map_holds_every_pair_with_its_value() -> None:
    where = seating()
    measured = pairs(where, 3)
    found = heat(where, measured)
    assert found.hosts == tuple(where.by_host)
    assert found.racks == (0, 0, 1, 1, 2, 2, 3, 3)
    layer = found.layers[0]
    assert layer.label == "all_gather, all rails"
    assert [one.label for one in found.layers[1:]] == [f"all_gather, rail {rail}" for rail in range(8)]
    ends, codes = decoded(layer.pairs), decoded(layer.codes)
    known = {(ends[2 * at], ends[2 * at + 1]): code for at, code in enumerate(codes)}
    want = {}  # the last one of a pair counts
    for one in measured:
        if not one.rails:
            a, b = sorted(found.hosts.index(host) for host in one.hosts)
            want[a, b] = one
    assert set(known) == set(want)
    for pair, one in want.items():
        if one.value is None:
            assert known[pair] == {"broken": BROKEN, "unmade": UNMADE}[one.state]
        else:
            assert known[pair] * layer.top / TOP == pytest.approx(one.value, rel=1e-3)
    assert (layer.slowest[0].state, layer.slowest[0].value) == ("hang, cut off after 60 s", None)
    assert (layer.slowest[1].share or 100) < 50


def test_hosts_alone_and_larger_groups() -> None:
    hosts = tuple(seating().by_host)
    alone = [
        Measurement("node", "all_reduce", (host,), values=(470.0 if host != hosts[2] else 230.0,)) for host in hosts
    ]
    groups = [
        Measurement("zone", "all_gather", hosts, values=(44.25,)),
        Measurement("groups", "alltoall", hosts[:4], (3,), state="broken", reason="<hang>"),
    ]
    (layer,) = heat(seating(), [*alone, *groups]).layers
    assert (layer.label, layer.count, decoded(layer.pairs)) == (
        "all_reduce, one host alone", 8, tuple(place for place in range(8) for _ in "ab"),
    )  # fmt: skip
    assert (layer.slowest[0].a, layer.slowest[0].b, layer.slowest[0].value) == (hosts[2], "", 230.0)
    text = html_report(page(measurements=[*alone, *groups]))
    assert f"<td>8: {hosts[0]} to {hosts[-1]}</td><td>all</td><td>44.25</td>" in text
    assert f"<td>4: {hosts[0]} to {hosts[3]}</td><td>3</td><td>&#10005; &lt;hang&gt;</td>" in text


def test_too_many_pairs_keep_the_slowest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heating, "MAX_PAIRS", 5)
    where = seating()
    layer = heat(where, pairs(where, 6)).layers[0]
    codes = decoded(layer.codes)
    assert (len(codes), layer.count - layer.left) == (5, 5)
    assert BROKEN in codes
    assert sorted(codes)[1] < TOP * 0.5


def test_hosts_that_the_spec_does_not_have_come_last() -> None:
    found = heat(seating(), [Measurement("pairs", "x", ("ghost", "z02-r001-h1"), values=(1.0,))])
    assert found.hosts == ("z02-r001-h1", "ghost")


def test_bars_by_rail() -> None:
    where = seating()
    (chart,) = rail_charts(pairs(where))
    seat = slow_seat(where)
    assert [bar.rail for bar in chart.bars] == list(range(8))
    assert chart.median == pytest.approx(GOOD, rel=0.03)
    assert seat.host in chart.bars[seat.rail].worst
    assert chart.bars[seat.rail].low < 15 < chart.bars[seat.rail].high
    (own,) = rail_charts(pairs(where), host=seat.host)
    assert [bar.rail for bar in own.bars if bar.share < 85] == [seat.rail]
    broken = [
        Measurement(
            "rails", "t", ("a", "b"), (rail,), values=(5.0,) * (rail == 0), state="ok" if rail == 0 else "broken"
        )
        for rail in (0, 1)
    ]
    assert [(bar.value, bar.broken) for bar in rail_charts(broken)[0].bars] == [(5.0, 0), (None, 1)]


@pytest.mark.parametrize("name", ["lab", "ib-lab"])
@pytest.mark.parametrize("kind", [kind for kind in get_args(PartKind) if kind not in ("setting", "process")])
def test_every_kind_of_part_is_drawn_and_marked(name: str, kind: PartKind) -> None:
    where = seating(name)
    part = parts(where)[kind]
    drawing = draw(where, part)
    assert drawing is not None
    marked = {box.kind for box in drawing.boxes if box.bad} | {"wire" for wire in drawing.wires if wire.bad}
    assert marked == {
        "gpu": {"gpu"}, "nic": {"nic"}, "cable": {"wire"}, "host": {"host"}, "switch": {"switch"}, "trunk": {"wire"},
        "zone-uplinks": {"wire"}, "path": {"wire"}, "undecided": {"host"},
    }[kind]  # fmt: skip
    for wire in drawing.wires:
        if wire.bad and kind in ("cable", "trunk"):
            assert f":{wire.at_a} <-> " in part.name
            assert part.name.endswith(f":{wire.at_b}")
    for box in drawing.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= 1006
        assert box.y + box.height <= drawing.height


@pytest.mark.parametrize("kind", ["host", "path", "undecided"])
def test_only_what_is_at_fault_gets_a_cross(kind: PartKind) -> None:
    text = html_report(page(parts=[parts(seating())[kind]]))
    figure = text[text.index('<figure class="drawing">') :].partition("</figure>")[0]
    crossed = ("\u2715" in html.unescape(figure), "nobody is blamed" in figure)
    assert crossed == ((True, False) if kind == "host" else (False, True))


def test_what_has_no_place_is_not_drawn() -> None:
    for part in (Part("setting", "NCCL_IB_GID_INDEX", 1), Part("host", "ghost", 1), Part("cable", "a:1 <-> b:2", 1)):
        assert draw(seating(), part) is None
    assert set(KINDS) == set(get_args(PartKind))


def test_the_data_are_json() -> None:
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', hostile(), re.DOTALL)
    assert HOSTILE in json.loads(data)["hosts"]
