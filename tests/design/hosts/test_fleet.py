"""The hosts of a cluster: every row follows from its place and agrees with the fabric's own ports."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.design.hosts.model import BackendNic, HostFleet
from fabric.design.hosts.storage import unit_name
from fabric.design.load import load_cluster, load_fleet, load_subnet
from fabric.errors import FabricError

INVENTORIES = Path(__file__).resolve().parents[3] / "inventories"


def fleet_at(name: str) -> HostFleet:
    return load_fleet(INVENTORIES / name / "cluster.yaml").fleet


@pytest.mark.parametrize(("name", "hosts", "nics"), [("lab", 8, 8), ("roce-24k", 3072, 8), ("ib-24k", 3072, 8)])
def test_every_way_of_asking_gives_the_same_rows(name: str, hosts: int, nics: int) -> None:
    fleet = fleet_at(name)
    rows = list(fleet.hosts)
    assert len(fleet.hosts) == len(rows) == len({row.name for row in rows}) == hosts
    assert {len(row.nics) for row in rows} == {nics}
    for index in (0, 1, hosts // 2, hosts - 1):
        assert rows[index] == fleet.hosts[index] == fleet.plan(rows[index].name)
    assert rows[-1] == fleet.hosts[-1]
    assert rows[2:5] == fleet.hosts[2:5]
    plain = replace(fleet, hosts=[replace(rows[0], state="planned"), *rows[1:]])
    assert (list(fleet.deployed()), list(plain.deployed())) == (
        [row.name for row in rows],
        [row.name for row in rows[1:]],
    )
    copy = pickle.loads(pickle.dumps(fleet))  # noqa: S301  # our own bytes
    assert (copy.hosts[-1], copy.nccl, copy.packages) == (rows[-1], fleet.nccl, fleet.packages)
    with pytest.raises(IndexError):
        fleet.hosts[hosts]
    with pytest.raises(KeyError):
        fleet.plan("nobody")


@pytest.mark.parametrize("name", ["roce-24k", "ib-24k"])
def test_all_rows_of_a_large_cluster_are_made_at_once(name: str) -> None:
    """0.3 to 0.7 s on the slow machine that this was written on; the bound leaves room for one that has other work."""
    fleet = fleet_at(name)
    start = time.process_time()
    assert sum(len(row.nics) for row in fleet.hosts) == 24_576
    assert time.process_time() - start < 3


def test_nics_are_the_other_ends_of_the_rack_switches_ports() -> None:
    cluster = load_cluster(INVENTORIES / "lab" / "cluster.yaml")
    ends = {
        (port.peer, port.peer_port): (
            switch.name,
            port.slot.name,
            port.peer4,
            port.local4,
            port.peer6,
            port.local6,
            port.len6,
        )
        for switch in cluster.fabric.switches
        for port in cluster.fabric.ports(switch)
        if port.role == "host"
    }
    rows = list(fleet_at("lab").hosts)
    found = {
        (row.name, nic.name): (nic.switch, nic.switch_port, nic.local4, nic.peer4, nic.local6, nic.peer6, nic.len6)
        for row in rows
        for nic in row.nics
    }
    assert found == ends
    assert [(nic.rail, nic.hca, nic.table) for nic in rows[3].nics] == [(n, f"mlx5_{n}", 101 + n) for n in range(8)]
    assert {row.block for row in rows} == {"z01-rtsw001", "z01-rtsw002", "z02-rtsw001", "z02-rtsw002"}


def test_hcas_are_the_lower_ends_of_the_leaf_links(spec_file: Callable[..., Path]) -> None:
    path = spec_file("ib-24k", {"backend.hosts": 96, "backend.growth": None, "backend.subnet_manager.hosts": []})
    subnet = load_subnet(path).subnet
    ends = {link.b: (link.a, str(link.a_port)) for link in subnet.links if link.tier == "host"}
    fleet = load_fleet(path).fleet
    found = {f"{row.name} {nic.hca}": (nic.switch, nic.switch_port) for row in fleet.hosts for nic in row.nics}
    assert found == ends
    assert [nic.guid for nic in fleet.hosts[0].nics] == [hca.port_guid for hca in subnet.compute[:8]]
    assert [(row.zone, row.rack, row.unit, row.block) for row in fleet.hosts[31:34]] == [
        (1, 16, 2, "su001"), (2, 17, 1, "su002"), (2, 17, 2, "su002"),
    ]  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(zones=st.integers(1, 4), racks=st.integers(1, 8))
def test_growth_moves_no_host(zones: int, racks: int, make_cluster: Callable[..., Any]) -> None:
    """A host that two sizes of a cluster share has the same row in both; its place in the list does not count."""
    small, large = make_cluster(1, 1), make_cluster(zones, racks)
    for row in small:
        assert large.named(row.name) == row


@pytest.fixture(scope="module")
def make_cluster(make_fabric: Callable[..., Any]) -> Callable[[int, int], Any]:
    from fabric.design.hosts.rows import RoceRows

    def make(zones: int, racks: int) -> RoceRows:
        entry = {"id": f"1-{zones}" if zones > 1 else 1, "racks": racks, "rack_profile": "fboss-rack"}
        return RoceRows(make_fabric("lab", {"backend.zones": [entry], "backend.growth.racks_per_zone": 8}))

    return make


CLIENT = {
    "name": "x", "kind": "fuse", "path": "/mnt/x", "binary": "/usr/bin/x", "pool": "p", "arguments": ["{path}"],
    "package": "tectonic-fuse=1.4.2-1",
}  # fmt: skip
CONTEXT = {
    "ubuntu": ("lab", {"hosts.os": "ubuntu-24.04", "hosts.software.mirror": None}),
    "ubuntu-535": (
        "lab",
        {"hosts.os": "ubuntu-22.04", "hosts.software.mirror": None, "hosts.software.driver": "535.129.03",
         "hosts.software.cuda": "12.4", "hosts.software.dcgm": "3.3.5", "hosts.software.nccl": "2.20.5"},
    ),
    "rhel": ("ib-24k", {}),
    "rhel-535": (
        "lab",
        {"hosts.os": "rhel-9", "hosts.software.mirror": None, "hosts.software.driver": "535.129.03",
         "hosts.software.rdma": {"stack": "doca", "version": "2.9.1"}},
    ),
    "debian-inbox": (
        "lab", {"hosts.os": "debian-12", "hosts.software.rdma": {"stack": "inbox"}, "storage": [CLIENT]}),
}  # fmt: skip


def test_packages_and_repositories(spec_file: Callable[..., Path], golden: Callable[[str, str], None]) -> None:
    lines = []
    for name, (inventory, changes) in CONTEXT.items():
        fleet = load_fleet(spec_file(inventory, changes)).fleet
        lines.append(f"{name}: {fleet.distribution}")
        lines += [f"  {repo.name} {repo.url} key {repo.key_url} without {repo.exclude}" for repo in fleet.repositories]
        lines += [f"  streams of {concern}: {', '.join(streams)}" for concern, streams in fleet.modules.items()]
        for concern, packages in fleet.packages.items():
            told = (f"{one.name}={one.version or 'any'}{' (held)' if one.hold else ''}" for one in packages)
            lines.append(f"  {concern}: {', '.join(told)}")
    golden("show/host-packages.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("context", CONTEXT)
def test_the_fabric_manager_is_the_drivers(context: str, spec_file: Callable[..., Path]) -> None:
    inventory, changes = CONTEXT[context]
    fleet = load_fleet(spec_file(inventory, changes)).fleet
    managers = [one for one in fleet.packages["nvidia"] if "abric" in one.name]
    assert [one.version for one in managers] == [f"{fleet.versions['driver']}-*"]
    assert fleet.versions["fabric_manager"] == fleet.versions["driver"]


NCCL: dict[str, tuple[str, dict[str, Any]]] = {
    "lab": ("lab", {}),
    "roce-24k, IPv6": ("roce-24k", {}),
    "InfiniBand": ("ib-24k", {}),
    "ECN": ("lab", {"qos": {"ecn": {}}}),
    "a DSCP of its own": ("lab", {"hosts.nccl.dscp": 55}),
    "NCCL 2.20": ("lab", {"hosts.software.nccl": "2.20.5"}),
    "overrides": (
        "lab",
        {"hosts.nccl": {"qps": 16, "plugin": "ofi", "overrides": {"NCCL_IB_TIMEOUT": "23", "NCCL_DEBUG": "WARN"}}},
    ),
}


def test_nccl_conf_follows_from_the_fabric(spec_file: Callable[..., Path], golden: Callable[[str, str], None]) -> None:
    lines = []
    for name, (inventory, changes) in NCCL.items():
        lines.append(name)
        rows = load_fleet(spec_file(inventory, changes)).fleet.nccl
        lines += [f"  {row.key}={row.value}  ({row.why})" for row in rows]
    golden("show/host-nccl.txt", "\n".join(lines) + "\n")


def test_a_tenants_keys_are_its_hosts_alone(spec_file: Callable[..., Path]) -> None:
    bare = {key: value for key, value in load_spec_hosts().items() if key != "platform"}
    fleet = load_fleet(spec_file("ib-lab", {f"hosts.{key}": value for key, value in bare.items()})).fleet
    lines = {row.name: [f"{one.key}={one.value}" for one in row.nccl] for row in fleet.hosts}
    assert lines["gt0001"] == lines["gt0024"] == ["NCCL_IB_SL=1"]
    assert lines["gt0025"] == lines["gt0048"] == []
    pkeys = {row.name: row.pkeys for row in fleet.hosts}
    assert (pkeys["gt0001"], pkeys["gt0024"], pkeys["gt0025"], pkeys["gt0048"]) == (
        (0x1001,),
        (0x1001,),
        (0x1002,),
        (0x1002,),
    )


def load_spec_hosts() -> dict[str, Any]:
    import yaml

    hosts: dict[str, Any] = yaml.safe_load((INVENTORIES / "ib-24k" / "cluster.yaml").read_text())["hosts"]
    return hosts


def test_settings_follow_from_the_fabric(spec_file: Callable[..., Path]) -> None:
    own = {"CNP_DSCP_P1": "48", "PCI_WR_ORDERING": "1"}
    changes = {"qos": {"ecn": {}}, "hosts.software.firmware": own, "hosts.tuning": {"sysctls": {"vm/swappiness": "1"}}}
    fleet = load_fleet(spec_file("lab", changes)).fleet
    firmware = {row.key: row.value for row in fleet.firmware}
    assert next(iter(firmware)) == "ADVANCED_PCI_SETTINGS"
    assert firmware["ROCE_CC_PRIO_MASK_P1"] == "255"
    assert (firmware["CNP_DSCP_P1"], firmware["CNP_802P_PRIO_P1"], firmware["PCI_WR_ORDERING"]) == ("48", "7", "1")
    assert {row.key: row.value for row in fleet_at("lab").firmware}["ROCE_CC_PRIO_MASK_P1"] == "0"
    assert {row.key: row.value for row in fleet_at("ib-24k").firmware}["LINK_TYPE_P1"] == "1"
    sysctls = {row.key: row.value for row in fleet.sysctls}
    assert (sysctls["vm.swappiness"], sysctls["net.ipv4.conf.all.arp_ignore"]) == ("1", "1")
    assert "net.ipv4.conf.all.arp_ignore" not in {row.key for row in fleet_at("ib-24k").sysctls}


def test_mounts() -> None:
    fuse, pnfs = fleet_at("roce-24k").mounts
    assert (fuse.unit, fuse.binary) == ("mnt-datasets", "/usr/bin/tectonic-fuse")
    assert fuse.arguments == (
        "--foreground", "--pool=ws-train", "--cache=/var/cache/tectonic", "--cache-bytes=2000000000000", "-o",
        "allow_other,noatime", "/mnt/datasets",
    )  # fmt: skip
    assert ",".join(pnfs.options) == (
        "vers=4.2,proto=tcp,nconnect=16,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noatime,_netdev,nofail,"
        "x-systemd.automount,x-systemd.mount-timeout=90s,x-systemd.requires=network-online.target"
    )


def test_servers_take_turns_by_place() -> None:
    fleet = fleet_at("roce-24k")
    mount = fleet.mounts[1]
    used = [fleet.source_of(mount, row) for row in fleet.hosts[:400]]
    assert {source: used.count(source) for source in mount.sources} == dict.fromkeys(mount.sources, 200)
    six = replace(mount, sources=("[2001:db8::1]:/home",))
    assert fleet.source_of(six, fleet.hosts[0]) == "[2001:db8::1]:/home"


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("/mnt/scratch", "mnt-scratch"),
        ("/mnt/a-b", "mnt-a\\x2db"),
        ("/data/.x", "data-.x"),
        ("/.x", "\\x2ex"),
        ("/a b", "a\\x20b"),
    ],
)
def test_unit_names_as_systemd_escapes_them(path: str, unit: str) -> None:
    """What `systemd-escape --path` says of each (systemd 252)."""
    assert unit_name(path) == unit


def test_states_reach_the_hosts(spec_file: Callable[..., Path]) -> None:
    path = spec_file("lab", {"state": [{"match": {"role": "host", "zone": 2}, "state": "planned"}]})
    assert [row.state for row in load_fleet(path).fleet.hosts] == ["deployed"] * 4 + ["planned"] * 4


def test_hosts_that_nobody_declared_are_refused_in_one_line(
    golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(INVENTORIES)
    with pytest.raises(FabricError) as caught:
        load_fleet(Path("rsc-16k/cluster.yaml"))
    golden("errors/hosts-undeclared.txt", f"{caught.value}\n")


def test_pci_addresses_by_rail(spec_file: Callable[..., Path]) -> None:
    addresses = [f"0000:{bus:02x}:00.0" for bus in range(0x10, 0x90, 0x10)]
    fleet = load_fleet(spec_file("lab", {"hosts.network.backend_pci": addresses})).fleet
    assert [nic.pci for nic in fleet.hosts[5].nics] == addresses
    assert {nic.pci for nic in fleet_at("lab").hosts[0].nics} == {None}
    assert isinstance(fleet.hosts[0].nics[0], BackendNic)
