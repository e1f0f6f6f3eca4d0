"""The state folder of an InfiniBand lab before it starts: the net, the files of the SM hosts, lab.json and wiring.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabric.design.ib.model import Hca, Subnet
from fabric.errors import FabricError
from fabric.lab import secrets
from fabric.lab.ib import box, client, form
from fabric.lab.ib.net import TABLE, hca_id, net_records, net_size, switch_id
from fabric.lab.ib.places import ETC, KEY, SmPlace
from fabric.lab.prepare import keygen
from fabric.lab.state import LAB_FILE, Lab

WIRING_FILE = "wiring.json"
Say = Callable[[str], None]


def prepare(
    lab: Lab, subnet: Subnet, spec_path: Path, *, blank: bool, namespaces: bool, aggregation_nodes: bool, say: Say
) -> None:
    """Write everything that the supervisor needs. `say` is told what the lab form of the SMs' files changed."""
    folder = lab.folder
    for name in ("work", "seats", "logs/ibsim", "nodes"):
        (folder / name).mkdir(parents=True)
    with (folder / "fabric.net").open("w", encoding="utf-8") as net:
        net.writelines(net_records(subnet, aggregation_nodes=aggregation_nodes))
    _write_json(folder / WIRING_FILE, wiring(subnet))
    managers = [_manager(lab, subnet, number) for number in range(len(subnet.managers))]
    if not blank:
        for manager in subnet.managers:
            _sm_files(lab, subnet, manager.host, spec_path.parent)
        host = subnet.managers[0].host
        for line in form.make(SmPlace.of(folder, host), host):
            say(f"for the simulator: {line}")
        for manager in subnet.managers[1:]:
            form.make(SmPlace.of(folder, manager.host), manager.host)
    if namespaces:
        _boxes(lab, managers)
    size = net_size(subnet, aggregation_nodes=aggregation_nodes)
    _write_json(
        folder / LAB_FILE,
        {
            "kind": "infiniband", "cluster": subnet.spec.name, "spec": str(spec_path.resolve()), "blank": blank,
            "namespaces": namespaces, "aggregation_nodes": aggregation_nodes, "socket": client.socket_name(folder),
            "python_path": [path for path in sys.path if path],
            "secrets": secrets.environment(subnet.spec),
            "seat": hca_id(seat_of(subnet)), "table": TABLE,
            "size": {"nodes": size.nodes, "switches": size.switches, "ports": size.ports},
            "managers": managers, "nodes": [{"name": item["host"]} for item in managers],
        },
    )  # fmt: skip


def wiring(subnet: Subnet) -> dict[str, Any]:
    """Every node by name with its id in the net, and every cable of the net as [upper, port, lower, port]."""
    ids = {switch.name: switch_id(switch) for switch in subnet.switches if switch.state != "planned"}
    ids |= {hca.name: hca_id(hca) for hca in subnet.hcas if hca.state != "planned"}
    cables = [
        [link.a, link.a_port, link.b, link.b_port]
        for link in subnet.links
        if link.state != "planned" and link.a in ids and link.b in ids
    ]
    return {"ids": ids, "cables": cables}


def seat_of(subnet: Subnet) -> Hca:
    """The HCA that diagnostic tools are: the last one of a host that is no SM host."""
    busy = {manager.host for manager in subnet.managers}
    there = [hca for hca in subnet.hcas if hca.state != "planned"]
    if not there:
        raise FabricError("this subnet has no HCA")
    return next((hca for hca in reversed(there) if hca.host not in busy), there[-1])


def _manager(lab: Lab, subnet: Subnet, number: int) -> dict[str, Any]:
    manager = subnet.managers[number]
    place = SmPlace.of(lab.folder, manager.host)
    place.make()
    lab.logs(manager.host).symlink_to(place.log_folder)
    return {
        "host": manager.host, "hca": manager.hca.name, "node": hca_id(manager.hca), "guid": f"{manager.hca.port_guid:#018x}",
        "priority": manager.priority, "address": manager.address,
    }  # fmt: skip


def _boxes(lab: Lab, managers: list[dict[str, Any]]) -> None:
    """The SSH boxes, the operator's key, and the folder for what `fabric` keeps of changes, with the host keys in it."""
    keygen(lab.folder / KEY, "operator")
    public = (lab.folder / f"{KEY}.pub").read_text(encoding="ascii")
    socket = client.socket_name(lab.folder)
    known = [
        box.prepare(SmPlace.of(lab.folder, item["host"]), item["host"], item["node"], item["address"], public, socket)
        for item in managers
        if item["address"]
    ]
    (lab.folder / "fabric").mkdir()
    (lab.folder / "fabric" / "known_hosts").write_text("".join(known), encoding="utf-8")


def _sm_files(lab: Lab, subnet: Subnet, host: str, base_dir: Path) -> None:
    """The rendered files of an SM host, as they stand in its /etc/opensm, secrets filled."""
    from fabric.targets.opensm import render

    place = SmPlace.of(lab.folder, host)
    manager = next(item for item in subnet.managers if item.host == host)
    for artifact in render(subnet, manager, base_dir):
        if not artifact.path.startswith(f"{ETC}/"):
            raise FabricError(f"{host}: {artifact.path} does not lie below {ETC}")
        path = place.etc / artifact.path.removeprefix(f"{ETC}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(secrets.fill(artifact.content, subnet.spec))
        path.chmod(artifact.mode)


def _write_json(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data), encoding="utf-8")
