"""Which packages of which version a host gets, and from where: the distribution's rules with the pinned versions put in."""

from __future__ import annotations

from fabric.catalog.distribution import Concern, DistributionModel, PackageRule, RepositoryRule
from fabric.design.hosts.model import Mount, Package, Repository
from fabric.spec.hosts import Mirror, Software

CONCERNS: tuple[Concern, ...] = ("base", "rdma", "nvidia", "cuda", "nccl", "storage", "checks")
"""Concerns that bring packages, in the order of installation: RDMA before the driver, as nvidia-peermem is built against it."""


def versions_of(software: Software) -> dict[str, str]:
    """Pinned version by software; the fabric manager's is always the driver's, NCCL's is the whole package version."""
    cuda = ".".join(software.cuda.split(".")[:2])
    nccl = software.nccl if "+" in software.nccl else f"{software.nccl}-1+cuda{cuda}"
    pinned = {"driver": software.driver, "fabric_manager": software.driver, "cuda": software.cuda, "nccl": nccl}
    pinned["dcgm"] = software.dcgm
    if software.rdma.version is not None:
        pinned["doca"] = software.rdma.version
    return pinned


def packages_of(
    model: DistributionModel, software: Software, mounts: tuple[Mount, ...]
) -> dict[str, tuple[Package, ...]]:
    """Packages by concern, in the order of the catalog; behind those of storage the packages that bring FUSE clients."""
    versions, kinds = versions_of(software), {mount.kind for mount in mounts}
    words = _words(versions)
    found: dict[str, list[Package]] = {concern: [] for concern in CONCERNS}
    for rule in model.packages:
        if _applies(rule, software, versions) and rule.mount in (None, *kinds):
            version = rule.version.format(**words) if rule.version else None
            found[rule.concern].append(Package(rule.name.format(**words), version, rule.hold))
    found["storage"] += dict.fromkeys(mount.package for mount in mounts if mount.package is not None)
    return {concern: tuple(packages) for concern, packages in found.items()}


def modules_of(model: DistributionModel, software: Software) -> dict[str, tuple[str, ...]]:
    """Module streams by concern; empty where the distribution has none."""
    words = _words(versions_of(software))
    concerns = dict.fromkeys(rule.concern for rule in model.modules)
    return {
        concern: tuple(rule.name.format(**words) for rule in model.modules if rule.concern == concern)
        for concern in concerns
    }


def _applies(rule: PackageRule, software: Software, versions: dict[str, str]) -> bool:
    return rule.stack in (None, software.rdma.stack) and (rule.when is None or rule.when.holds(versions))


def _words(versions: dict[str, str]) -> dict[str, str]:
    parts = versions["cuda"].split(".")
    return {
        "doca": "",
        **versions,
        "branch": versions["driver"].split(".")[0],
        "cuda_dash": "-".join(parts[:2]),
        "cuda_major": parts[0],
    }


def repositories_of(model: DistributionModel, software: Software) -> tuple[Repository, ...]:
    """Repositories of the makers, or of an own mirror of the same layout; DOCA's only where it is used."""
    versions = versions_of(software)
    words = _words(versions)
    return tuple(
        _repository(rule, rule.path.format(**words), software.mirror)
        for rule in model.repositories
        if (rule.name != "doca" or "doca" in versions) and (rule.when is None or rule.when.holds(versions))
    )


def _repository(rule: RepositoryRule, path: str, mirror: Mirror | None) -> Repository:
    url = f"{rule.base}/{path}" if mirror is None else f"{mirror.url}/{rule.name}/{path}"
    key = None if mirror is not None and mirror.unsigned else url + rule.key
    return Repository(rule.name, url, key, rule.exclude, rule.file if mirror is None else None)
