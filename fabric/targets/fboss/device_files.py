"""The configuration files of an FBOSS box as the driver sees them: which daemon reads each, whether it is valid, how it differs."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from fabric.errors import FabricError
from fabric.targets.device import DeviceError, DeviceRefusedError
from fabric.targets.fboss import wire
from fabric.targets.fboss.rendering import normalise
from fabric.targets.fboss.strict import Root, compile_validator

COOP = "/etc/coop"
"""Where FBOSS keeps its configuration (and we the folders of changes)."""

_FLAGS = "defaultCommandLineArgs"
_SECRET = re.compile(r'("[^"]*(?:password|passwd|secret|psk|token|private_?key)[^"]*":\s*)"[^"]*"', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file: the root struct that it is checked as, and what puts it in force ("reload", or the unit to restart)."""

    root: Root
    action: str


_KINDS = {
    "agent.conf": Kind("agent", "reload"),
    "bgpcpp/bgpcpp.conf": Kind("bgp", "bgpd"),  # bgpd has no reload
    "qsfp.conf": Kind("qsfp", "qsfp_service"),
    "fsdb/current": Kind("fsdb", "fsdb"),
    "led.conf": Kind("led", "led_service"),
}


def kind_of(path: str, coop: str) -> Kind:
    """The kind of the file at `path`; DeviceError for a file that no daemon of FBOSS reads."""
    kind = _KINDS.get(path.removeprefix(coop + "/"))
    if kind is None:
        raise DeviceError(f"{path} is not a configuration file of FBOSS")
    return kind


def check(device: str, path: str, kind: Kind, content: bytes) -> None:
    """The strict check, as the daemons skip unknown keys in silence. DeviceRefusedError names every problem."""
    try:
        value = wire.loads(content, source=path)
    except FabricError as error:
        raise DeviceRefusedError(f"{device}: {error.message}", (error.message,)) from error
    found = compile_validator(kind.root)(value)
    lines = tuple(str(it) for it in found if it.level != "warning" and not it.path.startswith(_FLAGS))
    if lines:
        raise DeviceRefusedError(f"{device}: {path}: {lines[0]}", lines)


def diff(path: str, old: bytes | None, new: bytes | None) -> str:
    """A unified diff of the two in the form that `render` writes, secrets masked. An old file that is not JSON counts as text.

    None stands for no file.
    """
    try:
        before = normalise(path, old) if old is not None else b""
    except FabricError:
        before = old or b""
    after = normalise(path, new) if new is not None else b""
    one, two = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    names = (path if old is not None else "/dev/null", path if new is not None else "/dev/null")
    lines = list(difflib.unified_diff(one, two, *names, lineterm=""))
    if not lines and (old is None) != (new is None):
        lines = [f"--- {names[0]}", f"+++ {names[1]}"]  # an empty file comes or goes
    return _SECRET.sub(r'\1"<secret>"', "\n".join(lines))
