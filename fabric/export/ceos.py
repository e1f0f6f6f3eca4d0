"""A rendered EOS configuration for cEOS: without what only switch hardware takes, and with only the interfaces that are cabled."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping

from fabric.spec.base import PLACEHOLDER

LAB_PASSWORD = "admin"  # noqa: S105 - the password of a throw-away lab, as containerlab's own cEOS nodes have it
LAB_HASH = "$6$fabriclab$3DIxSUDAQG6jgVP6lUTAjDsmFEozUV8DeDiaRqUO0xdkmG0FyGraULjuUdb6J67gl3vVHbm58xt/c3.EzTJr//"
"""SHA-512 crypt of LAB_PASSWORD with the salt `fabriclab`: `openssl passwd -6 -salt fabriclab admin`."""

_REFUSED = (
    # seen: vEOS and cEOS answer "% The hardware does not support priority flow control, ..." (eos.md 1.5)
    r"priority-flow-control ",
    r"qos profile ",
    r"service-profile ",
    # inferred: commands of a switch chip, of its queues or of its transceivers, none of which cEOS has
    r"(?:qos )?random-detect ",
    r"platform (?:trident|sand|fap) ",
    r"hardware ",
    r"load-balance policies",
    r"port-channel load-balance ",
    r"ip load-sharing ",
    r"ip hardware ",
    r"queue-monitor ",
    r"speed ",
    r"error-correction ",
)
_DROP = re.compile("|".join(_REFUSED))
_PORT = re.compile(r"interface (Ethernet\S+)\Z")
_HASH = re.compile(rf"(username .* secret sha512 ){re.escape(PLACEHOLDER)}[^}}]*}}")


def ceos_config(text: str, ports: Collection[str]) -> str:
    """`text` (a rendered startup configuration) for a cEOS node that has only `ports`.

    Users get the password LAB_PASSWORD; other lines with a secret are left out, with what they would log in to.
    """
    return "\n".join(_separated(_kept(text.splitlines(), ports))) + "\n"


def interface_mapping(names: Mapping[str, str], management: str) -> str:
    """EosIntfMapping.json of a node: `names` is Linux name -> EOS name of its data ports."""
    return json.dumps({"ManagementIntf": {"eth0": management}, "EthernetIntf": dict(names)}, indent=2) + "\n"


def _kept(lines: list[str], ports: Collection[str]) -> Iterator[str]:
    """Lines outside of what is dropped; a dropped line takes the block below it along."""
    below: int | None = None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if below is not None and depth > below:
            continue
        below = None
        if _unwanted(line.strip(), ports):
            below = depth
        elif (filled := _filled(line)) is not None:
            yield filled


def _unwanted(words: str, ports: Collection[str]) -> bool:
    port = _PORT.match(words)
    return (port is not None and port[1] not in ports) or _DROP.match(words) is not None


def _filled(line: str) -> str | None:
    if PLACEHOLDER not in line:
        return line
    filled = _HASH.sub(lambda match: match[1] + LAB_HASH, line)
    return None if PLACEHOLDER in filled else filled


def _separated(lines: Iterator[str]) -> Iterator[str]:
    """Without the second of two equal separators, which a dropped block leaves."""
    last = ""
    for line in lines:
        if line.strip() != "!" or line != last:
            yield line
        last = line
