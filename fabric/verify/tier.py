"""Equality within a tier: the same image, QoS and buffers on every box of a kind; who differs is named.

Both incidents that Meta published for its RoCE fabric were of this kind: an image that changed a setting, and settings that one part of
the fleet did not have (SIGCOMM 2024, RDMA over Ethernet for Distributed AI Training at Meta Scale).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fabric.design.fabric import Fabric
from fabric.design.model import Switch
from fabric.verify.finding import Finding
from fabric.verify.lldp_names import printable
from fabric.verify.observed import Network

SHOWN = 8
_RELEASE = re.compile(r"\d+\.\d+\.\d+[A-Z]*")
Kind = tuple[str, str, str, str]
"""Role, model, network operating system, rack profile: boxes of one kind are set up alike."""


def judge_tiers(fabric: Fabric, network: Network, bad: set[str]) -> Iterator[Finding]:
    """Findings on each kind of switch. The switches in `bad` have a QoS finding of their own already, and it says what differs."""
    kinds: dict[Kind, list[Switch]] = {}
    for switch in fabric.switches:
        if switch.name in network:
            kinds.setdefault((switch.role, switch.model, switch.nos, switch.profile), []).append(switch)
    for kind, switches in kinds.items():
        yield from _images(fabric, network, kind, switches)
        read = {switch.name: reading for switch in switches if (reading := network[switch.name].qos) is not None}
        yield from _odd_ones("qos", kind, {name: reading.qos_hash for name, reading in read.items() if name not in bad})
        yield from _odd_ones("buffers", kind, {name: reading.buffers_hash for name, reading in read.items()})


def _images(fabric: Fabric, network: Network, kind: Kind, switches: Sequence[Switch]) -> Iterator[Finding]:
    """Declared images are compared with what runs; the others with each other."""
    free: dict[str, str] = {}
    for switch in switches:
        version = network[switch.name].version
        image = None if version is None else version.image
        wanted = fabric.settings_of(switch).image if fabric.spec.overrides else None
        if image is None:
            if network[switch.name].unreachable is None:
                why = network[switch.name].why("version") if version is None else "the device does not say its image"
                expected = wanted or "the image of its tier"
                yield Finding("qos.image", switch.name, "unknown", why, expected, "", (), (switch.name,))
        elif wanted is None:
            free[switch.name] = image
        elif _same_image(image, wanted):
            yield Finding("qos.image", switch.name, "pass", printable(image), wanted, "", (), (switch.name,))
        else:
            action = f"install {wanted} on {switch.name}, or change the override"
            yield Finding("qos.image", switch.name, "fail", printable(image), wanted, action, (), (switch.name,))
    yield from _odd_ones("image", kind, free)


def _same_image(image: str, wanted: str) -> bool:
    """Whether an image is the declared one: the whole text, or its release where only a release is declared."""
    found = _RELEASE.search(image)
    return image == wanted or (found is not None and found[0] == wanted.removeprefix("EOS-"))


def _odd_ones(part: str, kind: Kind, values: Mapping[str, str]) -> Iterator[Finding]:
    """One finding for those that differ from most of their kind; without a majority, one that names the groups and blames none."""
    if not values:
        return
    role, model, nos, profile = kind
    tier = f"{role} {model} ({nos}{', ' + profile if profile else ''})"
    counts = Counter(values.values()).most_common()
    text = {"image": "image", "qos": "QoS configuration", "buffers": "buffer settings"}[part]
    if len(counts) == 1:
        yield Finding(
            f"qos.{part}-equal", tier, "pass", f"one {text}", f"one {text}", "", (), tuple(values), len(values)
        )
        return
    common, most = counts[0]
    if most * 2 > len(values):
        odd = sorted(name for name, value in values.items() if value != common)
        found = ", ".join(printable(value) for value, _ in counts[1:4])
        yield Finding(
            f"qos.{part}-equal", _names(odd), "fail", f"{text} {found}",
            f"{printable(common)}, as {most:,} of {len(values):,} {tier}", "find out why, then apply or install what the others have",
            (), tuple(odd), len(odd),
        )  # fmt: skip
        return
    groups = [
        f"{printable(value)} on {_names(sorted(n for n, v in values.items() if v == value))}" for value, _ in counts[:4]
    ]
    yield Finding(
        f"qos.{part}-equal", tier, "fail", f"{len(counts)} different: {'; '.join(groups)}", f"one {text} on all {len(values):,}",
        "decide which one is right; neither has a majority", (), tuple(sorted(values)), len(values),
    )  # fmt: skip


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
