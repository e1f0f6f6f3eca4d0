"""What the `fabric lab` commands do for an InfiniBand spec."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabric.cli.common import print_json, print_table
from fabric.errors import FabricError

if TYPE_CHECKING:
    from fabric.lab.state import Lab


def is_infiniband(lab: Lab) -> bool:
    """Is a running lab one of InfiniBand?"""
    return lab.read().get("kind") == "infiniband"


def up(spec: Path, *, blank: bool, aggregation_nodes: bool, timeout_s: float) -> None:
    """`lab up`."""
    from fabric.design.load import load_subnet
    from fabric.lab.ib.up import up as bring_up
    from fabric.lab.state import Lab

    cluster = load_subnet(spec)
    name = cluster.subnet.spec.name
    took = bring_up(
        Lab.of(spec, name), cluster.subnet, spec, blank=blank, aggregation_nodes=aggregation_nodes, timeout_s=timeout_s,
        say=lambda text: click.echo(text, err=True),
    )  # fmt: skip
    click.echo(f"lab {name} is up in {took:.1f} s")


def down(lab: Lab) -> bool:
    """`lab down`."""
    from fabric.lab.ib.up import down as take_down

    return take_down(lab)


def execute(lab: Lab, node: str | None, command: Sequence[str]) -> int:
    """`lab exec`."""
    from fabric.lab.ib import seat

    if node is not None:
        return seat.run_on(node, command, lab)
    return seat.run(command, lab)


def logs(lab: Lab, node: str) -> dict[str, Path]:
    """The log files of an SM host (`opensm`, what it printed as `opensm.out`, `sshd`), or of `ibsim`, by name."""
    names = [item["host"] for item in lab.read()["managers"]]
    if node not in (*names, "ibsim"):
        raise FabricError(
            f"this lab has no logs of {node!r}", hint="there are " + ", ".join([*names, "ibsim", "supervisor"])
        )
    found = {path.stem: path for path in sorted(lab.logs(node).glob("*.log"))}
    return found | {path.name: path for path in sorted(lab.logs(node).glob("*.out"))}


def show_status(answer: dict[str, Any], *, as_json: bool) -> None:
    """`lab status`."""
    if as_json:
        print_json("fabric.lab-ib-status/1", {key: value for key, value in answer.items() if key != "ok"})
        return
    simulator = answer["simulator"]
    what = f"{simulator['nodes'] - simulator['switches']} HCAs, {simulator['switches']} switches"
    click.echo(f"ibsim: {what if simulator['runs'] else 'it has ended'}, up for {answer['uptime_s']:.0f} s")
    print_table(
        ["SM host", "HCA", "address", "state", "priority", "LID", "uptime", "subnet up"],
        [_row(item) for item in answer["managers"]],
    )
    for item in answer["managers"]:
        if item["problem"]:
            click.echo(f"{item['host']}: {item['problem']}")
    for fault in answer["faults"]:
        click.echo(f"fault {fault['id']}: {fault['said']}")


def _row(item: dict[str, Any]) -> list[Any]:
    answers = item["answers"]
    up_s = item["subnet_up_after_s"]
    return [
        item["host"], item["hca"], item["address"], answers.get("state") or item["state"] or ("starting" if item["runs"] else "off"),
        answers.get("priority", item["priority"]), answers.get("lid"), f"{item['uptime_s']:.0f} s" if item["runs"] else None,
        None if up_s is None else f"after {up_s:g} s",
    ]  # fmt: skip
