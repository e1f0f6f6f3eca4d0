"""Two virtual FBOSS switches run the rendered files: kernel, FRR and lldpd below, FBOSS's command lines above."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from fabric.design.build import design
from fabric.lab.fboss.node import AGENT_CONF, AGENT_LOG, BGP_CONF
from fabric.spec.cluster import ClusterSpec
from tests.lab.vfboss_scene import Scene, scene, until
from tests.targets.fboss_clusters import V4, V6, base

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def pair(needs_lab: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    spec = base()
    spec["addressing"] = {"family": "dual", "router_ids": "10.255.0.0/16", "ipv6": V6, "ipv4": V4}
    spec["bgp"] = {"timers": {"keepalive_s": 3, "hold_s": 9}}
    with scene(design(ClusterSpec.model_validate(spec)), tmp_path_factory.mktemp("vfboss")) as made:
        yield made


def change(pair: Scene, role: str, edit: Any, path: str = AGENT_CONF) -> bytes:
    """Edit a configuration on the disk; returns what stood there."""
    place = pair.nodes[role].path(path)
    before = place.read_bytes()
    conf = json.loads(before)
    edit(conf)
    place.write_text(json.dumps(conf), encoding="utf-8")
    return before


def resets(pair: Scene) -> list[int]:
    return [row["num_resets"] for row in pair.established("rtsw")]


def test_routes_of_the_rack_reach_the_tier_above(pair: Scene) -> None:
    rtsw = pair.fabric.by_name[pair.nodes["rtsw"].name]
    rack4, rack6 = pair.fabric.rack_prefix(rtsw.zone, rtsw.number)
    assert rack4 is not None
    assert rack6 is not None

    def learnt() -> bool:
        rows = {row["networkAddress"]: row["nextHops"] for row in pair.ask("ctsw", "show", "route")["routeEntries"]}
        lengths = [
            prefix.rpartition("/")[2]
            for prefix, hops in rows.items()
            if hops and hops[0].get("ifName", "").startswith("fboss")
        ]
        return str(rack6.length) in lengths and str(rack4.length) in lengths

    until(learnt)
    row = pair.established("ctsw")[0]
    assert row["postpolicy_rcvd_prefix_count"] > 0
    assert row["peer"]["remote_as_4_byte"] == rtsw.asn


def test_the_rack_prefix_is_discarded_where_no_nic_is(pair: Scene) -> None:
    rows = {row["networkAddress"]: row["nextHops"] for row in pair.ask("rtsw", "show", "route")["routeEntries"]}
    nulls = json.loads(pair.nodes["rtsw"].path(AGENT_CONF).read_text(encoding="utf-8"))["sw"]["staticRoutesToNull"]
    assert nulls
    assert all(rows[null["prefix"]] == [] for null in nulls)


def test_lldp_names_both_ends(pair: Scene) -> None:
    peer = pair.nodes["ctsw"].name
    until(lambda: [row["systemName"] for row in pair.ask("rtsw", "show", "lldp")["lldpEntries"]] == [peer])
    (row,) = pair.ask("rtsw", "show", "lldp")["lldpEntries"]
    assert row["expectedPeer"] == peer
    assert row["remotePort"] in pair.nodes["ctsw"].ports
    assert row["status"] == "up"
    (port,) = [one for one in pair.ask("rtsw", "show", "port")["portEntries"] if one["name"] == row["localPort"]]
    assert (port["linkState"], port["activeErrors"]) == ("Up", "--")


def test_a_changed_mtu_does_not_flap(pair: Scene) -> None:
    before = resets(pair)
    old = change(pair, "rtsw", lambda conf: [svi.update(mtu=8000) for svi in conf["sw"]["interfaces"]])
    started = pair.ask("rtsw", "show", "bgp", "summary")["process_uptime_seconds"]
    done = pair.run("rtsw", "fboss2-dev", "config", "reload")
    assert (done.returncode, done.stdout) == (0, "Config reloaded successfully\n")
    name, link = next(iter(pair.nodes["rtsw"].ports.items()))
    assert json.loads(pair.run("rtsw", "ip", "-j", "link", "show", link).stdout)[0]["mtu"] == 8000
    (row,) = pair.ask("rtsw", "show", "interface", name)["interfaces"]
    assert (row["mtu"], row["status"]) == (8000, "up")
    pair.nodes["rtsw"].path(AGENT_CONF).write_bytes(old)
    assert pair.run("rtsw", "fboss2-dev", "config", "reload").returncode == 0
    time.sleep(1)
    assert pair.up()
    assert resets(pair) == before
    assert pair.ask("rtsw", "show", "bgp", "summary")["process_uptime_seconds"] >= started


def test_a_bad_file_is_refused_and_the_old_state_stays(pair: Scene) -> None:
    running = pair.run("rtsw", "fboss2", "show", "config", "running", "agent").stdout
    old = change(pair, "rtsw", lambda conf: conf["sw"].update(portz=[], ports=[]))
    done = pair.run("rtsw", "fboss2-dev", "config", "reload")
    assert done.returncode == 1
    assert "SwitchConfig has no such key" in done.stderr
    assert "SwitchConfig has no such key" in pair.nodes["rtsw"].path(AGENT_LOG).read_text(encoding="utf-8")
    assert pair.run("rtsw", "fboss2", "show", "config", "running", "agent").stdout == running
    assert pair.up()
    pair.nodes["rtsw"].path(AGENT_CONF).write_bytes(old)


def test_faults_of_the_agent(pair: Scene) -> None:
    faults = pair.nodes["rtsw"].folder / "faults.json"
    try:
        faults.write_text('{"refuse_reload": true}', encoding="utf-8")
        assert pair.run("rtsw", "fboss2-dev", "config", "reload").returncode == 1
        faults.write_text('{"agent_down": true}', encoding="utf-8")
        assert pair.run("rtsw", "fboss2", "--fmt", "json", "show", "port").stdout == "{}\n"
        assert pair.run("rtsw", "systemctl", "is-active", "fboss_sw_agent").stdout == "failed\n"
        faults.write_text('{"keep": ["sw.hostname"]}', encoding="utf-8")
        old = change(pair, "rtsw", lambda conf: conf["sw"].update(hostname="new"))
        assert pair.run("rtsw", "fboss2-dev", "config", "reload").returncode == 0
        assert (
            json.loads(pair.run("rtsw", "fboss2", "show", "config", "running", "agent").stdout)["sw"]["hostname"]
            != "new"
        )
        pair.nodes["rtsw"].path(AGENT_CONF).write_bytes(old)
    finally:
        faults.unlink(missing_ok=True)
    assert pair.run("rtsw", "fboss2-dev", "config", "reload").returncode == 0


def test_a_port_is_shut_and_opened_by_hand(pair: Scene) -> None:
    (port,) = pair.nodes["rtsw"].ports
    unknown = pair.run("rtsw", "fboss2", "set", "port", "eth9/99/1", "state", "disable", "--yes")
    assert "eth9/99/1 is not a valid Port" in unknown.stderr
    done = pair.run("rtsw", "fboss2", "set", "port", port, "state", "disable", "--yes")
    assert (done.returncode, done.stdout) == (0, f"Disabling port {port}\n")
    (row,) = pair.ask("rtsw", "show", "port", port)["portEntries"]
    assert (row["adminState"], row["linkState"]) == ("Disabled", "Down")
    until(lambda: not pair.established("ctsw"))
    assert pair.run("rtsw", "fboss2", "set", "port", port, "state", "enable", "--yes").returncode == 0
    until(pair.up)


def test_bgpd_has_no_reload(pair: Scene) -> None:
    pid = pair.run("rtsw", "systemctl", "show", "bgpd", "-p", "MainPID").stdout
    old = change(pair, "rtsw", lambda conf: conf.update(drain_state=1), BGP_CONF)
    assert pair.ask("rtsw", "show", "bgp", "summary")["drain_state"]["drain_state"] == 0
    assert pair.run("rtsw", "systemctl", "restart", "bgpd").returncode == 0
    assert pair.run("rtsw", "systemctl", "show", "bgpd", "-p", "MainPID").stdout != pid
    assert pair.ask("rtsw", "show", "bgp", "summary")["drain_state"]["drain_state"] == 1
    until(pair.up)
    change(pair, "rtsw", lambda conf: conf["peers"][0].update(next_hop6=""), BGP_CONF)
    pair.run("rtsw", "systemctl", "restart", "bgpd")
    assert pair.run("rtsw", "systemctl", "is-active", "bgpd").stdout == "failed\n"
    assert "next_hop6: is needed on every peer" in pair.run("rtsw", "journalctl", "-u", "bgpd", "--no-pager").stdout
    assert pair.run("rtsw", "fboss2", "--fmt", "json", "show", "bgp", "summary").stdout == "{}\n"
    pair.nodes["rtsw"].path(BGP_CONF).write_bytes(old)
    assert pair.run("rtsw", "systemctl", "restart", "bgpd").returncode == 0
    until(pair.up)


def test_the_agent_restarts_without_touching_traffic(pair: Scene) -> None:
    before = resets(pair)
    assert pair.run("rtsw", "systemctl", "restart", "fboss_sw_agent").returncode == 0
    assert pair.ask("rtsw", "show", "agent", "boot-type")["bootTypeEntries"][0]["bootType"] == "WARM_BOOT"
    assert pair.up()
    assert resets(pair) == before
    assert pair.run("rtsw", "systemctl", "stop", "fboss_sw_agent").returncode == 0
    assert pair.run("rtsw", "systemctl", "is-active", "fboss_sw_agent").stdout == "inactive\n"
    assert pair.run("rtsw", "fboss2", "show", "port").returncode == 1
    assert pair.run("rtsw", "systemctl", "start", "fboss_sw_agent").returncode == 0
    assert pair.up()


def test_a_dead_man_timer_restores_the_old_file(pair: Scene) -> None:
    node = pair.nodes["rtsw"]
    good = node.path(AGENT_CONF)
    kept = good.with_name("agent.conf.old")
    kept.write_bytes(good.read_bytes())
    script = f"cp {kept} {good}; fboss2-dev config reload"
    path = f"--setenv=PATH={node.path('/usr/local/bin')}:/usr/bin:/bin"
    assert (
        pair.run("rtsw", "systemd-run", "--on-active=4s", "--unit=revert", path, "/bin/sh", "-c", script).returncode
        == 0
    )
    change(pair, "rtsw", lambda conf: conf["sw"].update(hostname="new"))
    assert pair.run("rtsw", "fboss2-dev", "config", "reload").returncode == 0

    def name() -> str:
        conf = json.loads(pair.run("rtsw", "fboss2", "show", "config", "running", "agent").stdout)
        return str(conf["sw"]["hostname"])

    assert name() == "new"
    until(lambda: name() == node.name, 20)
    assert pair.run("rtsw", "systemctl", "stop", "revert.timer").returncode == 5
    assert pair.run("rtsw", "systemd-run", "--on-active=300", "--unit=revert", "/bin/true").returncode == 0
    assert pair.run("rtsw", "systemctl", "stop", "revert.timer").returncode == 0


def test_a_drained_switch_makes_its_paths_longer(pair: Scene) -> None:
    def prepend(conf: dict[str, Any]) -> None:
        for policy in conf["policies"]["bgp_policy_statements"]:
            if policy["name"].endswith("_OUT"):
                repeat = {"asn": conf["local_as_4_byte"], "repeat_times": 3}
                policy["policy_entries"][0]["policy_action_entries"].insert(
                    0, {"type": 1, "set_as_path_prepend": repeat}
                )

    def lengths() -> set[int]:
        answer = json.loads(
            pair.run("ctsw", "vtysh", "-N", pair.nodes["ctsw"].frr, "-c", "show bgp ipv6 unicast json").stdout
        )
        return {
            len(path["path"].split()) for rows in answer.get("routes", {}).values() for path in rows if path["path"]
        }

    until(lambda: lengths() == {1})
    old = change(pair, "rtsw", prepend, BGP_CONF)
    pair.run("rtsw", "systemctl", "restart", "bgpd")
    until(lambda: lengths() == {4})
    pair.nodes["rtsw"].path(BGP_CONF).write_bytes(old)
    pair.run("rtsw", "systemctl", "restart", "bgpd")
    until(pair.up)
