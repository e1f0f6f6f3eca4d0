"""GUIDs of the real boxes, put over the placeholders: each device once, each GUID once, ports' and nodes' not mixed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fabric.design.ib.guid_file import Problems, Row, read_rows
from fabric.design.ib.model import Hca, IbSwitch
from fabric.design.suggest import near
from fabric.spec.cluster import ClusterSpec


def with_guids(
    spec: ClusterSpec, switches: tuple[IbSwitch, ...], hcas: tuple[Hca, ...], base_dir: Path
) -> tuple[tuple[IbSwitch, ...], tuple[Hca, ...]]:
    """Switches and HCAs with the GUIDs of the spec's file, or as they are without one.

    Planned devices may be missing in the file and keep their placeholders. Raises DesignError for an unreadable file, FabricError(s) with
    file:line for what is wrong in it.
    """
    file = spec.infiniband.guids.file
    if file is None:
        return switches, hcas
    rows, problems = read_rows(file, base_dir)
    if not rows:
        problems.stop()
    known = _known(rows, {switch.name for switch in switches}, {hca.name for hca in hcas}, problems)
    _once([*known.values()], problems)
    _kinds(known, hcas, problems)
    _missing(known, [*switches, *hcas], problems)
    problems.stop()
    return tuple(_switch(switch, known) for switch in switches), tuple(_hca(hca, known) for hca in hcas)


def _switch(switch: IbSwitch, known: dict[str, Row]) -> IbSwitch:
    row = known.get(switch.name)
    return switch if row is None or row.node is None else replace(switch, guid=row.node, placeholder=False)


def _hca(hca: Hca, known: dict[str, Row]) -> Hca:
    row = known.get(hca.name)
    if row is None or row.node is None or row.port is None:
        return hca
    return replace(hca, node_guid=row.node, port_guid=row.port, placeholder=False)


def _known(rows: Sequence[Row], switches: set[str], hcas: set[str], problems: Problems) -> dict[str, Row]:
    """Rows by device name; unknown and repeated ones, and those without a GUID, are problems."""
    found: dict[str, Row] = {}
    names: list[str] | None = None
    for row in rows:
        if row.name not in switches and row.name not in hcas:
            names = names if names is not None else sorted(switches | hcas)
            hint = near(row.name, names) if len(names) < 5000 else ""
            like = hint if hint.startswith("did") else f"devices are named like {names[0]!r} and {names[-1]!r}"
            problems.add(row.line, f"the design has no device {row.name!r}", hint=like)
        elif row.name in found:
            problems.add(row.line, f"{row.name} stands in line {found[row.name].line} already")
        else:
            found[row.name] = row
            _whole(row, row.name in hcas, problems)
    return found


def _whole(row: Row, is_hca: bool, problems: Problems) -> None:
    """A switch has a node GUID, which its port 0 shares; an HCA has both."""
    if is_hca and (row.node is None) != (row.port is None):
        lacks, has = ("port", "node") if row.port is None else ("node", "port")
        problems.add(row.line, f"{row.name}: has a {has} GUID and no {lacks} GUID; an HCA wants both")
    elif not is_hca and row.port is not None and row.node != row.port:
        problems.add(row.line, f"{row.name}: the port GUID of a switch is its node GUID, or empty")


def _once(rows: Sequence[Row], problems: Problems) -> None:
    """No GUID twice; that a port has its own node's is asked elsewhere."""
    nodes: dict[int, Row] = {}
    for row in rows:
        if row.node is not None and (first := nodes.setdefault(row.node, row)) is not row:
            problems.add(row.line, f"{row.name}: node GUID 0x{row.node:016x} is {first.name}'s, in line {first.line}")
    ports: dict[int, Row] = {}
    for row in rows:
        if row.port is None or row.port == row.node:
            continue
        first = ports.setdefault(row.port, row)
        if first is not row:
            problems.add(row.line, f"{row.name}: port GUID 0x{row.port:016x} is {first.name}'s, in line {first.line}")
        elif row.port in nodes:
            other = nodes[row.port]
            problems.add(
                row.line,
                f"{row.name}: port GUID 0x{row.port:016x} is the node GUID of {other.name}, in line {other.line}",
            )


def _kinds(known: dict[str, Row], hcas: Sequence[Hca], problems: Problems) -> None:
    """Where HCAs have a port GUID of their own, one whose port GUID equals its node GUID is a slip of the pen."""
    rows = [
        row
        for hca in hcas
        if (row := known.get(hca.name)) is not None and row.node is not None and row.port is not None
    ]
    same = [row for row in rows if row.node == row.port]
    if same and len(same) < len(rows):
        for row in same:
            problems.add(
                row.line,
                f"{row.name}: the node GUID 0x{row.node:016x} stands where the port GUID belongs; {len(rows) - len(same):,} other HCAs have two",
            )


def _missing(known: dict[str, Row], devices: Sequence[IbSwitch | Hca], problems: Problems) -> None:
    lacking = [
        device.name
        for device in devices
        if device.state != "planned" and device.name not in problems.named and not _given(known.get(device.name))
    ]
    if lacking:
        more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        problems.add(
            None,
            f"has no GUID of {lacking[0]}{more} of {len(devices):,} devices",
            hint="planned devices may be missing",
        )


def _given(row: Row | None) -> bool:
    return row is not None and (row.node is not None or row.port is not None)
