"""FRR's configuration from the EOS configuration: the same routing, in FRR's words.

Where EOS and FRR differ by default the text says it: EOS lets eBGP run without a policy, keeps communities to itself unless told, gives
its BGP routes the distance 200, takes the paths of different neighbour ASes as equal, and uses the global IPv6 next hop.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable

from fabric.lab.eos.tree import Node

LinuxName = Callable[[str], str]
"""The Linux name of a NOS interface."""

_FAMILIES = ("ipv4", "ipv6")


def frr_text(root: Node, hostname: str, linux: LinuxName, *, bfd: bool) -> str:
    """The whole integrated configuration of FRR for an EOS configuration; `bfd` when a bfdd runs."""
    lines = ["frr defaults traditional", f"hostname {hostname}", "log syslog warnings", "!"]
    lines += _prefix_lists(root)
    maps = {node.words[1] for node in root.find("route-map")}
    lines += _route_maps(root)
    for router in root.find("router", "bgp"):
        lines += _Bgp(router, root, maps, linux, bfd=bfd).lines()
    return "\n".join([*lines, "end", ""])


def _prefix_lists(root: Node) -> list[str]:
    out: list[str] = []
    for family, words in (("ip", ("ip", "prefix-list")), ("ipv6", ("ipv6", "prefix-list"))):
        for node in root.find(*words):
            head = f"{family} prefix-list {node.words[2]}"
            out += [f"{head} {' '.join(entry.words[:4])}{_length(entry.words)}" for entry in node.sorted()]
    return [*out, "!"]


def _length(words: tuple[str, ...]) -> str:
    """`eq N`, `ge N`, `le N` in FRR's words, which want every bound beyond the prefix's own length."""
    own = int(words[3].partition("/")[2])
    bounds = dict(zip(words[4::2], (int(word) for word in words[5::2]), strict=False))
    if "eq" in bounds:
        bounds = {"ge": bounds["eq"], "le": bounds["eq"]}
    return "".join(f" {word} {bounds[word]}" for word in ("ge", "le") if bounds.get(word, own) > own)


def _route_maps(root: Node) -> list[str]:
    out: list[str] = []
    for node in root.find("route-map"):
        out.append(" ".join(node.words))
        out += [f" {child.line}" for child in node.sorted()]
        if node.words[2] == "permit":
            out.append(" set ipv6 next-hop prefer-global")
        out += ["exit", "!"]
    return [*out, "route-map EOS-ANY permit 10", " set ipv6 next-hop prefer-global", "exit", "!"]


class _Bgp:
    """One `router bgp` block on its way into FRR's words."""

    def __init__(self, router: Node, root: Node, maps: set[str], linux: LinuxName, *, bfd: bool) -> None:
        self._router, self._root, self._maps, self._linux, self._bfd = router, root, maps, linux, bfd
        found = router.find("neighbor")
        self._unnumbered = [node.words for node in found if node.words[1] == "interface"]
        self._groups = [node.words[1] for node in found if node.words[2:] == ("peer", "group")]
        self._lines = [node for node in found if node.words[1] != "interface"]
        self._member = {
            node.words[1]: node.words[4]
            for node in found
            if node.words[2:4] == ("peer", "group") and len(node.words) == 5
        }

    def lines(self) -> list[str]:
        """The block."""
        out = [f"router bgp {self._router.words[2]}", *self._globals()]
        out += [f" neighbor {group} peer-group" for group in self._groups]
        for node in self._lines:
            out += [f" {line}" for line in self._neighbor(node)]
        for words in self._unnumbered:
            port = self._linux(words[2])
            out += [f" neighbor {port} interface peer-group {words[4]}", f" neighbor {port} remote-as {words[6]}"]
        for family in _FAMILIES:
            out += [
                "!",
                f" address-family {family} unicast",
                *(f"  {line}" for line in self._family(family)),
                " exit-address-family",
            ]
        return [*out, "exit", "!"]

    def _globals(self) -> list[str]:
        out = [" no bgp ebgp-requires-policy", " no bgp default ipv4-unicast", " bgp log-neighbor-changes"]
        simple = {
            ("router-id",): " bgp router-id {}",
            ("timers", "bgp"): " timers bgp {}",
            ("graceful-restart", "restart-time"): " bgp graceful-restart restart-time {}",
        }
        for words, form in simple.items():
            value = self._router.value(*words)
            if value:
                out.append(form.format(value))
        if any(node.words == ("graceful-restart",) for node in self._router.sorted()):
            out.append(" bgp graceful-restart")
        if not self._router.find("no", "bgp", "bestpath"):
            out.append(" bgp bestpath as-path multipath-relax")
        return out

    def _neighbor(self, node: Node) -> Iterable[str]:
        peer, rest = node.words[1], node.words[2:]
        if node.words[0] == "no" or rest == ("peer", "group"):
            return
        if rest[:2] == ("peer", "group"):
            if any(line.words[1:3] == (peer, "remote-as") for line in self._lines):
                yield f"neighbor {peer} remote-as {self._router.value('neighbor', peer, 'remote-as')}"
            yield f"neighbor {peer} peer-group {rest[2]}"
        elif rest[0] == "remote-as":
            if peer not in self._member:
                yield node.line
        elif rest[0] in ("description", "shutdown") or (rest[0] == "bfd" and self._bfd):
            yield node.line

    def _family(self, family: str) -> Iterable[str]:
        value = self._router.value("maximum-paths")
        paths = (value or "1").split()
        yield f"maximum-paths {paths[-1]}"
        yield f"distance bgp {self._distance()}"
        yield from self._own_routes(family)
        for node in self._router.find("aggregate-address"):
            if (":" in node.words[1]) == (family == "ipv6"):
                yield node.line
        block = next(iter(self._router.find("address-family", family)), None)
        for peer in self._active(family, block):
            yield from self._activated(peer, block)

    def _distance(self) -> str:
        words = (self._router.value("distance", "bgp") or "200").split()
        return " ".join(words if len(words) == 3 else [words[0], "200", "200"])

    def _own_routes(self, family: str) -> Iterable[str]:
        routing = ("ipv6", "unicast-routing") if family == "ipv6" else ("ip", "routing")
        for node in self._router.find("redistribute", "connected"):
            if self._root.find(*routing):
                known = node.words[-1] in self._maps
                yield f"redistribute connected{f' route-map {node.words[-1]}' if known else ''}"

    def _active(self, family: str, block: Node | None) -> list[str]:
        """Who is active in a family: who is named in its block, and for IPv4 everyone unless `no bgp default ipv4-unicast`."""
        out = [node.words[1] for node in block.find("neighbor") if node.words[2:] == ("activate",)] if block else []
        if family == "ipv4" and not self._router.find("no", "bgp", "default"):
            out += [peer for peer in dict.fromkeys(node.words[1] for node in self._lines) if not _is_v6(peer)]
        return list(dict.fromkeys(out))

    def _activated(self, peer: str, block: Node | None) -> Iterable[str]:
        yield f"neighbor {peer} activate"
        inside = [node.words[2:] for node in (block.find("neighbor", peer) if block else [])]
        own = [node.words[2:] for node in self._lines if node.words[1] == peer and node.words[0] != "no"]
        policies = {words[2]: words[1] for words in [*own, *inside] if words[0] == "route-map"}
        if policies.get("in") not in self._maps:
            policies["in"] = "EOS-ANY"
        for side, name in sorted(policies.items()):
            if name in self._maps or name == "EOS-ANY":
                yield f"neighbor {peer} route-map {name} {side}"
        if not any(words[0] == "send-community" for words in own):
            yield f"no neighbor {peer} send-community all"
        limit = next((words[1:] for words in own if words[0] == "maximum-routes"), ())
        if limit and limit[0] != "0":
            yield f"neighbor {peer} maximum-prefix {' '.join(limit)}"


def _is_v6(peer: str) -> bool:
    try:
        return ipaddress.ip_address(peer).version == 6
    except ValueError:
        return False
