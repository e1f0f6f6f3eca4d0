"""From one FRR configuration of ours to another in as few commands as possible: frr-reload takes seconds for what is one line here.

Only for texts that `bgpconf.frr_text` has written; the caller falls back to frr-reload when FRR refuses a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Block = dict[str, list[str]]
"""Head line -> the lines below it, without indent; an address family of BGP is a block of its own: "router bgp 1/address-family .."."""

_REPLACED = (
    re.compile(r"(bgp router-id|timers bgp|bgp graceful-restart restart-time|maximum-paths|distance bgp) "),
    re.compile(r"(neighbor \S+ (?:description|maximum-prefix|remote-as)) "),
    re.compile(r"(neighbor \S+ route-map) \S+ (in|out)$"),
    re.compile(r"(set (?:as-path prepend|community|local-preference|metric)|match (?:ip|ipv6) address prefix-list) "),
    re.compile(r"(ipv?6? prefix-list \S+ seq \d+) "),
    re.compile(r"(hostname) "),
)
_PEER = re.compile(r"(?:no )?neighbor (\S+) ")


def commands(old: str, new: str) -> list[str]:
    """Configuration lines that lead from `old` to `new`: what is referred to first, what is no longer referred to last."""
    before, after = _blocks(old), _blocks(new)
    lists = _lines(before[""], after[""])
    out = [line for line in lists if not line.startswith("no ")]
    heads = [head for head in after if head.startswith("route-map ")]
    out += [line for head in heads for line in _section(head, before.get(head, []), after[head])]
    out += _bgp(before, after)
    out += [f"no {head}" for head in before if head.startswith("route-map ") and head not in after]
    return out + [line for line in lists if line.startswith("no ")]


def _blocks(text: str) -> Block:
    out: Block = {"": []}
    head = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line in ("", "!", "end", "exit-address-family") or line.startswith(("frr defaults", "log ")):
            continue
        if line == "exit":
            head = ""
        elif line.startswith(("route-map ", "router bgp ")) and not raw.startswith(" "):
            head = line
            out[head] = []
        elif line.startswith("address-family "):
            head = f"{head.partition('/')[0]}/{line}"
            out[head] = []
        else:
            out[head].append(line)
    return out


def _key(line: str) -> str:
    for pattern in _REPLACED:
        match = pattern.match(line)
        if match:
            return " ".join(group for group in match.groups() if group)
    return line


def _negated(line: str) -> str:
    return line.removeprefix("no ") if line.startswith("no ") else f"no {line}"


def _lines(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """Removals, then additions; a line that another of the same key replaces is not removed first."""
    before, after = list(old), list(new)
    keys = {_key(line) for line in after}
    gone = [_negated(line) for line in before if line not in after and _key(line) not in keys]
    return gone + [line for line in after if line not in before]


def _section(head: str, old: list[str], new: list[str]) -> list[str]:
    inside = _lines(old, new)
    return [head, *(f" {line}" for line in inside), "exit"] if inside or not old else []


def _bgp(before: Block, after: Block) -> list[str]:
    olds = [head for head in before if head.startswith("router bgp ") and "/" not in head]
    news = [head for head in after if head.startswith("router bgp ") and "/" not in head]
    out = [f"no {head}" for head in olds if head not in news]
    for head in news:
        known = head in olds
        out += _router(head, before if known else {}, after)
    return out


def _router(head: str, before: Block, after: Block) -> list[str]:
    """One `router bgp`. A neighbour whose AS or group changes is made anew, as its session is."""
    old, new = before.get(head, []), after[head]
    families = [name for name in after if name.startswith(f"{head}/")]
    anew = {peer for peer in _peers(old) if _identity(peer, old) != _identity(peer, new)}
    out = [
        f" no neighbor {peer}{' peer-group' if f'neighbor {peer} peer-group' in old else ''}" for peer in sorted(anew)
    ]
    out += [f" {line}" for line in _lines(_without(old, anew), new)]
    for name in families:
        inside = _lines(_without(before.get(name, []), anew), after[name])
        if inside:
            out += [f" {name.partition('/')[2]}", *(f"  {line}" for line in inside), " exit-address-family"]
    return [head, *out, "exit"] if out or not old else []


def _peers(lines: list[str]) -> list[str]:
    found = [_PEER.match(line) for line in lines]
    return list(dict.fromkeys(match[1] for match in found if match))


def _identity(peer: str, lines: list[str]) -> set[str]:
    """What makes a neighbour: whether it is a group, its group, its AS, its interface."""
    words = ("peer-group", "remote-as", "interface")
    return {line for line in lines if line.startswith(f"neighbor {peer} ") and line.split()[2] in words}


def _without(lines: list[str], peers: set[str]) -> list[str]:
    return [line for line in lines if not ((match := _PEER.match(line)) and match[1] in peers)]
