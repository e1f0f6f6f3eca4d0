"""The plan as JSON: the same document for `-o PLANFILE` and `--json`.

Shape, version `fabric.plan/1`:

    schema, tool_version, spec_sha256, against     text; spec, the path of the spec, when the plan is of live devices
    counts      {changed, new, extra, unknown, same: devices}
    devices     {name: {role, target, kind, fingerprint, desired: {path: sha256}, group, note, files?}}
    groups      [{key, kind, role, devices: [name], files: [FILE]}]      largest first
    FILE        {path, kind: new|changed|replaced|removed, note, changes: [{context, lines, count, subjects}]}

`fingerprint` is the sha256 of the running state that the plan was made on. A device's change is the `files` of its group, with
other host-specific values; its own `files` are there when the plan was made with `--full`. Secrets are masked everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fabric.change.abstract import Collapsed
from fabric.change.diff_model import Change
from fabric.change.files import cannot, read_regular, write_atomic
from fabric.change.plan import KINDS, DevicePlan, FileChange, Group, Plan
from fabric.errors import FabricError
from fabric.words import misread

SCHEMA = "fabric.plan/1"
LIMIT = 1 << 30
"""Bytes of a plan file; one of 1,708 devices that all differ has about 20 MB."""


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan in the shape above."""
    return {
        "schema": SCHEMA,
        "tool_version": plan.tool_version,
        "spec_sha256": plan.spec_sha256,
        "against": plan.against,
        **({"spec": plan.spec} if plan.spec else {}),
        "counts": {kind: plan.count(kind) for kind in KINDS},
        "groups": [
            {
                "key": group.key,
                "kind": group.kind,
                "role": group.role,
                "devices": list(group.devices),
                "files": _files(group.files),
            }
            for group in plan.groups
        ],
        "devices": {device.name: _device(device, plan.full.get(device.name)) for device in plan.devices},
    }


def save_plan(plan: Plan, path: Path) -> None:
    """Writes the plan file, for its owner's eyes only, all or nothing. Raises FabricError."""
    write_atomic(path, (json.dumps(plan_document(plan), ensure_ascii=False) + "\n").encode("utf-8", "replace"), 0o600)


def load_plan(path: Path) -> Plan:
    """Reads a plan file back. Raises FabricError when it is missing, damaged or of another version."""
    try:
        data = read_regular(str(path), LIMIT)
    except OSError as error:
        raise cannot("read", path, error) from error
    if data is None:
        raise FabricError(f"there is no plan file {path}", hint="make one with fabric plan -o")
    try:
        return _plan(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FabricError(
            f"{path} is no plan file that this fabric can read: {misread(error)}", hint="make a new plan"
        ) from error


def _device(device: DevicePlan, files: Iterable[FileChange] | None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "role": device.role,
        "target": device.target,
        "kind": device.kind,
        "fingerprint": device.fingerprint,
        "desired": dict(device.desired),
        "group": device.group,
        "note": device.note,
    }
    return shown if files is None else {**shown, "files": _files(files)}


def _files(files: Iterable[FileChange]) -> list[dict[str, Any]]:
    return [
        {
            "path": file.path,
            "kind": file.kind,
            "note": file.note,
            "changes": [_change(change) for change in file.changes],
        }
        for file in files
    ]


def _change(change: Collapsed) -> dict[str, Any]:
    return {
        "context": list(change.example.context),
        "lines": list(change.example.lines),
        "count": change.count,
        "subjects": list(change.subjects),
    }


def _plan(data: dict[str, Any]) -> Plan:
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {str(data['schema'])[:40]!r}, this fabric reads {SCHEMA!r}")
    devices = tuple(_read_device(name, item) for name, item in data["devices"].items())
    groups = tuple(
        Group(
            _text(g["key"]),
            _kind(g["kind"]),
            _text(g["role"]),
            tuple(map(_text, g["devices"])),
            _read_files(g["files"]),
        )
        for g in data["groups"]
    )
    full = {name: _read_files(item["files"]) for name, item in data["devices"].items() if "files" in item}
    return Plan(
        _text(data["spec_sha256"]), _text(data["against"]), devices, groups, full, _text(data["tool_version"]),
        _text(data.get("spec", "")),
    )  # fmt: skip


def _read_device(name: str, item: dict[str, Any]) -> DevicePlan:
    return DevicePlan(
        name=name,
        role=_text(item["role"]),
        target=_text(item["target"]),
        kind=_kind(item["kind"]),
        fingerprint=_text(item["fingerprint"]),
        desired=tuple((path, _text(digest)) for path, digest in item["desired"].items()),
        group=_text(item["group"]),
        note=_text(item["note"]),
    )


def _read_files(items: list[dict[str, Any]]) -> tuple[FileChange, ...]:
    return tuple(
        FileChange(_text(i["path"]), i["kind"], _text(i["note"]), tuple(map(_read_change, i["changes"]))) for i in items
    )


def _read_change(item: dict[str, Any]) -> Collapsed:
    lines, context = tuple(map(_text, item["lines"])), tuple(map(_text, item["context"]))
    subjects = tuple(map(_text, item["subjects"]))
    return Collapsed(Change(lines, subjects[0] if subjects else "", context), subjects, int(item["count"]), b"")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text expected, not {str(value)[:40]!r}")
    return value


def _kind(value: Any) -> Any:
    if value not in KINDS:
        raise ValueError(f"{str(value)[:40]!r} is no kind of device plan")
    return value
