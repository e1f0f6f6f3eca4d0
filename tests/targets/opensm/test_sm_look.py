"""What an SM host says of itself, read and judged; what a change of its files takes."""

from __future__ import annotations

import pytest

from fabric.targets.device import DeviceError
from fabric.targets.opensm.device_files import tables
from fabric.targets.opensm.device_look import problems, read_look
from fabric.targets.opensm.device_state import in_force, read_state
from fabric.targets.opensm.effect import effect_of
from fabric.targets.swap import sha256

OWN, OTHER = 0xA00000000001, 0xA00000000011
ETC = "/etc/opensm"
CONF, PARTITIONS = f"{ETC}/opensm.conf", f"{ETC}/partitions.conf"


def _sm(guid: int, priority: int, state: int) -> str:
    name = {1: "DISCOVER", 2: "STANDBY", 3: "MASTER"}[state]
    return f"sminfo: sm lid 1 sm guid {guid:#x}, activity count 7 priority {priority} state {state} SMINFO_{name}"


def _answer(own: str, master: str, *lines: str) -> str:
    return "\n".join(["@pids 12", f"@own {own}", f"@master {master}", *lines, "@end", ""])


@pytest.mark.parametrize(
    ("own", "master", "found"),
    [
        (_sm(OWN, 14, 3), _sm(OWN, 14, 3), ""),
        (_sm(OWN, 13, 2), _sm(OTHER, 14, 3), ""),
        (_sm(OTHER, 14, 2), _sm(OWN, 14, 3), ""),
        (_sm(OWN, 14, 2), _sm(OTHER, 14, 3), "whose priority 14 is not above its own 14"),
        (_sm(OWN, 14, 2), _sm(OTHER, 13, 3), "whose priority 13 is not above its own 14"),
        (_sm(OWN, 14, 2), "", "the subnet has no master that answers"),
        (_sm(OWN, 14, 3), _sm(OTHER, 13, 3), "its port that 0x0000a00000000011 is"),
        (_sm(OWN, 14, 1), _sm(OTHER, 13, 3), "neither master nor standby yet"),
        ("", "", "does not answer"),
    ],
)
def test_place_of_the_sm(own: str, master: str, found: str) -> None:
    said = problems(read_look(_answer(own, master), "sm1"), "ftree", {})
    assert len(said) == bool(found)
    assert all(found in one for one in said)


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ([" x -> ftree tables configured on all switches", " x -> SUBNET UP"], ""),
        ([" x -> ftree tables configured on all switches"], "no SUBNET UP in its log since the change"),
        (
            [" x -> minhop tables configured on all switches", " x -> SUBNET UP"],
            "routed by minhop, and ftree is declared",
        ),
        ([" x -> SUBNET UP"], "does not say that ftree has routed the subnet"),
        (
            [" x -> ftree tables configured on all switches", " x -> SUBNET UP", " x -> Errors during initialization"],
            "opensm says: Errors during initialization",
        ),
        (
            [
                " x -> ftree tables configured on all switches",
                " x -> SUBNET UP",
                " x -> ERR 2F18: Got SM (0,1) with sm_key 0x77 that doesn't",
            ],
            "opensm says: ERR 2F18: Got SM (0,1) with sm_key <secret> that doesn't",
        ),
    ],
)
def test_the_log_of_a_master(log: list[str], found: str) -> None:
    look = read_look(_answer(_sm(OWN, 14, 3), _sm(OWN, 14, 3), "@log", *log, "@stdout"), "sm1")
    said = problems(look, "ftree", {})
    assert len(said) == bool(found)
    assert all(found in one for one in said)


@pytest.mark.parametrize("answer", ["", "@own x\n", "garbage\n"])
def test_an_answer_that_is_none(answer: str) -> None:
    with pytest.raises(DeviceError, match="sm1: it does not tell"):
        read_look(answer, "sm1")
    with pytest.raises(DeviceError, match="sm1: it does not tell"):
        read_state(answer, "sm1")


@pytest.mark.parametrize(
    ("path", "old", "new", "effect"),
    [
        (CONF, b"sm_priority 1\n", b"sm_priority 2\n", "reload"),
        (CONF, b"sm_priority 1\n", b"# a comment\nsm_priority 1\n", "reload"),
        (CONF, b"routing_engine ftree\n", b"routing_engine updn\n", "restart"),
        (CONF, b"partition_config_file /a\n", b"partition_config_file /b\n", "restart"),
        (CONF, b"\n", b"lmc 0\n", "reload"),  # the default, written down
        (CONF, b"\n", b"key_of_nobody 1\n", "restart"),
        (CONF, b"sa_key 5\n", b"\n", "restart"),  # at SIGHUP it would stay
        (CONF, b"\n", b"sa_key 5\n", "restart"),  # the way back is the same
        (CONF, b"cc_ca_cong_setting_ccti_timer 0 5\n", b"cc_ca_cong_setting_ccti_timer 0 6\n", "restart"),
        (CONF, b"sm_priority 1\n", None, "stop"),
        (PARTITIONS, b"a", b"b", "reload"),
        (PARTITIONS, None, b"b", "reload"),
        ("/opt/sharp/sharp_am.cfg", b"a", b"b", "none"),
    ],
)
def test_what_a_change_takes(path: str, old: bytes | None, new: bytes | None, effect: str) -> None:
    assert effect_of(ETC, {path: (old, new)}, "opensm") == effect


@pytest.mark.parametrize(
    ("now", "loaded", "written", "why"),
    [
        ("boot 5 900", "boot 5 900", (90, 90), ""),
        ("boot 5 900", "boot 5 900", (210, 210), "it was written again after opensm read it"),
        ("boot 7 990", "boot 5 900", (90, 90), ""),
        ("boot 7 990", "boot 5 900", (150, 150), "it was written after opensm started"),
        ("", "boot 5 900", (90, 90), "opensm does not run"),
    ],
)
def test_what_is_in_force(now: str, loaded: str, written: tuple[int, int], why: str) -> None:
    text = b"lmc 0\n"
    lines = [
        f"@now {now} ", "@started 100", "@noted 200", "@loaded", f" {loaded}", f" {sha256(text)}  {CONF}",
        "@written", f" {written[0]} {written[1]} {CONF}", "@end",
    ]  # fmt: skip
    state = read_state("\n".join(lines), "sm1")
    assert in_force(ETC, CONF, text, state) == (f"# not in force: {why}\n".encode() + text if why else text)


def test_the_tables_that_ports_must_hold() -> None:
    conf = f"guid {OWN:#x}\npartition_config_file {PARTITIONS}\nallow_both_pkeys TRUE\n".encode()
    text = b"Default=0x7fff : ALL=limited, SELF=full ;\na=0x1001 : 0x21=full, 0x22=both, 0x23=limited ;\nb=0x1002 : 0x23=full ;\n"
    assert tables(ETC, {CONF: conf, PARTITIONS: text}, "opensm") == {
        OWN: {0xFFFF},
        0x21: {0x7FFF, 0x9001},
        0x23: {0x7FFF, 0x1001, 0x9002},
    }
