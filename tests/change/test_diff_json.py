"""The keyed walk: cases as data, then what must hold for any JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.change.diff_json import diff_json, parse_json
from fabric.change.diff_model import UnreadableError

PORT = {"logicalID": 1, "name": "eth2/1/1", "state": 2}
PEER = {"peer_addr": "2001:db8::1", "remote_as_4_byte": 65001}

CASES: dict[str, tuple[Any, Any, list[str]]] = {
    "equal": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
    "order of keys": ({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}, []),
    "value": ({"sw": {"mtu": 1}}, {"sw": {"mtu": 2}}, ["~ sw.mtu: 1 -> 2"]),
    "key only here": ({"a": 1, "b": {"c": 1}}, {"a": 1}, ['- b: {"c": 1}']),
    "key only there": ({}, {"a": "x"}, ['+ a: "x"']),
    "true is not 1": ({"a": {"b": True}}, {"a": {"b": 1}}, ["~ a.b: true -> 1"]),
    "1 is not 1.0": ({"a": [{"id": 1, "x": 1}]}, {"a": [{"id": 1, "x": 1.0}]}, ["~ a[1].x: 1 -> 1.0"]),
    "null is not absent": ({"a": None}, {}, ["- a: null"]),
    "ports by logicalID, shown by name": (
        {"ports": [PORT, {**PORT, "logicalID": 2, "name": "eth2/3/1"}]},
        {"ports": [{**PORT, "logicalID": 2, "name": "eth2/3/1", "state": 1}, PORT]},
        ["~ ports[eth2/3/1].state: 2 -> 1"],
    ),
    "port gone and new": (
        {"ports": [PORT]}, {"ports": [{**PORT, "logicalID": 9, "name": "eth9/1/1"}]},
        [
            '- ports[eth2/1/1]: {"logicalID": 1, "name": "eth2/1/1", "state": 2}',
            '+ ports[eth9/1/1]: {"logicalID": 9, "name": "eth9/1/1", "state": 2}',
        ],
    ),
    "vlanPorts by a pair": (
        {"vlanPorts": [{"vlanID": 1, "logicalPort": 1, "emitTags": False}, {"vlanID": 1, "logicalPort": 2}]},
        {"vlanPorts": [{"vlanID": 1, "logicalPort": 2}, {"vlanID": 1, "logicalPort": 1, "emitTags": True}]},
        ["~ vlanPorts[1/1].emitTags: false -> true"],
    ),
    "peers by address": (
        {"peers": [PEER]}, {"peers": [{**PEER, "remote_as_4_byte": 65002}]},
        ["~ peers[2001:db8::1].remote_as_4_byte: 65001 -> 65002"],
    ),
    "order of policy terms means something": (
        {"policy_entries": [{"name": "a"}, {"name": "b"}]}, {"policy_entries": [{"name": "b"}, {"name": "a"}]},
        ["~ policy_entries: order is now b, a"],
    ),
    "no key: by place": (
        {"x": [{"v": 1}, {"v": 2}]}, {"x": [{"v": 1}, {"v": 3}, {"v": 4}]}, ['~ x[1].v: 2 -> 3', '+ x[2]: {"v": 4}'],
    ),
    "a key that stands twice names nothing": (
        {"x": [{"id": 1, "v": 1}, {"id": 1, "v": 2}]}, {"x": [{"id": 1, "v": 1}, {"id": 1, "v": 3}]}, ["~ x[1].v: 2 -> 3"],
    ),
    "scalars in a list": ({"ips": ["a", "b"]}, {"ips": ["a"]}, ['~ ips: ["a", "b"] -> ["a"]']),
    "another type": ({"a": [1]}, {"a": {"b": 1}}, ['~ a: [1] -> {"b": 1}']),
    "the whole file": ([1], [2], ["~ (the whole file): [1] -> [2]"]),
    "odd keys": ({"a.b": {"c d": 1}}, {"a.b": {"c d": 2}}, ['~ "a.b"."c d": 1 -> 2']),
    "secret": ({"password": "old"}, {"password": "new"}, ["~ password: <secret> -> <secret>"]),
    "secret in what is new": ({}, {"x": {"auth_key": "k", "n": 1}}, ['+ x: {"auth_key": "<secret>", "n": 1}']),
    "placeholder against a set secret": ({"password": "hash"}, {"password": "$SECRET{p}"}, []),
    "placeholder against an empty one": ({"password": ""}, {"password": "$SECRET{p}"}, ['~ password: "" -> <secret>']),
    "communities are no secrets": ({"communities": ["1:1"]}, {"communities": ["1:2"]}, ['~ communities: ["1:1"] -> ["1:2"]']),
    "escapes are shown as text": ({"a": "\x1b[31m\u202e"}, {"a": ""}, ['~ a: "\\u001b[31m\\u202e" -> ""']),
    "a long list of plain values": (
        {"dscp": list(range(10))},
        {"dscp": [*range(2, 10), 50]},
        ["~ dscp: without [0, 1] and with [50]"],
    ),
    "a long list that only grows": ({"dscp": list(range(10))}, {"dscp": list(range(11))}, ["~ dscp: with [10]"]),
    "a long list in another order": (
        {"dscp": list(range(9))},
        {"dscp": list(range(8, -1, -1))},
        ["~ dscp: [0, 1, 2, 3, 4, 5, 6, 7, 8] -> [8, 7, 6, 5, 4, 3, 2, 1, 0]"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    running, desired, expected = CASES[name]
    assert [line for change in diff_json(running, desired) for line in change.lines] == expected


def test_the_subject_is_the_port() -> None:
    nested = {"ports": [{**PORT, "queues": [{"id": 3, "w": 1}]}]}
    other = {"ports": [{**PORT, "queues": [{"id": 3, "w": 2}]}]}
    assert [(c.lines, c.subject) for c in diff_json(nested, other)] == [
        (("~ ports[eth2/1/1].queues[3].w: 1 -> 2",), "eth2/1/1")
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": ', "not JSON: line 1, column 7: Expecting value"),
        (b"\xff\xfe{}", "not JSON: byte 0 is not UTF-8"),
        (b'{"a": NaN}', "not JSON: NaN is not a JSON number"),
        (b"[" * 100_000, "not JSON: maximum recursion depth exceeded"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "not JSON: Exceeds the limit (4300 digits) for integer string conversion"),
        (b"", "not JSON: line 1, column 1: Expecting value"),
    ],
)
def test_unreadable(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError) as refused:
        parse_json(data)
    assert str(refused.value).startswith(reason)


SCALAR = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.0, 1.0, "", "a", "eth1/1/1"])
OBJECT = st.fixed_dictionaries({"id": st.integers(0, 3)}, optional={"v": SCALAR, "name": st.sampled_from(["a", "b"])})
VALUE = st.recursive(
    SCALAR | st.lists(OBJECT, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "ports", "peers", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def meaning(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@given(VALUE, VALUE)
def test_a_diff_is_empty_only_for_equal_values(old: Any, new: Any) -> None:
    assert diff_json(old, old) == []
    if meaning(old) == meaning(new):
        assert diff_json(old, new) == []
    elif not diff_json(old, new):  # only the order in a list that has none may differ
        assert sorted(meaning(old)) == sorted(meaning(new))


@given(VALUE, VALUE)
def test_both_directions_find_something(old: Any, new: Any) -> None:
    assert bool(diff_json(old, new)) == bool(diff_json(new, old))
