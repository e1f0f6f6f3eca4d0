"""The storage mounts, ready to be written into units."""

from __future__ import annotations

from fabric.design.hosts.model import Mount, Package
from fabric.spec.storage import FuseMount, PnfsMount


def unit_name(path: str) -> str:
    r"""The systemd unit's name of a path, without its suffix: "/mnt/a-b" is "mnt-a\x2db" (systemd.unit(5), string escaping)."""
    text = path.strip("/")
    parts = [
        "-"
        if char == "/"
        else char
        if char.isalnum() or char in ":_" or (char == "." and place)
        else f"\\x{ord(char):02x}"
        for place, char in enumerate(text)
    ]
    return "".join(parts)


def mount_of(mount: FuseMount | PnfsMount) -> Mount:
    """One declared mount as the hosts have it."""
    return _fuse(mount) if isinstance(mount, FuseMount) else _pnfs(mount)


def _fuse(mount: FuseMount) -> Mount:
    words = {
        "path": mount.path,
        "pool": mount.pool,
        "options": ",".join(mount.options),
        "cache": mount.cache.dir if mount.cache else "",
        "cache_bytes": str(mount.cache.bytes) if mount.cache else "",
    }
    name, _, version = (mount.package or "").partition("=")
    return Mount(
        mount.name, "fuse", mount.path, unit_name(mount.path), mount.pool, tuple(mount.options), mount.binary,
        tuple(_filled(argument, words) for argument in mount.arguments),
        cache_dir=words["cache"], cache_bytes=mount.cache.bytes if mount.cache else 0,
        before_slurmd=mount.before_slurmd, environment=tuple(sorted(mount.environment.items())),
        secrets=tuple(sorted(mount.secrets.items())), notify=mount.notify,
        package=Package(name, version or None, bool(version)) if name else None, probe=mount.probe,
    )  # fmt: skip


def _filled(argument: str, words: dict[str, str]) -> str:
    """Only our own fields are put in: the rest of an argument may hold braces."""
    for name, value in words.items():
        argument = argument.replace(f"{{{name}}}", value)
    return argument


def _pnfs(mount: PnfsMount) -> Mount:
    options = [
        f"vers={mount.version}", "proto=tcp", f"nconnect={mount.nconnect}", f"rsize={mount.rsize}", f"wsize={mount.wsize}",
        "hard", f"timeo={mount.timeo}", f"retrans={mount.retrans}", "noatime", *mount.options, "_netdev", "nofail",
    ]  # fmt: skip
    if mount.automount:
        options.append("x-systemd.automount")
    options += [f"x-systemd.mount-timeout={mount.mount_timeout_s}s", "x-systemd.requires=network-online.target"]
    sources = tuple(
        f"[{server}]:{mount.export}" if ":" in server else f"{server}:{mount.export}" for server in mount.servers
    )
    return Mount(
        mount.name, "pnfs", mount.path, unit_name(mount.path), sources[0], tuple(options), before_slurmd=mount.before_slurmd,
        sources=sources, automount=mount.automount, timeout_s=mount.mount_timeout_s, probe=mount.probe,
    )  # fmt: skip
