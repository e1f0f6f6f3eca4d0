"""Values set in a text: nothing else moves, and what cannot be set alone is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.errors import FabricError
from fabric.spec.yaml_edit import Scalar, with_values

INVENTORIES = Path(__file__).resolve().parents[2] / "inventories"
Loc = tuple[str | int, ...]

CASES: list[tuple[str, Loc, Scalar, str]] = [
    ("a: 1  # one\nb: 2\n", ("a",), 5, "a: 5  # one\nb: 2\n"),
    ("a: {b: 1, c: 2} # x\n", ("a", "c"), "e-ecmp", "a: {b: 1, c: e-ecmp} # x\n"),
    ("a: {b: 1} # x\n", ("a", "d", "e"), 3, "a: {b: 1, d: {e: 3}} # x\n"),
    ("a: {}\n", ("a", "d"), 3, "a: {d: 3}\n"),
    ("a:\n", ("a", "d"), 3, "a: {d: 3}\n"),
    ("a: ~ # x\n", ("a", "d", "e"), 3, "a: {d: {e: 3}} # x\n"),
    ("a:\n  b: 1  # keep\n\n# of c\nc: 2\n", ("a", "z"), True, "a:\n  b: 1  # keep\n  z: true\n\n# of c\nc: 2\n"),
    ("a:\n    b:\n        - 1\n        - 2\nc: 2", ("a", "z", "y"), 4, "a:\n    b:\n        - 1\n        - 2\n    z:\n      y: 4\nc: 2"),
    ("a: 1", ("b", "c"), "1", 'a: 1\nb:\n  c: "1"\n'),
    ("a: |\n  text\n  more\n", ("b",), 1, "a: |\n  text\n  more\nb: 1\n"),
    ("l:\n  - x: 1\n  - x: 2\n", ("l", 1, "x"), 9, "l:\n  - x: 1\n  - x: 9\n"),
    ("l:\n- x: 1\n- x: 2\n", ("l", 0, "y"), 9, "l:\n- x: 1\n  y: 9\n- x: 2\n"),
    ("a: 1\r\nb: 2\r\n", ("c",), 3, "a: 1\r\nb: 2\r\nc: 3\r\n"),
    ("q: 'é → ü' # ö\na: 'x'\n", ("a",), "true", "q: 'é → ü' # ö\na: \"true\"\n"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "loc", "value", "after"), CASES)
def test_only_the_value_changes(text: str, loc: Loc, value: Scalar, after: str) -> None:
    assert with_values(text, "x.yaml", {loc: value}) == after


@pytest.mark.parametrize(
    ("text", "loc"),
    [
        ("a: &v {x: 1}\nb: *v\n", ("b", "x")),
        ("a: &v {x: 1}\nb: *v\n", ("a", "x")),
        ("a: &v 1\nb: *v\n", ("a",)),
        ("d: &v {x: 1}\na: {<<: *v, y: 2}\nb: {<<: *v}\n", ("d", "x")),
        ("a: {b: {c: 1}}\n", ("a", "b")),
        ("a: [1, 2]\n", ("a", "x")),
        ("a: [1, 2]\n", ("a", 7)),
        ("a: 1\n", ("a", "b")),
    ],
)
def test_what_cannot_be_set_alone_is_refused(text: str, loc: Loc) -> None:
    with pytest.raises(FabricError, match=r"x\.yaml: .* cannot be set without changing something else"):
        with_values(text, "x.yaml", {loc: 5})


@pytest.mark.parametrize("path", sorted(INVENTORIES.glob("*/cluster.yaml")), ids=lambda path: path.parent.name)
def test_inventories_take_settings(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    ctas = ("hosts", "nccl", "overrides", "NCCL_MIN_CTAS")
    values: dict[Loc, Scalar] = {("hosts", "nccl", "qps"): 16, ("scheduler", "kind"): "slurm", ctas: "32"}
    edited = with_values(text, "x.yaml", values)
    kept = edited.splitlines()
    changed = [line for line in text.splitlines() if line not in kept]
    assert len(changed) <= 3  # flow mappings that got an entry
    assert yaml.safe_load(edited)["hosts"]["nccl"]["overrides"]["NCCL_MIN_CTAS"] == "32"


KEYS = st.sampled_from(["a", "b", "c d", "1"])
VALUES = (
    st.integers()
    | st.sampled_from(["", "x", "a: b", "# no", "'", "[", "-", "two\nlines", "end\n"])
    | st.booleans()
    | st.none()
)
TREES = st.dictionaries(
    KEYS, VALUES | st.dictionaries(KEYS, VALUES | st.lists(VALUES, max_size=2), max_size=3), min_size=1, max_size=3
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TREES, st.lists(st.sampled_from(["a", "b", "c d", "new"]), min_size=1, max_size=3), st.booleans())
def test_any_file(value: dict[str, Any], loc: list[str], flow: bool) -> None:
    """It is set, and nothing else is; or it is refused, which is only right where a value stands in the way."""
    text = yaml.safe_dump(value, default_flow_style=flow, width=20)
    at: Any = value
    for part in loc[:-1]:
        at = at.get(part) if isinstance(at, dict) else at
    in_the_way = not isinstance(at, dict | None) or isinstance((at or {}).get(loc[-1]), dict | list)
    try:
        edited = with_values(text, "x.yaml", {tuple(loc): 77})
    except FabricError:
        assert in_the_way
        return
    new = at = yaml.safe_load(edited)
    for part in loc[:-1]:
        at = at[part]
    assert at.pop(loc[-1]) == 77
    assert _without_empty(new) == _without_empty(_without(value, loc))


def _without(value: Any, loc: list[str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: _without(inner, loc[1:]) if loc[:1] == [key] else inner for key, inner in value.items() if loc != [key]
    }


def _without_empty(value: Any) -> Any:
    """Mappings that hold nothing are like keys that are not there: the way to a new key makes them."""
    if not isinstance(value, dict):
        return value
    inner = {key: _without_empty(one) for key, one in value.items()}
    return {key: one for key, one in inner.items() if one not in ({}, None)}


def test_the_message(golden: Callable[[str, str], None]) -> None:
    with pytest.raises(FabricError) as caught:
        with_values("a: [1]\n", "cluster.yaml", {("a", "x"): 5})
    golden("errors/yaml-edit.txt", str(caught.value) + "\n")
