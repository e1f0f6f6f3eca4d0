"""The files that only NVIDIA's software reads: port groups, the list of cables, SHARP's Aggregation Manager, UFM."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fabric.design.ib.model import Hca, Subnet, SubnetManager
from fabric.spec.ib_subnet import SubnetManagement
from fabric.targets.opensm import paths
from fabric.targets.opensm.members import partition_rules, standing
from fabric.targets.opensm.partitions import DEFAULT_PKEY
from fabric.targets.opensm.templates import fill

AGGREGATION = (
    ("fabric_update_interval", "10"),
    ("lst_file_timeout", "10"),
    ("lst_file_retries", "30"),
    ("max_tree_radix", "80"),
)
"""`sharp_am.cfg` of NVIDIA's recipe for a large rail-optimised cluster (public repository kobibar/OpenAI.recipe.old)."""
SHARP_SL = "1"
"""SL of SHARP's queue pairs in the same recipe; written when QoS is on, since congestion control must not run on it."""
UFM_SETTINGS = (
    ("Server", (("report_events", "security"), ("dashboard_interval", "300"))),
    ("FabricAnalysis", (("enable_ber_warnings", "true"), ("ibdiagnet_timeout", "1800"))),
    ("UnhealthyPorts", (("high_ber_ports_auto_isolation", "true"), ("auto_isolation_mode", "switch-switch"))),
    ("Events", (("max_ufm_events", "1000"),)),
)
"""`gv.cfg` of the same recipe."""
UFM_SHARP = (("check_interval", "60"), ("max_retries", "5"))

GUIDS_A_GROUP = 48
"""Of 20 bytes each: a line stays below the 1,021 bytes that opensm takes elsewhere; what NVIDIA's reader takes is not known."""


@dataclass(frozen=True, slots=True)
class Group:
    """One port group; `rule` is its one qualifier that says who is in it (NVIDIA documentation, port groups policy file)."""

    name: str
    use: str
    rule: str


def nvidia_files(subnet: Subnet, manager: SubnetManager, declared: SubnetManagement) -> Iterator[tuple[str, bytes]]:
    """Path and content of each file; those of SHARP only where it is on."""
    yield paths.GROUPS, fill("pgrp_policy.conf", subnet=subnet, groups=list(_groups(subnet)))
    yield paths.TOPOLOGY, fill("topoconfig.conf", subnet=subnet, cables=_cables(subnet))
    own = [rule for rule in partition_rules(subnet) if f"={DEFAULT_PKEY:#06x}" not in rule.head]
    if own:  # UFM writes partitions.conf itself and adds what stands here
        yield paths.USER_PARTITIONS, fill("partitions.conf", subnet=subnet, rules=own)
    parts = [(title, list(pairs)) for title, pairs in UFM_SETTINGS]
    if declared.sharp:
        pairs = [("ib_port_guid", f"{manager.hca.port_guid:#018x}"), ("root_guids_file", paths.ROOTS), *AGGREGATION]
        if subnet.qos is not None:
            pairs.insert(2, ("ib_qpc_sl", SHARP_SL))
        yield paths.SHARP, fill("sharp_am.cfg", subnet=subnet, pairs=pairs)
        parts.append(("Sharp", [("sharp_enabled", "true"), *UFM_SHARP]))
    yield paths.UFM, fill("gv.cfg.fragment", subnet=subnet, parts=parts)


def _groups(subnet: Subnet) -> Iterator[Group]:
    """Top switches and services by GUID, compute ports by rail: these by node description, since a line of 3,072 GUIDs may be cut."""
    switches, hcas = standing(subnet)
    top = {switch.name for switch in subnet.roots}
    yield from _listed("root_switches", "top switches", [switch.guid for switch in switches if switch.name in top])
    for device in sorted({hca.device for hca in hcas if hca.purpose == "compute"}):
        yield from _rail(device, hcas)
    others = [hca.port_guid for hca in hcas if hca.purpose != "compute"]
    yield from _listed("services", "storage, subnet managers and other hosts without GPUs", others)


def _rail(device: str, hcas: tuple[Hca, ...]) -> Iterator[Group]:
    """All GPU hosts' HCAs of one device name; by GUID where no pattern of names tells them from other hosts' HCAs."""
    name, use = f"rail_{device}", f"{device} of every GPU host"
    mine = [hca for hca in hcas if hca.purpose == "compute" and hca.device == device]
    stem = mine[0].host.rstrip("0123456789")
    pattern = f"{stem}[0-9]* {device}$"  # both in basic and in extended regular expressions
    matching = {hca.name for hca in hcas if re.search(pattern, hca.name)}
    if matching == {hca.name for hca in mine}:
        yield Group(name, use, f"port-regexp: {pattern}")
    else:
        yield from _listed(name, use, [hca.port_guid for hca in mine])


def _listed(name: str, use: str, guids: list[int]) -> Iterator[Group]:
    """One group, or NAME_1, NAME_2, ... of as many GUIDs as fit into a line; a group has one qualifier only."""
    parts = [guids[start : start + GUIDS_A_GROUP] for start in range(0, len(guids), GUIDS_A_GROUP)]
    for number, part in enumerate(parts, 1):
        rule = "port-guid: " + ", ".join([f"{guid:#018x}" for guid in part])
        yield Group(name if len(parts) == 1 else f"{name}_{number}", use, rule)


def _cables(subnet: Subnet) -> list[tuple[str, int, str, int]]:
    """GUIDs and ports of each cable. An HCA by its port GUID, as in NVIDIA's example (whether by node or port is not said)."""
    switches, hcas = standing(subnet)
    guid = {switch.name: f"{switch.guid:#018x}" for switch in switches}
    guid.update({hca.name: f"{hca.port_guid:#018x}" for hca in hcas})
    return [
        (guid[link.a], link.a_port, guid[link.b], link.b_port)
        for link in subnet.links
        if link.state != "planned" and link.a in guid and link.b in guid
    ]
