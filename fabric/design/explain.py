"""Where a value comes from: `fabric explain PATH` prints value, formula and source.

PATH is a place in the spec (`qos.lossless.dscp`, `backend.zones[0].racks`), a number of a device (`z01-rtsw001.asn`, `.router_id`,
`.loopback`, `.management`, `.prefix`), a port (`z01-rtsw001/eth8/1/1`), a zone's figure (`zone1.ratio`, `zone1.spare`), or a catalog
entry (`catalog.tomahawk4.buffers.fuji.headroom_uplink`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from fabric.catalog import Sourced, catalog
from fabric.design.explain_device import device_facts, port_facts, zone_facts
from fabric.design.fabric import Fabric
from fabric.design.suggest import near
from fabric.errors import FabricError
from fabric.spec.cluster import ClusterSpec

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One value: what it is, how it was made, who says so. `place` is the spec path that decides it, when one does."""

    path: str
    value: str
    meaning: str
    formula: str
    source: str
    place: Path | None


def explain(
    spec: ClusterSpec, fabric: Fabric | None, path: str, other: Callable[[str], Explanation | None] | None = None
) -> Explanation:
    """The explanation of `path`; FabricError with near names when there is no such thing.

    `fabric` is None for InfiniBand; `other` then explains what is no place in the spec.
    """
    parts = _parts(path)
    if parts and parts[0] in _roots(spec):
        return _spec(spec, path, parts)
    if fabric is not None:
        found = _design(fabric, path)
        if found is not None:
            return found
    if other is not None and (found := other(path)) is not None:
        return found
    known = [*_roots(spec), *(fabric.by_name if fabric else ())]
    head = str(parts[0]) if parts else path
    raise FabricError(
        f"nothing is called {path!r}",
        hint=near(head, known) if len(known) < 60 or _close(head, known) else "see `fabric explain --help`",
    )


def _close(name: str, known: list[str]) -> bool:
    return near(name, known).startswith("did")


def _roots(spec: ClusterSpec) -> list[str]:
    return [info.alias or name for name, info in type(spec).model_fields.items()]


def _parts(path: str) -> Path:
    """`backend.zones[0].racks` -> ("backend", "zones", 0, "racks")."""
    parts: list[str | int] = []
    for key, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        parts.append(int(index) if index else key)
    return tuple(parts)


def _spec(spec: ClusterSpec, path: str, parts: Path) -> Explanation:
    value: Any = spec
    meaning, source = "", ""
    for depth, part in enumerate(parts):
        where = ".".join(str(p) for p in parts[:depth]) or "the spec"
        if isinstance(value, BaseModel):
            fields = {info.alias or name: (name, info) for name, info in type(value).model_fields.items()}
            if part not in fields:
                raise FabricError(f"{where} has no {part!r}", hint=near(str(part), fields))
            name, info = fields[str(part)]
            extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
            meaning = info.description or ""
            unit = f" {extra['unit']}" if "unit" in extra else ""
            source = f"default {info.default}{unit}: {extra['source']} ({extra['status']})" if "source" in extra else ""
            value = getattr(value, name)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        elif isinstance(value, dict) and part in value:
            value = value[str(part)]
        else:
            keys = [str(key) for key in value] if isinstance(value, dict) else []
            raise FabricError(f"{where} has no {part!r}", hint=near(str(part), keys) if keys else None)
    shown = value.model_dump_json(by_alias=True) if isinstance(value, BaseModel) else _plain(value)
    return Explanation(path, shown, meaning, "", source, parts)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    return "null" if value is None else str(value)


def _design(fabric: Fabric, path: str) -> Explanation | None:
    zone = re.fullmatch(r"zone(\d+)\.(\w+)", path)
    if zone is not None:
        return _fact(path, zone_facts(fabric, int(zone[1])), zone[2])
    device, slash, port = path.partition("/")
    if slash and device in fabric.by_name:
        return _fact(path, port_facts(fabric, fabric.by_name[device]), port)
    if path in fabric.by_name:
        raise bare(path, device_facts(fabric, fabric.by_name[path]))
    name, _, key = path.rpartition(".")
    if name in fabric.by_name:
        return _fact(path, device_facts(fabric, fabric.by_name[name]), key)
    return None


def _fact(path: str, facts: dict[str, tuple[str, str, str, Path | None]], key: str) -> Explanation:
    if key not in facts:
        raise FabricError(f"{path}: there is no {key!r}", hint=near(key, facts))
    value, meaning, formula, place = facts[key]
    return Explanation(path, value, meaning, formula, "", place)


def bare(name: str, facts: Iterable[str], *, ports: bool = True) -> FabricError:
    """What to say to the name of a device alone: which numbers it has."""
    keys = ", ".join(f"{name}.{key}" for key in facts)
    return FabricError(f"{name} is a device", hint=f"{keys}{f', or a port: {name}/PORT' if ports else ''}")


def explain_catalog(path: str) -> Explanation:
    """The explanation of `catalog.MODEL.KEY...`; FabricError with near names when there is no such entry or key."""
    _, model, *keys = path.split(".")
    kind, value = catalog().find(model)
    current: Any = value
    for depth, key in enumerate(keys):
        names = list(current) if isinstance(current, dict) else list(getattr(type(current), "model_fields", {}))
        if key not in names:
            raise FabricError(
                f"catalog.{'.'.join([model, *keys[:depth]])} has no {key!r}", hint=near(key, names) if names else None
            )
        current = current[key] if isinstance(current, dict) else getattr(current, key)
        if isinstance(current, Sourced):
            unit = f" {current.unit}" if current.unit else ""
            return Explanation(
                path, f"{current.value}{unit}", f"{kind} {model}", "", f"{current.source} ({current.status})", None
            )
    shown = current.model_dump_json(exclude_none=True) if isinstance(current, BaseModel) else _plain(current)
    return Explanation(path, shown, f"{kind} {model}", "", str(getattr(current, "source", "")), None)
