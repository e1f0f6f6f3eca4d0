"""Every fault and every trap of the reference: what is broken -> exactly these failed and unknown findings, and the report as a golden file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import pytest

from fabric.design.ib.model import SubnetManager
from fabric.targets.opensm.keys import nvidia_keys
from fabric.targets.opensm.mad_model import PortCounters, SmInfo
from fabric.verify import report
from fabric.verify.finding import Finding
from fabric.verify.ib.judge import CHECKS
from fabric.verify.ib.lids import lids_of
from fabric.verify.ib.reads import PortQos, SmText, Unread
from fabric.verify.ib.runner import validate
from tests.verify.ib.fake_subnet import UP, DeafSubnet, FakeSubnet, log_of, logged, subnet_of

Break = Callable[[FakeSubnet], object]
ZERO = PortCounters(*[0] * 17)


def run(fake: FakeSubnet, checks: tuple[str, ...] = CHECKS, **options: object) -> list[Finding]:
    """All findings on it."""
    return validate(fake.subnet, fake, checks, **options)[1]  # type: ignore[arg-type]


def swap_rails(fake: FakeSubnet) -> None:
    """The two HCAs of one host, exchanged between their leaves."""
    fake.swap(("gt0002 mlx5_0", 1), ("gt0002 mlx5_3", 1))


def to_wrong_rail(fake: FakeSubnet) -> None:
    """An HCA in the free port of a leaf of another rail."""
    fake.move(("leaf0009", 2), ("leaf0010", 8))


def foreign(fake: FakeSubnet, name: str, word: str) -> None:
    """A box with another GUID, which calls itself so."""
    fake.guid[name], fake.description[name] = 0xB8CEF60300000001, word


def guests(fake: FakeSubnet) -> None:
    """An HCA that nobody declared, in a free port."""
    fake.guid["guest"], fake.description["guest"], fake.lid["guest"] = 0xB8CEF60300000009, "localhost HCA-1", 145
    fake.plug(("leaf0009", 8), ("guest", 1))


def declared_guids(fake: FakeSubnet) -> None:
    """The design holds the real GUIDs, so that a description proves nothing."""
    fake.subnet = dataclasses.replace(
        fake.subnet, switches=tuple(dataclasses.replace(s, placeholder=False) for s in fake.subnet.switches),
        hcas=tuple(dataclasses.replace(h, placeholder=False) for h in fake.subnet.hcas),
    )  # fmt: skip


def replaced(fake: FakeSubnet) -> None:
    """A changed HCA whose new GUID nobody declared."""
    declared_guids(fake)
    foreign(fake, "gt0003 mlx5_1", "gt0003 mlx5_1")


def exchanged_names(fake: FakeSubnet) -> None:
    """Two boards changed their boxes."""
    declared_guids(fake)
    fake.description["gt0003 mlx5_1"], fake.description["gt0004 mlx5_1"] = "gt0004 mlx5_1", "gt0003 mlx5_1"


def all_links(fake: FakeSubnet, **changes: object) -> None:
    """Every port changed."""
    for place in fake.cables:
        fake.port[place] = dataclasses.replace(UP, **changes)  # type: ignore[arg-type]


def both(fake: FakeSubnet, place: tuple[str, int], **changes: object) -> None:
    """Both ends of a cable changed."""
    for end in (place, fake.cables[place]):
        fake.port[end] = dataclasses.replace(UP, **changes)  # type: ignore[arg-type]


def sms(*changes: dict[str, object] | None) -> Break:
    """The SMs changed, in order; None takes one away."""

    def change(fake: FakeSubnet) -> None:
        kept = zip(fake.sms, changes, strict=True)
        fake.sms = [dataclasses.replace(sm, **new) for sm, new in kept if new is not None]  # type: ignore[arg-type]

    return change


def stdout(line: str) -> Break:
    """One more line on the master's standard output."""
    return lambda fake: fake.stdout.update(gt0001=fake.stdout["gt0001"] + line + "\n")


def option(old: str, new: str) -> Break:
    """Another echo of an option."""
    return lambda fake: fake.stdout.update(gt0001=fake.stdout["gt0001"].replace(old, new))


def log(*lines: str) -> Break:
    """More lines in the master's log."""
    return lambda fake: fake.log.update(gt0001=good(fake) + logged(*lines))


def good(fake: FakeSubnet) -> str:
    """The good log of the master."""
    return fake.good_log(fake.subnet.managers[0])


def typo(fake: FakeSubnet) -> None:
    """A typo in routing_engine: opensm says one line, and takes MinHop."""
    text = log_of(fake.subnet, master=True, engine="minhop")
    bad = logged("0x01 -> setup_routing_engine: cannot find or setup routing engine 'fattree'")
    fake.log["gt0001"] = text.replace(logged("0x02 -> osm_opensm_bind"), bad).replace(
        "Setting IS_SM", bad + "Setting IS_SM"
    )
    first, _, rest = text.partition("Nov 30 12:04:37 060301 [9E353740] 0x02 -> osm_opensm_bind")
    fake.log["gt0001"] = f"{first}{bad}Nov 30 12:04:37 060301 [9E353740] 0x02 -> osm_opensm_bind{rest}"
    fake.stdout["gt0001"] = fake.stdout["gt0001"].replace("ftree,no_fallback", "fattree")
    fake.aliased = True


def discovery_gap(fake: FakeSubnet) -> None:
    """A spine without power, and a port that did not answer."""
    fake.off("spine02")
    fake.gaps = ("leaf0001 port 10 did not answer",)


def missing_root(fake: FakeSubnet) -> None:
    """One root left out of root_guids: accepted, at half the bandwidth."""
    fake.log["gt0001"] = log_of(fake.subnet, master=True, roots=len(fake.subnet.roots) - 1)
    fake.aliased = True


def nothing_routed(fake: FakeSubnet) -> None:
    """ftree refuses, and no_fallback stops it."""
    lines = log_of(fake.subnet, master=True).splitlines(keepends=True)
    more = (
        "0x01 -> fabric_read_guid_files: ERR AB23: Problem parsing CN guid file",
        "0x01 -> ucast_mgr_route: ftree: cannot build lid matrices",
        "0x01 -> osm_ucast_mgr_process: No routing engine able to successfully configure  switch tables on current fabric",
    )
    kept = [line for line in lines if not any(said in line for said in ("tables configured", "UP", "Fabric has"))]
    fake.log["gt0001"] = "".join(kept) + logged(*more)


def parse_error(fake: FakeSubnet) -> None:
    """A missing colon in partitions.conf."""
    fake.pkeys_of = dict.fromkeys(fake.pkeys_of, (0xFFFF,))
    log(
        "0x01 -> parse_part_conf: PARSE ERROR: line 4: no partition definition found",
        "0x01 -> osm_prtn_make_partitions: Partition configuration in error; retrying with default config",
    )(fake)


def pkeys(name: str, *keys: int) -> Break:
    """Another P_Key table of one port."""
    return lambda fake: fake.pkeys_of.update({name: keys})


def loop(fake: FakeSubnet) -> None:
    """Two switches that send one HCA's packets to each other."""
    spine, port = fake.cables["leaf0001", 9]
    fake.routes["leaf0001", "gt0012 mlx5_2"], fake.routes[spine, "gt0012 mlx5_2"] = 9, port


def ring(fake: FakeSubnet) -> None:
    """Two detours down and up again, each into the other's way: to leaf 2 by spine 1 and leaf 1, to leaf 1 by spine 2 and leaf 2."""
    for leaf, first, second, hca in (("leaf0001", 9, 10, "gt0001 mlx5_1"), ("leaf0002", 10, 9, "gt0001 mlx5_0")):
        other = {"leaf0001": "leaf0002", "leaf0002": "leaf0001"}[leaf]
        for name in fake.size:
            if name.startswith("leaf") and name != other:
                fake.routes[name, hca] = first
        fake.routes[fake.cables[leaf, first][0], hca] = fake.cables[leaf, first][1]
        fake.routes[leaf, hca] = second
        fake.routes[fake.cables[other, second][0], hca] = fake.cables[other, second][1]


def quiet(text: str) -> Break:
    """The log without VERBOSE lines."""
    return lambda fake: fake.log.update(
        gt0001="".join(x for x in good(fake).splitlines(keepends=True) if text not in x)
    )


TABLE: dict[str, tuple[Break, list[str]]] = {
    "good": (lambda _: None, []),
    # cabling
    "swap-in-a-leaf": (lambda fake: fake.swap(("leaf0001", 2), ("leaf0001", 3)), ["FAIL cabling.swap"]),
    "swap-of-rails": (swap_rails, ["FAIL cabling.swap"]),
    "swap-of-uplinks": (lambda fake: fake.swap(("leaf0001", 9), ("leaf0002", 10)), ["FAIL cabling.swap", "? routing.balance"]),
    "rotation": (lambda fake: fake.swap(("leaf0001", 2), ("leaf0002", 2), ("leaf0003", 2)), ["FAIL cabling.rotation"]),
    "cut": (lambda fake: fake.cut(("leaf0003", 12)), ["FAIL cabling.missing", "? routing.balance"]),
    "wrong-port": (lambda fake: fake.move(("leaf0009", 2), ("leaf0009", 8)), ["FAIL cabling.wrong-port"]),
    "wrong-rail": (to_wrong_rail, ["FAIL cabling.wrong-rail"]),
    "wrong-device": (lambda fake: fake.move(("spine01", 3), ("leaf0009", 8)), ["FAIL cabling.wrong-device", "? routing.balance"]),
    "unexpected": (guests, ["FAIL cabling.unexpected"]),
    "host-off": (lambda fake: fake.off(*(f"gt0005 mlx5_{n}" for n in range(8))), ["FAIL cabling.device", "? routing.balance"]),
    "one-hca-off": (lambda fake: fake.off("gt0005 mlx5_3"), ["FAIL cabling.missing"]),
    "spine-off": (lambda fake: fake.off("spine02"), ["FAIL cabling.device", "? routing.balance"]),
    "leaf-off": (lambda fake: fake.off("leaf0011"), ["FAIL cabling.device"]),
    "no-description": (lambda fake: foreign(fake, "gt0003 mlx5_1", "MT4129 ConnectX7 Mellanox Technologies"), ["? cabling.link"]),
    "by-description": (lambda fake: foreign(fake, "gt0003 mlx5_1", "gt0003 mlx5_1"), ["FAIL sm.compute", "FAIL sm.partition-file"]),
    "switch-by-description": (lambda fake: foreign(fake, "spine02", "MF0;spine02:MQM9700/U1"), ["FAIL sm.roots"]),
    "replaced": (replaced, ["FAIL cabling.wrong-device"]),
    "exchanged-names": (exchanged_names, ["FAIL cabling.name", "FAIL cabling.name"]),
    "narrow": (lambda fake: both(fake, ("leaf0001", 9), width=1), ["FAIL cabling.speed"]),
    "slow": (lambda fake: both(fake, ("leaf0001", 9), speed=53.125), ["FAIL cabling.speed"]),
    "no-sm-yet": (lambda fake: all_links(fake, state="initialize"), ["FAIL cabling.state"]),
    "discovery-gap": (discovery_gap, [
        "? cabling.device", "? cabling.discovery", "? routing.balance",
    ]),
    "cut-off": (lambda fake: fake.cut(("leaf0001", 1)), [
        "FAIL cabling.device", "? cabling.hidden", "? sm.standby", "? routing.reach", "? qos.path",
    ]),
    # sm
    "master-dead": (sms(None, {"state": "master"}), ["FAIL sm.master"]),
    "handed-over": (sms({"state": "standby"}, {"state": "master"}), ["FAIL sm.master"]),
    "is-sm-lost": (lambda fake: fake.no_is_sm.update(sm.guid for sm in fake.sms), []),
    "nobody-master": (sms({"state": "discovering"}, {}), ["FAIL sm.master"]),
    "two-masters": (sms({}, {"state": "master"}), ["FAIL sm.master"]),
    "standby-dead": (sms({}, None), ["FAIL sm.standby"]),
    "priority": (sms({}, {"priority": 3}), ["FAIL sm.priority"]),
    "stranger-sm": (lambda fake: fake.sms.append(SmInfo(0xA1, 1, 15, "standby")), ["FAIL sm.unexpected"]),
    "unknown-key": (stdout(' Unrecognized token: "max_operational_vls"'), ["FAIL sm.unknown-key"]),
    "rejected": (stdout(" Invalid Cached Option Value:sm_priority = 16:Using Default:0"), ["FAIL sm.rejected"]),
    "rejected-number": (
        stdout("-E- Parsing error in field sweep_interval, expected numeric input received: ten"), ["FAIL sm.rejected"]
    ),
    "rejected-vlarb": (stdout(" Warning: Cached Option qos_vlarb_high: < 1:300 > illegal weight"), ["FAIL sm.rejected"]),
    "boolean-not-taken": (option(" Loading Cached Option:qos = TRUE\n", ""), ["FAIL sm.keys"]),
    "old-value": (option("polling_retry_number = 2", "polling_retry_number = 9"), ["FAIL sm.keys"]),
    "undeclared-key": (stdout(" Loading Cached Option:lash_start_vl = 3"), ["FAIL sm.keys"]),
    "not-bound": (stdout("Error from osm_opensm_bind (0x2A)\nPerhaps another instance of OpenSM is already running"), ["FAIL sm.bind"]),
    "engine-typo": (typo, ["FAIL sm.engine"]),
    "missing-root": (missing_root, ["FAIL sm.roots"]),
    "no-engine": (nothing_routed, ["FAIL sm.engine"]),
    "root-file": (
        log("0x01 -> fabric_load_roots: ERR AB2A: cannot parse root guids file '/etc/opensm/root_guids'"), ["FAIL sm.roots"]
    ),
    "partition-warning": (
        log(
            "0x04 -> partition_add_port: PARSE WARN: line 2: unrecognized port flag 'Full'. Assume 'limited'",
            "0x04 -> osm_prtn_add_port: port 0xdead not found",
        ),
        ["FAIL sm.partition-file"],
    ),
    "standby-polls": (
        lambda fake: fake.log.update(gt0009=fake.good_log(fake.subnet.managers[1]) + logged(
            "0x01 -> log_send_error: ERR 5411: DR SMP Send completed with error (IB_TIMEOUT) -- dropping",
            "0x01 -> Received SMP on a 6 hop path: Initial path = 0,1,9,9,1,1,1, Return path  = 0,0,0,0,0,0,0",
            "0x01 -> sm_mad_ctrl_send_err_cb: ERR 3120: Timeout while getting attribute 0x20 (SMInfo); Possible mis-set mkey?",
        )), [],
    ),
    "standby-was-master": (
        lambda fake: fake.log.update(
            gt0009=log_of(fake.subnet, master=True) + logged("0x01 -> x: ERR 1: old", "0x80 -> Entering STANDBY state")
        ),
        [],
    ),
    "notices": (
        log(
            "0x01 -> log_trap_info: Received Generic Notice type:1 num:128 (Link state change) Producer:2 (Switch) from LID:9 TID:0x0",
            "0x01 -> log_trap_info: Received Generic Notice type:4 num:144 (CapabilityMask, NodeDescription) Producer:1 from LID:154",
        ),
        [],
    ),
    "bad-pkey-trap": (log("0x01 -> log_trap_info: Received Generic Notice type:2 num:257 (Bad P_Key) Producer:1"), ["FAIL sm.log"]),
    "keys-in-the-log": (
        log("0x01 -> smi_rcv: ERR 2F18: Got SM (0,1) with sm_key 0xbeef that doesn't match",
            "0x01 -> x: MAD SM_Key: 0xbeef != SM_Key: 0x5; ignored"),
        ["FAIL sm.log"],
    ),
    "stands-still": (lambda fake: fake.log.update(gt0001=good(fake) + "****** INITIATING HEAVY SWEEP ******\n"), ["? sm.log"]),
    "key-rejected": (
        stdout("-E- Parsing error in field m_key, expected numeric input received: beef\n"
               " Invalid Cached Option Value:sm_key = beef:Using Default:1"),
        ["FAIL sm.rejected", "FAIL sm.rejected"],
    ),
    "duplicate-guid": (log("0x01 -> ni_rcv_set_links: ERR 0D01: Found duplicated node."), ["FAIL sm.log"]),
    "history": (
        log("0x01 -> ni_rcv_set_links: ERR 0D01: Found duplicated node.", "0x02 -> SUBNET UP", "0x02 -> SUBNET UP"), []
    ),
    "before-the-restart": (
        lambda fake: fake.log.update(gt0001=logged("0x80 -> OpenSM 3.3.23", "0x01 -> ERR 1111: old") + good(fake)), []
    ),
    "not-verbose": (quiet("0x04 -> "), ["? sm.log"]),
    "no-lid": (lambda fake: fake.lid.update({"gt0002 mlx5_5": 0}), ["FAIL sm.lids", "FAIL routing.reach"]),
    "lid-twice": (lambda fake: fake.lid.update({"gt0002 mlx5_5": 3}), ["FAIL sm.lids", "? routing.reach"]),
    # routing
    "hole": (lambda fake: fake.routes.update({("spine04", "gt0012 mlx5_2"): 255}), ["FAIL routing.reach"]),
    "loop": (loop, ["FAIL routing.reach"]),
    "wrong-end": (lambda fake: fake.routes.update({("leaf0011", "gt0012 mlx5_2"): 3}), ["FAIL routing.reach"]),
    "credit-loop": (ring, [
        "FAIL routing.deadlock", "FAIL routing.paths", *["FAIL routing.balance"] * 2, "FAIL routing.contention",
    ]),
    "uneven": (lambda fake: setattr(fake, "aliased", True), [
        "FAIL routing.balance", "FAIL routing.balance", "FAIL routing.contention",
    ]),
    "blocks-unread": (lambda fake: setattr(fake, "unread", ((fake.guid["leaf0001"], 0),)), ["? routing.deadlock"]),
    # partitions
    "parse-error": (parse_error, ["FAIL partitions.open"]),
    "one-in-two": (pkeys("gt0002 mlx5_5", 0x7FFF, 0x9001, 0x9002), ["FAIL partitions.member"]),
    "limited-instead": (pkeys("gt0002 mlx5_5", 0x7FFF, 0x1001), ["FAIL partitions.member"]),
    "full-in-default": (pkeys("gt0002 mlx5_5", 0xFFFF, 0x9001), ["FAIL partitions.member"]),
    "not-a-member": (lambda fake: [pkeys(f"gt0003 mlx5_{n}", 0x7FFF)(fake) for n in range(8)], ["FAIL partitions.member"]),
    "silent-port": (lambda fake: fake.pkeys_of.update({"gt0002 mlx5_5": None}), ["? partitions.table"]),
    # qos
    "qos-off": (
        lambda fake: fake.qos_of.update({place: PortQos((0,) * 16, (), ((0, 4),)) for place in fake.cables}),
        ["FAIL qos.tables"],
    ),
    "one-table": (lambda fake: fake.qos_of.update({("leaf0001", 9): PortQos((0,) * 16, ((0, 64), (1, 128)), ((0, 64), (1, 64)))}), [
        "FAIL qos.tables",
    ]),
    "qos-silent": (lambda fake: fake.qos_of.update({("leaf0001", 9): None}), ["? qos.tables"]),
    "path-level": (lambda fake: setattr(fake, "levels", {}), ["FAIL qos.path"]),
    "no-path": (lambda fake: setattr(fake, "levels", None), ["? qos.path"]),
    # errors
    "symbol-errors": (
        lambda fake: fake.count.update({("leaf0001", 9): dataclasses.replace(ZERO, symbol_errors=77, link_downed=11)}),
        ["FAIL errors.counters"],
    ),
    "few-errors": (lambda fake: fake.count.update({("leaf0001", 9): dataclasses.replace(ZERO, symbol_errors=10)}), []),
    "errors-silent": (lambda fake: fake.count.update({("leaf0001", 9): None}), ["? errors.counters"]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_mutation(name: str, golden: Callable[[str, str], None]) -> None:
    change, expected = TABLE[name]
    fake = FakeSubnet(subnet_of("small"))
    change(fake)
    found = run(fake)
    signs = {"fail": "FAIL", "unknown": "?"}
    assert sorted(f"{signs[f.verdict]} {f.check}" for f in found if f.verdict != "pass") == sorted(expected), "\n".join(
        report.lines(found)
    )
    golden(f"verify/ib/{name}.txt", "\n".join(report.lines(found)) + "\n")


def test_nothing_can_be_asked() -> None:
    found = run(DeafSubnet(subnet_of("small")))
    assert {f.verdict for f in found} == {"unknown"}
    assert report.exit_code(found) == 1
    assert {f.kind for f in found} == set(CHECKS)


def test_lids_are_kept() -> None:
    fake = FakeSubnet(subnet_of("small"))
    saved = lids_of(fake.topology())
    kept = next(f for f in run(fake, ("sm",), saved_lids=saved) if f.check == "sm.lids-kept")
    assert (kept.verdict, kept.measured) == ("pass", "0 of 144 LIDs changed")
    fake.lid["leaf0002"] = 4001
    moved = next(f for f in run(fake, ("sm",), saved_lids=saved) if f.check == "sm.lids-kept")
    assert (moved.verdict, moved.measured) == ("fail", "1 of 144 LIDs changed: leaf0002 from 122 to 4001")


def test_one_check_asks_no_more_than_it_needs() -> None:
    class Strict(FakeSubnet):
        def lfts(self, *_: object) -> object:  # type: ignore[override]
            raise AssertionError

        qos = counters = texts = paths = lfts  # type: ignore[assignment]

    assert not [f for f in run(Strict(subnet_of("small")), ("cabling",)) if f.verdict != "pass"]


def test_only_some_devices() -> None:
    fake = FakeSubnet(subnet_of("small"))
    fake.cut(("leaf0003", 12))
    fake.swap(("leaf0001", 2), ("leaf0001", 3))
    found = run(fake, ("cabling",), only=frozenset({"leaf0003"}))
    assert [f.check for f in found if f.verdict == "fail"] == ["cabling.missing"]


def test_three_tiers_and_an_uneven_engine() -> None:
    fake = FakeSubnet(subnet_of("lab"))
    assert not [f for f in run(fake) if f.verdict != "pass"]
    fake.aliased = True
    worst = {f.subject: f.measured for f in run(fake, ("routing",)) if f.check == "routing.balance"}
    assert worst["spine to core"].startswith("the busiest of 384 links carries 64.00 times the mean")


def test_the_lab_is_held_against_what_it_can_do() -> None:
    fake = FakeSubnet(subnet_of("small"))
    fake.simulated = True
    all_links(fake, speed=53.125)
    found = [f for f in run(fake) if f.verdict != "pass"]
    assert [(f.check, f.verdict) for f in found] == [("cabling.rate", "unknown"), ("qos.high-limit", "unknown")]


def test_what_an_sm_wrote_is_untrusted() -> None:
    fake = FakeSubnet(subnet_of("small"))
    stdout(' Unrecognized token: "a\x1b[2Jb"')(fake)
    log("0x01 -> x: \x1b]0;y\x07" + "z" * 5000)(fake)
    text = "\n".join(report.lines(run(fake, ("sm",)), full=True))
    assert "a?[2Jb" in text
    assert all(char.isprintable() or char == "\n" for char in text)
    assert max(map(len, text.splitlines())) < 400


def test_nvidias_opensm() -> None:
    fake = FakeSubnet(subnet_of("nvidia"))
    assert not [f for f in run(fake) if f.verdict != "pass"]
    fake.aliased = True  # adaptive routing spreads packets whatever the static tables say
    assert {(f.check, f.verdict) for f in run(fake, ("routing",)) if f.verdict != "pass"} == {
        ("routing.balance", "unknown"), ("routing.contention", "unknown"),
    }  # fmt: skip


def test_the_lab_stands_in_for_nvidias_opensm() -> None:
    fake = FakeSubnet(subnet_of("nvidia"))
    fake.simulated = True
    all_links(fake, speed=53.125)
    for host, text in fake.stdout.items():
        lines = [line for line in text.splitlines() if not any(f":{name} =" in line for name in nvidia_keys())]
        fake.stdout[host] = "\n".join(lines).replace("ar_updn", "updn")
    fake.log["gt0001"] = log_of(fake.subnet, master=True, engine="updn")
    found = [f for f in run(fake) if f.verdict != "pass"]
    assert [(f.check, f.verdict) for f in found] == [
        ("cabling.rate", "unknown"), ("sm.keys", "unknown"), ("sm.keys", "unknown"), ("qos.high-limit", "unknown"),
    ]  # fmt: skip


def test_texts_that_cannot_be_read() -> None:
    class Mute(FakeSubnet):
        def texts(self, managers: Sequence[SubnetManager]) -> Mapping[str, SmText]:
            return {m.host: SmText(Unread("no journal"), Unread("no log")) for m in managers}

    found = [f for f in run(Mute(subnet_of("small")), ("sm",)) if f.verdict != "pass"]
    assert sorted((f.check, f.measured) for f in found) == [("sm.keys", "no journal")] * 2 + [("sm.log", "no log")] * 2
