"""The kinds of value that a configuration line may hold: `<ip>`, `<0-63>`, `<word>`, ... and how each is checked and written."""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable

_SPEED = re.compile(r"(50g-[12]|100g-[124]|200g-[124]|400g-[248]|800g-[48]|1\.6t-8|100gfull|auto)")
_HOSTNAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_INTERFACE = re.compile(r"([A-Za-z-]+)(\d+(?:/\d+)*)")
_LONG = {"ethernet": "Ethernet", "loopback": "Loopback", "management": "Management"}
_SHORT = {"Ethernet": "Et", "Loopback": "Lo", "Management": "Ma"}

Check = Callable[[str], str | None]
"""Takes a token; gives it in the form that the running-config shows, or None when the token is not of this kind."""


def interface_name(token: str) -> str | None:
    """The long name of an interface: "et3/1/1" -> "Ethernet3/1/1"; None when it is none."""
    match = _INTERFACE.fullmatch(token)
    if match is None:
        return None
    kind = match[1].lower()
    names = [long for word, long in _LONG.items() if len(kind) >= 2 and word.startswith(kind)]
    return names[0] + match[2] if len(names) == 1 else None


def short_name(interface: str) -> str:
    """Et3/1/1 for Ethernet3/1/1, as prompts and text tables write it."""
    for long, short in _SHORT.items():
        if interface.startswith(long):
            return short + interface[len(long) :]
    return interface


def dotted(mac: str) -> str:
    """0000.5e00.5311 for 00:00:5e:00:53:11, as EOS text and LLDP write it; anything else unchanged."""
    digits = mac.replace(":", "").lower()
    if re.fullmatch(r"[0-9a-f]{12}", digits) is None:
        return mac
    return f"{digits[:4]}.{digits[4:8]}.{digits[8:]}"


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that compares numbers by value: Ethernet3/2/1 stands before Ethernet3/10/1."""
    parts = re.split(r"(\d+)", text)
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part)


@functools.cache
def check_of(kind: str) -> Check:
    """The check of `<kind>`. Raises KeyError for a kind that is not known (a mistake in the table)."""
    bounds = re.fullmatch(r"(\d+)-(\d+)", kind)
    if bounds:
        return functools.partial(_number, int(bounds[1]), int(bounds[2]))
    return _CHECKS[kind]


def _number(low: int, high: int, token: str) -> str | None:
    if not token.isdigit() or not low <= int(token) <= high:
        return None
    return str(int(token))


def _asn(token: str) -> str | None:
    high, dot, low = token.partition(".")
    if dot and high.isdigit() and low.isdigit():
        return token if int(high) < 65536 and int(low) < 65536 else None
    return _number(1, 4294967295, token)


def _ip(version: int, token: str) -> str | None:
    try:
        address = ipaddress.ip_address(token)
    except ValueError:
        return None
    return str(address) if version in (0, address.version) else None


def _prefix(version: int, token: str) -> str | None:
    address, slash, length = token.partition("/")
    if not slash or not length.isdigit():
        return None
    text = _ip(version, address)
    if text is None or int(length) > (128 if ":" in text else 32):
        return None
    return f"{text}/{int(length)}"


def _interface_of(kind: str, token: str) -> str | None:
    name = interface_name(token)
    return name if name and name.startswith(kind) else None


def _fraction(token: str) -> str | None:
    return token if re.fullmatch(r"\d+(/\d+)?", token) else None


def _seconds(token: str) -> str | None:
    return token if re.fullmatch(r"\d+(\.\d+)?", token) and 0.005 <= float(token) <= 60 else None


def _plain(pattern: re.Pattern[str], token: str) -> str | None:
    return token if pattern.fullmatch(token) else None


_SIZES = r"segments|bytes|kbytes|mbytes"

_CHECKS: dict[str, Check] = {
    "word": lambda token: token,
    "hostname": functools.partial(_plain, _HOSTNAME),
    "speed": functools.partial(_plain, _SPEED),
    "ip": functools.partial(_ip, 4),
    "ip6": functools.partial(_ip, 6),
    "ip46": functools.partial(_ip, 0),
    "ip/len": functools.partial(_prefix, 4),
    "ip6/len": functools.partial(_prefix, 6),
    "prefix": functools.partial(_prefix, 0),
    "intf": interface_name,
    "ethernet": functools.partial(_interface_of, "Ethernet"),
    "loopback": functools.partial(_interface_of, "Loopback"),
    "management": functools.partial(_interface_of, "Management"),
    "asn": _asn,
    "fraction": _fraction,
    "seconds": _seconds,
    "poll": lambda word: word if word == "auto" else _seconds(word),
    "int": functools.partial(_number, 1, 1_000_000_000),
    "unit": functools.partial(_plain, re.compile(_SIZES)),
    "xgs": functools.partial(_plain, re.compile(f"{_SIZES}|milliseconds")),
    "voq": functools.partial(_plain, re.compile(f"{_SIZES}|milliseconds|microseconds")),
}
