"""A YAML file becomes a validated model; every error names file, line and column.

The first pass (libyaml, one function a node, pydantic) keeps no positions. Only when something is wrong, the text is composed
again and the places of the errors are looked up in its nodes.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from yaml.nodes import ScalarNode

from fabric.errors import DesignError, FabricError
from fabric.spec import suggest
from fabric.spec.messages import Sentence, choices, listing_or, mismatch, sentence, wanted
from fabric.spec.yaml_read import Position, decode, read_bytes
from fabric.spec.yaml_source import MAX_ERRORS, Loc, YamlSource, collector_off, located, raise_all

M = TypeVar("M", bound=BaseModel)

_EXAMINED = 100 * MAX_ERRORS  # errors that are sorted and grouped; of more only the number is told


@dataclass(frozen=True, slots=True)
class Loaded(Generic[M]):
    """A model and where it came from.

    `path` is as the user gave it, `text_sha256` the SHA-256 (hex) of the file's bytes, `source` the text, for positions.
    """

    value: M
    path: Path
    text_sha256: str
    source: YamlSource

    def locate(self, loc: Loc) -> Position:
        """Where `loc`, such as `("backend", "zones", 0, "racks")`, stands, or the deepest part of it that is in the file."""
        return self.source.locate(loc)


def load_model(path: Path, model: type[M]) -> Loaded[M]:
    """The file at `path` as a `model`. Raises FabricError for one mistake, FabricErrors for several, in file order."""
    with collector_off():
        return _load(path, read_bytes(path), model)


def load_text(text: str, path: Path, model: type[M]) -> Loaded[M]:
    """Like load_model, of a text that is not (yet) in the file at `path`."""
    with collector_off():
        return _load(path, text.encode(), model)


def _load(path: Path, data: bytes, model: type[M]) -> Loaded[M]:
    source = YamlSource(str(path), decode(data, str(path)))
    value = source.build()
    try:
        validated = model.model_validate(value)
    except ValidationError as error:
        refused = error
    except RecursionError:
        raise FabricError(f"{path}:1:1: the values stand too deep in each other") from None
    else:
        return Loaded(validated, path, hashlib.sha256(data).hexdigest(), source)
    _raise(source, model, value, refused)
    raise refused  # not reached: _raise always raises


def spec_error(loaded: Loaded[M], err: DesignError) -> FabricError:
    """What the design says about the spec, with file, line and column; for a default those of the deepest part written."""
    return located(loaded.locate(err.path), err.path, err.message, err.hint)


@dataclass(frozen=True, slots=True)
class _Fault:
    """One pydantic error and its place."""

    error: Mapping[str, Any]
    place: suggest.Place


def _raise(source: YamlSource, model: type[BaseModel], value: Any, refused: ValidationError) -> None:
    raw = [error for error in refused.errors(include_url=False) if not _is_echo(error)]
    faults = _without_renamed([_fault(model, error, value) for error in raw[:_EXAMINED]])
    told = [(source.find(place.path), place, text) for place, text in _sentences(source, faults)]
    told.sort(key=lambda item: (item[0][0].line, item[0][0].column))
    errors = []
    for (position, key, _), place, text in told[:MAX_ERRORS]:
        path = place.path
        if place.is_key and isinstance(key, ScalarNode):
            path = (*path[:-1], key.value)
        errors.append(located(position, path, text.text, text.hint))
    raise_all(errors, len(told) + max(0, len(raw) - _EXAMINED), source.name)


def _fault(model: type[BaseModel], error: Mapping[str, Any], value: Any) -> _Fault:
    """For a missing key the place is the mapping that lacks it."""
    loc = error["loc"]
    place = suggest.place(model, loc[:-1] if error["type"] == "missing" else loc, value)
    if error["type"] == "invalid_key":
        place = suggest.Place(place.path, None, place.unions, is_key=True)
    elif error["type"] == "extra_forbidden":
        place = suggest.Place(place.path, suggest.place(model, loc[:-1], value).kind, place.unions)
    elif error["type"] == "union_tag_invalid":
        place = suggest.Place((*place.path, error["ctx"]["discriminator"].strip("'")), place.kind, place.unions)
    return _Fault(error, place)


def _sentences(source: YamlSource, faults: list[_Fault], level: int = 0) -> list[tuple[suggest.Place, Sentence]]:
    """One sentence for each mistake: of a plain union pydantic tells the errors of all branches, we those of the one meant."""
    told: list[tuple[suggest.Place, Sentence]] = []
    groups: dict[Loc, list[_Fault]] = defaultdict(list)
    for fault in faults:
        if len(fault.place.unions) > level:
            groups[fault.place.unions[level][0]].append(fault)
        else:
            _, key, node = source.find(fault.place.path)
            told.append((fault.place, sentence(fault.error, fault.place, key, node)))
    for path, group in groups.items():
        told += _union(source, path, group, level)
    return told


def _union(source: YamlSource, path: Loc, group: list[_Fault], level: int) -> list[tuple[suggest.Place, Sentence]]:
    branches: dict[str, list[_Fault]] = defaultdict(list)
    for fault in group:
        branches[fault.place.unions[level][1]].append(fault)
    fitting = [branch for branch in branches.values() if not any(_other_type(fault, path) for fault in branch)]
    if fitting:
        return _sentences(source, min(fitting, key=len), level + 1)
    wants: list[str] = []
    for fault in group:
        words = wanted(fault.error) if fault.place.path == path else None
        new = _legal(fault) or [words or ""]
        wants += [word for word in new if word and word not in wants]
    _, _, node = source.find(path)
    here = suggest.Place(path, None)
    value = next(fault.error["input"] for fault in group if _other_type(fault, path))
    legal = [name for fault in group for name in _legal(fault)]
    return [(here, mismatch(listing_or(wants), value, node, legal, here))]


def _legal(fault: _Fault) -> list[str]:
    return choices(fault.error) if fault.error["type"] in ("literal_error", "enum") else []


def _is_echo(error: Mapping[str, Any]) -> bool:
    """Pydantic calls a list whose items are refused too short as well."""
    return error["type"] == "too_short" and bool(len(error["input"]) >= error["ctx"]["min_length"])


def _without_renamed(faults: list[_Fault]) -> list[_Fault]:
    """A misspelt key is one mistake: that the right one is missing is not told a second time."""
    meant = {
        (fault.place.path[:-1], suggest.nearest(fault.error["loc"][-1], suggest.legal_keys(fault.place.kind)))
        for fault in faults
        if fault.error["type"] == "extra_forbidden"
    }
    return [f for f in faults if f.error["type"] != "missing" or (f.place.path, f.error["loc"][-1]) not in meant]


def _other_type(fault: _Fault, path: Loc) -> bool:
    return fault.place.path == path and not fault.place.is_key and wanted(fault.error) is not None
