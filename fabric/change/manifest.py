"""The manifest of a tree: which files are ours, and what each holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as _quoted
from pathlib import Path
from typing import Any, NamedTuple

from fabric import __version__
from fabric.change.files import read_regular
from fabric.change.paths import MANIFEST, split_tree_path
from fabric.errors import FabricError

SCHEMA = "fabric.tree/1"
LIMIT = 512 << 20
"""Bytes; 350,000 GPUs need about 30 MB."""


class Row(NamedTuple):
    """One file of the tree: `path` relative to the tree's top, what its bytes hash to, and whose it is.

    A tuple: thousands come back from the workers, and it is pickled twice as fast as a dataclass.
    """

    path: str
    sha256: str
    size: int
    device: str
    role: str
    target: str
    mode: int


@dataclass(slots=True)
class Manifest:
    """All files of the tree by path; `spec_sha256` is that of the spec of the last whole render."""

    spec_sha256: str = ""
    tool_version: str = __version__
    rows: dict[str, Row] = field(default_factory=dict)

    def dump(self) -> bytes:
        """The file's bytes; one line a file, sorted, so that a diff of two manifests is readable."""
        head = {"schema": SCHEMA, "tool_version": self.tool_version, "spec_sha256": self.spec_sha256}
        lines = [f" {_quoted(path)}: {_row_json(self.rows[path])}" for path in sorted(self.rows)]
        body = ",\n".join(lines)
        return (json.dumps(head)[:-1] + ', "files": {\n' + body + "\n}}\n").encode()

    def by_device(self) -> dict[str, list[Row]]:
        """The rows of each device."""
        found: dict[str, list[Row]] = {}
        for row in self.rows.values():
            found.setdefault(row.device, []).append(row)
        return found


def _row_json(row: Row) -> str:
    return (
        f'{{"sha256": {_quoted(row.sha256)}, "size": {row.size}, "device": {_quoted(row.device)}, '
        f'"role": {_quoted(row.role)}, "target": {_quoted(row.target)}, "mode": "{row.mode:04o}"}}'
    )


def load_manifest(folder: Path) -> Manifest | None:
    """The manifest of the tree at `folder`; None when there is none. Raises FabricError when the file is not one of ours."""
    path = folder / MANIFEST
    hint = "it is not a manifest that fabric wrote; choose another folder"
    try:
        data = read_regular(str(path), LIMIT)
        if data is None:
            return None
        return _parse(json.loads(data))
    except OSError as error:
        raise FabricError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise FabricError(f"{path} is damaged: {str(error)[:120]}", hint=hint) from error
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FabricError(f"{path} is damaged: a field is missing, or is not what it should be", hint=hint) from error


def _parse(data: Any) -> Manifest:
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {str(data['schema'])[:40]!r}, this fabric reads {SCHEMA!r}")
    rows = {path: _row(path, row) for path, row in data["files"].items()}
    return Manifest(str(data["spec_sha256"]), str(data["tool_version"]), rows)


def _row(path: str, row: dict[str, Any]) -> Row:
    place = split_tree_path(path)
    if place is None or place[0] != row["device"]:
        raise ValueError(f"{path[:80]!r} is not a path of this tree")
    return Row(
        path, str(row["sha256"]), int(row["size"]), place[0], str(row["role"]), str(row["target"]), int(row["mode"], 8)
    )


def merge(rows: Iterable[Row], kept: Iterable[Row]) -> dict[str, Row]:
    """Rows by path; those written now win over those kept."""
    merged = {row.path: row for row in kept}
    merged.update((row.path, row) for row in rows)
    return merged
