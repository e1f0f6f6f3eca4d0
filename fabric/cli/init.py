"""`fabric init`."""

from __future__ import annotations

from pathlib import Path

import click

from fabric.errors import FabricError


@click.command("init")
@click.option(
    "--kind",
    type=click.Choice(["roce", "infiniband"]),
    default="roce",
    show_default=True,
    help="Back-end network.",
)
@click.option(
    "--gpus",
    type=click.IntRange(8, 400_000),
    default=24_576,
    show_default=True,
    help="GPUs; rounded up to whole racks.",
)
@click.option("--name", default="my-cluster", show_default=True, help="Name of the cluster.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default="cluster.yaml",
    show_default=True,
    help="File to write; - prints it.",
)
def init(*, kind: str, gpus: int, name: str, out: Path) -> None:
    """Write a commented starter spec that passes `fabric check`. An existing file is never overwritten."""
    from fabric.design.load import design_loaded, subnet_of
    from fabric.design.starter import starter
    from fabric.spec.base import host_label
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import load_text

    try:
        host_label(name)
    except ValueError as error:
        raise FabricError(f"--name: {error}") from None
    text = starter(kind, gpus, name)
    loaded = load_text(text, out, ClusterSpec)
    if kind == "roce":
        design_loaded(loaded)
    else:
        subnet_of(loaded)
    if str(out) == "-":
        click.echo(text, nl=False)
        return
    _write_new(out, text)
    click.echo(f"wrote {out}; next: fabric check {out}")


def _write_new(path: Path, text: str) -> None:
    """A file that was not there: all of it, or none is left for the next try to stumble over."""
    from fabric.change.files import cannot

    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        raise FabricError(f"{path} exists and is left as it is", hint="choose another with -o") from None
    except OSError as error:
        raise cannot("write", path, error) from error
    try:
        with file:
            file.write(text)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise cannot("write", path, error) from error
