"""`fabric lab fault`: each fault is made for real in the running lab, and recorded there until it is restored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fabric.cli import lab_ib, lab_ib_fault
from fabric.cli.common import Seconds, json_option, print_json
from fabric.cli.lab import lab_spec, running_lab
from fabric.lab import control
from fabric.lab.fault_hosts import GPU_FAULTS


@click.group("fault")
@lab_spec
@click.pass_context
def fault(context: click.Context, spec: Path) -> None:
    """Break something in the lab of SPEC, or repair it. A port is NODE:PORT, with the port's name on the device."""
    context.obj = spec


def _make(context: click.Context, kind: str, **arguments: Any) -> None:
    lab = running_lab(context.obj)
    if lab_ib.is_infiniband(lab):
        lab_ib_fault.make(lab, kind, arguments)
        return
    click.echo(control.ask(lab.folder, "fault", kind=kind, arguments=arguments)["said"])


@fault.command("cut")
@click.argument("a")
@click.argument("b", required=False)
@click.pass_context
def cut(context: click.Context, a: str, b: str | None) -> None:
    """Pull a cable: A is NODE:PORT, or NODE with B the device at the other end."""
    _make(context, "cut", a=a, b=b)


@fault.command("slow")
@click.argument("port")
@click.option("--rate", default="1gbit", show_default=True, help="As tc takes it: 1gbit, 100mbit...")
@click.pass_context
def slow(context: click.Context, port: str, rate: str) -> None:
    """Let a cable carry less, in both directions."""
    _make(context, "slow", a=port, rate=rate)


@fault.command("swap")
@click.argument("a")
@click.argument("b")
@click.pass_context
def swap(context: click.Context, a: str, b: str) -> None:
    """Exchange the far ends of the cables at the ports A and B."""
    _make(context, "swap", a=a, b=b)


@fault.command("mtu")
@click.argument("port")
@click.argument("size", type=click.IntRange(1280, 65535))
@click.pass_context
def mtu(context: click.Context, port: str, size: int) -> None:
    """Set the MTU of a port behind the device's back, in bytes."""
    _make(context, "mtu", a=port, size=size)


@fault.command("kill-daemon")
@click.argument("node")
@click.argument("daemon")
@click.pass_context
def kill_daemon(context: click.Context, node: str, daemon: str) -> None:
    """Kill a daemon of a node: bgpd, zebra, lldpd, sshd..."""
    _make(context, "kill-daemon", name=node, daemon=daemon)


@fault.command("drop-ssh")
@click.argument("node")
@click.option(
    "--after", type=click.IntRange(0), metavar="BYTES", help="Wait until the switch has received so much more."
)
@click.option("--for", "seconds", type=Seconds(0.1), metavar="SECONDS", help="Let SSH come back after so long.")
@click.pass_context
def drop_ssh(context: click.Context, node: str, after: int | None, seconds: float | None) -> None:
    """Break a switch's SSH connections and refuse new ones."""
    _make(context, "drop-ssh", name=node, after=after, seconds=seconds)


@fault.command("reboot")
@click.argument("node")
@click.pass_context
def reboot(context: click.Context, node: str) -> None:
    """Power a node off and on: only what is on its disk stays."""
    _make(context, "reboot", name=node)


@fault.command("fill-disk")
@click.argument("node")
@click.pass_context
def fill_disk(context: click.Context, node: str) -> None:
    """Fill the file system that holds a switch's configuration."""
    _make(context, "fill-disk", name=node)


@fault.command("gpu")
@click.argument("node")
@click.argument("what", type=click.Choice(list(GPU_FAULTS)))
@click.option("--gpu", default=0, show_default=True, metavar="NUMBER", help="Which one.")
@click.pass_context
def gpu(context: click.Context, node: str, what: str, gpu: int) -> None:
    """Booted hosts: break a GPU."""
    _make(context, "gpu", name=node, what=what, gpu=gpu)


@fault.command("platform")
@click.argument("node")
@click.argument("gpu_name", metavar="GPU")
@click.pass_context
def platform(context: click.Context, node: str, gpu_name: str) -> None:
    """Booted hosts: let the host have other GPUs than declared, like "NVIDIA A100-SXM4-80GB"."""
    _make(context, "platform", name=node, gpu_name=gpu_name)


@fault.command("clock")
@click.argument("node")
@click.argument("seconds", type=float)
@click.pass_context
def clock(context: click.Context, node: str, seconds: float) -> None:
    """Booted hosts: let the clock be off."""
    _make(context, "clock", name=node, seconds=seconds)


@fault.command("forget-qos")
@click.argument("node")
@click.argument("nic")
@click.pass_context
def forget_qos(context: click.Context, node: str, nic: str) -> None:
    """Booted hosts: let a NIC forget its QoS settings, as it does when its driver is loaded again."""
    _make(context, "forget-qos", name=node, nic=nic)


@fault.command("freeze")
@click.argument("node")
@click.argument("daemon")
@click.pass_context
def freeze(context: click.Context, node: str, daemon: str) -> None:
    """Booted hosts: let a process hang, such as a FUSE client: whoever asks it waits."""
    _make(context, "freeze", name=node, daemon=daemon)


@fault.command("stop-ranks")
@click.argument("node", metavar="HOST")
@click.pass_context
def stop_ranks(context: click.Context, node: str) -> None:
    """Let every rank of an MPI program on HOST stop soon after it has started, as when its GPU hangs."""
    _make(context, "stop-ranks", name=node)


@fault.command("degrade")
@click.argument("port")
@click.option(
    "--counter", "counters", multiple=True, metavar="NAME=VALUE", help="An error counter of PortCounters (repeatable)."
)
@click.option("--width", type=click.Choice(["1x"]), help="Let the link train narrower.")
@click.pass_context
def degrade(context: click.Context, port: str, counters: tuple[str, ...], width: str | None) -> None:
    """InfiniBand: let a link work badly: error counters of PORT, or the link's width."""
    _make(context, "degrade", port=port, counters=lab_ib_fault.parse_counters(counters), width=width)


@fault.command("kill-sm")
@click.argument("host", required=False)
@click.pass_context
def kill_sm(context: click.Context, host: str | None) -> None:
    """InfiniBand: kill opensm on HOST, or the master's."""
    _make(context, "kill-sm", host=host)


@fault.command("remove")
@click.argument("name", metavar="SWITCH")
@click.pass_context
def remove(context: click.Context, name: str) -> None:
    """InfiniBand: take a switch out, with all its cables."""
    _make(context, "remove", name=name)


@fault.command("restore")
@click.argument("number", type=int, required=False)
@click.pass_context
def restore(context: click.Context, number: int | None) -> None:
    """Undo fault NUMBER, or all of them."""
    lab = running_lab(context.obj)
    if lab_ib.is_infiniband(lab):
        lab_ib_fault.restore(lab, number)
        return
    for line in control.ask(lab.folder, "restore", id=number)["said"]:
        click.echo(line)


@fault.command("list")
@json_option
@click.pass_context
def listed(context: click.Context, *, as_json: bool) -> None:
    """The faults that are on."""
    faults = control.ask(running_lab(context.obj).folder, "faults")["faults"]
    if as_json:
        print_json("fabric.lab-faults/1", {"faults": faults})
        return
    for item in faults:
        click.echo(f"{item['id']}: {item['said']}")
