"""Cases from a YAML file: several questions side by side. Every mistake is one line with file, line and column, as in the spec."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from fabric.errors import DesignError, FabricError
from fabric.predict.job import read_job
from fabric.predict.model import Algorithm, Case, Collective, Far, Hash, Placement
from fabric.spec.base import Model, distinct, one_line
from fabric.spec.collectives import size_bytes
from fabric.spec.loader import Loaded, load_model, spec_error

_SIZE = re.compile(r"[1-9][0-9]{0,11}[KMG]?\Z")
LARGEST = 1 << 50
MOST_SIZES = 64


def sizes_of(text: str) -> tuple[int, ...]:
    """`64M,1G` or `FIRST:LAST[:FACTOR]` (factor 4) as bytes; K, M, G are powers of 1024. ValueError for anything else."""
    if ":" not in text:
        found = tuple(_size(part) for part in text.split(","))
    else:
        first, _, rest = text.partition(":")
        last, _, factor = rest.partition(":")
        if factor and not (factor.isdigit() and 2 <= int(factor) <= 1024):
            raise ValueError(f"{text!r}: the factor is a number from 2 to 1024")
        step, low, high = int(factor or 4), _size(first), _size(last)
        if low > high:
            raise ValueError(f"{text!r}: the first size is above the last")
        grown = [low]
        while grown[-1] * step <= high:
            grown.append(grown[-1] * step)
        found = tuple(grown)
    if len(found) > MOST_SIZES:
        raise ValueError(f"{len(found)} sizes: at most {MOST_SIZES}")
    return tuple(sorted(set(found)))


def _size(text: str) -> int:
    text = text.strip()
    if re.fullmatch(r"0+[KMG]?", text):
        raise ValueError("a message of 0 bytes moves nothing")
    if not _SIZE.match(text):
        raise ValueError(f"{text!r} is no size: bytes, or with K, M, G, such as 64M")
    found = size_bytes(text)
    if found > LARGEST:
        raise ValueError(f"{text} is above {LARGEST >> 40} TiB")
    return found


def _sizes(value: Any) -> Any:
    """A list of sizes as the text that it stands for; numbers are bytes."""
    if isinstance(value, list):
        return ",".join(str(one) for one in value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _legal(value: str) -> str:
    sizes_of(value)
    return value


class CaseModel(Model):
    """One case as written."""

    name: Annotated[str, Field(min_length=1, max_length=60), AfterValidator(one_line)] = Field(description="Its name.")
    collective: Collective = Field("all_gather", description="What is done.")
    algorithm: Algorithm = Field("ring", description="How; `tree` is NCCL's for all_reduce.")
    gpus: int | None = Field(None, ge=1, description="GPUs of the job; all when null.")
    hosts: tuple[str, ...] | None = Field(
        None, min_length=2, description="Hosts in rank order, instead of `gpus`.", strict=False
    )
    job: str | None = Field(None, description="File with the hosts in rank order, beside this one.")
    placement: Placement = Field("rack", description="Which hosts, and in what order.")
    hash: Hash | None = Field(None, description="How switches choose among equal paths; the spec's when null.")
    qps: int | None = Field(None, ge=1, le=128, description="Queue pairs a connection; `hosts.nccl.qps` when null.")
    channels: int = Field(1, ge=1, le=32, description="NCCL's channels a NIC.")
    sizes: Annotated[str, BeforeValidator(_sizes), AfterValidator(_legal)] | None = Field(
        None, description="Message sizes: a list, or FIRST:LAST[:FACTOR]."
    )
    seeds: int = Field(20, ge=1, le=1000, description="Hash functions and orders that are tried.")
    failures: Annotated[list[str], AfterValidator(distinct)] = Field(
        default_factory=list, description="Switches and switch:port that are gone."
    )
    seed_per_tier: bool | None = Field(
        None, description="Whether each tier has a hash seed of its own; as the spec has it when null."
    )
    far: Far = Field("small", description="Algorithm recursive: which messages go far, `small` or `large`.")


class CaseFile(Model):
    """The file."""

    cases: list[CaseModel] = Field(min_length=1, max_length=32, description="The cases, side by side in this order.")


def read_cases(path: Path, base: Case | None = None) -> tuple[Case, ...]:
    """The cases of a file; `base` says what a case leaves out of hash, queue pairs and seeds of tiers.

    FabricError with file, line and column, the nearest name for a key or word that is misspelt.
    """
    loaded = load_model(path, CaseFile)
    seen: set[str] = set()
    found = []
    for index, one in enumerate(loaded.value.cases):
        if one.name in seen:
            raise _at(loaded, index, "name", f"two cases are called {one.name!r}", "each case has a name of its own")
        seen.add(one.name)
        found.append(_case(loaded, index, one, base or Case("")))
    return tuple(found)


def _case(loaded: Loaded[CaseFile], index: int, one: CaseModel, base: Case) -> Case:
    given = [key for key in ("gpus", "hosts", "job") if getattr(one, key) is not None]
    if len(given) > 1:
        raise _at(loaded, index, given[1], f"both {given[0]} and {given[1]} say who runs", "leave one of them out")
    hosts = one.hosts or ()
    if one.job is not None:
        hosts = read_job(loaded.path.parent / one.job)
    if one.placement == "given" and not hosts:
        raise _at(loaded, index, "placement", "placement given needs the hosts", "hosts or job")
    if one.placement in ("zone", "random") and hosts:
        raise _at(
            loaded, index, "placement", f"the hosts are given, their order is not {one.placement}", "leave it out"
        )
    values = {field.name: getattr(one, field.name) for field in fields(Case) if field.name in CaseModel.model_fields}
    values.update({key: getattr(base, key) for key in ("hash", "qps", "seed_per_tier") if getattr(one, key) is None})
    if one.seed_per_tier is None:
        values["seed_groups"] = base.seed_groups
    values.update(
        hosts=tuple(hosts), sizes=sizes_of(one.sizes) if one.sizes else (), failures=tuple(one.failures),
        placement="given" if hosts else one.placement, left_out=base.left_out,
    )  # fmt: skip
    return Case(**values)


def _at(loaded: Loaded[CaseFile], index: int, key: str, text: str, hint: str) -> FabricError:
    return spec_error(loaded, DesignError(("cases", index, key), text, hint=hint))
