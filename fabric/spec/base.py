"""What every spec model shares: strictness, and the small types of names, addresses, numbers with a source.

The models say what is legal in one place alone; whether the declared whole can be built is `fabric.design`'s question.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
PLACEHOLDER = "$SECRET{"
"""How the place of a secret begins in a rendered file."""

_SPECIAL = {
    "224.0.0.0/4": "multicast",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "240.0.0.0/4": "reserved",
    "0.0.0.0/8": "reserved",
    "ff00::/8": "multicast",
    "::1/128": "loopback",
    "fe80::/10": "link-local",
    "::/8": "reserved",
}  # source: the IANA special-purpose address registries

_KEY_TYPE = r"(ssh-(rsa|ed25519)|ecdsa-sha2-nistp(256|384|521))"
_SSH_KEY = re.compile(_KEY_TYPE + r" [A-Za-z0-9+/]+={0,2}( [!-~]+)*\Z")
_SECRET = re.compile(r"[a-z][a-z0-9-]{0,62}\Z")


class Model(BaseModel):
    """Base of all spec models: unknown keys refused, no silent conversions, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=False)


def sourced(default: Any, text: str, *, source: str, status: str, unit: str | None = None, **more: Any) -> Any:
    """A field whose default is a number that somebody chose: `source` says who, `status` how sure it is (see the
    reference's status words).
    """
    extra: dict[str, Any] = {"source": source, "status": status}
    if unit:
        extra["unit"] = unit
    return Field(default, description=text, json_schema_extra=extra, **more)


def host_label(value: str) -> str:
    """A legal host name label (RFC 1123: letters, digits, hyphens, at most 63); lower case only, so that names
    compare as bytes.
    """
    if not _LABEL.match(value):
        raise ValueError(f"{value!r} is not a legal host name: use a-z, 0-9 and inner hyphens, at most 63 characters")
    return value


def domain_name(value: str) -> str:
    """One or more host name labels joined by dots, at most 253 characters."""
    if len(value) > 253 or not all(_LABEL.match(part) for part in value.split(".")):
        raise ValueError(f"{value!r} is not a legal domain name")
    return value


def one_line(value: str) -> str:
    """Text without control characters, so that it can stand in one line of a device's configuration."""
    if _CONTROL.search(value):
        raise ValueError("must be one line without control characters")
    return value


def plain_text(value: str) -> str:
    """Printable ASCII in one line, without blanks at its ends (the device would drop them)."""
    if _CONTROL.search(value) or not value.isascii():
        raise ValueError("must be one line of printable ASCII")
    if value != value.strip():
        raise ValueError("must not begin or end with a blank")
    return no_placeholder(value)


def no_placeholder(value: str) -> str:
    """Free text that does not look like the place of a secret: a banner would show the secret to everybody."""
    if PLACEHOLDER in value:
        raise ValueError(f"must not hold {PLACEHOLDER!r}, which is how the place of a secret is marked")
    return value


def ssh_key(value: str) -> str:
    """A public key as in `authorized_keys`, without options: type, base64, comment."""
    if not _SSH_KEY.match(value):
        raise ValueError("is not a public key line such as 'ssh-ed25519 AAAA... name': type, base64, comment in ASCII")
    return no_placeholder(value)


def printable(value: str) -> str:
    """Several lines of printable ASCII (a banner); a line that is only `EOF` would end it on the device, so it is
    refused.
    """
    lines = value.splitlines()
    if any(_CONTROL.search(line) or not line.isascii() for line in lines):
        raise ValueError("must be printable ASCII text")
    if any(line.strip() == "EOF" for line in lines):
        raise ValueError("a line that holds only EOF would end the banner on the device")
    return no_placeholder(value)


def refuse_special(value: ipaddress.IPv4Network | ipaddress.IPv6Network) -> None:
    """ValueError when a prefix holds addresses that no interface, host or server can have."""
    for text, kind in _SPECIAL.items():
        other = ipaddress.ip_network(text)
        if other.version == value.version and value.overlaps(other):
            if value.num_addresses == 1:
                raise ValueError(f"{value.network_address} is a {kind} address ({text})")
            raise ValueError(f"{value} holds {kind} addresses ({text})")


def distinct(values: list[str]) -> list[str]:
    """A list without duplicates: a device keeps one of two equal lines, and a second plan would never be empty."""
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ValueError(f"holds {value} twice")
    return values


def _network(value: Any, kind: type[ipaddress.IPv4Network] | type[ipaddress.IPv6Network]) -> Any:
    family = "IPv4" if kind is ipaddress.IPv4Network else "IPv6"
    example = "10.128.0.0/14" if family == "IPv4" else "2001:db8::/32"
    if not isinstance(value, kind):
        if not isinstance(value, str) or "/" not in value:
            raise ValueError(f"must be an {family} prefix such as {example}")
        try:
            value = kind(value)
        except ValueError as error:
            raise ValueError(f"{error} (want an {family} prefix such as {example})") from None
    refuse_special(value)
    return value


def _address(value: Any) -> Any:
    if isinstance(value, str) and "%" not in value:
        try:
            address = ipaddress.ip_address(value)
        except ValueError:
            pass
        else:
            refuse_special(ipaddress.ip_network(address))
            return str(address)
    raise ValueError(f"must be an IP address such as 10.0.8.10, found {value!r}")


def numbers(value: Any) -> Any:
    """A list of whole numbers, written one by one or as ranges: `[48, "50-59"]` or `"50-59, 62"`; ascending, without
    duplicates.
    """
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list):
        items = [items]
    found: list[int] = []
    for item in items:
        if isinstance(item, int) and not isinstance(item, bool):
            found.append(item)
            continue
        match = re.fullmatch(r"\s*(\d{1,7})\s*(?:-\s*(\d{1,7})\s*)?", item) if isinstance(item, str) else None
        if match is None:
            raise ValueError(f"{item!r} is neither a whole number nor a range such as 50-59")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first > 65535:
            raise ValueError(f"range {item!r} runs backwards or is too long")
        found.extend(range(first, last + 1))
    if len(set(found)) != len(found):
        raise ValueError("holds a number twice")
    return sorted(found)


def _secret_name(value: str) -> str:
    if not _SECRET.match(value):
        raise ValueError(f"{value!r} is not a secret's name: use a-z, 0-9 and hyphens, beginning with a letter")
    return value


HostLabel = Annotated[str, AfterValidator(host_label)]
DomainName = Annotated[str, AfterValidator(domain_name)]
Line = Annotated[str, AfterValidator(one_line), Field(min_length=1, max_length=240)]
PlainText = Annotated[str, AfterValidator(plain_text), Field(min_length=1, max_length=240)]
SshKey = Annotated[str, AfterValidator(ssh_key), Field(max_length=3000)]  # RSA of 16,384 bits: 2,744 of base64
Banner = Annotated[str, AfterValidator(printable), Field(min_length=1, max_length=4000)]
Address = Annotated[str, BeforeValidator(_address), WithJsonSchema({"type": "string", "examples": ["10.0.8.10"]})]
Addresses = Annotated[list[Address], AfterValidator(distinct)]
Network4 = Annotated[
    ipaddress.IPv4Network,
    BeforeValidator(lambda value: _network(value, ipaddress.IPv4Network)),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "examples": ["10.128.0.0/14"]}),
]
Network6 = Annotated[
    ipaddress.IPv6Network,
    BeforeValidator(lambda value: _network(value, ipaddress.IPv6Network)),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "examples": ["2001:db8::/32"]}),
]
_RANGE_SCHEMA = {
    "anyOf": [
        {"type": "integer"},
        {"type": "string", "pattern": r"^\s*\d+\s*(-\s*\d+)?(\s*,\s*\d+\s*(-\s*\d+)?)*\s*$"},
        {"type": "array", "items": {"type": ["integer", "string"]}},
    ]
}
Dscps = Annotated[
    list[Annotated[int, Field(ge=0, le=63)]],
    BeforeValidator(numbers),
    Field(min_length=1),
    WithJsonSchema(_RANGE_SCHEMA),
]
Numbers = Annotated[
    list[Annotated[int, Field(ge=1, le=65535)]],
    BeforeValidator(numbers),
    Field(min_length=1),
    WithJsonSchema(_RANGE_SCHEMA),
]
SecretName = Annotated[str, AfterValidator(_secret_name)]
Asn = Annotated[int, Field(ge=1, le=4294967295)]
