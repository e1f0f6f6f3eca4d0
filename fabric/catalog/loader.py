"""Reading catalog files: one file a model, read when asked for and kept, every error one line that names the file."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import ValidationError

from fabric.catalog.asic import AsicModel, BufferSet
from fabric.catalog.base import CatalogError, Model
from fabric.catalog.chassis import LineCard
from fabric.catalog.collectives import CollectiveTable
from fabric.catalog.distribution import DistributionModel
from fabric.catalog.nccl import HostSettings, NcclLatency, NcclTable
from fabric.catalog.parts import CableModel, HostModel, NicModel, RackModel
from fabric.catalog.ports import PortDef, PortTable, Profile, ProfileTable, expand
from fabric.catalog.switch import LoadContext, SwitchModel
from fabric.errors import FabricError

KINDS: dict[str, tuple[str, type[Model]]] = {
    "switch": ("switches", SwitchModel),
    "line-card": ("line_cards", LineCard),
    "asic": ("asics", AsicModel),
    "host": ("hosts", HostModel),
    "nic": ("nics", NicModel),
    "cable": ("cables", CableModel),
    "rack": ("racks", RackModel),
    "distribution": ("distributions", DistributionModel),
}
"""Kind of catalog entry -> (folder of its files, model)."""

DATA = Path(__file__).resolve().parent / "data"

M = TypeVar("M", bound=Model)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the base is chosen at run time
    """YAML that refuses a key written twice, where PyYAML would keep the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(mapping) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key is written twice", node.start_mark)
        return mapping


class Catalog:
    """The catalog in the folder `data` (default: the one that travels with the package).

    Every getter reads one file at the first call and returns the same object afterwards. An unknown name raises
    FabricError with the nearest name and the list; a bad file raises FabricError with the file's name.
    """

    def __init__(self, data: Path = DATA) -> None:
        self._data = data
        self._models: dict[tuple[str, str], Model] = {}
        self._profiles: Mapping[int, Profile] | None = None
        self._tables: dict[str, Model] = {}
        self._context = LoadContext(self._ports, self.profiles, self.line_card)

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of the entries of `kind` (a key of KINDS), sorted; reads no file."""
        folder, _ = _kind(kind)
        return tuple(sorted(path.stem for path in (self._data / folder).glob("*.yaml")))

    def switch(self, name: str) -> SwitchModel:
        """The switch `name`, with its ports expanded and its role maps checked."""
        return cast(SwitchModel, self.get("switch", name))

    def line_card(self, name: str) -> LineCard:
        """The line card `name`."""
        return cast(LineCard, self.get("line-card", name))

    def asic(self, name: str) -> AsicModel:
        """The switch ASIC `name`."""
        return cast(AsicModel, self.get("asic", name))

    def host(self, name: str) -> HostModel:
        """The host platform `name`."""
        return cast(HostModel, self.get("host", name))

    def nic(self, name: str) -> NicModel:
        """The NIC `name`."""
        return cast(NicModel, self.get("nic", name))

    def cable(self, name: str) -> CableModel:
        """The kind of cable `name`."""
        return cast(CableModel, self.get("cable", name))

    def rack(self, name: str) -> RackModel:
        """The rack standard `name`."""
        return cast(RackModel, self.get("rack", name))

    def distribution(self, name: str) -> DistributionModel:
        """The distribution `name` of GPU hosts."""
        return cast(DistributionModel, self.get("distribution", name))

    def buffers(self, switch: str) -> BufferSet:
        """The lossless buffer numbers of an FBOSS switch; raises FabricError for a switch that has none."""
        model = self.switch(switch)
        if model.fboss is None or model.asic is None:
            raise FabricError(f"{switch} has no FBOSS buffer numbers in the catalog")
        return self.asic(model.asic).buffers[model.fboss.buffers.value]

    def profiles(self) -> Mapping[int, Profile]:
        """FBOSS profile number -> profile."""
        if self._profiles is None:
            self._profiles = _read(self._data / "profiles.yaml", self._data, ProfileTable).profiles
        return self._profiles

    def nccl(self) -> NcclTable:
        """NCCL's settings by name."""
        return self._table("nccl.yaml", NcclTable)

    def nccl_latency(self) -> NcclLatency:
        """What NCCL reckons a step to take."""
        return self._table("nccl_latency.yaml", NcclLatency)

    def collectives(self) -> CollectiveTable:
        """What collectives must reach."""
        return self._table("collectives.yaml", CollectiveTable)

    def host_settings(self) -> HostSettings:
        """Kernel settings of GPU hosts."""
        return self._table("host_settings.yaml", HostSettings)

    def _table(self, name: str, model: type[M]) -> M:
        if name not in self._tables:
            self._tables[name] = _read(self._data / name, self._data, model)
        return cast(M, self._tables[name])

    def find(self, name: str) -> tuple[str, Model]:
        """(kind, entry) of the entry `name` of whatever kind; raises FabricError when there is none."""
        for kind in KINDS:
            if name in self.names(kind):
                return kind, self.get(kind, name)
        raise _unknown("entry", name, tuple(entry for kind in KINDS for entry in self.names(kind)))

    def get(self, kind: str, name: str) -> Model:
        """The entry `name` of `kind`."""
        known = self._models.get((kind, name))
        if known is not None:
            return known
        folder, model = _kind(kind)
        if name not in self.names(kind):
            raise _unknown(kind, name, self.names(kind))
        path = self._data / folder / f"{name}.yaml"
        entry = _read(path, self._data, model, self._context)
        inside = getattr(entry, "name", None)
        if inside != name:
            raise FabricError(f"catalog file {folder}/{name}.yaml: name: {inside!r} is not the file's name")
        self._models[kind, name] = entry
        return entry

    def _ports(self, name: str) -> tuple[PortDef, ...]:
        table = _read(self._data / "ports" / f"{name}.json", self._data, PortTable)
        try:
            return expand(table, self.profiles())
        except CatalogError as error:
            raise FabricError(f"catalog file ports/{name}.json: {error}") from None


@cache
def catalog() -> Catalog:
    """The catalog that travels with the package; one object a process."""
    return Catalog()


def _kind(kind: str) -> tuple[str, type[Model]]:
    if kind not in KINDS:
        raise _unknown("catalog kind", kind, tuple(KINDS))
    return KINDS[kind]


def _unknown(kind: str, name: str, known: tuple[str, ...]) -> FabricError:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    guess = f"did you mean {near[0]}? " if near else ""
    return FabricError(f"unknown {kind} {name!r}", hint=f"{guess}known: {', '.join(known)}")


def _read(path: Path, base: Path, model: type[M], context: LoadContext | None = None) -> M:
    """One file as `model`. YAML goes through JSON so that one strict mode serves both formats."""
    where = f"catalog file {path.relative_to(base)}"
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".yaml":
            text = json.dumps(yaml.load(text, _Loader))  # noqa: S506  # a SafeLoader
        return model.model_validate_json(text, context=context)
    except ValidationError as error:
        raise FabricError(f"{where}: {_first(error)}") from None
    except CatalogError as error:
        raise FabricError(f"{where}: {error}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise FabricError(f"{where}: {place}{error.problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise FabricError(f"{where}: is not YAML text: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise FabricError(f"{where}: cannot be read: {error.strerror}") from None
    except TypeError as error:  # json has no dates and no binary
        raise FabricError(f"{where}: {error}", hint="put the value in quotes") from None


def _first(error: ValidationError) -> str:
    """The first problem of a failed validation in one line, and how many more there are."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    # a misspelt key is also a missing one: the unknown key says more
    first = next((one for one in details if one["type"] == "extra_forbidden"), details[0])
    what = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
    place = ".".join(str(part) for part in first["loc"]) or "file"
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    return f"{place}: {what}{more}"
