"""Where packages come from, and what keeps an upgrade from touching those that are pinned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from fabric.design.hosts.model import HostFleet, Package, Repository
from fabric.targets.host.concern import File
from fabric.targets.host.templates import fill

UNATTENDED = ("nvidia-", "libnvidia-", "cuda-", "libnccl", "datacenter-gpu-manager", "doca", "linux-")
"""Beginnings of package names that unattended upgrades must leave alone (pando85/homelab#4110, lyulyul/shine-cluster#30); the kernel too."""
_PINNED, _NEVER = (
    1001,
    -1,
)  # apt_preferences(5): above 1000 also downgrades, so that an earlier spec comes back; below 0 is never


@dataclass(frozen=True, slots=True)
class RepositoryView:
    """A repository as templates take it; `keyring` is where its key is put on a host of the Debian family."""

    name: str
    url: str
    key_url: str | None
    exclude: tuple[str, ...]

    @property
    def unsigned(self) -> bool:
        """True when packages are taken without a signature."""
        return self.key_url is None

    @property
    def keyring(self) -> str:
        """Path of the key on the host."""
        return keyring_of(self.name)


@dataclass(frozen=True, slots=True)
class Pin:
    """One entry of apt_preferences(5)."""

    packages: str
    what: str
    priority: int
    why: str


def keyring_of(name: str) -> str:
    """Where the key of the repository `name` stands on a host of the Debian family (ASCII-armoured)."""
    return f"/etc/apt/keyrings/fabric-{name}.asc"


def package_files(fleet: HostFleet) -> Iterator[File]:
    """Repositories, pins and the list of what unattended upgrades leave alone."""
    views = [RepositoryView(r.name, r.url, r.key_url, r.exclude) for r in fleet.repositories]
    if fleet.distribution.family == "rhel":
        for view in views:
            yield File(f"/etc/yum.repos.d/fabric-{view.name}.repo", fill("yum.repo", repository=view))
        yield File("/etc/dnf/plugins/versionlock.list", fill("lines", lines=_locks(fleet)))
        return
    for view in views:
        yield File(f"/etc/apt/sources.list.d/fabric-{view.name}.sources", fill("apt.sources", repository=view))
    yield File("/etc/apt/preferences.d/fabric.pref", fill("apt.preferences", pins=[*_pins(fleet), *_exclusions(fleet)]))
    if fleet.spec.hosts.tuning.block_unattended:
        yield File("/etc/apt/apt.conf.d/52fabric", fill("apt.unattended", patterns=UNATTENDED))


def _held(fleet: HostFleet) -> Iterator[Package]:
    for packages in fleet.packages.values():
        yield from (package for package in packages if package.version and package.hold)


def _pins(fleet: HostFleet) -> Iterator[Pin]:
    for package in _held(fleet):
        yield Pin(package.name, f"version {package.version}", _PINNED, "the version that the spec pins")


def _exclusions(fleet: HostFleet) -> Iterator[Pin]:
    """What must not come from a maker's repository. One mirror for all cannot be told apart by its host: then only DOCA's dkms."""
    hosts = [urlsplit(repository.url).hostname or "" for repository in fleet.repositories]
    for repository, host in zip(fleet.repositories, hosts, strict=True):
        if repository.exclude and hosts.count(host) == 1:
            packages = " ".join(repository.exclude)
            yield Pin(packages, f'origin "{host}"', _NEVER, f"DOCA brings its own; those of {repository.name} fight it")
        if _is_doca(repository) and host:
            yield Pin("dkms", f'origin "{host}"', _NEVER, "the distribution's dkms, not DOCA's")


def _is_doca(repository: Repository) -> bool:
    return repository.name == "doca"


def _locks(fleet: HostFleet) -> list[str]:
    """Lines of dnf's versionlock: name-epoch:version-release.arch, with patterns."""
    lines = []
    for package in _held(fleet):
        epoch, colon, version = (package.version or "").rpartition(":")
        release = version if version.endswith("*") else f"{version}.*"
        lines.append(f"{package.name}-{epoch if colon else '0'}:{release}")
    return lines
