"""EOS tree diff: cases as data, then what must hold for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.change.diff_model import MAX_DEPTH, UnreadableError
from fabric.change.diff_text import diff_text

INTERFACE = "interface Ethernet3/1/1\n   mtu {mtu}\n   no switchport\n"
BGP = (
    "router bgp 65001\n   router-id 10.0.0.1\n   neighbor 10.1.0.1 peer group RTSW\n   neighbor 10.1.0.1 remote-as {asn}\n"
    "   !\n   address-family ipv4\n      neighbor RTSW activate\n"
)
PROFILE = "qos profile R\n   qos trust dscp\n   !\n   tx-queue 3\n      no priority\n      bandwidth percent {share}\n"

CASES: dict[str, tuple[str, str, list[str]]] = {
    "equal": (INTERFACE.format(mtu=9214), INTERFACE.format(mtu=9214), []),
    "comments, blanks and end": ("! a\nhostname x  \n\n!\nend\n", "hostname x\n", []),
    "dos line ends": ("hostname x\r\ninterface E1\r\n   mtu 1\r\n", "hostname x\ninterface E1\n   mtu 1\n", []),
    "order of sections and lines": ("a 1\ninterface E1\n   x\n   y\n", "interface E1\n   y\n   x\na 1\n", []),
    "line replaced": ("hostname a\n", "hostname b\n", ["- hostname a", "+ hostname b"]),
    "line only here": ("lldp timer 10\n", "", ["- lldp timer 10"]),
    "line in a section": (
        INTERFACE.format(mtu=1500),
        INTERFACE.format(mtu=9214),
        ["  interface Ethernet3/1/1", "-    mtu 1500", "+    mtu 9214"],
    ),
    "negation stands with what it negates": (
        "interface E1\n   no shutdown\n", "interface E1\n   shutdown\n",
        ["  interface E1", "-    no shutdown", "+    shutdown"],
    ),
    "section in a section": (
        PROFILE.format(share=50), PROFILE.format(share=90),
        ["  qos profile R", "     tx-queue 3", "-       bandwidth percent 50", "+       bandwidth percent 90"],
    ),
    "whole section": (
        "", PROFILE.format(share=9),
        ["+ qos profile R", "+    qos trust dscp", "+    tx-queue 3", "+       no priority", "+       bandwidth percent 9"],
    ),
    "router bgp by neighbour": (
        BGP.format(asn=65101), BGP.format(asn=65102),
        ["  router bgp 65001", "-    neighbor 10.1.0.1 remote-as 65101", "+    neighbor 10.1.0.1 remote-as 65102"],
    ),
    "sequence numbers are headers": (
        "route-map R permit 10\n   match as-path A\n", "route-map R permit 20\n   match as-path A\n",
        ["+ route-map R permit 20", "+    match as-path A", "- route-map R permit 10", "-    match as-path A"],
    ),
    "order of servers": (
        "aaa group server tacacs+ T\n   server 10.0.0.1\n   server 10.0.0.2\n",
        "aaa group server tacacs+ T\n   server 10.0.0.2\n   server 10.0.0.1\n",
        [
            "  aaa group server tacacs+ T", "-    server 10.0.0.1", "-    server 10.0.0.2",
            "+    server 10.0.0.2", "+    server 10.0.0.1",
        ],
    ),
    "order of top-level servers": (
        "tacacs-server host A\ntacacs-server host B\n", "tacacs-server host B\ntacacs-server host A\n",
        ["- tacacs-server host A", "- tacacs-server host B", "+ tacacs-server host B", "+ tacacs-server host A"],
    ),
    "banner as a whole": (
        "banner login\n! hello\n   there\nEOF\nhostname x\n", "banner login\n! bye\nEOF\nhostname x\n",
        ["- banner login", "- ! hello", "-    there", "- EOF", "+ banner login", "+ ! bye", "+ EOF"],
    ),
    "line that stands twice": ("a\na\n", "a\n", ["- a"]),
    "deep indent of the mmu profile": (
        "platform trident mmu queue profile R\n    ingress headroom 1\n",
        "platform trident mmu queue profile R\n    ingress headroom 2\n",
        ["  platform trident mmu queue profile R", "-    ingress headroom 1", "+    ingress headroom 2"],
    ),
    "secret masked": (
        "username a secret sha512 $6$old\n", "username a secret sha512 $6$new\n",
        ["- username a secret sha512 <secret>", "+ username a secret sha512 <secret>"],
    ),
    "placeholder against a set secret": (
        "tacacs-server host 10.0.0.1 vrf MGMT key 7 0822\n", "tacacs-server host 10.0.0.1 vrf MGMT key 8a $SECRET{tacacs}\n", [],
    ),
    "placeholder against nothing": (
        "", "username a secret $SECRET{a}\n", ["+ username a secret <secret>"],
    ),
    "terminal escapes are shown as text": (
        "hostname \x1b[31mx\n", "hostname y\n", ["- hostname \\x1b[31mx", "+ hostname y"],
    ),
}  # fmt: skip


def shown(running: str, desired: str) -> list[str]:
    return [line for change in diff_text(running, desired) for line in (*change.context, *change.lines)]


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    running, desired, expected = CASES[name]
    assert shown(running, desired) == expected


def test_hidden_lines_are_taken_out_before() -> None:
    def normalise(text: str) -> str:
        return text.replace("   no shutdown\n", "")

    assert diff_text("interface E1\n   mtu 1\n", "interface E1\n   no shutdown\n   mtu 1\n", normalise) == []


def test_many_equal_lines_are_counted_in_reasonable_time() -> None:
    line = "neighbor 10.0.0.1 remote-as 5\n"
    assert sum(len(change.lines) for change in diff_text(line * 30_000, line * 3)) == 29_997


def test_subjects() -> None:
    changes = diff_text(INTERFACE.format(mtu=1) + BGP.format(asn=1), INTERFACE.format(mtu=2) + BGP.format(asn=2))
    assert [change.subject for change in changes] == ["Ethernet3/1/1", "10.1.0.1"]


def test_too_deep_is_unreadable() -> None:
    deep = "a\n" + "".join(" " * level + "x\n" for level in range(1, MAX_DEPTH * 2))
    with pytest.raises(UnreadableError, match="nested more than 64 levels"):
        diff_text(deep, "a\n")


LINE = st.sampled_from(
    ["a", "b 1", "b 2", "no b", "neighbor 10.0.0.1 x", "neighbor 10.0.0.2 x", "server A", "server B", "!", ""]
)
HEAD = st.sampled_from(
    ["interface E1", "router bgp 1", "aaa group server tacacs+ T", "qos profile R", "tacacs-server host B"]
)
TREE = st.dictionaries(
    HEAD, st.lists(st.tuples(st.integers(1, 3), LINE), max_size=6, unique_by=lambda pair: pair[1]), max_size=4
)


def text_of(tree: dict[str, list[tuple[int, str]]]) -> str:
    return "".join(f"{head}\n" + "".join(f"{'   ' * d}{line}\n" for d, line in body) for head, body in tree.items())


@given(TREE)
def test_nothing_differs_from_itself(tree: dict[str, list[tuple[int, str]]]) -> None:
    noisy = text_of(tree).replace("\n", "  \n!\n")
    assert diff_text(text_of(tree), text_of(tree) + "end\n") == []
    assert diff_text(noisy, noisy + "!\n") == []


def meaning(text: str) -> object:
    """What a configuration says, by a slow and plain reading: nested sorted lists, in order only for servers."""
    root: list[tuple[str, list[object]]] = []
    stack: list[tuple[int, list[tuple[str, list[object]]]]] = [(-1, root)]
    for line in text.splitlines():
        body = line.strip()
        if not body or body == "!":
            continue
        indent = len(line) - len(line.lstrip())
        while stack[-1][0] >= indent:
            stack.pop()
        children: list[tuple[str, list[object]]] = []
        stack[-1][1].append((body, children))  # type: ignore[arg-type]
        stack.append((indent, children))

    def fold(items: list[tuple[str, list[object]]], ordered: bool) -> object:
        folded = [(head, fold(below, head.startswith("aaa group server"))) for head, below in items]  # type: ignore[arg-type]
        return tuple(folded) if ordered else tuple(sorted(folded, key=repr))

    return fold(root, False)


@given(TREE, TREE)
def test_a_diff_is_empty_exactly_when_both_say_the_same(
    old: dict[str, list[tuple[int, str]]], new: dict[str, list[tuple[int, str]]]
) -> None:
    a, b = text_of(old), text_of(new)
    assert (diff_text(a, b) == []) == (meaning(a) == meaning(b))
