"""`fabric lab up`, `down`, `exec`, `daemon`."""

from __future__ import annotations

from pathlib import Path

import click

from fabric.cli import lab_ib
from fabric.cli.lab import lab_spec, running_lab
from fabric.errors import FabricError
from fabric.lab.state import Lab


@click.command("up")
@lab_spec
@click.option("--blank", is_flag=True, help="Boot the switches as new ones: reachable by SSH, without a configuration.")
@click.option(
    "--subset", multiple=True, metavar="GLOB", help="Boot only these switches (repeatable), with the hosts below them."
)
@click.option(
    "--aggregation-nodes", is_flag=True, help="InfiniBand: put a SHARP aggregation node behind each switch as well."
)
@click.option(
    "--eos-release",
    default="",
    metavar="RELEASE",
    help="What the EOS switches run, like 4.30.1F: before 4.32 a pending commit looks otherwise.",
)
@click.option(
    "--boot",
    multiple=True,
    metavar="GLOB",
    help="Boot these hosts as machines for Ansible to provision (repeatable); the first time an image is made.",
)
@click.option("--timeout", "timeout_s", default=300.0, show_default=True, help="Seconds to wait.")
def up(
    spec: Path, *, blank: bool, subset: tuple[str, ...], aggregation_nodes: bool, eos_release: str, boot: tuple[str, ...],
    timeout_s: float,
) -> None:  # fmt: skip
    """Boot the cluster that SPEC declares; no vendor image is needed. RoCE needs root, network namespaces, FRR, lldpd and OpenSSH;
    InfiniBand needs ibsim, opensm and infiniband-diags, and root only for SSH to its SM hosts.
    """
    from fabric.design.load import load_cluster, load_spec
    from fabric.lab.up import up as bring_up

    if load_spec(spec).value.backend.kind == "infiniband":
        if eos_release:
            raise FabricError("--eos-release is for RoCE: no switch of an InfiniBand lab runs EOS")
        if subset:
            raise FabricError("--subset is for RoCE: a part of an InfiniBand subnet is another subnet")
        if boot:
            raise FabricError("--boot is for RoCE: the hosts of an InfiniBand lab are HCAs of a simulator")
        lab_ib.up(spec, blank=blank, aggregation_nodes=aggregation_nodes, timeout_s=timeout_s)
        return
    if aggregation_nodes:
        raise FabricError("--aggregation-nodes is for InfiniBand")
    cluster = load_cluster(spec)
    lab = Lab.of(spec, cluster.spec.name)
    took = bring_up(
        lab,
        cluster,
        blank=blank,
        subset=subset,
        timeout_s=timeout_s,
        say=lambda text: click.echo(text, err=True),
        eos_release=eos_release,
        boot=boot,
    )
    click.echo(f"lab {cluster.spec.name} is up in {took:.1f} s")


@click.command("down")
@lab_spec
def down(spec: Path) -> None:
    """End the lab of SPEC: its processes, namespaces, interfaces and files."""
    from fabric.lab.up import down as take_down

    lab = Lab.find(spec)
    if lab is not None and (lab.folder / "seats").is_dir():  # also when its supervisor has died
        take_down = lab_ib.down
    if lab is None or not take_down(lab):
        click.echo(f"the lab of {spec} is not up")
        return
    click.echo("lab is down")


class _WithCommand(click.Command):
    """Takes what follows `--` as a command, untouched, so that `exec SPEC -- CMD` and `exec SPEC NODE -- CMD` differ."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = args.index("--") if "--" in args else len(args)
        ctx.meta["command"] = args[place + 1 :]
        return super().parse_args(ctx, args[:place])


@click.command("exec", cls=_WithCommand)
@lab_spec
@click.argument("node", required=False)
@click.pass_context
def execute(context: click.Context, spec: Path, node: str | None) -> None:
    """Run a command in the lab: `exec SPEC -- CMD...` at the operator's seat, from where every switch is reached by SSH;
    `exec SPEC NODE -- CMD...` in a node.
    """
    from fabric.lab import control, enter

    command: list[str] = context.meta["command"]
    if not command:
        raise FabricError("no command to run", hint="fabric lab exec SPEC [NODE] -- CMD...")
    lab = running_lab(spec)
    if lab_ib.is_infiniband(lab):
        context.exit(lab_ib.execute(lab, node, command))
    if node is None:
        from fabric.lab import seat

        context.exit(enter.run_inside(command, lab.first_process(), None, seat.environment(lab, spec)))
    inner = control.ask(lab.folder, "pid", node=node)["pid"]
    context.exit(enter.run_inside(command, lab.first_process(), inner, {"FABRIC_LAB_NODE": node}))


@click.command("daemon")
@lab_spec
@click.argument("action", type=click.Choice(["start", "stop", "restart"]))
@click.argument("node")
@click.argument("name")
def daemon(spec: Path, action: str, node: str, name: str) -> None:
    """Start, stop or restart the daemon NAME of NODE."""
    from fabric.lab import control

    control.ask(running_lab(spec).folder, "daemon", node=node, daemon=name, action=action)
