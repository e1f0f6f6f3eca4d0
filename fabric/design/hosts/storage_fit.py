"""Mounts that cannot be: two on one path, options that take back what is derived, clients told what is not there."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.errors import DesignError
from fabric.spec.cluster import ClusterSpec
from fabric.spec.storage import FuseMount, PnfsMount

Path = tuple[str | int, ...]
_DERIVED = ("vers", "nfsvers", "proto", "nconnect", "rsize", "wsize", "timeo", "retrans")
_AGAINST = {
    "soft": "a soft mount loses data when the server is slow",
    "softerr": "a soft mount loses data when the server is slow",
    "nolock": "NFS 4 has its locks in the protocol",
    "udp": "NFS 4.2 needs TCP",
    "auto": "the unit decides when it is mounted",
}


def storage_problems(spec: ClusterSpec) -> Iterator[DesignError]:
    """All refusals of `storage`."""
    paths: dict[str, str] = {}
    names: set[str] = set()
    for index, mount in enumerate(spec.storage):
        path: Path = ("storage", index)
        if mount.path in paths:
            yield DesignError((*path, "path"), f"{mount.path} is the mount point of {paths[mount.path]!r} already")
        if mount.name in names:
            yield DesignError((*path, "name"), f"two mounts are called {mount.name!r}")
        if mount.probe is not None and not mount.probe.startswith(f"{mount.path}/"):
            yield DesignError((*path, "probe"), f"{mount.probe} is not inside {mount.path}")
        outer = next((other for other in spec.storage if mount.path.startswith(f"{other.path}/")), None)
        if outer is not None:  # a FUSE client's service waits for no other mount, and a lost outer mount would hide it
            yield DesignError(
                (*path, "path"),
                f"{mount.path} is inside the mount {outer.name!r}, {outer.path}",
                hint="mount it beside it",
            )
        paths.setdefault(mount.path, mount.name)
        names.add(mount.name)
        yield from _fuse(path, mount, spec) if isinstance(mount, FuseMount) else _pnfs(path, mount)


def _fuse(path: Path, mount: FuseMount, spec: ClusterSpec) -> Iterator[DesignError]:
    used = " ".join(mount.arguments)
    if mount.cache is None and ("{cache}" in used or "{cache_bytes}" in used):
        yield DesignError(
            (*path, "arguments"),
            "an argument holds the cache, but no cache is declared",
            hint="add cache: {dir, bytes}",
        )
    if mount.options and "{options}" not in used:
        yield DesignError((*path, "options"), "no argument holds {options}, so they would have no effect")
    if "{options}" in used and not mount.options:
        yield DesignError((*path, "arguments"), "an argument holds {options}, but no options are declared")
    for number, other in enumerate(spec.storage):
        if mount.cache is not None and f"{mount.cache.dir}/".startswith(f"{other.path}/"):
            yield DesignError(
                (*path, "cache", "dir"),
                f"{mount.cache.dir} is on the mount {spec.storage[number].name!r}, not on a local disk",
            )
    both = sorted(set(mount.environment) & set(mount.secrets))
    if both:
        yield DesignError((*path, "secrets", both[0]), f"{both[0]} stands in environment as well")


def _pnfs(path: Path, mount: PnfsMount) -> Iterator[DesignError]:
    for index, option in enumerate(mount.options):
        key = option.split("=", maxsplit=1)[0]
        if key in _DERIVED:
            yield DesignError((*path, "options", index), f"{key} has a key of its own", hint=_own_key(key))
        elif key in _AGAINST:
            yield DesignError((*path, "options", index), f"{key}: {_AGAINST[key]}")
        elif key.startswith("x-systemd."):
            yield DesignError((*path, "options", index), f"{key} follows from automount and mount_timeout_s")


def _own_key(option: str) -> str:
    return {"vers": "version", "nfsvers": "version", "proto": "it is always tcp"}.get(option, option)


def storage_secrets(spec: ClusterSpec) -> Iterator[tuple[Path, str]]:
    """(place, name) of each secret that a mount names."""
    for index, mount in enumerate(spec.storage):
        if isinstance(mount, FuseMount):
            for variable, name in mount.secrets.items():
                yield ("storage", index, "secrets", variable), name
