"""`fabric lab`: boot the declared cluster on this machine, look at it, work in it, break it, take it down."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import click

_COMMANDS = {
    "up": ("fabric.cli.lab_run:up", "Boot the cluster and wait until it has converged."),
    "down": ("fabric.cli.lab_run:down", "End the lab; nothing of it stays."),
    "status": ("fabric.cli.lab_look:status", "Nodes, daemons, sessions, faults."),
    "exec": ("fabric.cli.lab_run:execute", "Run a command at the operator's seat or in a node."),
    "logs": ("fabric.cli.lab_look:logs", "What a node's daemons wrote."),
    "fault": ("fabric.cli.lab_fault:fault", "Break something, or repair it."),
    "shape": ("fabric.cli.lab_shape:shape", "Let cables carry their designed speeds, scaled down."),
    "daemon": ("fabric.cli.lab_run:daemon", "Start, stop or restart a daemon of a node."),
}

lab_spec = click.argument("spec", type=click.Path(path_type=Path))


class _Lazy(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in _COMMANDS.items()])


@click.group(cls=_Lazy)
def lab() -> None:
    """The virtual lab: the declared cluster on one Linux machine, with real FRR, lldpd and OpenSSH, or ibsim and opensm."""


def running_lab(spec: Path) -> Any:
    """The running lab of a spec (`fabric.lab.state.Lab`); FabricError when there is none. A dead lab's folder is removed."""
    from fabric.errors import FabricError
    from fabric.lab.state import Lab

    found = Lab.find(spec)
    if found is not None and found.supervisor() is None:
        if (found.folder / "seats").is_dir():
            from fabric.lab.ib.up import down

            down(found)
        found.remove()
        raise FabricError(f"the lab of {spec} has died", hint=f"fabric lab up {spec}")
    if found is None:
        raise FabricError(f"the lab of {spec} is not up", hint=f"fabric lab up {spec}")
    return found
