"""The cable of each tier: declared, or by the port speed; checked for kind, speed and reach."""

from __future__ import annotations

from fabric.catalog import catalog
from fabric.design.ib.tree import Tree
from fabric.design.model import Cabled
from fabric.errors import DesignError, FabricError
from fabric.spec.forwarding import Cable

# Our choice among the catalog's cables, by port speed in Gb/s; lengths in metres are ours as well.
_DEFAULTS = {
    400: {"host": ("ndr-2xsr4", 30.0), "leaf": ("ndr-2xsr4", 50.0), "spine": ("ndr-2xdr4", 100.0)},
    200: {"host": ("hdr-optical", 30.0), "leaf": ("hdr-optical", 50.0), "spine": ("hdr-optical", 100.0)},
}


def cables_of(tree: Tree) -> dict[str, Cabled]:
    """host, leaf, spine -> how the tier is cabled; DesignError when the cable does not exist, fit or reach."""
    return {tier: _cabled(tree, tier) for tier in ("host", "leaf", "spine")}


def _cabled(tree: Tree, tier: str) -> Cabled:
    speed = tree.speed_gbps
    declared: Cable | None = getattr(tree.spec.infiniband.cables, tier)
    path = ("backend", "cables", tier, "cable")
    if declared is None:
        if speed not in _DEFAULTS:
            raise DesignError(path[:-1], f"there is no default cable for {speed}G", hint="declare it")
        name, length = _DEFAULTS[speed][tier]
    else:
        name, length = declared.cable, declared.length_m
    try:
        model = catalog().cable(name)
    except FabricError as error:
        raise DesignError(path, error.message, hint=error.hint) from None
    if model.technology != "infiniband":
        raise DesignError(path, f"{name} is an {model.technology.title()} cable", hint=_fitting(speed))
    if model.speed_gbps.value != speed:
        raise DesignError(
            path, f"{name} carries {model.speed_gbps.value}G, the ports run at {speed}G", hint=_fitting(speed)
        )
    reach = model.max_length_m.value if model.max_length_m else None
    if reach is not None and length > reach:
        raise DesignError((*path[:-1], "length_m"), f"{length:g} m is more than the {reach} m that {name} reaches")
    return Cabled(name, model.medium, length, speed)


def _fitting(speed: int) -> str:
    known = [catalog().cable(name) for name in catalog().names("cable")]
    return "one of " + ", ".join(c.name for c in known if c.technology == "infiniband" and c.speed_gbps.value == speed)
