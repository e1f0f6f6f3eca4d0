"""`fabric render`: the configuration files of every device, as a tree on disk.

`--json` prints, version `fabric.render/1`: {schema, out, devices, files, bytes, written, unchanged, removed, unmanaged: [path], seconds}.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from fabric.change.diff_model import printable
from fabric.change.tree import TreeReport, write_tree
from fabric.cli.rendering import open_job, progress, selection, target_set
from fabric.words import counted

SCHEMA = "fabric.render/1"
_NAMED = 5  # unmanaged files that are named


@click.command("render")
@selection
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The tree's folder.")
def render(
    *, spec: Path, devices: tuple[str, ...], targets: str | None, workers: int | None, as_json: bool, out: Path
) -> None:
    """Write the configuration files that SPEC declares to DIR/<device>/<path on the device>.

    Only what differs is written; what an earlier render wrote and SPEC no longer declares is removed. Files that fabric did not
    write are never touched. With --device or --target everything outside the selection stays as it is.
    """
    start = time.monotonic()
    chosen = target_set(targets)
    job, only = open_job(spec, devices, chosen)
    report = write_tree(job, out, only=only, targets=chosen, workers=workers, progress=progress("rendered"))
    seconds = time.monotonic() - start
    click.echo(_document(report, out, seconds) if as_json else said(report, out, seconds))


def said(report: TreeReport, out: Path, seconds: float) -> str:
    """What was done, in one or two lines."""
    line = (
        f"wrote {counted(report.written, 'file')} for {counted(report.devices, 'device')} to {out} ({_size(report.size)} in all), "
        f"{report.unchanged:,} unchanged, {report.removed:,} removed in {seconds:.1f} s"
    )
    if not report.unmanaged:
        return line
    more = f", ... and {len(report.unmanaged) - _NAMED:,} more" if len(report.unmanaged) > _NAMED else ""
    return f"{line}\nnot ours, left alone: {', '.join(map(printable, report.unmanaged[:_NAMED]))}{more}"


def _size(count: int) -> str:
    """`121.3 MB`, `45.1 kB`: never 0.0 of what is there."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"


def _document(report: TreeReport, out: Path, seconds: float) -> str:
    return json.dumps(
        {
            "schema": SCHEMA,
            "out": str(out),
            "devices": report.devices,
            "files": report.files,
            "bytes": report.size,
            "written": report.written,
            "unchanged": report.unchanged,
            "removed": report.removed,
            "unmanaged": list(report.unmanaged),
            "seconds": round(seconds, 3),
        }
    )
