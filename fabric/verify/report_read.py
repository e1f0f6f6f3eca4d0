"""Findings out of a document that `fabric validate --json` printed (`fabric.validate/1`), or another with findings, whoever had it since."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from fabric.errors import FabricError
from fabric.verify.finding import Finding, Severity, Verdict
from fabric.verify.report import SCHEMA

LARGEST = 256 << 20
"""Bytes of a document that is read (our choice: 24,576 GPUs with every pass are some 20 MB)."""
_TEXTS = ("check", "subject", "verdict", "measured", "expected")


def is_document(head: bytes, schema: str = SCHEMA) -> bool:
    """Whether a file that begins so is such a document."""
    return schema.encode() in head[:200] and head.lstrip().startswith(b"{")


def read_document(path: Path) -> list[Finding]:
    """All its findings, in their order; FabricError in one line for what is none."""
    return findings_in(load_document(path, SCHEMA), path)


def load_document(path: Path, schema: str) -> dict[str, Any]:
    """A document of that version as data; FabricError in one line for what is none."""
    try:
        if path.stat().st_size > LARGEST:
            raise FabricError(f"cannot read {path}: larger than {LARGEST >> 20} MiB")
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise FabricError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError):
        raise FabricError(f"{path} is no JSON document of fabric validate, or it was cut off") from None
    if not isinstance(data, dict) or data.get("schema") != schema:
        raise FabricError(f"{path} is no document of the version {schema}")
    return data


def findings_in(data: dict[str, Any], path: Path) -> list[Finding]:
    """The findings of a document; FabricError in one line, with the place, for what is none."""
    found = data.get("findings")
    if not isinstance(found, list):
        raise FabricError(f"{path} is no document of the version {data.get('schema')}")
    return [_finding(item, f"{path}: findings[{number}]") for number, item in enumerate(found)]


def _finding(item: Any, place: str) -> Finding:
    if not isinstance(item, dict):
        raise FabricError(f"{place} is no finding")
    for name in _TEXTS:
        if not isinstance(item.get(name), str):
            raise FabricError(f"{place}.{name} is no text")
    severity, number = item.get("severity", "critical"), item.get("count", 1)
    if item["verdict"] not in get_args(Verdict) or severity not in get_args(Severity):
        raise FabricError(f"{place} has a verdict or a severity that is none of fabric's")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise FabricError(f"{place}.count is no number of things")
    texts = (texts_of(item.get(name, []), f"{place}.{name}") for name in ("evidence", "devices", "links"))
    evidence, devices, links = texts
    action = item.get("action", "")
    if not isinstance(action, str):
        raise FabricError(f"{place}.action is no text")
    return Finding(
        item["check"], item["subject"], item["verdict"], item["measured"], item["expected"], action, evidence, devices,
        number, links, severity,
    )  # fmt: skip


def texts_of(value: Any, place: str) -> tuple[str, ...]:
    """A list of texts; FabricError for another."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise FabricError(f"{place} is no list of texts")
    return tuple(value)
