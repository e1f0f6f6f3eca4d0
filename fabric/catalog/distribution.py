"""What a GPU host runs: package names and repositories of each distribution, by the versions that the spec pins."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from fabric.catalog.base import Evidence, Model

Concern = Literal["base", "rdma", "nvidia", "cuda", "nccl", "storage", "checks"]
Version = tuple[int, ...]


def version_of(text: str) -> Version:
    """The numbers of a version, to compare: "580.126.16" is (580, 126, 16); what stands behind the first '-' or '+' does not count."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[-+]", text)[0]))


class Range(Model):
    """For which versions an entry holds: `of` names the software, `since` is the first version, `below` the first that has it no more."""

    of: Literal["driver", "cuda", "nccl", "dcgm", "doca"]
    since: str | None = None
    below: str | None = None

    def holds(self, versions: dict[str, str]) -> bool:
        """Whether the pinned `versions` (software -> version) are in the range; False where the software is not used."""
        pinned = versions.get(self.of)
        if not pinned:
            return False
        number = version_of(pinned)
        return (self.since is None or number >= version_of(self.since)) and (
            self.below is None or number < version_of(self.below)
        )


class PackageRule(Evidence):
    """One package. `name` and `version` may hold `{driver}`, `{branch}`, `{cuda}`, `{cuda_dash}`, `{cuda_major}`, `{nccl}`, `{dcgm}`, `{doca}`.

    `version` None: any that the repository has; a `*` at its end: any build of that version. `stack`: only with that RDMA stack. `mount`: only
    with a mount of that kind.
    """

    concern: Concern
    name: str
    version: str | None = None
    hold: bool = True
    stack: Literal["doca", "inbox"] | None = None
    mount: Literal["fuse", "pnfs"] | None = None
    when: Range | None = None


class ModuleRule(Evidence):
    """One module stream to enable (dnf), before the packages of its concern; `name` takes the words of packages."""

    name: str
    concern: Concern


class RepositoryRule(Evidence):
    """One repository of a maker: `path` under its `base`, which an own mirror replaces; `key` is under the repository's URL.

    `exclude` are packages that must not come from it. `file` is the maker's own .repo or keyring package, for people.
    """

    name: Literal["cuda", "doca"]
    base: str
    path: str
    key: str
    file: str | None = None
    exclude: tuple[str, ...] = ()
    when: Range | None = None


class DistributionModel(Model):
    """One distribution: what /etc/os-release says of it, how its NICs are configured, its packages and repositories."""

    name: str
    title: str
    family: Literal["debian", "rhel"]
    ids: tuple[str, ...] = Field(min_length=1, description="ID of /etc/os-release; several for rebuilds")
    version_id: str = Field(description="VERSION_ID of /etc/os-release, or its start")
    network: Literal["networkd", "networkmanager"]
    cuda_repo: str = Field(description="the distribution's name in NVIDIA's CUDA repositories")
    repositories: tuple[RepositoryRule, ...]
    modules: tuple[ModuleRule, ...] = ()
    packages: tuple[PackageRule, ...]
    notes: tuple[str, ...] = ()
