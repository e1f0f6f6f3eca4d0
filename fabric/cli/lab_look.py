"""`fabric lab status`, `logs`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fabric.cli import lab_ib
from fabric.cli.common import json_option, print_json, print_table
from fabric.cli.lab import lab_spec, running_lab
from fabric.errors import FabricError
from fabric.words import counted


@click.command("status")
@lab_spec
@json_option
def status(spec: Path, *, as_json: bool) -> None:
    """Nodes, daemons, uptime, BGP sessions and active faults of the lab."""
    from fabric.lab import control

    lab = running_lab(spec)
    answer = control.ask(lab.folder, "status")
    if lab_ib.is_infiniband(lab):
        lab_ib.show_status(answer, as_json=as_json)
        return
    if as_json:
        print_json("fabric.lab-status/1", {key: value for key, value in answer.items() if key != "ok"})
        return
    print_table(
        ["node", "kind", "management", "uptime", "sessions", "daemons"], [_row(node) for node in answer["nodes"]]
    )
    for line in lacking(answer["nodes"]):
        click.echo(line)
    for fault in answer["faults"]:
        click.echo(f"fault {fault['id']}: {fault['said']}")
    for line in answer["exits"]:
        click.echo(line)


def lacking(nodes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Whether the lab is converged, and if not, what each node still lacks; equal ones in one line."""
    groups: dict[str, list[str]] = {}
    for node in nodes:
        if node["missing"]:
            groups.setdefault(node["missing"], []).append(node["name"])
    if not groups:
        yield "converged: every session, route and LLDP neighbour is there"
        return
    yield f"not converged: {sum(map(len, groups.values())):,} of {counted(len(nodes), 'node')}"
    for words, names in groups.items():
        yield f"  {', '.join(names)}: {words}"


def _row(node: dict[str, Any]) -> list[Any]:
    if node["state"] != "on":
        return [node["name"], node["kind"], node["management"] or None, node["state"], None, None]
    sessions = f"{node['sessions']}/{node['sessions_expected']}" if node["sessions_expected"] else None
    daemons = " ".join([*node["daemons"], *(f"({name} is dead)" for name in node["dead"])])
    return [node["name"], node["kind"], node["management"] or None, f"{node['uptime_s']:.0f} s", sessions, daemons]


@click.command("logs")
@lab_spec
@click.argument("node")
@click.argument("daemon", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on as more is written.")
def logs(spec: Path, node: str, daemon: str | None, *, follow: bool) -> None:
    """What the daemons of NODE wrote; of one DAEMON when it is named. `supervisor` is the lab itself."""
    from fabric.lab.up import logs_of

    lab = running_lab(spec)
    if node == "supervisor":
        found = {"supervisor": lab.folder / "logs" / "supervisor.log"}
    elif lab_ib.is_infiniband(lab):
        found = lab_ib.logs(lab, node)
    else:
        if node not in {item["name"] for item in lab.read()["nodes"]}:
            raise FabricError(f"this lab has no node {node!r}")
        found = logs_of(lab, node)
    if daemon is not None:
        if daemon not in found:
            raise FabricError(f"{node} has no log of {daemon!r}", hint="there are " + ", ".join(found))
        found = {daemon: found[daemon]}
    _print(found, follow=follow)


def _print(found: dict[str, Path], *, follow: bool) -> None:
    offsets = dict.fromkeys(found, 0)
    while True:
        for name, path in found.items():
            with path.open("rb") as log:
                log.seek(offsets[name])
                new = log.read()
            offsets[name] += len(new)
            for line in new.decode("utf-8", "replace").splitlines():
                click.echo(f"{name}: {line}" if len(found) > 1 else line)
        if not follow:
            return
        time.sleep(0.3)
