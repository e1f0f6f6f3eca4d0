"""The storage that every GPU host mounts."""

from __future__ import annotations

import posixpath
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from fabric.spec.base import Address, DomainName, HostLabel, Line, Model, SecretName, distinct, sourced

_PUBLISHED = "common NFS 4.2 mount lines for pNFS; no client guide of Hammerspace's own was found"
_KEPT = ("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "usr", "var")
_PATH = re.compile(r"/[A-Za-z0-9._/-]{1,200}\Z")
_FIELD = re.compile(r"\{([^{}]*)\}")


def _absolute(path: str) -> str:
    if not _PATH.match(path) or posixpath.normpath(path) != path:
        raise ValueError(
            f"{path!r} is not an absolute path of letters, digits, '.', '_', '-' without '..' or a '/' at its end"
        )
    return path


def _mount_point(path: str) -> str:
    _absolute(path)
    top = path.split("/")[1]
    if top in _KEPT:
        raise ValueError(f"{path!r} is the system's own: mount storage elsewhere, for example under /mnt")
    return path


AbsolutePath = Annotated[str, AfterValidator(_absolute)]
MountPoint = Annotated[str, AfterValidator(_mount_point)]
MountOption = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:/=+-]{1,120}$")]


class _Mount(Model):
    name: HostLabel = Field(description="Name, used in units and reports.", examples=["scratch"])
    path: MountPoint = Field(description="Where it is mounted.", examples=["/mnt/scratch"])
    before_slurmd: bool = Field(True, description="slurmd starts only with this mount there.")
    probe: AbsolutePath | None = Field(
        None,
        description="Folder in it that checks may write to; null = they only read.",
        examples=["/mnt/scratch/.fabric"],
    )


class Cache(Model):
    """Cache of a FUSE client on local disks."""

    dir: AbsolutePath = Field(description="Folder.", examples=["/var/cache/tectonic"])
    bytes: int = Field(ge=1_000_000, le=10**15, description="Size, in bytes.")


class FuseMount(_Mount):
    """A Tectonic-like file system: a client program that serves a mount in the foreground."""

    kind: Literal["fuse"]
    binary: AbsolutePath = Field(description="Client program on the host.", examples=["/usr/bin/tectonic-fuse"])
    package: str | None = Field(
        None,
        pattern=r"^[a-z0-9][a-z0-9.+-]{1,127}(=[A-Za-z0-9.:~+-]{1,120})?$",
        description="Package that brings it, with version; null = it is there.",
    )
    pool: Line = Field(description="Pool (tenant, volume) to mount.", examples=["ws-train"])
    arguments: list[Line] = Field(
        min_length=1,
        max_length=64,
        description="Its arguments, one each; `{path}`, `{pool}`, `{options}`, `{cache}`, `{cache_bytes}` are put in. "
        "It must stay in the foreground.",
        examples=[["--foreground", "--pool={pool}", "--cache={cache}", "{path}"]],
    )
    options: Annotated[list[MountOption], AfterValidator(distinct)] = Field(
        default_factory=list,
        max_length=32,
        description="FUSE options, joined by commas for `{options}`.",
        examples=[["allow_other"]],
    )
    cache: Cache | None = Field(None, description="Cache on local disks, or null for none.")
    environment: dict[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")], Line] = Field(
        default_factory=dict, max_length=32, description="Environment of the client."
    )
    secrets: dict[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")], SecretName] = Field(
        default_factory=dict,
        max_length=16,
        description="Environment of the client from secrets: variable -> name of the secret.",
    )
    notify: bool = Field(False, description="The client tells systemd when it is ready (Type=notify).")

    @field_validator("arguments")
    @classmethod
    def _fields(cls, arguments: list[str]) -> list[str]:
        known = {"path", "pool", "options", "cache", "cache_bytes"}
        used = {name for argument in arguments for name in _FIELD.findall(argument)}
        if used - known:
            raise ValueError(f"{{{min(used - known)}}} is nothing that is put in: {', '.join(sorted(known))}")
        if "path" not in used:
            raise ValueError("no argument holds {path}, so the client would not know where to mount")
        return arguments


class PnfsMount(_Mount):
    """A Hammerspace-like file system: NFS 4.2 with pNFS layouts."""

    kind: Literal["pnfs"]
    servers: Annotated[list[Address | DomainName], AfterValidator(distinct)] = Field(
        min_length=1,
        max_length=16,
        description="Metadata servers; hosts are spread over them.",
        examples=[["anvil1.dc1.example.net"]],
    )
    export: AbsolutePath = Field(description="Exported path.", examples=["/scratch"])
    version: Literal["4.1", "4.2"] = Field("4.2", description="NFS version.")
    nconnect: int = sourced(16, "TCP connections.", source="oracle-quickstart/oci-hpc", status="secondary", ge=1, le=16)
    rsize: int = sourced(
        1_048_576, "Read size.", source=_PUBLISHED, status="secondary", unit="B", ge=4096, le=1_048_576
    )
    wsize: int = sourced(
        1_048_576, "Write size.", source=_PUBLISHED, status="secondary", unit="B", ge=4096, le=1_048_576
    )
    timeo: int = sourced(
        600,
        "Time before a request is sent again.",
        source=_PUBLISHED,
        status="secondary",
        unit="1/10 s",
        ge=10,
        le=6000,
    )
    retrans: int = sourced(
        2, "Times that a request is sent again.", source=_PUBLISHED, status="secondary", ge=1, le=100
    )
    automount: bool = Field(True, description="Mounted at first use, so that a slow server does not hold up the boot.")
    mount_timeout_s: int = sourced(
        90, "How long a mount may take.", source=_PUBLISHED, status="secondary", unit="s", ge=5, le=3600
    )
    options: Annotated[list[MountOption], AfterValidator(distinct)] = Field(
        default_factory=list, max_length=32, description="More mount options."
    )


StorageMount = Annotated[FuseMount | PnfsMount, Field(discriminator="kind")]
