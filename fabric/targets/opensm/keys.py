"""The keys of opensm.conf: which an opensm knows, their defaults, kinds and ranges, and when a change of each takes effect.

The facts stand in `data/keys.json` (upstream 3.3.23) and `data/nvidia_keys.json` (names that only NVIDIA's OpenSM has), each with its
source. An opensm takes an unknown key for nothing worse than a line on stdout, so whoever writes a file must know the names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from fabric.design.ib.model import Flavour

DATA = Path(__file__).parent / "data"

Kind = Literal["bool", "int", "choice", "text", "file", "engines", "sl2vl", "vlarb", "by_sl"]
UPSTREAM_ONLY = frozenset({"congestion_control"})
"""NVIDIA's OpenSM has `mlnx_congestion_control` in its place."""
GIT_ONLY = "max_rate_enum"
"""Known to NVIDIA's OpenSM and to upstream's git version, not to 3.3.23."""
REPEATED = "cc_ca_cong_setting_"
"""Keys of this prefix and of kind `by_sl` may stand once for each SL; of every other key the last one wins."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `default` as opensm writes it, None for `(null)` and for NVIDIA's (not known).

    `low` and `high` bound an `int`; `choices` are the values of a `choice`. `applies`: read again at SIGHUP, or only by a restart;
    "unknown" for NVIDIA's keys. `nvidia`: only NVIDIA's OpenSM knows it.
    """

    name: str
    kind: Kind
    default: str | None
    low: int
    high: int
    choices: tuple[str, ...]
    applies: Literal["sighup", "restart", "unknown"]
    nvidia: bool


@cache
def upstream_keys() -> Mapping[str, Key]:
    """The 161 keys of opensm 3.3.23, by name."""
    raw = json.loads((DATA / "keys.json").read_text(encoding="utf-8"))["keys"]
    return {name: _upstream(name, facts) for name, facts in raw.items()}


def _upstream(name: str, facts: Mapping[str, Any]) -> Key:
    low, high = facts.get("range", (0, 0))
    choices = tuple(facts.get("choices", "").split())
    return Key(name, facts["kind"], facts["default"], low, high, choices, facts["applies"], nvidia=False)


@cache
def nvidia_keys() -> Mapping[str, Key]:
    """The keys that only NVIDIA's OpenSM knows, by name. Few have known values: of those the kind is not "text"."""
    raw = json.loads((DATA / "nvidia_keys.json").read_text(encoding="utf-8"))
    booleans, files = set(raw["booleans"].split()), set(raw["files"].split())
    found: dict[str, Key] = {}
    for name in " ".join(raw["names"]).split():
        kind: Kind = "bool" if name in booleans else "file" if name in files else "text"
        low, high = raw["values"].get(name, (0, 0))
        found[name] = Key(name, "int" if high else kind, None, low, high, (), "unknown", nvidia=True)
    return found


@cache
def known_keys(flavour: Flavour) -> Mapping[str, Key]:
    """Every key that the SM of a flavour knows."""
    if flavour == "opensm":
        return upstream_keys()
    shared = {name: key for name, key in upstream_keys().items() if name not in UPSTREAM_ONLY}
    return {**shared, **nvidia_keys(), GIT_ONLY: Key(GIT_ONLY, "text", None, 0, 0, (), "unknown", nvidia=True)}


@cache
def file_keys(flavour: Flavour) -> frozenset[str]:
    """Keys whose value is the name of a file that the SM reads."""
    return frozenset(name for name, key in known_keys(flavour).items() if key.kind == "file")


UPSTREAM_ENGINES = (
    "minhop", "updn", "dnup", "file", "ftree", "lash", "dor", "torus-2QoS", "nue", "dfsssp", "sssp",
)  # fmt: skip
"""Routing engines of opensm 3.3.23, in the order of its manual."""
NVIDIA_ENGINES = ("ar_updn", "ar_ftree", "dfp", "dfp2", "pqft")
"""Further engines of NVIDIA's OpenSM (NVIDIA documentation)."""
STAND_INS: Mapping[str, str] = {"ar_updn": "updn", "ar_ftree": "ftree", "pqft": "ftree"}
"""The nearest upstream engine in a lab; `dfp` and `dfp2` have none."""


def engines(flavour: Flavour) -> tuple[str, ...]:
    """The routing engines that a flavour knows."""
    return UPSTREAM_ENGINES if flavour == "opensm" else UPSTREAM_ENGINES + NVIDIA_ENGINES
