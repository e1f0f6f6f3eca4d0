"""Rows of the long lists of agent.conf: what differs is checked row by row, what a kind of row shares only once."""

from __future__ import annotations

from dataclasses import dataclass

from fabric.targets.fboss import wire
from fabric.targets.fboss.box import Json
from fabric.targets.fboss.strict import checked_raw

ROW_DEPTH = 4
"""Nesting of a row: in a list, in `sw`, in the file."""


@dataclass(frozen=True, slots=True)
class Template:
    """Fields that rows of one kind have in common, as object and as checked text that another object's text can be put before."""

    fields: Json
    tail: str


def template(struct: str, fields: Json) -> Template:
    """The template of rows that are `struct`s; raises FabricError for fields that the struct does not have."""
    return Template(fields, checked_raw(struct, fields, depth=ROW_DEPTH).text[1:])


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one list of a device: `own` = what tells a row from the others of its template."""

    struct: str
    own: list[Json]
    templates: list[Template]

    def objects(self) -> list[Json]:
        """The rows as objects."""
        return [{**own, **made.fields} for own, made in zip(self.own, self.templates, strict=True)]

    def texts(self) -> list[wire.Raw]:
        """The same rows as text, each checked; raises FabricError (a mistake of ours) for one that is not such a struct."""
        struct = self.struct
        return [
            wire.Raw(f"{checked_raw(struct, own, depth=ROW_DEPTH).text[:-1]}, {made.tail}", struct)
            for own, made in zip(self.own, self.templates, strict=True)
        ]
