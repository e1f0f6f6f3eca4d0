"""Where the cluster stands, what its parts are called, and what its hosts are."""

from __future__ import annotations

import string

from pydantic import Field, field_validator

from fabric.spec.base import DomainName, HostLabel, Model, host_label, sourced

_FIELDS = {"rtsw": {"rack"}, "ctsw": {"ctsw"}, "atsw": {"atsw"}, "host": {"rack", "unit"}}


class Site(Model):
    """The building."""

    name: HostLabel = Field(description="Short name of the site, used in names and reports.", examples=["dc1"])
    domain: DomainName = Field(description="DNS domain of all devices.", examples=["dc1.example.net"])


class Naming(Model):
    """Patterns of device names; `{zone}`, `{rack}`, `{ctsw}`, `{atsw}`, `{unit}`, `{site}` with Python format widths.

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
        try:
            used = {name for _, name, _, _ in string.Formatter().parse(pattern) if name is not None}
            unknown = used - wanted - {"site"}
            if unknown:
                raise ValueError(f"pattern {pattern!r} uses {{{min(unknown)}}}, which a {role} does not have")
            sample = pattern.format(**dict.fromkeys(wanted, 7), site="x")
        except (IndexError, KeyError, AttributeError):
            raise ValueError(
                f"pattern {pattern!r} is not a format such as {cls.model_fields[role].default!r}"
            ) from None
        missing = wanted - used
        if missing:
            raise ValueError(f"pattern {pattern!r} lacks {{{min(missing)}}}, so two {role}s would share a name")
        host_label(sample)
        return pattern


class Hosts(Model):
    """The GPU hosts."""

    platform: str = Field(
        description="Host model in the catalog (`fabric catalog list hosts`).", examples=["grand-teton-h100"]
    )
    nic: str = Field("connectx-7", description="Back-end NIC model in the catalog.")
    power_w: int | None = sourced(
        None,
        "Power that one host may draw; without it only the GPUs' own TDP is counted.",
        source="no public figure for a whole Grand Teton host was found",
        status="unverified",
        unit="W",
        gt=0,
        le=100_000,
    )
