"""What all refusal rules share: the view of one agent.conf, null-safe access, and the text forms that FBOSS parses."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from fabric.targets.fboss.inventory import Asic, PortInventory
from fabric.targets.fboss.problem import Problem, join
from fabric.targets.fboss.schema import enum_value

Json = dict[str, Any]
Row = tuple[str, Json]
"""A path and the object that stands there."""

_MAC = re.compile(r"[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}").fullmatch
_LENGTH = re.compile(r"[0-9]{1,3}").fullmatch


@dataclass(frozen=True, slots=True)
class View:
    """One agent.conf, with what most rules look up.

    `sai`: FBOSS takes the configuration as SAI; `flags`: defaultCommandLineArgs.
    """

    conf: Json
    sw: Json
    asic: Asic
    inventory: PortInventory | None
    ports: tuple[Row, ...]
    enabled: tuple[Row, ...]
    port_ids: frozenset[int]
    sai: bool
    flags: Mapping[str, str]

    @property
    def acl_tables(self) -> bool:
        """The flag that makes FBOSS read `aclTableGroups` instead of `acls` (its default is false)."""
        return gflag_true(self.flags.get("enable_acl_table_group", "false"))


Rule = Callable[[View], Iterable[Problem]]


def make_view(conf: Json, inventory: PortInventory | None, asic: Asic) -> View:
    """The view of a configuration that has passed the strict check."""
    sw = member(conf, "sw")
    ports = tuple(rows(sw, "ports", "sw.ports"))
    up = enum_value("PortState.ENABLED")
    return View(
        conf=conf,
        sw=sw,
        asic=asic,
        inventory=inventory,
        ports=ports,
        enabled=tuple(row for row in ports if row[1].get("state") == up),
        port_ids=frozenset(number(port, "logicalID") for _, port in ports),
        sai=bool(member(sw, "sdkVersion").get("saiSdk")),
        flags=member(conf, "defaultCommandLineArgs"),
    )


def member(holder: Json, key: str) -> Json:
    """The object under `key`; {} when it is absent or null."""
    found: Json | None = holder.get(key)
    return {} if found is None else found


def items(holder: Json, key: str) -> list[Any]:
    """The list under `key`; [] when it is absent or null."""
    found: list[Any] | None = holder.get(key)
    return [] if found is None else found


def number(holder: Json, key: str, default: int = 0) -> int:
    """The integer under `key`; the IDL's default when it is absent or null."""
    found: int | None = holder.get(key)
    return default if found is None else found


def text(holder: Json, key: str, default: str = "") -> str:
    """The string under `key`; "" (the IDL's default) when it is absent or null."""
    found: str | None = holder.get(key)
    return default if found is None else found


def has(holder: Json, key: str) -> bool:
    """Whether `key` is set (null means absent)."""
    return holder.get(key) is not None


def rows(holder: Json, key: str, path: str) -> Iterator[Row]:
    """The objects of a list, each with its path (`path` is that of the list)."""
    for at, item in enumerate(items(holder, key)):
        yield f"{path}[{at}]", item


def named_lists(holder: Json, key: str, path: str) -> Iterator[tuple[str, str, list[Json]]]:
    """The lists of a map of lists: name, path, list."""
    for name, found in member(holder, key).items():
        yield name, join(path, name), found


def twice(
    found: Iterable[tuple[str, Hashable]], message: Callable[[Any], str], level: Any = "error"
) -> Iterator[Problem]:
    """A problem at each path whose value stood before; `message` makes the text from the value."""
    seen: set[Hashable] = set()
    for path, value in found:
        if value in seen:
            yield Problem(path, message(value), level)
        seen.add(value)


class Prefix(NamedTuple):
    """An address with its prefix length: `address` is an int with its host bits, `version` 4 or 6."""

    version: int
    address: int
    length: int

    @property
    def subnet(self) -> tuple[int, int, int]:
        """Version, network bits and length: equal for all addresses of a subnet."""
        return self.version, self.address >> (_BITS[self.version] - self.length), self.length

    @property
    def link_local(self) -> bool:
        """Whether the address is in fe80::/10 or 169.254.0.0/16."""
        return self.address >> 118 == _LINK_LOCAL_6 if self.version == 6 else self.address >> 16 == _LINK_LOCAL_4

    def __str__(self) -> str:
        """The subnet as text."""
        kind = ipaddress.IPv6Network if self.version == 6 else ipaddress.IPv4Network
        return str(kind((self.address, self.length), strict=False))


_BITS = {4: 32, 6: 128}
_LINK_LOCAL_6 = 0xFE80 >> 6
_LINK_LOCAL_4 = 0xA9FE


@lru_cache(maxsize=8192)
def ip(value: str) -> tuple[int, int] | None:
    """A plain IP address as (version, int), or None. inet_pton takes a tenth of the time of the ipaddress classes."""
    version, family = (6, socket.AF_INET6) if ":" in value else (4, socket.AF_INET)
    try:
        return version, int.from_bytes(socket.inet_pton(family, value), "big")
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=8192)
def network(value: str) -> Prefix | None:
    """`address/length` as FBOSS's createNetwork reads it (host bits kept, no length = host route), or None."""
    address, slash, length = value.partition("/")
    found = ip(address)
    if found is None or (slash and not _LENGTH(length)):
        return None
    bits = _BITS[found[0]]
    size = int(length) if slash else bits
    return Prefix(*found, size) if size <= bits else None


def is_version(value: str, version: int) -> bool:
    """Whether `value` is a plain address of that IP version."""
    found = ip(value)
    return found is not None and found[0] == version


def is_mac(value: str) -> bool:
    """Whether `value` is a MAC address (six pairs of hex digits)."""
    return _MAC(value) is not None


def gflag_true(value: str) -> bool:
    """How gflags reads a true bool."""
    return value.lower() in ("1", "t", "true", "y", "yes")


def run(rules: Sequence[Rule], view: View) -> list[Problem]:
    """All problems of a table of rules, in the order of the table."""
    return [problem for rule in rules for problem in rule(view)]
