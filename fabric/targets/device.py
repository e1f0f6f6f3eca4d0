"""The one interface to a live device: read, stage, commit under a timer, confirm, roll back, facts.

`change` and `verify` know devices only through this. One object is one device; it connects when first used and is not thread-safe.
All calls raise DeviceError (unreachable, timed out, garbage), or DeviceRefusedError (the device said no to what was sent).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from fabric.errors import FabricError
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, Route, Version


class DeviceError(FabricError):
    """A device could not be reached, did not answer in time, or answered what cannot be understood."""


class DeviceRefusedError(DeviceError):
    """A device refused what was sent; `lines` are its own words."""

    def __init__(self, message: str, lines: Sequence[str] = (), *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.lines = tuple(lines)


@dataclass(frozen=True, slots=True)
class Login:
    """How to reach a device. Nothing secret is ever printed: repr leaves the password out."""

    host: str
    username: str
    port: int = 22
    password: str | None = field(default=None, repr=False)
    key_file: str | None = None
    known_hosts: str | None = None
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Staged:
    """A change that lies on the device, checked by it, not yet in force.

    `token` names it on the device (session name, folder), `diff` is the device's own diff ("" = nothing to change).
    """

    device: str
    token: str
    diff: str


@dataclass(frozen=True, slots=True)
class Pending:
    """Something unfinished on a device: a staged change or an armed timer. `ours` when its name has our prefix."""

    token: str
    armed: bool
    ours: bool
    detail: str


class Device(Protocol):
    """One live device."""

    ref: DeviceRef

    def read(self, paths: Sequence[str]) -> dict[str, bytes | None]:
        """What is in force for each artifact path: EOS gives its running configuration for the startup-config path; None = no such file."""

    def stage(self, artifacts: Sequence[Artifact], token: str, absent: Sequence[str] = ()) -> Staged:
        """Copy the files (secrets filled in) and have the device check them; nothing changes. Raises DeviceRefusedError with its words.

        `absent` are paths that no file is to be at: the commit removes what is there, and its undoing brings it back.
        """

    def commit(self, staged: Staged, timer_s: int) -> None:
        """Put the change in force with an automatic return to the old state after `timer_s` seconds unless confirmed."""

    def confirm(self, staged: Staged) -> None:
        """Keep the change: disarm the timer, save it for the next boot. Called on a fresh connection (see `reconnect`)."""

    def finish(self, staged: Staged) -> None:
        """Do what is left of a `confirm` that was cut short; fine when nothing is, so that it may be repeated.

        For who has read the device and found the change in force and no timer running: saves it for the next boot and clears what
        the change has left. DeviceError when a timer still runs, or the change lies staged: then it was not confirmed.
        """

    def rollback(self, staged: Staged) -> None:
        """Return to the state before `commit` now; also right when the timer has already done it."""

    def discard(self, staged: Staged) -> None:
        """Remove a staged change that was never committed; fine when there is none."""

    def pending(self) -> list[Pending]:
        """Unfinished changes on the device, ours and others'."""

    def reconnect(self) -> None:
        """Drop the connection and open a fresh one: proves that management survived."""

    def close(self) -> None:
        """Drop the connection; never raises."""

    def version(self) -> Version:
        """Software and hardware."""

    def lldp(self) -> list[LldpNeighbor]:
        """All LLDP neighbours."""

    def bgp(self) -> list[BgpSession]:
        """All BGP sessions of all address families."""

    def routes(self) -> list[Route]:
        """The forwarding table of the default VRF, both families."""

    def interfaces(self) -> list[InterfaceState]:
        """All interfaces."""


@runtime_checkable
class Reloads(Protocol):
    """A device whose `read` gives files, while a daemon runs what it took from them when it was last told to."""

    def run_files(self) -> None:
        """Make sure that it runs what its files say; when it does not, it is told so once more. Raises DeviceError."""


@runtime_checkable
class Examined(Protocol):
    """A device that can say more of its health than its sessions and links do: those of a kind that has none, as subnet managers."""

    def problems(self) -> list[str]:
        """What is wrong now, one sentence each; with a change under its timer, also what of it was not taken. Raises DeviceError."""
