"""Harmless stand-ins for the secrets that a spec declares, so that a lab boots without any."""

from __future__ import annotations

import os
import re

from fabric.spec.cluster import ClusterSpec

PASSWORD = "lab-only"  # noqa: S105 - opens nothing but a virtual switch on this machine
"""The password whose hash stands in for every unset password hash."""

_HASH = "$6$fabriclab$CTGFQ3liR1kGTUysJLtfR.IxQqttNg9GqkH3rVh0T/U.tG1LQ/CwNLG27/161BsiNOi1q9uh/arkygYkSLt30/"
_PLACEHOLDER = re.compile(rb"\$SECRET\{([^}]+)\}")


def stand_in(name: str) -> str:
    """What a secret is in the lab when nobody gave it: names that end in "hash" get the sha512-crypt hash of PASSWORD."""
    return _HASH if name.endswith("hash") else "1234567890"


def stand_ins(spec: ClusterSpec) -> dict[str, str]:
    """Environment variables that the spec's secrets name, with stand-ins."""
    return {secret.env: stand_in(name) for name, secret in spec.secrets.items() if secret.env}


def environment(spec: ClusterSpec) -> dict[str, str]:
    """The same, without those that are set."""
    return {name: value for name, value in stand_ins(spec).items() if name not in os.environ}


def fill(content: bytes, spec: ClusterSpec) -> bytes:
    """A rendered file with its placeholders filled: from the environment, or with stand-ins."""

    def value(match: re.Match[bytes]) -> bytes:
        name = match[1].decode()
        secret = spec.secrets.get(name)
        given = os.environ.get(secret.env) if secret is not None and secret.env else None
        return (given or stand_in(name)).encode()

    return _PLACEHOLDER.sub(value, content)
