"""What a change of opensm's files takes to be in force: nothing, a SIGHUP, or a restart (or that it stops).

opensm reads its configuration again at SIGHUP, but takes only some keys then; the others wait for a restart without a word. What stands
in the files that it names is read again at each heavy sweep, which a SIGHUP starts (measured; see `keys`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fabric.design.ib.model import Flavour
from fabric.targets.opensm.conf import NULL, Conf, read_conf
from fabric.targets.opensm.keys import REPEATED, known_keys

Effect = Literal["none", "reload", "restart", "stop"]
CONF_NAME = "opensm.conf"


def effect_of(etc: str, changed: Mapping[str, tuple[bytes | None, bytes | None]], flavour: Flavour) -> Effect:
    """What the change of these files takes: path -> (old, new), None for no file. Files outside of opensm's folder `etc` take nothing."""
    found: Effect = "none"
    for path, (old, new) in changed.items():
        if not path.startswith(f"{etc}/"):
            continue
        if path == f"{etc}/{CONF_NAME}" and (new is None or restart_keys(old or b"", new, flavour)):
            return "stop" if new is None else "restart"
        if old != new:
            found = "reload"
    return found


def restart_keys(old: bytes, new: bytes, flavour: Flavour) -> list[str]:
    """The keys that differ between two opensm.conf and are read at a start only; a key that nobody knows counts as one.

    So does one that only one of them holds: at SIGHUP a key that is no longer there keeps its last value (measured), and what comes back
    from a change must be able to go away again.
    """
    before, after, known = read_conf(old, flavour), read_conf(new, flavour), known_keys(flavour)
    names = sorted({*before.values, *after.values})
    found = [
        name
        for name in names
        if _value(before, name) != _value(after, name)
        and (name not in known or known[name].applies != "sighup" or (name in before.values) != (name in after.values))
    ]
    return found or (["cc_ca_cong_setting_*"] if _repeated(old) != _repeated(new) else [])


def _repeated(text: bytes) -> list[bytes]:
    """The lines of keys that may stand once for each SL, of which a `Conf` holds the last only."""
    return sorted(line.strip() for line in text.splitlines() if line.strip().startswith(REPEATED.encode()))


def _value(conf: Conf, name: str) -> str:
    """The value in force, defaults filled in."""
    try:
        found = conf.text(name)
    except KeyError:
        return ""
    return NULL if found is None else found
