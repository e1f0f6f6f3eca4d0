"""Lines that EOS hides or adds: what two texts of one configuration may differ in without meaning anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fabric.targets.eos.view_qos import DEFAULT_CLASSES


@dataclass(frozen=True, slots=True)
class Hidden:
    """A default line: `block` is a pattern of the top-level line that it stands under ("" = top level), `line` of the line itself."""

    block: str
    line: str
    evidence: str


HIDDEN: tuple[Hidden, ...] = (
    Hidden(
        r"interface .*", "no shutdown", "EOS hides it on physical interfaces (AVD writes it); on the others inferred"
    ),
    Hidden(r"management ssh", "no shutdown", "SSH runs by default (public parsers of EOS configurations agree)"),
    Hidden(
        r"router bgp \d+", "bgp bestpath as-path multipath-relax", "on by default: Batfish AristaConfiguration.java"
    ),
    Hidden("", "lldp run", "LLDP runs by default"),
    Hidden(
        "",
        r"ip load-sharing trident fields ip source-ip source-port destination-ip destination-port ingress-interface",
        "implicit default in annet's implicit.py",
    ),
    Hidden("", r"end", "closes the text, sets nothing"),
)
"""Default lines, each with why it is known to be one. Lines of a deeper block are never in it."""

_DSCP = re.compile(r"qos map dscp ([0-9 ]+) to traffic-class ([0-9])")
_BANNER = re.compile(r"banner (login|motd)")
_BARE = re.compile(r"interface Ethernet\S+")

_TOP = re.compile("|".join(entry.line for entry in HIDDEN if not entry.block))
_INSIDE = tuple((re.compile(entry.block), "   " + entry.line) for entry in HIDDEN if entry.block)


def normalise(text: str) -> str:
    """`text` without default lines, comments, separators (`!`), `end`, blank lines and trailing blanks; idempotent.

    Of `qos map dscp` only the DSCPs stay that are mapped elsewhere than by default. An Ethernet interface without any line is at
    its defaults and goes too. Banner texts stay as they are.
    """
    out: list[str] = []
    lines = iter(text.removesuffix("\n").split("\n"))
    hidden: frozenset[str] = frozenset()
    bare = False  # the last line kept is an Ethernet interface that has got no line yet
    for raw in lines:
        line = raw.rstrip()
        if not line or line.lstrip().startswith("!"):
            continue
        if line[0] == " ":
            if line not in hidden:
                out.append(line)
                bare = False
            continue
        kept = [line, *_until_eof(lines)] if _BANNER.fullmatch(line) else _top(line)
        if not kept:
            continue
        if bare:
            out.pop()
        out += kept
        hidden = _hidden_in(line)
        bare = _BARE.fullmatch(line) is not None
    if bare:
        out.pop()
    return "".join(f"{line}\n" for line in out)


def _hidden_in(head: str) -> frozenset[str]:
    return frozenset(line for block, line in _INSIDE if block.fullmatch(head))


def _until_eof(lines: Iterator[str]) -> list[str]:
    """The lines of a banner, its closing EOF included."""
    out: list[str] = []
    for line in lines:
        out.append(line)
        if line == "EOF":
            break
    return out


def _top(line: str) -> list[str]:
    """A top-level line as it counts; nothing when it is a default."""
    if _TOP.fullmatch(line):
        return []
    match = _DSCP.fullmatch(line)
    if match is None:
        return [line]
    dscps = [dscp for dscp in match[1].split() if DEFAULT_CLASSES.get(int(dscp)) != int(match[2])]
    return [f"qos map dscp {' '.join(dscps)} to traffic-class {match[2]}"] if dscps else []
