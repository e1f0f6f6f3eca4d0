"""Concern `storage`: a unit for each mount, in order with slurmd, and the recovery of a mount whose daemon died."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import lru_cache

from fabric.design.hosts.model import HostFleet, HostPlan, Mount
from fabric.targets.host.concern import LIBEXEC, SCRIPT, UNITS, File
from fabric.targets.host.templates import fill

SLOTS = 128
"""sunrpc.tcp_max_slot_table_entries (Azure/azhpc-images 8e9d055f hpc-tuning.sh)."""
READ_AHEAD_KIB = 15380
"""Read-ahead of NFS mounts (Azure/azhpc-images 8e9d055f hpc-tuning.sh)."""
_FUSERMOUNT = "/bin/fusermount3"
_OWN = (
    "_netdev",
    "nofail",
    "auto",
    "x-systemd.",
)  # of /etc/fstab and systemd's generator; our units say them in their own words


def unit_of(mount: Mount) -> str:
    """The unit that must be active for a mount: its automount or mount unit, or the service of a FUSE client."""
    if mount.kind == "fuse":
        return f"fabric-fuse-{mount.unit}.service"
    return f"{mount.unit}.automount" if mount.automount else f"{mount.unit}.mount"


def shared(fleet: HostFleet) -> Iterator[File]:
    """All that does not name a host's own server."""
    fuse = [mount for mount in fleet.mounts if mount.kind == "fuse"]
    if fuse:
        yield File("/etc/fuse.conf", fill("fuse.conf"))
    if any(not mount.notify for mount in fuse) or before_slurmd(fleet):
        yield File(f"{LIBEXEC}/wait-mount", fill("wait-mount.sh"), SCRIPT)
    for mount in fuse:
        yield from _fuse(mount)
    nfs = [mount for mount in fleet.mounts if mount.kind == "pnfs"]
    if nfs:
        yield File(f"{LIBEXEC}/nfs-client", fill("nfs-client.sh", slots=SLOTS), SCRIPT)
        yield File(f"{UNITS}/fabric-nfs.service", fill("nfs.service", libexec=LIBEXEC))
        yield File("/etc/udev/rules.d/90-fabric-nfs.rules", fill("nfs.rules", kib=READ_AHEAD_KIB))
    for mount in nfs:
        if mount.automount:
            unit = fill("nfs.automount", mount=mount, idle=_option(mount, "x-systemd.idle-timeout"))
            yield File(f"{UNITS}/{mount.unit}.automount", unit)
        if len(mount.sources) <= 1:
            yield _nfs(mount, mount.source)


def own(fleet: HostFleet, plan: HostPlan) -> Iterator[File]:
    """NFS mounts that have several servers, which take turns."""
    for mount in fleet.mounts:
        if len(mount.sources) > 1:
            yield _nfs(mount, fleet.source_of(mount, plan))


def services(fleet: HostFleet) -> tuple[str, ...]:
    """A unit a mount, behind what all NFS mounts need."""
    nfs = ("fabric-nfs.service",) if any(mount.kind == "pnfs" for mount in fleet.mounts) else ()
    return (*nfs, *(unit_of(mount) for mount in fleet.mounts))


def before_slurmd(fleet: HostFleet) -> tuple[Mount, ...]:
    """The mounts without which slurmd is not to start; none where there is no slurmd."""
    return tuple(mount for mount in fleet.mounts if mount.before_slurmd and fleet.spec.scheduler is not None)


def kernel_options(mount: Mount) -> tuple[str, ...]:
    """The options that mount.nfs gets: those of fstab without what is meant for systemd."""
    return tuple(option for option in mount.options if not option.startswith(_OWN))


@lru_cache(maxsize=1024)  # a few servers take turns over thousands of hosts
def _nfs(mount: Mount, source: str) -> File:
    content = fill(
        "nfs.mount",
        mount=mount,
        source=source.replace("%", "%%"),
        options=",".join(kernel_options(mount)),
        automount=mount.automount,
        timeout=f"{mount.timeout_s}s",
    )
    return File(f"{UNITS}/{mount.unit}.mount", content)


def _option(mount: Mount, key: str) -> str:
    """Value of an option `key=value`; "" without it."""
    return next((value for name, _, value in (option.partition("=") for option in mount.options) if name == key), "")


def _fuse(mount: Mount) -> Iterator[File]:
    environment = f"/etc/fabric/fuse-{mount.name}.env" if mount.environment or mount.secrets else ""
    folders = [mount.path, *([mount.cache_dir] if mount.cache_dir else [])]
    content = fill(
        "fuse.service",
        mount=mount,
        source=" ".join(mount.source.replace("%", "%%").split()),
        notify=mount.notify,
        environment=environment,
        fusermount=_FUSERMOUNT,
        path=word(mount.path),
        folders=" ".join(map(word, folders)),
        command=" ".join(map(word, (posixpath.normpath(mount.binary), *mount.arguments))),
        libexec=LIBEXEC,
    )
    yield File(f"{UNITS}/{unit_of(mount)}", content)
    if environment:
        variables = [(key, _quoted(value)) for key, value in mount.environment]
        variables += [(key, f"$SECRET{{{name}}}") for key, name in mount.secrets]
        secret = bool(mount.secrets)
        yield File(environment, fill("fuse.env", variables=variables), 0o600, secret)


def _quoted(value: str) -> str:
    r"""A value inside double quotes of an EnvironmentFile: `\` and `"` are escaped (systemd.exec(5))."""
    return value.replace("\\", "\\\\").replace('"', '\\"')


def word(text: str) -> str:
    r"""One word of a command line in a unit: `%` and `$` stand for themselves, blanks and quotes do not part it (systemd.service(5))."""
    plain = text.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$")
    if plain and not set(plain) & set(" \t\"';#"):
        return plain
    return '"' + plain.replace('"', '\\"') + '"'
