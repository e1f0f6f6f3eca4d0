"""What a good file becomes, where things stand in it, and that no input brings anything but a value or a FabricError."""

from __future__ import annotations

import enum
import hashlib
import time
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel, StringConstraints, Tag

from fabric.errors import DesignError, FabricError, FabricErrors
from fabric.spec.loader import Loaded, load_model, spec_error
from fabric.spec.yaml_source import YamlSource


class Side(enum.Enum):
    A = "left"
    B = "right"


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Red(Model):
    kind: Literal["red"]
    low: Annotated[int, Field(ge=1)]


class Blue(Model):
    kind: Literal["blue"]
    names: list[str]


class Names(RootModel[dict[str, Red | Blue]]):
    pass


class Tree(Model):
    side: Side = Side.A
    word: Annotated[str, StringConstraints(pattern="^a")] | None = None
    even: Annotated[int, AfterValidator(_even)] | Literal["none"] = 0
    one_of: Annotated[Red, Tag("red")] | Annotated[Blue, Tag("blue")] | None = Field(None, discriminator="kind")
    many: dict[str, list[Annotated[Red | Blue, Field(discriminator="kind")]]] = {}
    pair: tuple[int, Red] | None = None
    names: Names | None = None
    day: date | None = None
    below: Tree | None = None


class Anything(RootModel[Any]):
    pass


def _load(tmp_path: Path, text: str | bytes, model: type[BaseModel] = Tree) -> Loaded[Any]:
    path = tmp_path / "c.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_model(path, model)


def _told(tmp_path: Path, text: str | bytes, model: type[BaseModel] = Tree) -> list[str]:
    with pytest.raises(FabricError) as caught:
        _load(tmp_path, text, model)
    errors = caught.value.errors if isinstance(caught.value, FabricErrors) else [caught.value]
    return [str(error).removeprefix(f"{tmp_path}/") for error in errors]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x {b: 1}\nc: *x\nd: [*x, *x]\n", {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}]}),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}\n", {"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}}),
        ("a: &x {b: 1}\ne: &y {b: 2, c: 2}\nd: {c: 3, <<: [*x, *y]}\n", None),
        ("\ufeffa: b\r\nc: |\r\n  d\r\n  e\r\n", {"a": "b", "c": "d\ne\n"}),
        ("a: [yes, off, ~, 0x10, 1_000, -1.5, 2024-01-31, '010', \"1:30\", 0]\n", None),
        ("%YAML 1.1\n---\na: !!str 5\nb: !!int '5'\n...\n", {"a": "5", "b": 5}),
        ("'<<': 1\n", {"<<": 1}),
        ("é: \U0001f600\n", {"é": "\U0001f600"}),
    ],
)
def test_values_are_those_of_pyyaml(text: str, value: Any, tmp_path: Path) -> None:
    loaded = _load(tmp_path, text, Anything).value.root
    assert loaded == yaml.safe_load(text)
    assert value is None or loaded == value


def test_a_lone_equals_sign_is_text(tmp_path: Path) -> None:
    assert _load(tmp_path, "a: =\n", Anything).value.root == {"a": "="}


def test_what_is_loaded(tmp_path: Path) -> None:
    text = "# top\nmany:\n  x:\n    - kind: red\n      low: 3\nbelow: {day: 2024-01-31}\n"
    loaded = _load(tmp_path, text)
    assert isinstance(loaded.value, Tree)
    assert loaded.value.below is not None
    assert loaded.value.below.day == date(2024, 1, 31)
    assert loaded.text_sha256 == hashlib.sha256(text.encode()).hexdigest()
    places = {
        (): (2, 1),
        ("many",): (2, 1),
        ("many", "x", 0): (4, 7),
        ("many", "x", 0, "low"): (5, 7),
        ("many", "x", 7, "low"): (3, 3),
        ("many", "x", "y"): (3, 3),
        ("below", "day"): (6, 9),
        ("below", "even", "a"): (6, 1),
        ("side",): (2, 1),
    }
    found = {loc: (p.line, p.column) for loc in places for p in [loaded.locate(loc)]}
    assert found == places


def test_merged_keys_stand_where_they_are_written(tmp_path: Path) -> None:
    loaded = _load(tmp_path, "a: &x {b: 1, c: 2}\nd: {b: 3, <<: *x}\n1: {true: 5}\n", Anything)
    places: dict[tuple[str | int, ...], str] = {("d", "b"): "2:5", ("d", "c"): "1:14", (1, True): "3:5"}
    assert {loc: str(loaded.locate(loc)).rpartition(".yaml:")[2] for loc in places} == places


def test_design_error_gets_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text("below:\n  even: 4\n")
    loaded = load_model(Path("c.yaml"), Tree)
    written = spec_error(loaded, DesignError(("below", "even"), "4 racks need 8 ports", hint="use 2"))
    default = spec_error(loaded, DesignError(("below", "names", "b"), "is too long"))
    assert str(written) == "c.yaml:2:3: below.even: 4 racks need 8 ports (hint: use 2)"
    assert str(default) == "c.yaml:1:1: below.names.b: is too long"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("side: rigth", ["1:1: side: wants left or right, found the text 'rigth' (hint: did you mean 'right'?)"]),
        ("word: b", ["1:1: word: 'b' does not match the pattern ^a"]),
        ("even: 3", ["1:1: even: must be even"]),
        ("even: nune", ["1:1: even: wants a whole number or none, found the text 'nune' (hint: did you mean 'none'?)"]),
        ("one_of: {kind: red, low: 0}", ["1:21: one_of.low: must be at least 1, is 0"]),
        ("one_of: {low: 0}", ["1:1: one_of: the key 'kind' is missing: red or blue"]),
        (
            "many: {kind: [{kind: red, lwo: 1}]}",
            ["1:27: many.kind[0].lwo: unknown key 'lwo' (hint: did you mean 'low'?)"],
        ),
        ("many: {red: [{kind: red}]}", ["1:14: many.red[0]: the key 'low' is missing"]),
        ("pair: [1, {kind: red, low: x}]", ["1:23: pair[1].low: wants a whole number, found the text 'x'"]),
        (
            "pair: [x]",
            ["1:1: pair: item number 2 is missing", "1:8: pair[0]: wants a whole number, found the text 'x'"],
        ),
        (
            "names: {Red: {kind: blue, nmaes: []}}",
            ["1:27: names.Red.nmaes: unknown key 'nmaes' (hint: did you mean 'names'?)"],
        ),
        ("names: {x: {kind: red, low: 0}}", ["1:24: names.x.low: must be at least 1, is 0"]),
        ("below: {below: {blow: {}}}", ["1:17: below.below.blow: unknown key 'blow' (hint: did you mean 'below'?)"]),
    ],
)
def test_places_through_every_kind_of_type(text: str, lines: list[str], tmp_path: Path) -> None:
    assert _told(tmp_path, text) == [f"c.yaml:{line}" for line in lines]


def test_not_slower_than_pyyaml() -> None:
    zone = "  - name: zone{0}\n    racks: {0}\n    profile: grand-teton\n    on_: yes\n    cable: [1, 2.5, abc]\n"
    text = "zones:\n" + "".join(zone.format(number) for number in range(1_600))

    def cost(load: Any) -> float:
        start = time.process_time()
        load()
        return time.process_time() - start

    # By turns, so that what else the machine does meets both.
    pairs = [
        (cost(lambda: YamlSource("c.yaml", text).build()), cost(lambda: yaml.load(text, yaml.CSafeLoader)))
        for _ in range(5)
    ]
    ours, plain = (min(times) for times in zip(*pairs, strict=True))
    assert ours < 1.3 * plain


ROUGH = st.text(alphabet="abc:-[]{}&*!<>|?'\"#%@,.0123 \n\t~=_é\x00\u2028\ud7ff", max_size=60)
_LEAF = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.text(max_size=8) | st.binary(max_size=4)
)
NAMES = st.sampled_from([*Tree.model_fields, "kind", "low", "red", "blue", "Red", "none", "left", "x", "lwo"])
VALUES = st.recursive(
    _LEAF | NAMES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | _LEAF, inner, max_size=5),
    max_leaves=12,
)


def _either(path: Path, data: bytes, model: type[BaseModel]) -> None:
    path.write_bytes(data)
    try:
        loaded = load_model(path, model)
    except FabricErrors as errors:
        assert 2 <= len(errors.errors) <= 21
        assert all(str(error).startswith(str(path)) for error in errors.errors)
    except FabricError as error:
        assert str(error).startswith(str(path))
        assert "\n" not in str(error)
    else:
        loaded.locate(("below", "side", 0))


FEW = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FEW
@given(data=st.binary(max_size=80) | ROUGH.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes(data: bytes, tmp_path: Path) -> None:
    _either(tmp_path / "c.yaml", data, Tree)
    _either(tmp_path / "c.yaml", data, Anything)


@FEW
@given(value=st.dictionaries(NAMES, VALUES, max_size=6) | VALUES, flow=st.booleans())
def test_any_structure(value: Any, flow: bool, tmp_path: Path) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True)
    _either(tmp_path / "c.yaml", text.encode("utf-8", "surrogatepass"), Tree)


@FEW
@given(value=st.dictionaries(NAMES, VALUES, max_size=4), noise=ROUGH, at=st.integers(0, 400))
def test_any_damage(value: Any, noise: str, at: int, tmp_path: Path) -> None:
    text = yaml.safe_dump(value)
    _either(tmp_path / "c.yaml", (text[:at] + noise + text[at:]).encode("utf-8", "surrogatepass"), Tree)
