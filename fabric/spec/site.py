"""Where the cluster stands, and what its parts are called."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from fabric.spec.base import DomainName, HostLabel, Model, host_label

# A width has one digit, as names must not grow without bound; 0 stands before it, as blanks are no part of a host name.
_PART = re.compile(r"\{(?!site:)([a-z]+)(?::(?:0[1-9])?[dx]?)?\}|[a-z0-9-]+")
_FIELDS = {"rtsw": {"rack"}, "ctsw": {"ctsw"}, "atsw": {"atsw"}, "host": {"rack", "unit"}}


class Site(Model):
    """The building."""

    name: HostLabel = Field(description="Short name of the site, used in names and reports.", examples=["dc1"])
    domain: DomainName = Field(description="DNS domain of all devices.", examples=["dc1.example.net"])


class Naming(Model):
    """Patterns of device names; `{zone}`, `{rack}`, `{ctsw}`, `{atsw}`, `{unit}`, `{site}`; a number may have a width, `{zone:02d}`.

    Each pattern must use all the positions that tell two devices of its role apart. Fixed widths keep one name from
    being part
    of another (FBOSS compares LLDP names by substring).
    """

    rtsw: str = Field("z{zone:02d}-rtsw{rack:03d}", description="Rack training switch.")
    ctsw: str = Field("z{zone:02d}-ctsw{ctsw:02d}", description="Cluster training switch.")
    atsw: str = Field("atsw{atsw:03d}", description="Aggregator training switch.")
    host: str = Field("z{zone:02d}-r{rack:03d}-h{unit:d}", description="GPU host.")

    @field_validator("rtsw", "ctsw", "atsw", "host")
    @classmethod
    def _usable(cls, pattern: str, info: object) -> str:
        role = str(getattr(info, "field_name", ""))
        wanted = _FIELDS[role] | (set() if role == "atsw" else {"zone"})
        return check_pattern(pattern, role, wanted, set(), str(cls.model_fields[role].default))


def check_pattern(
    pattern: str, role: str, wanted: set[str], optional: set[str], example: str, sample: str = "zone"
) -> str:
    """A pattern of names that uses all `wanted` positions, perhaps `optional` ones, and makes a legal host name; ValueError else."""
    parts = list(_PART.finditer(pattern))
    if "".join(part[0] for part in parts) != pattern:
        raise ValueError(
            f"pattern {pattern!r} is not of a-z, 0-9, hyphens and positions such as {{{sample}:02d}}, for example {example!r}"
        )
    used = {part[1] for part in parts if part[1] is not None}
    unknown = used - wanted - optional - {"site"}
    if unknown:
        raise ValueError(f"pattern {pattern!r} uses {{{min(unknown)}}}, which a {role} does not have")
    missing = wanted - used
    if missing:
        raise ValueError(f"pattern {pattern!r} lacks {{{min(missing)}}}, so two {role}s would share a name")
    host_label(pattern.format(**dict.fromkeys(wanted | optional, 7), site="x"))
    return pattern
