"""Kueue's topology-aware scheduling: a Topology and a ResourceFlavor, and the labels that nodes need for them.

Labels are Topograph's (`fabric.topograph.run/tier-N`, tier 0 nearest to the node), which KAI and others read too. Kueue fills domains and
orders pods by their index, so consecutive ranks share a rack; it counts room, not bandwidth (Kueue's documentation, and its CRDs).
"""

from __future__ import annotations

import re
import shlex
from itertools import groupby

from fabric.errors import FabricError
from fabric.export.places import places_of
from fabric.targets.host.templates import template
from fabric.targets.host.topology import Topology

TIER = "fabric.topograph.run/tier-{}"
HOSTNAME = "kubernetes.io/hostname"
VERSIONS = ("v1beta1", "v1beta2")
SELECT = "nvidia.com/gpu.present=true"
_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def kueue_files(cluster: str, topology: Topology, select: str, version: str) -> dict[str, bytes]:
    """`kueue.yaml` and `labels.sh`. `select`: the label KEY=VALUE that GPU nodes have already, since a flavor with a topology needs one.

    FabricError for a label that Kubernetes would refuse.
    """
    key, _, value = select.partition("=")
    if not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
        raise FabricError(f"{select!r} is no label of Kubernetes", hint=f"KEY=VALUE, for example {SELECT}")
    places = places_of(topology)
    # The top is one for all nodes and tells a scheduler nothing.
    tiers = len(places[0].layers) - (1 if topology.top else 0)
    levels = [*(TIER.format(tier) for tier in reversed(range(tiers))), HOSTNAME]
    rows = [
        {
            "nodes": " ".join(place.host for place in group),
            "labels": " ".join(shlex.quote(f"{TIER.format(i)}={name}") for i, name in enumerate(layers)),
        }
        for layers, group in groupby(places, key=lambda place: place.layers[:tiers])
    ]
    text = template("kueue.yaml", "kueue").render(
        cluster=cluster, version=version, levels=levels, select_key=key, select_value=value, leaf_is=topology.leaf_is
    )
    labels = template("labels.sh", "kueue").render(cluster=cluster, rows=rows)
    return {"kueue.yaml": text.encode(), "labels.sh": labels.encode()}
