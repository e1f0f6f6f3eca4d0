"""The pictures as text: what is in them, that nothing can break out of them, and that they refer to nothing outside."""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.util
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree  # of our own text

import pytest

from fabric.errors import FabricError
from fabric.export.prediction_page import check_plot_path, plot, prediction_page, sheet
from fabric.export.prediction_page import write as writing
from fabric.export.prediction_page.case import HOT, case_view
from fabric.export.prediction_page.curves import BOTTOM, RIGHT, STYLES, TOP, curves, size_text
from fabric.export.prediction_page.sheet import CASES
from fabric.predict.model import Band, Loss
from tests.export.browser import pixels
from tests.export.predictions import hostile, prediction, three

HOSTILE = (
    "</style><script>pwned=1</script><img src=x onerror=pwned=1>\"'><svg/onload=pwned=1>]]>&lt;{{7*7}}\u2028\udcff\x00"
)


def test_the_sheet_is_what_it_was(golden: Callable[[str, str], None]) -> None:
    one = three()[1]
    golden("predict/sheet.svg", sheet([replace(one, points=one.points[-3:])], title="roce-24k"))


@pytest.mark.parametrize("make", [sheet, prediction_page])
def test_all_numbers_are_there(make: Callable[..., str]) -> None:
    text = html.unescape(make(three(), title="roce-24k"))
    for words in (
        "roce-24k", "small", "large as is", "large tuned", "24,576 GPUs",
        "12 % [11\u201313]", "head-of-line blocking", "ctsw up 8.33", "\u2715 gates",
        "z01-rtsw001:eth1/1/1 -> z01-ctsw01:Ethernet1/1/1", "ranks 3→11, 8→16 and 39 more", "order ranks by rack", "polarisation",
        "percentiles 5 to 95", "latency alone",
    ):  # fmt: skip
        assert words in text, words
    assert make(three(), title="roce-24k") == make(three(), title="roce-24k")


def test_a_sheet_is_xml_and_loads_nothing() -> None:
    for made in (three(), hostile(HOSTILE), [], [replace(three()[0], points=(), waterfall=(), hot=(), tiers={})]):
        root = ElementTree.fromstring(sheet(made, title=HOSTILE))  # noqa: S314 - our own text
        assert root.tag.endswith("svg")
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
            "svg", "title", "desc", "style", "rect", "text", "g", "line", "path", "circle", "defs", "pattern",
        }  # fmt: skip
        links = [key for element in root.iter() for key in element.attrib if "href" in key or key.startswith("on")]
        assert links == []


def test_a_page_holds_only_its_own_style() -> None:
    text = prediction_page(hostile(HOSTILE), title=HOSTILE, sources=[HOSTILE], at="2026-01-31T12:00:00Z")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    assert f"'sha256-{base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()}'" in html.unescape(text)
    for outside in ("<script", "<img", "http:", "https:", "<svg/onload"):
        assert outside not in re.sub(r"sha256-[^']*|viewBox=.*", "", text), outside
    assert "2026-01-31T12:00:00Z" in text
    assert "{{7*7}}" in text


def test_where_lines_and_names_stand() -> None:
    made = curves([prediction(f"case {number}", 256, (50, 60, 70), 1e8) for number in range(STYLES + 2)])
    assert len(made.series) == STYLES
    assert made.note.startswith("2 cases not drawn")
    heights = sorted(one.label_y for one in made.series)
    assert min(b - a for a, b in pairwise(heights)) > 30
    assert all(TOP <= height <= BOTTOM for height in heights)
    assert made.series[0].end[0] == RIGHT
    single = curves([replace(three()[0], points=three()[0].points[:1])])
    assert "M377.0" in single.series[0].line  # one size stands in the middle
    assert single.series[0].latency
    assert not made.series[0].latency


def test_many_cases_stand_in_the_page_alone() -> None:
    many = three() * 6
    assert "6 cases more: the HTML page holds all" in sheet(many, title="x")
    assert sheet(many, title="x").count("hottest links") == CASES
    assert prediction_page(many, title="x").count("hottest links:") == len(many)


def test_values_out_of_range_stay_in_the_picture() -> None:
    one = three()[0]
    points = tuple(replace(point, reached=Band(-5, 50, 300)) for point in one.points)
    wild = replace(one, points=points, waterfall=(Loss("ideal", 130), Loss("x", -3)))
    numbers = [float(text) for text in re.findall(r"[ L](\d+\.\d) ?", curves([wild]).series[0].band)]
    assert max(numbers) <= RIGHT
    bars = case_view(wild).bars
    assert [(bar.said, bar.took) for bar in bars] == [("100", ""), ("0", "\u2212100")]


def test_tiers_stand_by_their_names() -> None:
    one = three()[0]
    view = case_view(
        replace(one, tiers={"leaf up": 0.5, "spine up": 3.0, "core down": 1.0, "spine down": 0.25, "leaf down": 0.1})
    )
    assert [level.name for level in view.levels] == ["NIC", "LEAF", "SPINE", "CORE"]
    assert [(arrow.tier, arrow.y1 > arrow.y2, arrow.over, arrow.gates) for arrow in view.arrows] == [
        ("leaf up", True, False, False), ("spine up", True, True, True), ("core down", False, False, False),
        ("spine down", False, False, False), ("leaf down", False, False, False),
    ]  # fmt: skip
    assert case_view(replace(one, tiers={})).arrows == ()


def test_at_most_so_many_links() -> None:
    one = three()[0]
    view = case_view(replace(one, hot=one.hot * 10))
    assert len(view.hot) == HOT
    assert view.height == 292 + 22 * HOT


@pytest.mark.parametrize(
    ("size", "text"), [(1, "1"), (1024, "1K"), (3 << 19, "1.5M"), (16 << 30, "16G"), (1 << 41, "2T")]
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text


def test_kinds_of_file(tmp_path: Path) -> None:
    for name, start in (("a.svg", b"<svg xmlns="), ("a.html", b"<!doctype html>"), ("A.HTML", b"<!doctype html>")):
        size = plot(tmp_path / name, three(), title="x")
        data = (tmp_path / name).read_bytes()
        assert (len(data), data.startswith(start)) == (size, True)
    with pytest.raises(FabricError, match=r"a plot is a file \.svg, \.png or \.html"):
        check_plot_path(tmp_path / "a.pdf")
    with pytest.raises(FabricError, match="cannot write"):
        plot(tmp_path / "none" / "a.svg", three(), title="x")


def test_a_png_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(FabricError, match="a PNG needs the library resvg_py") as caught:
        check_plot_path(Path("a.png"))
    assert "clusterfabric[plot]" in str(caught.value)


def test_a_png_without_a_font(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    resvg = pytest.importorskip("resvg_py")
    real = resvg.svg_to_bytes
    monkeypatch.setattr(resvg, "svg_to_bytes", lambda **asked: real(**asked, skip_system_fonts=True))
    with pytest.raises(FabricError) as caught:
        check_plot_path(tmp_path / "a.png")
    assert caught.value.message.endswith(
        "neither DejaVu Sans nor Arial is installed, and a PNG without a font has no words"
    )
    check_plot_path(tmp_path / "a.svg")
    assert f'font-family="{writing.FONTS}"' in sheet(three(), title="x")


def test_a_png_shows_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resvg_py")
    monkeypatch.setattr(writing, "_has_fonts", lambda: True)  # words are not looked at here
    box = '<rect fill="#a40e26" width="10" height="10"/>'
    small = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10" width="20" height="10">{box}</svg>'
    rows = pixels(writing.png(small))
    assert (len(rows), len(rows[0])) == (20, 40)
    assert (rows[5][5][:3], rows[5][30][:3]) == (bytes.fromhex("a40e26"), b"\xff\xff\xff")
    assert "<style>" not in sheet(three(), title="x", styled=False)
    plot(tmp_path / "a.png", three()[:1], title="x")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
