"""Each fault has its effect, and restore undoes it (the fixture waits for every session to come back)."""

from __future__ import annotations

import json

import pytest

from tests.lab.conftest import LabUnderTest, wait_until

pytestmark = pytest.mark.lab


def port(lab: LabUnderTest, node: str, linux: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(lab.node(node, "ip", "-j", "addr", "show", "dev", linux).stdout)[0]
    return found


def test_cut_takes_the_carrier_from_both_ends(faulty_lab: LabUnderTest) -> None:
    before = port(faulty_lab, "z02-rtsw001", "et10_1_1") if has(faulty_lab, "z02-rtsw001", "et10_1_1") else {}
    said = faulty_lab.fault("cut", "z02-ctsw01", "z02-rtsw001")
    assert "z02-ctsw01:Ethernet3/1/1 - z02-rtsw001:" in said
    assert port(faulty_lab, "z02-ctsw01", "et3_1_1")["operstate"] == "DOWN"
    wait_until(lambda: faulty_lab.sessions()["z02-ctsw01"][0] == 6)
    assert faulty_lab.lldp("z02-ctsw01", "et3_1_1") == []
    faulty_lab.fault("restore")
    wait_until(lambda: faulty_lab.sessions()["z02-ctsw01"][0] == 8)
    if before:
        assert port(faulty_lab, "z02-rtsw001", "et10_1_1")["addr_info"] == before["addr_info"]


def has(lab: LabUnderTest, node: str, linux: str) -> bool:
    return lab.node(node, "test", "-e", f"/sys/class/net/{linux}", check=False).returncode == 0


def test_swapped_cables_are_seen_by_lldp(faulty_lab: LabUnderTest) -> None:
    faulty_lab.fault("swap", "z02-ctsw01:Ethernet3/1/1", "z02-ctsw01:Ethernet3/2/1")
    wait_until(lambda: [n for n, _ in faulty_lab.lldp("z02-ctsw01", "et3_1_1")] == ["z02-rtsw002"])
    wait_until(lambda: [n for n, _ in faulty_lab.lldp("z02-ctsw01", "et3_2_1")] == ["z02-rtsw001"])
    faulty_lab.fault("restore")
    wait_until(lambda: [n for n, _ in faulty_lab.lldp("z02-ctsw01", "et3_1_1")] == ["z02-rtsw001"])


def test_cut_of_a_swapped_cable_is_undone_in_any_order(faulty_lab: LabUnderTest) -> None:
    swapped = faulty_lab.fault("swap", "z02-ctsw01:Ethernet3/1/1", "z02-ctsw01:Ethernet3/2/1").split(":")[0]
    faulty_lab.fault("cut", "z02-ctsw01:Ethernet3/1/1")
    faulty_lab.fault("restore", swapped)
    faulty_lab.fault("restore")
    assert faulty_lab.fault("list") == ""


def test_cut_of_a_host_nic(faulty_lab: LabUnderTest) -> None:
    ping = ("ping", "-c1", "-W2", "-I", "beth0", "10.128.0.1")
    faulty_lab.node("z02-r001-h1", *ping)
    faulty_lab.fault("cut", "z02-r001-h1:beth0")
    assert faulty_lab.node("z02-r001-h1", *ping, check=False).returncode != 0
    faulty_lab.fault("restore")
    wait_until(lambda: faulty_lab.node("z02-r001-h1", *ping, check=False).returncode == 0)


def test_slow(faulty_lab: LabUnderTest) -> None:
    faulty_lab.fault("slow", "z02-ctsw01:Ethernet3/1/1", "--rate", "8mbit")
    assert "rate 8Mbit" in faulty_lab.node("z02-ctsw01", "tc", "qdisc", "show", "dev", "et3_1_1").stdout
    faulty_lab.fault("restore")
    assert "tbf" not in faulty_lab.node("z02-ctsw01", "tc", "qdisc", "show", "dev", "et3_1_1").stdout


def test_mtu(faulty_lab: LabUnderTest) -> None:
    ping = ("ping", "-c1", "-W2", "-M", "do", "-s", "8972", "-I", "beth0", "10.128.0.1")
    faulty_lab.fault("mtu", "z01-rtsw001:eth2/1/1", "1500")
    assert port(faulty_lab, "z01-rtsw001", "eth2_1_1")["mtu"] == 1500
    assert faulty_lab.node("z02-r001-h1", *ping, check=False).returncode != 0
    faulty_lab.fault("restore")
    faulty_lab.node("z02-r001-h1", "ip", "route", "flush", "cache")
    assert faulty_lab.node("z02-r001-h1", *ping, check=False).returncode == 0


@pytest.mark.parametrize("daemon", ["bgpd", "zebra", "lldpd", "sshd"])
def test_kill_daemon(faulty_lab: LabUnderTest, daemon: str) -> None:
    def runs() -> bool:
        return next(daemon in node["daemons"] for node in faulty_lab.status()["nodes"] if node["name"] == "atsw002")

    def routes(name: str) -> set[str]:
        """Prefixes in the kernel's table."""
        shown = faulty_lab.node(name, "ip", "-json", "route").stdout
        return {route["dst"] for route in json.loads(shown)}

    assert runs()
    before = routes("atsw002")
    assert len(before) > 8
    faulty_lab.fault("kill-daemon", "atsw002", daemon)
    assert not runs()
    faulty_lab.fault("restore")
    assert runs()
    wait_until(lambda: routes("atsw002") == before, words="the routes did not come back")


def test_drop_ssh_for_a_time(faulty_lab: LabUnderTest) -> None:
    address = "10.0.1.17"
    faulty_lab.fault("drop-ssh", "z01-rtsw001", "--for", "20")  # longer than a busy machine takes to start ssh
    assert faulty_lab.ssh("root", address, "true", check=False).returncode == 255
    wait_until(lambda: faulty_lab.ssh("root", address, "true", check=False).returncode == 0)
    assert faulty_lab.fault("list") == ""


def test_drop_ssh_in_mid_transfer(faulty_lab: LabUnderTest) -> None:
    faulty_lab.fault("drop-ssh", "z01-rtsw001", "--after", "2000000")
    line = (
        'head -c 80000000 /dev/zero | ssh -i "$FABRIC_KEY_FILE" -o UserKnownHostsFile="$FABRIC_STATE/known_hosts" '
        'root@10.0.1.17 "cat >/dev/null"'
    )
    faulty_lab.ssh("root", "10.0.1.17", "true")
    assert faulty_lab.seat("sh", "-c", line, check=False).returncode == 255
    faulty_lab.fault("restore")
    faulty_lab.ssh("root", "10.0.1.17", "true")


def test_reboot_keeps_the_disk_only(faulty_lab: LabUnderTest) -> None:
    faulty_lab.node(
        "z02-ctsw02", "sh", "-c", "echo kept >/mnt/flash/note; echo lost >/etc/note; ip addr add 192.0.2.1/32 dev lo"
    )
    faulty_lab.fault("reboot", "z02-ctsw02")
    assert faulty_lab.node("z02-ctsw02", "cat", "/mnt/flash/note").stdout == "kept\n"
    assert faulty_lab.node("z02-ctsw02", "cat", "/etc/note", check=False).returncode != 0
    assert "192.0.2.1" not in faulty_lab.node("z02-ctsw02", "ip", "addr").stdout
    wait_until(lambda: faulty_lab.sessions()["z02-ctsw02"] == (8, 8))


def test_full_disk(faulty_lab: LabUnderTest) -> None:
    write = ("cp", "/etc/passwd", "/mnt/flash/more")
    faulty_lab.fault("fill-disk", "atsw001")
    assert "No space left" in faulty_lab.node("atsw001", *write, check=False).stderr
    faulty_lab.fault("restore")
    faulty_lab.node("atsw001", *write)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("cut", "nobody:x"), "no node 'nobody'"),
        (("cut", "atsw001:Ethernet99/1/1"), "has no cable at 'Ethernet99/1/1'"),
        (("cut", "atsw001"), "which cable of atsw001?"),
        (("cut", "atsw001", "z01-rtsw001"), "0 cables join"),
        (("swap", "atsw001:Ethernet3/1/1", "atsw001:Ethernet3/1/1"), "are on one cable"),
        (("kill-daemon", "atsw001", "ospfd"), "no ospfd runs there"),
        (("drop-ssh", "z01-r001-h1"), "has no sshd"),
        (("restore", "99"), "there is no fault 99"),
        (("slow", "atsw001:Ethernet3/1/1", "--rate", "fast"), "fast"),
    ],
)
def test_refused(lab: LabUnderTest, args: tuple[str, ...], words: str) -> None:
    done = lab.cli("lab", "fault", lab.spec, *args, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert words in done.stderr
    assert lab.fault("list") == ""
