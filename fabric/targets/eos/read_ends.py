"""The ends of sessions and links in a text of EOS, rendered or read from a switch (both without hidden defaults)."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.targets.ends import Ends, SessionEnd, Subnets, canonical

_LINK = ("shutdown", "speed", "error-correction")
_GROUP = ("peer group", "peer-group")


def read_ends(text: str) -> Ends:
    """Of the default VRF; a peer group's AS number and families count for its members."""
    links: dict[str, tuple[str, ...]] = {}
    addresses: list[tuple[str, str]] = []
    bgp = _Bgp("")
    for head, lines in _blocks(text):
        words = head.split()
        if words[0] == "interface" and len(words) == 2:
            links[words[1]] = tuple(line for line in lines if line.startswith(_LINK))
            addresses += [(words[1], line.split()[2]) for line in lines if _is_address(line)]
        elif words[:2] == ["router", "bgp"]:
            bgp = _Bgp(words[-1])
            bgp.read(lines)
    return Ends(bgp.sessions(Subnets(addresses)), links)


def _is_address(line: str) -> bool:
    return line.startswith(("ip address ", "ipv6 address ")) and "/" in line


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each top-level line with the lines below it; those of a deeper block carry its head: `address-family ipv4: neighbor ...`."""
    head, lines, deeper = "", list[str](), ""
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("!"):
            continue
        indent = len(raw) - len(raw.lstrip())
        if indent == 0:
            if head:
                yield head, lines
            head, lines = line, []
        elif indent <= 3:
            lines.append(line)
            deeper = line
        else:
            lines.append(f"{deeper}: {line}")
    if head:
        yield head, lines


class _Bgp:
    """The neighbours of one BGP block."""

    def __init__(self, asn: str) -> None:
        self._asn = asn
        self._lines: dict[str, dict[str, str]] = {}
        self._families: dict[str, set[str]] = {}

    def read(self, lines: list[str]) -> None:
        """Takes the block's lines."""
        for line in lines:
            family, colon, rest = line.partition(": ") if line.startswith("address-family ") else ("", "", line)
            if line.startswith("vrf "):
                continue
            no, words = rest.startswith("no "), rest.removeprefix("no ").split()
            if len(words) < 3 or words[0] != "neighbor":
                continue
            name, what = words[1], " ".join(words[2:])
            if colon:
                if what == "activate":
                    self._families.setdefault(name, set()).add(("no " if no else "") + family.split(None, 1)[1])
                continue
            own = self._lines.setdefault(name, {})
            for key in ("remote-as", "local-as", "update-source", *_GROUP):
                if what.startswith(key + " "):
                    own["group" if key in _GROUP else key] = what.removeprefix(key + " ")

    def sessions(self, subnets: Subnets) -> dict[str, SessionEnd]:
        """The sessions by peer."""
        found: dict[str, SessionEnd] = {}
        for name, own in self._lines.items():
            peer = canonical(name)
            if ":" not in peer and not peer[:1].isdigit():
                continue  # a peer group
            shared = self._lines.get(own.get("group", ""), {})
            port, address = subnets.next_to(peer)
            families = self._families.get(own.get("group", ""), set()) | self._families.get(name, set())
            found[peer] = SessionEnd(
                own.get("local-as", shared.get("local-as", self._asn)),
                own.get("remote-as", shared.get("remote-as", "")),
                own.get("update-source", address),
                tuple(sorted(families)),
                port,
            )
        return found
