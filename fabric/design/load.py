"""From a file to a fabric, with every refusal placed in the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fabric.design.build import design
from fabric.design.fabric import Fabric
from fabric.design.hosts.model import HostFleet
from fabric.design.ib.build import design_subnet
from fabric.design.ib.model import Subnet
from fabric.errors import DesignError, FabricError, FabricErrors
from fabric.spec.cluster import ClusterSpec
from fabric.spec.loader import Loaded, load_model, spec_error
from fabric.spec.yaml_source import collector_off


@dataclass(frozen=True, slots=True)
class Cluster:
    """A loaded spec with its fabric (RoCE)."""

    loaded: Loaded[ClusterSpec]
    fabric: Fabric

    @property
    def spec(self) -> ClusterSpec:
        """The spec."""
        return self.loaded.value


@dataclass(frozen=True, slots=True)
class SubnetCluster:
    """A loaded spec with its subnet (InfiniBand)."""

    loaded: Loaded[ClusterSpec]
    subnet: Subnet

    @property
    def spec(self) -> ClusterSpec:
        """The spec."""
        return self.loaded.value


@dataclass(frozen=True, slots=True)
class FleetCluster:
    """A loaded spec with its hosts (either back end)."""

    loaded: Loaded[ClusterSpec]
    fleet: HostFleet

    @property
    def spec(self) -> ClusterSpec:
        """The spec."""
        return self.loaded.value


def load_spec(path: Path) -> Loaded[ClusterSpec]:
    """The spec at `path`; FabricError or FabricErrors with file:line:column."""
    return load_model(path, ClusterSpec)


def load_cluster(path: Path) -> Cluster:
    """The designed RoCE cluster at `path`; FabricError for an InfiniBand one, and for all that cannot be built."""
    return design_loaded(load_spec(path))


def design_loaded(loaded: Loaded[ClusterSpec]) -> Cluster:
    """The fabric of a loaded spec."""
    if loaded.value.backend.kind != "roce":
        raise FabricError(f"{loaded.path}: backend.kind is infiniband; this is done for RoCE only")
    try:
        return Cluster(loaded, design(loaded.value))
    except FabricErrors as errors:
        raise placed(loaded, errors) from None
    except DesignError as error:
        raise spec_error(loaded, error) from None


def placed(loaded: Loaded[ClusterSpec], errors: FabricErrors) -> FabricErrors:
    """All errors with their places, in file order."""
    found = []
    for error in errors.errors:
        if isinstance(error, DesignError):
            at = loaded.locate(error.path)
            found.append(((at.line, at.column), spec_error(loaded, error)))
        else:
            found.append(((0, 0), error))
    found.sort(key=lambda item: item[0])
    return FabricErrors([error for _, error in found])


def load_subnet(path: Path) -> SubnetCluster:
    """The designed InfiniBand cluster at `path`; FabricError for a RoCE one, and for all that cannot be built."""
    return subnet_of(load_spec(path))


def subnet_of(loaded: Loaded[ClusterSpec]) -> SubnetCluster:
    """The subnet of a loaded spec; a GUID file is looked for beside the spec."""
    if loaded.value.backend.kind != "infiniband":
        raise FabricError(f"{loaded.path}: backend.kind is roce; this is done for InfiniBand only")
    try:
        with collector_off():
            return SubnetCluster(loaded, design_subnet(loaded.value, loaded.path.parent))
    except FabricErrors as errors:
        raise placed(loaded, errors) from None
    except DesignError as error:
        raise spec_error(loaded, error) from None


def load_fleet(path: Path) -> FleetCluster:
    """The hosts of the cluster at `path`; FabricError for one that does not say what is installed, and for all that cannot be built."""
    return fleet_of(load_spec(path))


def fleet_of(loaded: Loaded[ClusterSpec]) -> FleetCluster:
    """The hosts of a loaded spec."""
    from fabric.design.hosts.build import design_hosts

    cluster = subnet_of(loaded) if loaded.value.backend.kind == "infiniband" else design_loaded(loaded)
    try:
        return FleetCluster(loaded, design_hosts(cluster))
    except FabricErrors as errors:
        raise placed(loaded, errors) from None
    except DesignError as error:
        raise spec_error(loaded, error) from None
