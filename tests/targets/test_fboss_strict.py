"""The strict check: each JSON rule of FBOSS, the compact schema against the reference, and any JSON whatsoever."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.errors import FabricError
from fabric.targets.fboss import wire
from fabric.targets.fboss.refusals_agent import agent_refusals
from fabric.targets.fboss.refusals_bgp import bgp_refusals
from fabric.targets.fboss.schema import TypeRef, enum_value, load_flags, load_schema, parse_type
from fabric.targets.fboss.strict import Root, checked_raw, compile_struct, compile_validator
from fabric.targets.fboss.strict_walk import INT_BITS, Walk
from tests.targets.fboss_minimal import Json, changed, minimal_agent, minimal_inventory

PORT = "sw.ports.0"

WRONG: list[tuple[str, object, str | None, str]] = [
    ("sw.prots", [], "sw.prots", 'SwitchConfig has no such key (did you mean "ports"?)'),
    ("sw.ports.0.zzz", 1, "sw.ports[0].zzz", "Port has no such key"),
    ("sw.ports.1.speed", 3, "sw.ports[1].speed", "PortSpeed has no value 3"),
    ("sw.ports.1.state", "ENABLED", "sw.ports[1].state", "the name of a PortState value: FBOSS reads only its number, 2"),
    ("sw.ports.1.state", "ENABLD", "sw.ports[1].state",
     'expected a number of PortState, not "ENABLD" (did you mean "ENABLED"?)'),
    ("sw.ports.1.state", True, "sw.ports[1].state", "expected a number of PortState, not true"),
    ("sw.ports.0.expectedLLDPValues", {"PORT": "x"}, "sw.ports[0].expectedLLDPValues.PORT",
     'the name of an enum value as a key: FBOSS reads only its number, "2"'),
    ("sw.ports.0.expectedLLDPValues", {"99": "x"}, "sw.ports[0].expectedLLDPValues.99", "LLDPTag has no value 99"),
    ("sw.clientIdToAdminDistance", {"a b": 1}, 'sw.clientIdToAdminDistance["a b"]',
     'keys of this map are strings holding integers (i32), not "a b"'),
    *(("sw.clientIdToAdminDistance", {bad: 1}, None, "keys of this map are strings holding integers (i32)")
      for bad in ("01", "+1", "1.0", "", "-0", "1_0", "\u0661", "9" * 5000)),
    ("sw.clientIdToAdminDistance", {"2147483648": 1}, "sw.clientIdToAdminDistance.2147483648",
     "2147483648 does not fit i32 (-2147483648..2147483647)"),
    ("sw.clientIdToAdminDistance", {"0": None}, "sw.clientIdToAdminDistance.0", "null is not allowed as a value of a map"),
    ("sw.proactiveArp", 1, "sw.proactiveArp", "expected true or false, not 1"),
    ("sw.proactiveArp", "true", "sw.proactiveArp", 'expected true or false, not "true"'),
    ("sw.defaultVlan", 1.0, "sw.defaultVlan", "expected an integer (i32), not 1.0"),
    ("sw.defaultVlan", "5", "sw.defaultVlan", 'expected an integer (i32), not "5"'),
    ("sw.defaultVlan", True, "sw.defaultVlan", "expected an integer (i32), not true"),
    ("sw.defaultVlan", 1 << 31, "sw.defaultVlan", "2147483648 does not fit i32 (-2147483648..2147483647)"),
    ("sw.version", 1 << 63, "sw.version", "9223372036854775808 does not fit i64"),
    ("sw.cpuQueues.0.id", 32768, "sw.cpuQueues[0].id", "32768 does not fit i16 (-32768..32767)"),
    ("sw.mirrors.0.dscp", 255, "sw.mirrors[0].dscp", "255 does not fit byte (-128..127)"),
    ("sw.hostname", 5, "sw.hostname", "expected a string, not 5"),
    ("sw.ports", {}, "sw.ports", "expected a list, not an object"),
    ("sw.ports.0", None, "sw.ports[0]", "expected an object (Port), not null"),
    ("sw.portQueueConfigs", [], "sw.portQueueConfigs", "expected an object (map), not a list"),
    ("sw.loadBalancers.0.fieldSelection.ipv4Fields", [1, 2, 1], "sw.loadBalancers[0].fieldSelection.ipv4Fields[2]",
     "1 stands twice in a set"),
    ("sw.cpuQueues.0.portQueueRate", {}, "sw.cpuQueues[0].portQueueRate",
     "the union PortQueueRate takes exactly one member, not 0"),
    ("sw.cpuQueues.0.portQueueRate", {"pktsPerSec": {}, "kbitsPerSec": {}}, "sw.cpuQueues[0].portQueueRate",
     "the union PortQueueRate takes exactly one member, not 2"),
    ("sw.cpuQueues.0.portQueueRate", {"pktsPerSec": None}, "sw.cpuQueues[0].portQueueRate", "exactly one member, not 0"),
    ("thriftApiToRateLimitInQps", {"x": float("nan")}, "thriftApiToRateLimitInQps.x", "expected a number, not NaN"),
    ("sw.vlans.0.ipAddresses", ["x", 5], "sw.vlans[0].ipAddresses[1]", "expected a string, not 5"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value", "path", "message"), WRONG)
def test_one_wrong_value_is_named(place: str, value: object, path: str | None, message: str) -> None:
    conf = changed(minimal_agent(), [(place, value)])
    (problem,) = compile_validator("agent")(conf)
    assert message in problem.message
    assert path is None or problem.path == path


RIGHT: list[tuple[str, object]] = [
    ("sw.hostname", None),
    ("sw.cpuQueues.0.portQueueRate", {"pktsPerSec": {"maximum": 5}, "kbitsPerSec": None}),
    ("sw.version", -(1 << 63)),
    ("sw.mirrors.0.dscp", -128),
    ("sw.ports.0.expectedLLDPValues", {"2": "eth1/1/1", "5": "rtsw001"}),
    ("thriftApiToRateLimitInQps", {"x": 1, "y": 0.5}),
    ("sw.loadBalancers.0.fieldSelection.ipv4Fields", [2, 1]),
]


@pytest.mark.parametrize(("place", "value"), RIGHT)
def test_right_values_pass(place: str, value: object) -> None:
    assert compile_validator("agent")(changed(minimal_agent(), [(place, value)])) == []


def test_several_problems_come_in_the_order_of_the_file() -> None:
    conf = {"sw": {"ports": [{"logicalID": "1"}, {"sped": 1}]}, "plattform": {}}
    assert [p.path for p in compile_validator("agent")(conf)] == [
        "sw.ports[0].logicalID",
        "sw.ports[1].sped",
        "plattform",
    ]


def test_python_keys_and_a_flood_of_problems() -> None:
    found = compile_validator("agent")({"sw": {"clientIdToAdminDistance": {5: 1}}})
    assert [str(p) for p in found] == ["sw.clientIdToAdminDistance.5: map keys are strings, not 5"]
    assert len(compile_validator("agent")({"sw": {"ports": [1] * 1000}})) == 200


def test_required_fields_and_recursive_structs() -> None:
    hop = {"address": {"addr": "AAAA"}, "backupNexthops": [{"address": {"port": 1}}]}
    (problem,) = compile_struct("NextHopThrift")(hop)
    assert str(problem) == "backupNexthops[0].address.addr: BinaryAddress requires this key"
    deep: Json = {}
    for _ in range(100_000):
        deep = {"backupNexthops": [deep]}
    assert [p.message for p in compile_struct("NextHopThrift")(deep)] == ["nested too deeply"]


def test_dumped_text_passes_only_as_what_it_was_checked() -> None:
    section = {"chip": {"bcm": {"config": {"portmap_1": "1:400:8"}}}}
    validate = compile_validator("agent")
    assert validate({"platform": checked_raw("PlatformConfig", section)}) == []
    (problem,) = validate({"platform": wire.Raw("{}")})
    assert problem.message == "pre-dumped text that was not checked as PlatformConfig"
    assert validate({"sw": checked_raw("PlatformConfig", section)})[0].path == "sw"
    with pytest.raises(FabricError, match="PlatformConfig: chip: the union ChipConfig takes exactly one member"):
        checked_raw("PlatformConfig", {"chip": {}})


def test_enum_numbers_by_name() -> None:
    assert load_schema().enum("PortState")["ENABLED"] == enum_value("PortState.ENABLED") == 2
    with pytest.raises(KeyError):
        enum_value("PortState.UP")
    assert str(parse_type("map<i16,map<PlatformAttributes,list<i32>>>").args[1].args[1]) == "list<i32>"


def test_every_type_in_the_schema_is_known() -> None:
    schema = load_schema()
    known = {*INT_BITS, "string", "binary", "bool", "double", "list", "set", "map", *schema.structs, *schema.enums}

    def names(ref: TypeRef) -> set[str]:
        return {ref.name}.union(*map(names, ref.args))

    for struct in schema.structs.values():
        for field in struct.fields.values():
            assert names(field.type) <= known, (struct.name, field)


NEWER = {"cluster_id", "additional_remote_as_4_byte", "stream_subscriber_limit", "enable_fib_out_tracking",
         "enable_netlink_dampening", "enable_route_refresh"}  # fmt: skip
"""BGP fields that the daemon reads and the published IDL does not have yet (fboss.md section 11)."""


def test_the_schema_holds_the_facts_of_the_reference(reference_dir: Path) -> None:
    raw = json.loads((reference_dir / "fboss" / "schema.json").read_text(encoding="utf-8"))
    schema = load_schema()
    assert schema.roots == raw["roots"]
    assert schema.enums == raw["enums"]
    assert schema.structs.keys() == raw["structs"].keys()
    for name, source in raw["structs"].items():
        struct = schema.structs[name]
        assert struct.union == (source["kind"] == "union")
        ours = [
            [
                field.id,
                field.name,
                str(field.type),
                "optional" if field.optional else "required" if field.required else "",
            ]
            for field in struct.fields.values()
            if field.name not in NEWER
        ]
        assert ours == [field[:4] for field in source["fields"]]
        assert [f.name for f in struct.fields.values() if f.default is None and f.name not in NEWER] == [
            field[1] for field in source["fields"] if field[4] is None
        ]


def test_the_flags_are_those_of_the_reference(reference_dir: Path) -> None:
    assert load_flags() == json.loads((reference_dir / "fboss" / "flags.json").read_text(encoding="utf-8"))


FILES: list[tuple[Root, str]] = [
    ("agent", "example-rtsw001.wedge400.agent.conf"),
    ("agent", "example-ctsw001.minipack2.agent.conf"),
    ("bgp", "example-rtsw001.wedge400.bgpcpp.conf"),
    ("bgp", "example-ctsw001.minipack2.bgpcpp.conf"),
    ("qsfp", "example-qsfp.conf"),
    ("fsdb", "example-fsdb.conf"),
    ("led", "example-led.conf"),
    ("agent", "samples/wedge400.hw_test.agent.conf"),
    ("agent", "samples/fuji.hw_test.agent.conf"),
    ("agent", "samples/elbert.hw_test.agent.conf"),
]


@pytest.mark.parametrize(("root", "name"), FILES)
def test_reference_files_pass_and_survive_a_round_trip(reference_dir: Path, root: Root, name: str) -> None:
    value = wire.loads((reference_dir / "fboss" / name).read_bytes(), source=name)
    assert compile_validator(root)(value) == []
    assert wire.loads(wire.dumps(value)) == value


def test_the_check_is_fast_enough(reference_dir: Path) -> None:
    """Guards the order of magnitude: about 1 ms for 130 KB on one core, 15 ms allowed for a busy machine."""
    value = wire.loads((reference_dir / "fboss" / "example-ctsw001.minipack2.agent.conf").read_bytes())
    validate = compile_validator("agent")
    validate(value)
    times = []
    for _ in range(10):
        start = time.process_time()
        validate(value)
        wire.dumps(value)
        times.append(time.process_time() - start)
    assert min(times) < 0.015


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def _values(ref: TypeRef, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that the schema takes for a type; optional members thin out with depth."""
    schema = load_schema()
    if ref.name in schema.enums:
        return st.sampled_from(sorted(schema.enums[ref.name].values()))
    if ref.name in INT_BITS:
        half = 1 << (INT_BITS[ref.name] - 1)
        return st.integers(-half, half - 1) | st.integers(0, 9)
    if ref.name in ("list", "set"):
        return st.lists(_values(ref.args[0], depth + 1), max_size=2, unique=ref.name == "set")
    if ref.name == "map":
        return st.dictionaries(_values(ref.args[0], depth + 1).map(str), _values(ref.args[1], depth + 1), max_size=2)
    if ref.name in schema.structs:
        return st.deferred(lambda: _structs(ref.name, depth + 1))
    simple: dict[str, st.SearchStrategy[Any]] = {"bool": st.booleans(), "double": st.floats(-1, 2)}
    return simple.get(ref.name, st.sampled_from(["", "a", "10.0.0.1", "::1/64", "02:00:00:00:00:01", "qos"]))


@st.composite
def _structs(draw: st.DrawFn, name: str, depth: int) -> Json:
    struct = load_schema().structs[name]
    fields = sorted(struct.fields)
    count = 1 if struct.union else draw(st.integers(0, 0 if depth > 8 else min(len(fields), 12)))
    picked = {*draw(st.permutations(fields))[:count], *(f.name for f in struct.fields.values() if f.required)}
    return {key: draw(_values(struct.fields[key].type, depth)) for key in sorted(picked)}


@given(JSON)
@settings(deadline=None)
def test_any_json_is_judged_and_both_walks_agree(value: object) -> None:
    for root in load_schema().roots.values():
        named = Walk(load_schema()).check(parse_type(root), value)
        assert compile_struct(root)(value) == named


@given(st.sampled_from(sorted(load_schema().structs)).flatmap(lambda name: st.tuples(st.just(name), _structs(name, 5))))
@settings(deadline=None)
def test_what_the_schema_allows_passes_both_walks(case: tuple[str, Json]) -> None:
    name, value = case
    assert compile_struct(name)(value) == []
    assert Walk(load_schema()).check(parse_type(name), value) == []


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_one_wrong_leaf_anywhere_is_found_by_both_walks(data: st.DataObject) -> None:
    conf = minimal_agent()
    holder: Any = conf
    key: Any = None
    node: Any = conf
    while isinstance(node, dict | list) and node:
        holder = node
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        node = holder[key]
    holder[key] = [{"wrong": data.draw(JSON)}]
    found = compile_validator("agent")(conf)
    assert found
    assert found == Walk(load_schema()).check(parse_type("AgentConfig"), conf)


@given(_structs("SwitchConfig", 2))
@settings(max_examples=80, deadline=None)
def test_refusals_never_fail_on_what_the_schema_allows(sw: Json) -> None:
    assert compile_struct("SwitchConfig")(sw) == []
    agent_refusals({"sw": sw}, minimal_inventory(), "TOMAHAWK3")


@given(_structs("BgpConfig", 2))
@settings(max_examples=100, deadline=None)
def test_bgp_refusals_never_fail_on_what_the_schema_allows(conf: Json) -> None:
    bgp_refusals(conf)


CLEAN_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
CLEAN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | CLEAN_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(CLEAN_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(CLEAN)
@settings(deadline=None)
def test_round_trip(value: object) -> None:
    text = wire.dumps(value)
    assert wire.loads(text) == value
    assert text.endswith(b"\n")
    assert text == wire.dumps(wire.loads(text))


@given(CLEAN, CLEAN)
@settings(deadline=None)
def test_a_fragment_gives_the_same_bytes(part: object, rest: object) -> None:
    whole = {"platform": part, "sw": {"a": rest, "b": part}}
    pieces = {
        "platform": wire.fragment(part, depth=2),
        "sw": {"a": rest, "b": wire.fragment(part, depth=3)},
    }
    assert wire.dumps(pieces) == wire.dumps(whole)


def test_raw_newlines_are_read_only_when_asked_for() -> None:
    assert wire.loads('{"yamlConfig": "a:\n  b"}', raw_newlines=True) == {"yamlConfig": "a:\n  b"}


def test_layout() -> None:
    value = {
        "sw": {
            "ports": [{"id": 1, "pfc": {"tx": True}}, {"id": 2}],
            "vlans": [],
            "numbers": [1, 2],
            "map": {"a": {"b": 1}},
        },
        "peers": [{"name": "é"}],
        "none": {},
    }
    assert wire.dumps(value).decode() == (
        "{\n"
        '  "sw": {\n'
        '    "ports": [\n'
        '      {"id": 1, "pfc": {"tx": true}},\n'
        '      {"id": 2}\n'
        "    ],\n"
        '    "vlans": [],\n'
        '    "numbers": [1, 2],\n'
        '    "map": {"a": {"b": 1}}\n'
        "  },\n"
        '  "peers": [\n'
        '    {"name": "é"}\n'
        "  ],\n"
        '  "none": {}\n'
        "}\n"
    )


@pytest.mark.parametrize("value", [{1: 2}, {"a": {"b": {"c": wire.Raw("1")}}}, {"a": object()}])
def test_what_is_not_json_is_not_dumped(value: object) -> None:
    with pytest.raises(TypeError):
        wire.dumps(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', 'x.conf: the key "c" stands twice in one object'),
        ("[NaN]", "x.conf: NaN is not a JSON number"),
        ("[-Infinity]", "x.conf: -Infinity is not a JSON number"),
        ("[1e999]", "x.conf: the number 1e999 is out of range"),
        ('{"a":\n 1,}', "x.conf:2:4: not JSON:"),
        ("", "x.conf:1:1: not JSON:"),
        ('["a\nb"]', "x.conf:1:4: not JSON: Invalid control character"),
        (b"\xff\xfe", "x.conf: not UTF-8 text"),
        ('["\\ud800"]', "x.conf: not UTF-8 text"),
        ("\ufeff{}", "x.conf:1:1: not JSON:"),
        ("[" * 100_000, "x.conf: nested too deeply"),
        ("[" + "1" * 5000 + "]", "x.conf: Exceeds the limit"),
        (" " * 2000, "x.conf: 2000 bytes, more than the 1000 that are read"),
    ],
)
def test_refused_texts(text: str | bytes, message: str) -> None:
    with pytest.raises(FabricError) as caught:
        wire.loads(text, source="x.conf", limit=1000 if text == " " * 2000 else 1_000_000)
    assert message in caught.value.message
