"""The hosts as plain rows, for tables, CSV and JSON. `chosen` are host names (None: all)."""

from __future__ import annotations

from typing import Any

from fabric.design.hosts.model import BackendNic, HostFleet, HostPlan
from fabric.design.ib.tables import guid_text
from fabric.design.ip import fmt4, fmt6
from fabric.design.tables import Table

Chosen = frozenset[str] | None


def _hosts(fleet: HostFleet, chosen: Chosen) -> list[HostPlan]:
    return list(fleet.hosts) if chosen is None else [fleet.plan(name) for name in sorted(chosen)]


def nics(fleet: HostFleet, chosen: Chosen) -> Table:
    """One row a back-end NIC, with what it is cabled to."""
    rows = [_nic(host, nic) for host in _hosts(fleet, chosen) for nic in host.nics]
    return Table(
        ("host", "rail", "nic", "hca", "pci", "switch", "port", "gbps", "address4", "address6", "guid", "state"), rows
    )


def _nic(host: HostPlan, nic: BackendNic) -> tuple[Any, ...]:
    four = None if nic.local4 is None else f"{fmt4(nic.local4)}/{nic.len4}"
    six = None if nic.local6 is None else f"{fmt6(nic.local6)}/{nic.len6}"
    guid = None if nic.guid is None else guid_text(nic.guid)
    place = (nic.pci, nic.switch, nic.switch_port, nic.speed_gbps)
    return (host.name, nic.rail, nic.name, nic.hca, *place, four, six, guid, host.state)


def nccl(fleet: HostFleet, chosen: Chosen) -> Table:
    """The lines of /etc/nccl.conf, and of hosts that are asked for those that only they have."""
    rows: list[tuple[Any, ...]] = [(None, row.key, row.value, row.why) for row in fleet.nccl]
    for host in _hosts(fleet, chosen) if chosen is not None else ():
        rows += [(host.name, row.key, row.value, row.why) for row in host.nccl]
    return Table(("host", "key", "value", "why"), rows)


def software(fleet: HostFleet, _chosen: Chosen) -> Table:
    """Packages by concern, in the order of installation; all hosts have the same."""
    rows: list[tuple[Any, ...]] = [
        (concern, package.name, package.version, package.hold)
        for concern, packages in fleet.packages.items()
        for package in packages
    ]
    return Table(("concern", "package", "version", "held"), rows)


def mounts(fleet: HostFleet, chosen: Chosen) -> Table:
    """Storage mounts, or of hosts that are asked for what each mounts from where."""
    if chosen is None:
        every: list[tuple[Any, ...]] = [
            (None, one.name, one.kind, one.path, ", ".join(one.sources) or one.source, one.unit) for one in fleet.mounts
        ]
        return Table(("host", "name", "kind", "path", "source", "unit"), every)
    rows: list[tuple[Any, ...]] = [
        (host.name, one.name, one.kind, one.path, fleet.source_of(one, host), one.unit)
        for host in _hosts(fleet, chosen)
        for one in fleet.mounts
    ]
    return Table(("host", "name", "kind", "path", "source", "unit"), rows)
