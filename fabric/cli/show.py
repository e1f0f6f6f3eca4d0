"""`fabric show`: the design as tables, JSON or CSV.

`--json` prints, version `fabric.show.<table>/1`: {schema, rows: [{column: value}]}; for `summary`: {schema, ...figures}.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fabric.cli.common import json_option, print_csv, print_json, print_table, spec_option
from fabric.errors import FabricError

if TYPE_CHECKING:
    from fabric.design.fabric import Fabric
    from fabric.design.hosts.model import HostFleet
    from fabric.design.ib.model import Subnet
    from fabric.design.tables import Table
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import Loaded

F = TypeVar("F", bound=Callable[..., Any])


@click.group("show")
def show() -> None:
    """Show the design that follows from a spec; nothing is written."""


def _table_options(command: F) -> F:
    options = (
        click.argument("devices", nargs=-1, metavar="[DEVICE]..."),
        spec_option,
        json_option,
        click.option("--csv", "as_csv", is_flag=True, help="Print CSV."),
    )
    for option in reversed(options):
        command = option(command)
    return command


_TABLES = {
    "devices": "Switches and hosts: role, place, model, state, for RoCE numbers; of devices that match DEVICE (z01-*), or of all.",
    "links": "Cables, both ends with port, cable model, length, for RoCE addresses; of devices that match DEVICE (z01-*), or of all.",
    "addresses": "Addresses with the device and interface that has them (RoCE); of devices that match DEVICE (z01-*), or of all.",
    "racks": "Racks with their hosts; for RoCE switch, prefix and power. DEVICE, which may be a pattern, names a rack by a device in it.",
    "switches": "Switches with tier, unit, pod, rail, plane and GUID (InfiniBand); of those that match DEVICE (leaf*), or of all.",
    "hcas": "HCAs with leaf port and GUIDs (InfiniBand); of hosts that match DEVICE (gt0001), or of all.",
    "partitions": "Partitions by host and membership (InfiniBand); of hosts that match DEVICE, or of all.",
    "cages": "Cages of switches with the far ends that fail together (InfiniBand); of switches that match DEVICE, or of all.",
}  # fmt: skip
_OF_HOSTS = {
    "nics": "Back-end NICs of hosts with interface, PCI slot, switch port and address or GUID; of hosts that match DEVICE, or of all.",
    "nccl": "The lines of /etc/nccl.conf and where they come from; with DEVICE also those that only these hosts have.",
    "software": "Packages of the hosts by concern, with version.",
    "mounts": "Storage mounts; with DEVICE what these hosts mount from where.",
}  # fmt: skip

_INSTEAD = {
    "switches": "fabric show devices has the switches",
    "hcas": "fabric show nics has the NICs, fabric show links their cables",
    "cages": "fabric show links has the ports",
    "partitions": "partitions are InfiniBand's; fabric show addresses has what there is instead",
    "addresses": "fabric show hcas has GUIDs; LIDs are the subnet manager's",
}
"""Where to look for what the other kind of network has a table of."""


def _add(name: str, text: str) -> None:
    @show.command(name, help=text)
    @_table_options
    def command(**options: Any) -> None:
        _print(name, **options)


for _name, _text in {**_TABLES, **_OF_HOSTS}.items():
    _add(_name, _text)


@show.command("summary")
@spec_option
@json_option
def summary(*, spec: Path, as_json: bool) -> None:
    """Counts, oversubscription by port and by bandwidth, spare, cables, power."""
    from fabric.cli.summary import roce_lines
    from fabric.cli.summary_ib import infiniband_lines
    from fabric.design.figures import figures
    from fabric.design.load import design_loaded, load_spec, subnet_of

    loaded = load_spec(spec)
    if loaded.value.backend.kind == "infiniband":
        subnet = subnet_of(loaded).subnet
        body, lines = dataclasses.asdict(subnet.figures), infiniband_lines(subnet)
    else:
        fabric = design_loaded(loaded).fabric
        known = figures(fabric)
        body, lines = _plain(dataclasses.asdict(known)), roce_lines(fabric, known)
    if as_json:
        print_json("fabric.show.summary/1", {"name": loaded.value.name, "kind": loaded.value.backend.kind, **body})
        return
    for line in lines:
        click.echo(line)


def _plain(value: Any) -> Any:
    """Fractions as [numerator, denominator], so that JSON loses nothing."""
    if isinstance(value, Fraction):
        return [value.numerator, value.denominator]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _print(name: str, *, devices: Sequence[str], spec: Path, as_json: bool, as_csv: bool) -> None:
    from fabric.design.load import load_spec

    if as_json and as_csv:
        raise FabricError("--json and --csv cannot both be printed")
    loaded = load_spec(spec)
    by_backend = _of_subnet if loaded.value.backend.kind == "infiniband" else _of_fabric
    table = (_of_fleet if name in _OF_HOSTS else by_backend)(name, loaded, devices)
    if as_json:
        print_json(f"fabric.show.{name}/1", {"rows": [dict(zip(table.header, row, strict=True)) for row in table.rows]})
    elif as_csv:
        print_csv(table.header, table.rows)
    else:
        print_table(table.header, table.rows)


def _of_fabric(name: str, loaded: Loaded[ClusterSpec], devices: Sequence[str]) -> Table:
    from fabric.design import tables
    from fabric.design.load import design_loaded

    if not hasattr(tables, name):
        raise FabricError(f"{loaded.path}: a RoCE cluster has no table of {name}", hint=_INSTEAD.get(name))
    fabric = design_loaded(loaded).fabric
    make: Callable[[Fabric, frozenset[str] | None], Table] = getattr(tables, name)
    return make(fabric, _chosen([*fabric.by_name, *(host.name for host in fabric.hosts())], devices))


def _of_subnet(name: str, loaded: Loaded[ClusterSpec], devices: Sequence[str]) -> Table:
    from fabric.design.ib import tables
    from fabric.design.load import subnet_of

    if not hasattr(tables, name):
        raise FabricError(f"{loaded.path}: an InfiniBand cluster has no table of {name}", hint=_INSTEAD.get(name))
    subnet = subnet_of(loaded).subnet
    make: Callable[[Subnet, frozenset[str] | None], Table] = getattr(tables, name)
    hosts = dict.fromkeys(hca.host for hca in subnet.hcas)
    return make(subnet, _chosen([*subnet.switch, *hosts, *subnet.hca], devices))


def _of_fleet(name: str, loaded: Loaded[ClusterSpec], devices: Sequence[str]) -> Table:
    from fabric.design.hosts import tables
    from fabric.design.load import fleet_of

    fleet = fleet_of(loaded).fleet
    make: Callable[[HostFleet, frozenset[str] | None], Table] = getattr(tables, name)
    return make(fleet, _chosen([host.name for host in fleet.hosts] if devices else [], devices))


def _hint(pattern: str, names: Sequence[str]) -> str:
    """What was meant: a spec (an argument of other commands), a name that is near, or how names look."""
    from fabric.design.suggest import near

    if Path(pattern).is_file():
        return f"here the spec is an option: --spec {pattern}"
    hint = near(pattern, names)
    return hint if hint.startswith("did") else f"devices are named like {names[0]}"


def _chosen(names: list[str], patterns: Sequence[str]) -> frozenset[str] | None:
    """Names that the patterns choose (None: all); FabricError for a pattern that chooses none."""
    if not patterns:
        return None
    found: set[str] = set()
    for pattern in patterns:
        hits = fnmatch.filter(names, pattern)
        if not hits:
            raise FabricError(f"no device matches {pattern!r}", hint=_hint(pattern, names))
        found.update(hits)
    return frozenset(found)
