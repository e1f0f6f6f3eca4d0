"""Tokens: what names a change on a device (session, folder, timer). They go into commands, so that their letters are few."""

from __future__ import annotations

import re

from fabric.targets.device import DeviceError

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}\Z")


def is_token(text: str) -> bool:
    """Whether this can name a change: letters, digits and hyphens, 40 at most."""
    return _TOKEN.match(text) is not None


def checked_token(token: str) -> str:
    """The token; DeviceError when it is not letters, digits and hyphens, 40 at most."""
    if not is_token(token):
        raise DeviceError(f"{token!r} cannot name a change on a device", hint="letters, digits and hyphens, 40 at most")
    return token
