"""`fabric check`: errors first, then warnings.

`--json` prints, version `fabric.check/1`: {schema, spec, ok, switches, warnings: [{file, line, column, path, code, message}]}; errors go to
stderr and exit 1 in either form. Warnings of an nccl.conf have its name as `file`, the setting as `path` and `nccl` as `code`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabric.cli.common import json_option, print_json, spec_argument
from fabric.words import counted

if TYPE_CHECKING:
    from fabric.design.load import Cluster
    from fabric.design.remark import Remark
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import Loaded


@click.command("check")
@spec_argument
@click.option(
    "--nccl-conf",
    "conf_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Also check this nccl.conf (or .nccl.conf) against the cluster: what NCCL would misread, and what contradicts the fabric.",
)
@json_option
def check(*, spec: Path, conf_files: tuple[Path, ...], as_json: bool) -> None:
    """Check that the cluster that SPEC declares can be built; print warnings for what deserves a second look.

    Exit codes: 0 it can be built (with or without warnings), 1 it cannot, or an nccl.conf contradicts it.
    """
    from fabric.design.hosts.nccl_check import check_files
    from fabric.design.load import load_spec

    loaded = load_spec(spec)
    if loaded.value.backend.kind == "infiniband":
        from fabric.design.ib.remarks import remarks
        from fabric.design.load import subnet_of
        from fabric.predict.lints import lints
        from fabric.targets.trial_subnet import accept_subnet

        designed = subnet_of(loaded)
        accept_subnet(designed)
        subnet = designed.subnet
        found, switches = _placed(loaded, [*remarks(subnet), *lints(designed)]), len(subnet.switches)
        text = f"{counted(switches, 'switch', 'switches')}, {counted(subnet.figures.hosts, 'host')}"
    else:
        from fabric.design.load import design_loaded
        from fabric.targets.trial import accept

        cluster = design_loaded(loaded)
        accept(cluster)
        found, switches = _warnings(cluster), len(cluster.fabric.switches)
        text = f"{counted(switches, 'switch', 'switches')}, {counted(sum(1 for _ in cluster.fabric.hosts()), 'host')}"
    found += check_files(conf_files, loaded.value)
    if as_json:
        print_json("fabric.check/1", {"spec": str(spec), "ok": True, "switches": switches, "warnings": found})
        return
    for entry in found:
        click.echo(
            f"{entry['file']}:{entry['line']}:{entry['column']}: warning: {entry['path']}: {entry['message']} [{entry['code']}]"
        )
    warned = counted(len(found), "warning") if found else "no warnings"
    click.echo(f"{spec}: ok, {text}; {warned}")


def _warnings(cluster: Cluster) -> list[dict[str, Any]]:
    from fabric.design.warnings import warnings
    from fabric.predict.lints import lints
    from fabric.targets.job import unsupported

    return _placed(cluster.loaded, [*warnings(cluster.fabric), *lints(cluster), *unsupported(cluster.fabric)])


def _placed(loaded: Loaded[ClusterSpec], remarks: Iterable[Remark]) -> list[dict[str, Any]]:
    found = []
    for remark in remarks:
        at = loaded.locate(remark.path)
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in remark.path).lstrip(".")
        entry = {"file": str(loaded.path), "line": at.line, "column": at.column, "path": path}
        found.append({**entry, "code": remark.code, "message": remark.message})
    return found
