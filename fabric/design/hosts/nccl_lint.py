"""The lint of nccl.conf: a value of legal form, known to the pinned version, not forbidden, in agreement with the fabric."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fabric.catalog import catalog
from fabric.catalog.distribution import version_of
from fabric.catalog.nccl import NcclKey
from fabric.design.hosts.nccl import nccl_version
from fabric.design.hosts.nccl_rules import RULES, Level, Told, Truth, whole
from fabric.design.hosts.qos import qos_of
from fabric.spec.cluster import ClusterSpec

_PREFIX = "NCCL_"


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with one setting: an error is refused, a warning is told."""

    level: Level
    key: str
    message: str
    hint: str | None = None


def truth_of(spec: ClusterSpec) -> Truth:
    """What the settings of this cluster are held against."""
    return Truth(spec, catalog().host(spec.hosts.platform), qos_of(spec), nccl_version(spec))


def lint(key: str, value: str, truth: Truth) -> Iterator[Flaw]:
    """All flaws of one setting. What NCCL cannot read is told alone, as nothing else can be said of it."""
    table = catalog().nccl().settings
    known = table.get(key)
    if known is None:
        yield Flaw("warning", key, "is no setting that NCCL documents", _meant(key, table))
        return
    if known.forbidden is not None:
        yield Flaw("error", key, f"does not belong in a file for all jobs: {known.forbidden}")
        return
    formed = [Flaw("error", key, message) for message in _form(value, known)]
    yield from formed
    if not formed:
        yield from (Flaw(level, key, message) for level, message in _known_to(known, truth))
        if key in RULES:
            yield from (Flaw(level, key, message) for level, message in RULES[key](value, truth))


def _meant(key: str, table: Iterable[str]) -> str | None:
    """The setting that was meant; the prefix that all share makes none alike."""
    found = difflib.get_close_matches(key[len(_PREFIX) :], [name[len(_PREFIX) :] for name in table], n=1, cutoff=0.75)
    return f"did you mean {_PREFIX}{found[0]}?" if found else None


def _form(value: str, known: NcclKey) -> Iterator[str]:
    because = f" ({known.why})" if known.why else ""
    if known.choices and value.upper() not in {choice.upper() for choice in known.choices}:
        yield f"must be {', '.join(known.choices[:-1])} or {known.choices[-1]}, is {value}{because}"
    if known.low is None and known.high is None:
        return
    try:
        number = whole(value)
    except ValueError:
        yield f"wants a whole number, found {value!r}"
        return
    if known.low is not None and number < known.low:
        yield f"must be at least {known.low:,}, is {number:,}{because}"
    if known.high is not None and number > known.high:
        yield f"must be at most {known.high:,}, is {number:,}{because}"


def _known_to(known: NcclKey, truth: Truth) -> Told:
    """Whether the pinned version has it, and whether it is there for debugging."""
    if truth.version is not None:
        pinned = ".".join(map(str, truth.version))
        if known.since is not None and truth.version < version_of(known.since):
            yield "warning", f"has no effect: NCCL knows it since {known.since}, {pinned} is installed"
        if known.below is not None and truth.version >= version_of(known.below):
            yield "warning", f"has no effect: NCCL has it no more since {known.below}, {pinned} is installed"
    if known.debug:
        yield "warning", "is a debug setting, which NVIDIA advises to keep out of production"
