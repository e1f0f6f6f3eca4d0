"""The command `fabric`: a group whose commands are imported only when they run, so that `--help` is quick."""

from __future__ import annotations

import importlib
import sys

import click

from fabric import __version__
from fabric.cli.boundary import run

COMMANDS: dict[str, tuple[str, str]] = {
    "apply": ("fabric.cli.apply:apply", "Bring the live devices to what the spec declares, in waves."),
    "catalog": ("fabric.cli.catalog:catalog", "What hardware can do, with sources."),
    "check": ("fabric.cli.check:check", "Can the declared cluster be built? Errors, then warnings."),
    "drain": ("fabric.cli.drain:drain", "Move traffic away from a device; see also undrain."),
    "drift": ("fabric.cli.drift:drift", "Do the live devices still hold what the spec declares?"),
    "explain": ("fabric.cli.explain:explain", "Where a value comes from: formula and source."),
    "export": (
        "fabric.cli.export:export",
        "The design in the forms of other tools: containerlab, ibdiagnet, UFM, Slurm, Kueue, Topograph, InfraGraph, ibsim.",
    ),
    "history": (
        "fabric.cli.history:history",
        "What every validate found: of a part, of repeat offenders, since the last good run.",
    ),
    "flight-recorder": (
        "fabric.cli.flight_recorder:flight_recorder",
        "PyTorch's dumps of a hanging job: the rank at fault, its GPU, NIC and switch port.",
    ),
    "init": ("fabric.cli.init:init", "Write a commented starter spec."),
    "lab": ("fabric.cli.lab:lab", "The virtual lab: boot the cluster on this machine, break it, repair it."),
    "locate": ("fabric.cli.locate:locate", "Name the faulty GPU, NIC, cable, host or switch from files of results."),
    "place": (
        "fabric.cli.place:place",
        "Which hosts a job should get, and the order of its ranks: hostfile, Slurm, torchrun.",
    ),
    "plan": ("fabric.cli.plan:plan", "What would change, grouped over devices."),
    "predict": (
        "fabric.cli.predict:predict",
        "What collectives will reach by message size, where bandwidth goes, and what would help first.",
    ),
    "render": ("fabric.cli.render:render", "Write every device's configuration files."),
    "report": ("fabric.cli.report:report", "One HTML page of what was found: faults drawn, bandwidth map, findings."),
    "runs": ("fabric.cli.runs:runs", "What was applied: list, show, resume, roll back."),
    "schema": ("fabric.cli.schema:schema", "Print the JSON Schema of cluster.yaml."),
    "show": ("fabric.cli.show:show", "Show the design: summary, devices, links, addresses, racks."),
    "trust": ("fabric.cli.trust:trust", "Record the devices' SSH host keys, after showing them."),
    "tune": ("fabric.cli.tune:tune", "The cheapest changes with which a collective reaches a target."),
    "undrain": ("fabric.cli.drain:undrain", "Bring traffic back to a device."),
    "validate": (
        "fabric.cli.validate:validate",
        "Do the live devices do what the spec declares? Cabling, routing, QoS.",
    ),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is asked for."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """All command names."""
        return sorted(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(_ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="fabric")
def cli() -> None:
    """Declare a GPU cluster's network once; design it, render it, change it safely, prove it.

    Exit codes: 0 nothing to do, 1 could not do it, 2 done and there is something to see, 3 a bug of fabric's.
    """


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(cli))


if __name__ == "__main__":
    main()
