"""Parts of the lab that need no namespace: names, topology, hosts' routes, the bootstrap, stand-ins for secrets, records."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.design.fabric import Fabric
from fabric.errors import FabricError
from fabric.lab import bootstrap, control, frr, hosts, secrets
from fabric.lab.names import linux_name
from fabric.lab.proc import ip_batch, start_time
from fabric.lab.state import Lab
from fabric.lab.topology import lab_topology
from fabric.spec.cluster import ClusterSpec


@pytest.mark.parametrize(
    ("port", "linux"),
    [
        ("Ethernet3/1/1", "et3_1_1"),
        ("Ethernet10/36/1", "et10_36_1"),
        ("eth8/1/1", "eth8_1_1"),
        ("beth0", "beth0"),
        ("Ethernet1000/1000/1000", "pcbfe7e03f5"),
        ("with space", "pb8b8f25a5f"),
    ],
)
def test_linux_name(port: str, linux: str) -> None:
    found = linux_name(port)
    assert found == linux
    assert len(found) <= 15


def test_topology_of_the_lab(make_fabric: Callable[..., Fabric]) -> None:
    topology = lab_topology(make_fabric())
    kinds = [node.kind for node in topology.nodes]
    assert (kinds.count("fboss"), kinds.count("eos"), kinds.count("host")) == (2, 8, 8)
    assert len(topology.cables) == 8 * 8 + 4 * 2 + 4 * 2
    assert {cable.mtu for cable in topology.cables} == {9000}
    rtsw = next(node for node in topology.nodes if node.name == "z01-rtsw001")
    assert (rtsw.management, rtsw.gateway, len(rtsw.ports)) == ("10.0.1.17/22", "10.0.0.1", 18)
    assert rtsw.sessions == ("10.64.0.0", "2001:db8:1::", "10.64.0.2", "2001:db8:1::2")
    assert len(rtsw.reach) == 3 * 2


def test_subset_boots_what_fits_and_expects_only_what_is_there(make_fabric: Callable[..., Fabric]) -> None:
    topology = lab_topology(make_fabric(), ["z02-rtsw001", "z02-ctsw01"])
    assert [node.name for node in topology.nodes] == ["z02-rtsw001", "z02-ctsw01", "z02-r001-h1", "z02-r001-h2"]
    assert [len(node.sessions) for node in topology.nodes[:2]] == [2, 2]
    assert topology.nodes[0].reach == ()
    with pytest.raises(FabricError, match=r"--subset z2-\*: no switch has such a name"):
        lab_topology(make_fabric(), ["z2-*"])


def test_planned_devices_are_not_booted(make_fabric: Callable[..., Fabric]) -> None:
    planned = [{"match": {"name": "atsw002"}, "state": "planned"}]
    topology = lab_topology(make_fabric("lab", {"state": planned}))
    assert "atsw002" not in {node.name for node in topology.nodes}
    assert all("atsw002" not in (cable.a, cable.b) for cable in topology.cables)


def test_two_racks_without_a_spine_expect_no_routes(make_fabric: Callable[..., Fabric]) -> None:
    topology = lab_topology(make_fabric(), ["z*-rtsw*"])
    assert all(node.reach == () for node in topology.nodes)


def test_host_routes() -> None:
    nic = {
        "name": "beth0",
        "address4": "10.0.0.1/31",
        "gateway4": "10.0.0.0",
        "address6": "2001:db8::2/64",
        "gateway6": "2001:db8::1",
    }
    other = {**nic, "name": "beth1", "address4": "10.0.0.3/31", "gateway4": "10.0.0.2", "address6": "", "gateway6": ""}
    lines = hosts.host_batch([nic, other])
    assert "rule add from 10.0.0.1 lookup 100 priority 100" in lines
    assert "-6 rule add oif beth0 lookup 100 priority 100" in lines
    assert [line for line in lines if "table 101" in line] == ["route replace default via 10.0.0.2 dev beth1 table 101"]
    assert [line for line in lines if line.startswith("route replace default") and "table" not in line] == [
        "route replace default via 10.0.0.0 dev beth0",
        "route replace default via 2001:db8::1 dev beth0",
    ]
    assert not [line for line in hosts.without_rules(lines) if "rule" in line]


def test_bootstrap_keeps_what_makes_a_switch_reachable() -> None:
    text = "hostname a\n!\nvrf instance MGMT\ninterface Ethernet1\n   mtu 9000\ninterface Management1\n   vrf MGMT\nrouter bgp 1\n   x\n"
    kept = bootstrap.reduced("eos", "/mnt/flash/startup-config", text.encode())
    assert kept == b"hostname a\nvrf instance MGMT\ninterface Management1\n   vrf MGMT\nend\n"
    assert bootstrap.reduced("fboss", "/etc/coop/bgpcpp/bgpcpp.conf", b"{}") is None


def test_secrets_are_filled(make_fabric: Callable[..., Fabric], monkeypatch: pytest.MonkeyPatch) -> None:
    spec: ClusterSpec = make_fabric().spec
    monkeypatch.delenv("FABRIC_NETOPS_HASH", raising=False)
    assert secrets.fill(b"secret sha512 $SECRET{netops-hash}\n", spec).startswith(b"secret sha512 $6$fabriclab$")
    assert list(secrets.environment(spec)) == ["FABRIC_NETOPS_HASH"]
    monkeypatch.setenv("FABRIC_NETOPS_HASH", "$6$mine")
    assert secrets.fill(b"$SECRET{netops-hash}", spec) == b"$6$mine"
    assert secrets.environment(spec) == {}


def test_zebra_gets_its_own_lines_only() -> None:
    own = "hostname a\n!\ninterface et1\n ip address 10.0.0.1/31\nexit\n"
    text = own + "route-map X permit 10\n match as 1\nrouter bgp 1\n neighbor a\nip route 0.0.0.0/0 null0\n"
    assert frr._of_zebra(text) == frr.ZEBRA_LINE + own + "ip route 0.0.0.0/0 null0\n"


def test_frr_answer_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(1)

        def answer() -> None:
            channel, _ = server.accept()
            with channel:
                assert channel.recv(100) == b"show x\0"
                channel.sendall(b"one\n")
                channel.sendall(b"two\n\0\0\0\0")

        thread = threading.Thread(target=answer)
        thread.start()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            assert frr._exchange(client, "show x") == "one\ntwo\n"
        thread.join()


def test_a_lab_is_its_spec_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_LAB_DIR", str(tmp_path / "labs"))
    spec = tmp_path / "cluster.yaml"
    lab = Lab.of(spec, "x")
    assert Lab.of(tmp_path / "." / "cluster.yaml", "x") == lab
    assert Lab.of(tmp_path / "other.yaml", "x") != lab
    assert Lab.find(spec) is None
    lab.folder.mkdir(parents=True)
    assert Lab.find(spec) == lab
    assert lab.supervisor() is None
    (lab.folder / "pid").write_text(f"{os.getpid()} {start_time(os.getpid())}")
    assert lab.supervisor() == os.getpid()
    (lab.folder / "pid").write_text(f"{os.getpid()} 1")  # the pid of someone else by now
    assert lab.supervisor() is None


def test_requests_come_back_answered_refused_or_failed(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)  # a socket's path holds 108 bytes
    folder.mkdir()
    listener = control.Listener(folder)

    def handle(request: dict[str, object], say: Callable[[str], None]) -> dict[str, object]:
        say("working")
        if request["op"] == "refuse":
            raise FabricError("no", hint="why")
        if request["op"] == "bug":
            raise KeyError("x")
        return {"ok": True, "got": request["value"]}

    def serve() -> None:
        for _ in range(3):
            listener.serve_one(handle)

    thread = threading.Thread(target=serve)
    thread.start()
    heard: list[str] = []
    assert control.ask(folder, "echo", progress=heard.append, value=7)["got"] == 7
    assert heard == ["working"]
    with pytest.raises(FabricError, match=r"no \(hint: why\)"):
        control.ask(folder, "refuse")
    with pytest.raises(FabricError, match="the lab's supervisor failed: KeyError"):
        control.ask(folder, "bug")
    thread.join()


def test_ip_names_the_command_that_failed() -> None:
    with pytest.raises(FabricError, match="ip link show dev nothing-there:"):
        ip_batch(["link show dev lo", "link show dev nothing-there"])
