"""nccl.conf files held against a cluster: the errors of all of them are raised together, the warnings come back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fabric.design.hosts.nccl_file import lint_text
from fabric.design.hosts.nccl_lint import truth_of
from fabric.errors import FabricError, FabricErrors
from fabric.spec.cluster import ClusterSpec
from fabric.spec.yaml_read import Position, read_bytes
from fabric.spec.yaml_source import MAX_ERRORS, located


def check_files(paths: Iterable[Path], spec: ClusterSpec) -> list[dict[str, Any]]:
    """Warnings: {file, line, column, path: the setting, code: "nccl", message}, by file and line.

    FabricErrors with file:line:column for what NCCL would misread and what contradicts the fabric; FabricError for a file that is not there.
    """
    truth, warned, errors = truth_of(spec), list[dict[str, Any]](), list[FabricError]()
    for path in paths:
        told = list(lint_text(read_bytes(path).decode(errors="replace"), truth))
        for entry in sorted(told, key=lambda one: (one.line, one.column)):
            flaw, at = entry.flaw, Position(str(path), entry.line, entry.column)
            if flaw.level == "error":
                errors.append(located(at, (flaw.key,) if flaw.key else (), flaw.message, flaw.hint))
            else:
                hint = f"; {flaw.hint}" if flaw.hint else ""
                place = {"file": at.file, "line": at.line, "column": at.column, "path": flaw.key}
                warned.append({**place, "code": "nccl", "message": flaw.message + hint})
    if len(errors) > MAX_ERRORS:
        errors[MAX_ERRORS:] = [FabricError(f"and {len(errors) - MAX_ERRORS:,} more errors")]
    if errors:
        raise errors[0] if len(errors) == 1 else FabricErrors(errors)
    return warned
