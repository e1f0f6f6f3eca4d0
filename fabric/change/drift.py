"""Drift as JSON for a cron job: which devices differ from the spec, in what, and which could not be read.

Shape, version `fabric.drift/1`:

    schema, spec_sha256, tool_version       text
    checked, same                           devices
    differs     [{device, role, kind, group, files: [{path, kind, lines}]}]     `files` of the group's example, secrets masked
    unreadable  [{device, reason}]
"""

from __future__ import annotations

from typing import Any

from fabric.change.plan import FileChange, Plan

SCHEMA = "fabric.drift/1"


def drift_document(plan: Plan) -> dict[str, Any]:
    """The plan, as what differs."""
    files = {group.key: [_file(file) for file in group.files] for group in plan.groups}
    return {
        "schema": SCHEMA,
        "spec_sha256": plan.spec_sha256,
        "tool_version": plan.tool_version,
        "checked": len(plan.devices),
        "same": plan.count("same"),
        "differs": [
            {"device": d.name, "role": d.role, "kind": d.kind, "group": d.group, "files": files.get(d.group, [])}
            for d in plan.devices
            if d.kind not in ("same", "unknown")
        ],
        "unreadable": [{"device": d.name, "reason": d.note} for d in plan.devices if d.kind == "unknown"],
    }


def drift_exit(plan: Plan) -> int:
    """2 when something differs, else 1 when a device could not be read, else 0: a difference is told also when one is away."""
    if any(d.kind not in ("same", "unknown") for d in plan.devices):
        return 2
    return 1 if plan.count("unknown") else 0


def _file(file: FileChange) -> dict[str, Any]:
    lines = [line for change in file.changes for line in (*change.example.context, *change.example.lines)]
    return {"path": file.path, "kind": file.kind, "lines": lines}
