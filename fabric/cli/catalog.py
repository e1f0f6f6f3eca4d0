"""`fabric catalog`: what the catalog knows of switches, line cards, ASICs, hosts, NICs, cables and racks."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import fabric.catalog as hardware
from fabric.errors import FabricError

JSON_VERSION = 1
"""Version of the shapes that `--json` prints."""

Row = tuple[str, str, str, str]


@click.group("catalog")
def catalog() -> None:
    """What hardware can do: ports, lanes, speeds, buffers, limits, each number with its source."""


def _console() -> Console:
    """As wide as the terminal; without one nothing is cut or wrapped, so that it can be searched."""
    return Console() if sys.stdout.isatty() else Console(width=_UNCUT)


_UNCUT = 1000


@catalog.command("list")
@click.argument("kind", required=False, type=click.Choice(list(hardware.KINDS)))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_entries(kind: str | None, as_json: bool) -> None:
    """List the catalog's entries, or those of one KIND."""
    known = hardware.catalog()
    kinds = [kind] if kind else list(hardware.KINDS)
    found = [(one, name, _title(known.get(one, name))) for one in kinds for name in known.names(one)]
    if as_json:
        _print_json({"entries": [{"kind": one, "name": name, "title": title} for one, name, title in found]})
        return
    table = Table("kind", "name", "what")
    for row in found:
        table.add_row(*row)
    _console().print(table)


@catalog.command("show")
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--ports", "with_ports", is_flag=True, help="List every port of a switch.")
@click.option(
    "--line-card", help="With --ports on a chassis: the card in all its slots (default: the first that fits)."
)
def show(model: str, as_json: bool, with_ports: bool, line_card: str | None) -> None:
    """Show one MODEL: every fact with how sure it is and where it comes from."""
    kind, entry = hardware.catalog().find(model)
    ports = _ports(model, entry, line_card) if with_ports else []
    if as_json:
        document = {"kind": kind, "name": model, "entry": entry.model_dump(mode="json", exclude_none=True)}
        _print_json({**document, "ports": ports} if with_ports else document)
        return
    console = _console()
    console.print(f"{kind} {model}: {_title(entry)}", highlight=False, markup=False)
    console.print(_facts(entry))
    if isinstance(entry, hardware.SwitchModel) and entry.maps:
        console.print(_maps(entry))
    if ports:
        console.print(_port_table(ports))
    for note in getattr(entry, "notes", ()):
        console.print(f"note: {note}", highlight=False, markup=False, soft_wrap=True)


def _title(entry: hardware.Model) -> str:
    return str(getattr(entry, "title", ""))


def _print_json(document: dict[str, Any]) -> None:
    click.echo(json.dumps({"version": JSON_VERSION, **document}, indent=1))


def _facts(entry: hardware.Model) -> Table:
    """Every fact of the entry's file, one a row."""
    table = Table("fact", "value", "how sure", "source")
    skip = {"name", "title", "maps", "notes"}
    for row in _rows("", entry.model_dump(exclude_none=True, exclude=skip)):
        table.add_row(*map(escape, row))
    return table


def _rows(path: str, value: Any, status: str = "", source: str = "") -> Iterator[Row]:
    """(path, value, status, source) of every leaf; a section's status and source hold for all leaves under it."""
    if not isinstance(value, dict):
        if isinstance(value, tuple | list) and value and isinstance(value[0], dict):
            for index, item in enumerate(value):
                yield from _rows(f"{path}[{index}]", item, status, source)
        elif value not in ((), {}):
            yield path, _text(value), status, source
        return
    if "status" in value and "source" in value:
        status, source = value["status"], value["source"]
        if "value" in value:
            yield path, f"{_text(value['value'])} {value.get('unit', '')}".rstrip(), status, source
            return
    for key, item in value.items():
        if key not in ("status", "source"):
            yield from _rows(f"{path}.{key}".lstrip("."), item, status, source)


def _text(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(str(item) for item in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _maps(entry: hardware.SwitchModel) -> Table:
    table = Table("port map", "role", "speed", "medium", "ports", "in filling order", "how sure")
    for one in entry.maps:
        down, up = (f"{one.host_speed_gbps}G", one.host_medium), (f"{one.uplink_speed_gbps}G", one.uplink_medium)
        table.add_row(one.name, "downlinks", *down, str(len(one.downlinks)), ", ".join(one.downlinks), one.status)
        table.add_row("", "uplinks", *up, str(len(one.uplinks)), ", ".join(one.uplinks), "")
        for role, port in one.reserved.items():
            table.add_row("", role, "", "", "1", port, "")
    return table


def _ports(model: str, entry: hardware.Model, line_card: str | None) -> list[dict[str, Any]]:
    """The ports of a switch as plain data; raises FabricError for an entry that has none."""
    if not isinstance(entry, hardware.SwitchModel):
        raise FabricError(f"{model} is no switch and has no port list", hint="leave --ports out")
    if entry.chassis is not None:
        return [dataclasses.asdict(port) for port in entry.chassis_ports(line_card or entry.line_cards[0])]
    if line_card is not None:
        raise FabricError(f"{model} is a fixed box and takes no line cards", hint="leave --line-card out")
    return [dataclasses.asdict(port) for port in entry.ports]


def _port_table(ports: list[dict[str, Any]]) -> Table:
    if "slot" in ports[0]:
        table = Table("interface", "slot", "port", "asic")
        for port in ports:
            table.add_row(port["name"], str(port["slot"]), str(port["port"]), str(port["asic"]))
        return table
    table = Table("port", "label", "names", "id", "core", "pipeline", "profile: lanes (takes away)")
    for port in ports:
        names = ", ".join(f"{nos} {name}" for nos, name in port["names"].items() if name != port["name"])
        numbers = ("" if port[key] is None else str(port[key]) for key in ("logical_id", "core", "pipeline"))
        uses = "; ".join(_use(pid, use) for pid, use in port["profiles"].items())
        table.add_row(port["name"], port["label"], names, *numbers, uses)
    return table


def _use(pid: int, use: dict[str, Any]) -> str:
    lanes = use["lanes"]
    span = str(lanes[0]) if len(lanes) == 1 else f"{lanes[0]}-{lanes[-1]}"
    taken = ", ".join((*use["subsumes"], *use["overlap"]))
    return f"{pid}: {span} ({taken})" if taken else f"{pid}: {span}"
