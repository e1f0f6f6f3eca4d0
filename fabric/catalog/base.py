"""What catalog files are built of: the strict base model, the status words, and `Sourced`, a fact with its origin."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from fabric.errors import FabricError

Status = Literal["primary", "code", "quoted", "secondary", "derived", "inferred", "unverified"]
"""How sure a fact is.

primary: the maker's or operator's own words; code: their open code or configuration; quoted: a short quotation of a
primary text; secondary: a summary by somebody else; derived: arithmetic on such facts; inferred: a reading that joins
several; unverified: no source was read, so check it before relying on it.
"""

Medium = Literal["copper", "optical"]
"""What a cable carries the signal on."""

T = TypeVar("T")


class Model(BaseModel):
    """Base of all catalog models: frozen, strict types, unknown keys refused."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)


class Sourced(Model, Generic[T]):
    """One fact: `value` in `unit`, how sure it is (`status`) and the public text or code it comes from (`source`)."""

    value: T = Field(description="the fact itself")
    unit: str = Field(default="", description="unit of the value; empty for counts, names and ratios")
    status: Status = Field(description="how sure the fact is")
    source: str = Field(min_length=1, description="the public text or code the fact comes from")


# pydantic finds a parametrised class again (pickle, between processes) only when it was first made at the top of a module
_PARAMETRISED = (Sourced[int], Sourced[float], Sourced[str])


class Evidence(Model):
    """Base of sections whose facts share one origin."""

    status: Status = Field(description="how sure the facts of this section are")
    source: str = Field(min_length=1, description="the public text or code they come from")


class SourcedNames(Evidence):
    """A list of names with its origin, in an order that counts."""

    value: tuple[str, ...] = Field(min_length=1)


class CatalogError(FabricError):
    """A catalog file that contradicts itself; the loader puts the file's name in front."""
