"""The virtual EOS takes what EOS takes, refuses the rest in EOS's words, and prints a running-config as EOS orders it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.lab.eos import config, grammar
from fabric.lab.eos.editor import Editor
from fabric.lab.eos.tree import Node, render
from fabric.targets.eos.defaults import normalise

HARDWARE = config.Hardware((), "vEOS-lab", "4.33.1F")
GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "eos").glob("*.cfg"))


def loaded(text: str) -> tuple[Node, list[str]]:
    root = config.clean(HARDWARE)
    complaints = config.load(Editor(root), text.splitlines())
    return root, complaints


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_rendered_configuration_comes_back_as_it_was_sent(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    root, complaints = loaded(text)
    assert complaints == []
    assert normalise(config.text_of(root)) == normalise(text)


@pytest.mark.parametrize("path", GOLDEN[:2], ids=lambda path: path.stem)
def test_the_order_of_entry_does_not_matter(path: Path) -> None:
    """Blocks entered backwards print in running-config order."""
    blocks: list[list[str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("!") or line == "end":
            continue
        if line.startswith(" "):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    backwards = "\n".join(line for block in reversed(blocks) for line in block)
    assert (
        render(loaded(backwards)[0])
        == [line for line in path.read_text(encoding="utf-8").splitlines() if line != "end"][:-1]
    )


def test_the_reference_switch_is_taken_whole(reference_dir: Path) -> None:
    text = (reference_dir / "eos" / "ctsw1-7800r3.cfg").read_text(encoding="utf-8")
    root, complaints = loaded(text)
    assert complaints == []
    assert normalise(config.text_of(root)) == normalise(text)


@pytest.mark.parametrize(
    ("mode", "line", "answer"),
    [
        ("global", "ruter bgp 65001", "% Invalid input (at token 0: 'ruter')"),
        ("global", "router bgp", "% Incomplete command (at token 1: 'bgp')"),
        ("global", "router bgp 4294967296", "% Invalid input (at token 2: '4294967296')"),
        ("interface", "ip address 10.0.0.0/33", "% Invalid input (at token 2: '10.0.0.0/33')"),
        ("interface", "mtu 9000 bytes", "% Invalid input (at token 2: 'bytes')"),
        ("interface", "s", "% Ambiguous command (at token 0: 's')"),
        ("interface", "speed 400g-7", "% Invalid input (at token 1: '400g-7')"),
        ("router-bgp", "neighbor 10.0.0.1 peer-group RTSW", "% Invalid input (at token 2: 'peer-group')"),
        ("route-map", "match ip adress prefix-list X", "% Invalid input (at token 2: 'adress')"),
        ("tx-queue", "bandwidth percent 101", "% Invalid input (at token 2: '101')"),
    ],
)
def test_wrong_lines_are_refused_in_the_words_of_eos(mode: str, line: str, answer: str) -> None:
    with pytest.raises(grammar.Refused) as refused:
        grammar.read(mode, line)
    assert str(refused.value) == answer


def test_every_golden_line_with_one_letter_wrong_is_refused_or_is_a_free_text() -> None:
    """The table is no rubber stamp: the first word of no line may be misspelt."""
    for line in GOLDEN[0].read_text(encoding="utf-8").splitlines():
        if line.strip() in ("", "!", "end"):
            continue
        first, _, rest = line.strip().partition(" ")
        _, complaints = loaded(f"{first[0]}q{first[1:]} {rest}")
        assert complaints, line


@pytest.mark.parametrize(
    ("entered", "kept"),
    [
        (
            "interface et3/1/1\ndesc  to  rack 1\nmt 9000\nno sh\nno switch",
            ["interface Ethernet3/1/1", "   description to  rack 1", "   mtu 9000", "   no switchport"],
        ),
        ("interface Ethernet3/1/1\nmtu 9000\nmtu 9214", ["interface Ethernet3/1/1", "   mtu 9214"]),
        ("interface Ethernet3/1/1\nshutdown\nmtu 9000\nno mtu\ndefault shutdown", ["interface Ethernet3/1/1"]),
        ("hostname a\nno hostname", []),
        (
            "qos map dscp 24 26 to traffic-class 3\nqos map dscp 1 9 to traffic-class 0",
            ["qos map dscp 1 to traffic-class 0"],
        ),
        ("ip routing\nno ip routing vrf MGMT\nno ip routing", ["no ip routing vrf MGMT"]),
        (
            "router bgp 1\nneighbor 10.0.0.1 remote-as 2\nno neighbor 10.0.0.1 shutdown",
            ["router bgp 1", "   neighbor 10.0.0.1 remote-as 2", "   no neighbor 10.0.0.1 shutdown"],
        ),
        ("router bgp 1\nneighbor 10.0.0.1 shutdown\ndefault neighbor 10.0.0.1 shutdown", ["router bgp 1"]),
        (
            "router bgp 1\nneighbor G peer group\nneighbor 10.0.0.1 peer group G\n"
            "address-family ipv4\nneighbor G activate\nexit\nno neighbor G peer group",
            ["router bgp 1", "   address-family ipv4"],
        ),
        (
            "router bgp 1\nneighbor G route-map A in\nneighbor G route-map B in",
            ["router bgp 1", "   neighbor G route-map B in"],
        ),
        (
            "router bgp 1\nneighbor 2001:db8::1 remote-as 3\nneighbor 10.0.0.10 remote-as 2\n"
            "neighbor 10.0.0.9 remote-as 2\nneighbor G peer group",
            [
                "router bgp 1",
                "   neighbor G peer group",
                "   neighbor 10.0.0.9 remote-as 2",
                "   neighbor 10.0.0.10 remote-as 2",
                "   neighbor 2001:db8::1 remote-as 3",
            ],
        ),
        ("router bgp 1\nno router bgp\nrouter bgp 2", ["router bgp 2"]),
    ],
)
def test_what_is_entered_by_hand(entered: str, kept: list[str]) -> None:
    root, complaints = loaded(entered)
    assert complaints == []
    assert render(root) == kept


def test_a_second_as_number_is_refused() -> None:
    _, complaints = loaded("router bgp 1\nrouter bgp 2")
    assert complaints == ["> router bgp 2% BGP is already running with AS number 1 at line 2"]


def test_a_physical_port_stays_when_it_is_removed() -> None:
    root = config.clean(config.Hardware(("Ethernet3/1/1",), "x", "4.33.1F"))
    complaints = config.load(Editor(root), ["interface Ethernet3/1/1", "mtu 9000", "no interface Ethernet3/1/1"])
    assert complaints == []
    assert render(root) == ["interface Ethernet3/1/1"]


def test_every_row_has_evidence_and_every_opened_mode_exists() -> None:
    rows = grammar.rows()
    modes = {row.mode for row in rows}
    for row in rows:
        assert row.evidence, row.form
        if row.mode != "exec" and row.opens:
            assert row.opens in modes or row.opens == "lb-cluster", row.form
