"""Near-name suggestions, and the walk from pydantic's error location to the place in the YAML and its type."""

from __future__ import annotations

import difflib
import types
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel, Discriminator, Tag
from pydantic.fields import FieldInfo

_LISTED = 12  # names told when none is near


@dataclass(frozen=True, slots=True)
class Place:
    """Where an error is.

    `path` is that in the YAML, `kind` the annotation there (None when unknown), `unions` the plain unions passed on the way
    as (path, branch label), `is_key` says that the key itself is at fault.
    """

    path: tuple[str | int, ...]
    kind: Any
    unions: tuple[tuple[tuple[str | int, ...], str], ...] = ()
    is_key: bool = False


def near(name: object, legal: Iterable[str]) -> str | None:
    """A hint for a name that is not legal: the nearest legal one, or the list of them; None when nothing is legal."""
    names = list(legal)
    return near_only(name, names) or (f"legal here: {listing(names)}" if names else None)


def near_only(name: object, legal: Iterable[str]) -> str | None:
    """Like near, without the list."""
    found = nearest(name, legal)
    if found is None:
        return None
    foreign = next((char for char in str(name) if ord(char) > 127), None)
    alike = f" Yours holds U+{ord(foreign):04X}, {unicodedata.name(foreign, 'unnamed')}" if foreign else ""
    return f"did you mean {found!r}?{alike}"


def nearest(name: object, legal: Iterable[str]) -> str | None:
    """The legal name that looks most like `name`, without regard to case and `-` or `_`; None when none does."""
    folded = {legal_name.lower().replace("-", "_"): legal_name for legal_name in legal}
    # A very long name resembles nothing, and comparing it would take long
    close = difflib.get_close_matches(str(name)[:80].lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def listing(names: list[str]) -> str:
    """`a, b, c`, cut after a dozen names with the number of the rest."""
    rest = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def legal_keys(kind: Any) -> list[str]:
    """The keys that the model `kind` takes, in the order in which it declares them; empty for anything else."""
    kind = strip(kind)[0]
    if not _is_model(kind):
        return []
    return [_names(name, field)[0] for name, field in kind.model_fields.items()]


def members(kind: Any, tag_key: str) -> list[str]:
    """The tags of a discriminated union: the legal values of the key `tag_key`."""
    found: list[str] = []
    for member in _arms(strip(kind)[0]):
        found += [tag for tag in _tags(member, tag_key) if tag not in found]
    return found


def place(model: type[BaseModel], loc: tuple[str | int, ...], data: Any) -> Place:
    """Walks pydantic's `loc` from `model`: a union's label in it is left out, a key or an index stays."""
    kind: Any = model
    path: tuple[str | int, ...] = ()
    unions: tuple[tuple[tuple[str | int, ...], str], ...] = ()
    for part in loc:
        if part == "[key]":
            return Place(path, kind, unions, is_key=True)
        kind, discriminator = strip(kind)
        if arms := _arms(kind):
            if discriminator is None:
                unions += ((path, str(part)),)
            kind = _arm(arms, str(part), discriminator)
            continue
        inner = _inner(kind, part)
        if inner is None and kind is None and not _holds(data, part):
            continue  # a label that we cannot read
        path += (part,)
        data = _get(data, part)
        kind = inner
    return Place(path, kind, unions)


def strip(kind: Any) -> tuple[Any, str | None]:
    """The annotation without Annotated, Optional, type aliases and root models; and the union's discriminator, if any."""
    discriminator: str | None = None
    while True:
        if isinstance(kind, FieldInfo):
            discriminator = _discriminator([kind, *kind.metadata]) or discriminator
            kind = kind.annotation
        elif get_origin(kind) is Annotated:
            discriminator = _discriminator(kind.__metadata__) or discriminator
            kind = kind.__origin__
        elif hasattr(kind, "__value__") and not isinstance(kind, type):
            kind = kind.__value__
        elif _is_model(kind) and kind.__pydantic_root_model__:
            kind = kind.model_fields["root"]
        elif get_origin(kind) in (Union, types.UnionType) and len(arms := _arms_and_none(kind)) == 1:
            kind = arms[0]
        else:
            return kind, discriminator


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _arms_and_none(kind: Any) -> list[Any]:
    return [arm for arm in get_args(kind) if arm is not types.NoneType]


def _arms(kind: Any) -> list[Any]:
    return _arms_and_none(kind) if get_origin(kind) in (Union, types.UnionType) else []


def _discriminator(metadata: Iterable[Any]) -> str | None:
    for item in metadata:
        value = item.discriminator if isinstance(item, FieldInfo | Discriminator) else None
        value = value.discriminator if isinstance(value, Discriminator) else value
        if value is not None:
            return value if isinstance(value, str) else ""
    return None


def _arm(arms: list[Any], label: str, discriminator: str | None) -> Any:
    """The member of a union that pydantic names `label`; None when no name fits."""
    for arm in arms:
        if discriminator is not None and label in _tags(arm, discriminator):
            return arm
        bare = strip(arm)[0]
        labels = (getattr(bare, "__name__", ""), str(bare), str(bare).replace("typing.", ""))
        if discriminator is None and label in labels:
            return arm
    return None


def _tags(arm: Any, tag_key: str) -> list[str]:
    if get_origin(arm) is Annotated:
        tags = [item.tag for item in arm.__metadata__ if isinstance(item, Tag)]
        if tags:
            return tags
    bare = strip(arm)[0]
    if _arms(bare):
        return [tag for inner in _arms(bare) for tag in _tags(inner, tag_key)]
    field = _field(bare, tag_key) if _is_model(bare) else None
    values = get_args(strip(field)[0]) if field is not None and get_origin(strip(field)[0]) is Literal else ()
    return [str(value.value if isinstance(value, Enum) else value) for value in values]


def _names(name: str, field: FieldInfo) -> list[str]:
    """The keys that stand for a field, pydantic's own choice first."""
    alias = field.validation_alias or field.alias
    if isinstance(alias, AliasChoices):
        return [choice for choice in alias.choices if isinstance(choice, str)] or [name]
    return [alias] if isinstance(alias, str) else [name]


def _field(model: Any, key: str | int) -> FieldInfo | None:
    for name, field in model.model_fields.items():
        if key == name or key in _names(name, field):
            return field  # type: ignore[no-any-return]  # model_fields of an unknown model class
    return None


def _inner(kind: Any, part: str | int) -> Any:
    """The annotation of `part` inside `kind`; None when it is not known."""
    if _is_model(kind):
        return _field(kind, part)
    args = get_args(kind)
    origin = get_origin(kind)
    if not args or not isinstance(origin, type):
        return None
    if issubclass(origin, Mapping):
        return args[-1]
    if issubclass(origin, tuple) and Ellipsis not in args:
        return args[part] if isinstance(part, int) and part < len(args) else None
    return args[0]


def _holds(data: Any, part: str | int) -> bool:
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def _get(data: Any, part: str | int) -> Any:
    return data[part] if _holds(data, part) else None
