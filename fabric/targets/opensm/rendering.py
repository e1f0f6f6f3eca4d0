"""A subnet manager's files from the design, checked by our own strict readers before anyone gets them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fabric.design.ib.model import Subnet, SubnetManager, UlpRule
from fabric.errors import FabricError, FabricErrors
from fabric.targets.base import Artifact
from fabric.targets.opensm import members, paths
from fabric.targets.opensm.linting import Known, lint
from fabric.targets.opensm.nvidia import nvidia_files
from fabric.targets.opensm.settings import backend, sections
from fabric.targets.opensm.templates import fill

_SECRET = b"$SECRET{"


def render(subnet: Subnet, manager: SubnetManager, base_dir: Path | None = None) -> list[Artifact]:
    """The files of one SM host, under /etc/opensm. Files of two SMs differ in `guid` and `sm_priority` only (and SHARP's port).

    `base_dir` is the spec's folder, as for every target; nothing is read from it. Keys stand as `$SECRET{name}`.
    Raises DesignError for options that the flavour does not know, FabricError(s) for files that opensm would not take as they are meant.
    """
    del base_dir
    files = dict(_files(subnet, manager))
    problems = lint(files, subnet.flavour, Known.of(subnet))
    if problems:
        errors = [FabricError(f"{manager.host}: {problem}") for problem in problems]
        raise errors[0] if len(errors) == 1 else FabricErrors(errors)
    return [
        Artifact(manager.host, "sm", "opensm", path, content, *_guarded(content)) for path, content in files.items()
    ]


def _guarded(content: bytes) -> tuple[int, bool]:
    """Mode and whether there is a secret: a file with a key is for root only."""
    return (0o600, True) if _SECRET in content else (0o644, False)


def _files(subnet: Subnet, manager: SubnetManager) -> Iterator[tuple[str, bytes]]:
    switches, _ = members.standing(subnet)
    yield paths.CONF, fill("opensm.conf", subnet=subnet, sections=sections(subnet, manager))
    yield paths.PARTITIONS, fill("partitions.conf", subnet=subnet, rules=members.partition_rules(subnet))
    for path, title, guids in _lists(subnet):
        yield path, fill("guids", subnet=subnet, title=title, guids=[f"{guid:#018x}" for guid in guids])
    yield paths.NAMES, fill("node-name-map", subnet=subnet, switches=switches)
    if subnet.qos is not None:
        yield paths.QOS, fill("qos-policy.conf", subnet=subnet, rules=_rules(subnet))
    if subnet.flavour == "nvidia":
        yield from nvidia_files(subnet, manager, backend(subnet).subnet_manager)


def _lists(subnet: Subnet) -> Iterator[tuple[str, str, list[int]]]:
    yield paths.ROOTS, "Top switches (node GUIDs)", members.roots(subnet)
    yield paths.COMPUTE, "Compute ports (port GUIDs)", members.compute(subnet)
    if others := members.services(subnet):
        yield paths.IO, "Ports of hosts without GPUs (port GUIDs)", others
    if members.wants_order(subnet):
        yield paths.ORDER, "Compute ports by leaf and leaf port (port GUIDs)", members.order(subnet)


def _rules(subnet: Subnet) -> list[UlpRule]:
    """The declared rules; `default` last, at SL 0 when nobody declared one."""
    rules = [rule for rule in subnet.ulps if rule.match != "default"]
    default = [rule for rule in subnet.ulps if rule.match == "default"]
    return [*rules, *(default[:1] or [UlpRule("default", 0)])]
