"""The page of the catalog reference: every entry of every kind, each fact with its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from fabric.catalog import KINDS, Evidence, Sourced, catalog
from fabric.catalog.collectives import ExpectedRate
from tools.docs_text import GENERATED, table

_INTRO = """# Catalog reference

What the hardware can do, as far as public sources tell. Each fact names where it comes from and how sure it is:
`primary` = the maker's or operator's own words, `code` = their open code, `quoted` = a short quotation of a primary
text, `secondary` = a summary by somebody else, `derived` = arithmetic on such facts, `inferred` = a reading that joins
several, `unverified` = check before you rely on it. `fabric catalog show MODEL` prints one entry.

"""
_HEADS = {
    "switch": "Switches",
    "line-card": "Line cards",
    "asic": "Switch ASICs",
    "host": "Hosts",
    "nic": "NICs",
    "cable": "Cables and optics",
    "rack": "Racks",
    "distribution": "Distributions of GPU hosts",
}
_SAID_ELSEWHERE = {"name", "title", "notes", "status", "source"}
Row = tuple[str, str, str, str]


def catalog_page() -> str:
    """The whole page: kind after kind, entries by name; raises KeyError for a kind that has no heading here."""
    parts = [GENERATED, _INTRO]
    for kind in KINDS:
        names = catalog().names(kind)
        parts.append(f"## {_HEADS[kind]}\n\n")
        parts += [_entry(catalog().get(kind, name)) for name in names]
    parts.append(_collectives())
    return "".join(parts).rstrip("\n") + "\n"


def _collectives() -> str:
    """What collectives must reach, and the published numbers that are no gates."""
    known = catalog().collectives()
    rows = [
        (
            f"{rate.test} ({', '.join(rate.stages)})",
            f"at least {rate.least:g}" + (f", healthy {rate.healthy:g}" if rate.healthy else ""),
            _where(rate),
            rate.status,
            rate.source,
        )
        for rate in known.expected
    ]
    text = "## Expected of collectives\n\nGB/s at the largest size: bus bandwidth of collectives, and of `ib_write_bw` a NIC.\n\n"
    text += table(("test", "GB/s", "where", "status", "source"), rows)
    text += "Published numbers that are no gates:\n\n"
    left = [(one.what, one.value, one.why, one.status, one.source) for one in known.left_out]
    return text + table(("what", "value", "why not", "status", "source"), left)


def _where(rate: ExpectedRate) -> str:
    words = [rate.gpu or "any GPU"]
    if rate.nic_gbps:
        words.append(f"{f'{rate.nics} x ' if rate.nics else ''}{rate.nic_gbps}G")
    return ", ".join([*words, f"from {rate.size_from >> 20:,} MiB"])


def _entry(entry: BaseModel) -> str:
    fields = dict(entry)
    text = f"### {fields['name']}\n\n{fields.get('title', '')}\n\n"
    text += table(("fact", "value", "status", "source"), _facts("", entry, ("", "")))
    return text + "".join(f"- {note}\n" for note in fields.get("notes", ())) + ("\n" if fields.get("notes") else "")


def _facts(path: str, node: object, origin: tuple[str, str]) -> Iterator[Row]:
    """Rows of all facts under `node`; `origin` is the (status, source) that the section around them gives."""
    if node is None:
        return
    if isinstance(node, Sourced):
        yield f"`{path}`", f"{_text(node.value)} {node.unit}".rstrip(), node.status, node.source
    elif isinstance(node, BaseModel):
        inner = (node.status, node.source) if isinstance(node, Evidence) else origin
        yield from _children(path, {key: value for key, value in node if key not in _SAID_ELSEWHERE}, inner)
    elif isinstance(node, Mapping):
        yield from _children(path, node, origin)
    elif isinstance(node, tuple) and any(isinstance(item, BaseModel) for item in node):
        yield from _children(path, {getattr(item, "name", index): item for index, item in enumerate(node)}, origin)
    else:
        yield f"`{path}`", _text(node), *origin


def _children(path: str, nodes: Mapping[Any, object], origin: tuple[str, str]) -> Iterator[Row]:
    for key, value in nodes.items():
        yield from _facts(f"{path}.{key}" if path else f"{key}", value, origin)


def _text(value: object) -> str:
    """A value in a few words: runs of whole numbers as ranges, lists joined."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ", ".join(_runs(value)) or "none"
    if isinstance(value, BaseModel | Mapping):
        return ", ".join(f"{key} {_text(item)}" for key, item in dict(value).items())
    return str(value)


def _runs(values: tuple[Any, ...] | list[Any]) -> Iterator[str]:
    start = 0
    for stop in range(1, len(values) + 1):
        follows = stop < len(values) and all(type(v) is int for v in values[start : stop + 1])
        if follows and values[stop] == values[stop - 1] + 1:
            continue
        run = values[start:stop]
        yield f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(_text(item) for item in run)
        start = stop
