"""The driver of Arista EOS: a change is a configuration session, its automatic return is EOS's commit timer.

Names on the switch: session and checkpoint `fabric-<token>`, the file `/mnt/flash/.fabric-<token>` while it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.connect import Connection
from fabric.targets.device import DeviceError, DeviceRefusedError, Login, Pending, Staged
from fabric.targets.eos.device_cli import FLASH, EosCli, fingerprint, timer
from fabric.targets.eos.read_bgp import is_refusal_of_family, merge_bgp, read_bgp
from fabric.targets.eos.read_interface import read_interface_status, read_interfaces
from fabric.targets.eos.read_lldp import read_lldp
from fabric.targets.eos.read_route import read_route
from fabric.targets.eos.read_session import PREFIX, leftover, unfinished
from fabric.targets.eos.read_version import read_version
from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, Route, Version
from fabric.targets.token import checked_token

STARTUP_CONFIG = f"{FLASH}/startup-config"
_BGP_SUMMARIES = (("show ip bgp summary",), ("show ipv6 bgp summary", "show bgp ipv6 unicast summary"))
"""Per family, the forms of the command in the order in which they are tried: releases differ in the IPv6 one."""


class EosDevice:
    """One EOS switch. `fill` puts the secrets into a file just before it is sent."""

    def __init__(self, ref: DeviceRef, login: Login, fill: Callable[[bytes], bytes]) -> None:
        self.ref = ref
        self._fill = fill
        self._connection = Connection(login, "arista_eos", ref.name, cli=True)
        self._cli = EosCli(self._connection)
        self._before: dict[str, str] = {}
        """Fingerprint of the running configuration when a change was staged, by token."""

    def reconnect(self) -> None:
        """See Device."""
        self._connection.reconnect()

    def close(self) -> None:
        """See Device."""
        self._connection.close()

    # -------------------------------------------------------------------------------------------------------- change

    def read(self, paths: Sequence[str]) -> dict[str, bytes | None]:
        """The running configuration for the startup-config path. EOS keeps nothing else of ours in force."""
        running = self._cli.running().encode() if STARTUP_CONFIG in paths else None
        return {path: running if path == STARTUP_CONFIG else None for path in paths}

    def stage(self, artifacts: Sequence[Artifact], token: str, absent: Sequence[str] = ()) -> Staged:
        """See Device. A session of someone else with an armed timer is a refusal: our commit would cross its return."""
        if absent:
            raise DeviceError(f"{self.ref.name}: EOS cannot be without {', '.join(absent)}")
        session, file = _session(token), f"{FLASH}/.{_session(token)}"
        content = self._fill(_startup_config(self.ref.name, artifacts))
        self._clear_way()
        self._before[token] = fingerprint(self._cli.running())
        try:
            try:
                self._cli.put(file, content)
                diff = self._cli.load(session, file)
            finally:
                self._remove(file)
        except BaseException:
            self._abandon(session)
            raise
        return Staged(self.ref.name, token, diff)

    def commit(self, staged: Staged, timer_s: int) -> None:
        """See Device. Refused when the running configuration has moved since `stage`, which the commit would undo."""
        session, limit = _session(staged.token), timer(timer_s)
        self._must_not_wait_for_another(session)
        if not self._cli.is_pending(session):
            raise DeviceError(f"{self.ref.name}: there is no staged change {session}", hint="stage it again")
        self._must_not_have_moved(staged, session)
        self._cli.do(f"configure checkpoint save {session}")
        try:
            self._cli.do(f"configure session {session} commit timer {limit}", any_host=True)
        except DeviceRefusedError:
            raise
        except DeviceError as error:
            self._reach_again(error, timer_s)
        if not self._cli.armed(session):
            raise DeviceError(f"{self.ref.name}: the commit timer of {session} is not armed", hint="roll back")

    def confirm(self, staged: Staged) -> None:
        """See Device."""
        session = _session(staged.token)
        if not self._cli.armed(session):
            raise DeviceError(
                f"{self.ref.name}: no commit timer of {session} is armed: {self._why_not_armed(staged.token)}",
                hint="read the device and compare",
            )
        self._cli.do(f"configure session {session} commit", any_host=True)
        if self._cli.armed(session):
            raise DeviceError(f"{self.ref.name}: the commit timer of {session} still runs after the confirmation")
        self._save()

    def finish(self, staged: Staged) -> None:
        """See Device. Between `commit` and `write memory` the change runs, but the switch would boot without it.

        Our checkpoint stays, as after `confirm`: it is what a rollback of the run restores.
        """
        session = _session(staged.token)
        if any(found.name == session and (found.armed or found.state == "pending") for found in self._cli.sessions()):
            raise DeviceError(f"{self.ref.name}: {session} was not confirmed", hint="confirm it or roll it back")
        self._connection.remove(f"{FLASH}/.{session}")
        if self._cli.startup() != self._cli.running():
            self._save()

    def rollback(self, staged: Staged) -> None:
        """See Device. An armed session is aborted, which returns the old configuration; else our checkpoint is restored."""
        session, before = _session(staged.token), self._before.get(staged.token)
        if self._cli.armed(session):
            self._cli.abort(session)
            if self._cli.armed(session):
                raise DeviceError(f"{self.ref.name}: the commit timer of {session} still runs after the abort")
        elif self._cli.is_pending(session):
            self._cli.abort(session)  # it was never committed
            return
        elif before is None or fingerprint(self._cli.running()) != before:
            self._restore(session)
        if before is not None and fingerprint(self._cli.running()) != before:
            raise DeviceError(f"{self.ref.name}: rolled back, but a difference from the old configuration remains")

    def discard(self, staged: Staged) -> None:
        """See Device."""
        session = _session(staged.token)
        if self._cli.armed(session):
            raise DeviceRefusedError(
                f"{self.ref.name}: {session} is committed and its timer runs", hint="roll back or confirm"
            )
        if self._cli.is_pending(session):
            self._cli.abort(session)
        self._connection.remove(f"{FLASH}/.{session}")

    def pending(self) -> list[Pending]:
        """See Device. A file that a broken attempt has left on flash counts: it holds secrets, and `discard` removes it."""
        found = unfinished(self._cli.sessions())
        known = {item.token for item in found if item.ours}
        return found + [leftover(token) for token in self._cli.left() if token not in known]

    def _clear_way(self) -> None:
        """Abort our own sessions that nobody waits for; refuse when a commit timer runs, whoever armed it."""
        self._must_not_wait_for_another("")
        for session in self._cli.sessions():
            if session.ours and session.state == "pending":
                self._cli.abort(session.name)
        self._cli.sweep()

    def _must_not_wait_for_another(self, session: str) -> None:
        for found in self._cli.sessions():
            if found.armed and found.name != session:
                whose = "an earlier change of ours" if found.ours else "someone else's change"
                line = f"session {found.name}: commit timer armed"
                raise DeviceRefusedError(
                    f"{self.ref.name}: {whose} waits for its confirmation ({line})",
                    (line,),
                    hint="confirm it, roll it back, or let its timer run out",
                )

    def _must_not_have_moved(self, staged: Staged, session: str) -> None:
        """By the fingerprint of `stage`; an object that has not staged it compares the device's diff, which moves with it too."""
        before = self._before.get(staged.token)
        if before is None:
            moved = self._cli.diff(session) != staged.diff
            self._before[staged.token] = fingerprint(self._cli.running())
        else:
            moved = fingerprint(self._cli.running()) != before
        if moved:
            raise DeviceRefusedError(
                f"{self.ref.name}: its running configuration has changed since the change was staged", hint="plan again"
            )

    def _reach_again(self, error: DeviceError, timer_s: int) -> None:
        """The connection broke while committing: one fresh one shows whether management survived."""
        try:
            self.reconnect()
        except DeviceError as again:
            raise DeviceError(
                f"{self.ref.name}: not reachable since the commit ({error.message})",
                hint=f"it returns to its old configuration by itself within {timer_s} s",
            ) from again

    def _why_not_armed(self, token: str) -> str:
        before = self._before.get(token)
        if before is not None and fingerprint(self._cli.running()) == before:
            return "it has returned to its old configuration"
        return "it was confirmed before, or has returned to its old configuration by itself"

    def _restore(self, session: str) -> None:
        """Restore our checkpoint. Without one nothing was ever committed, as it is saved just before."""
        if session not in self._cli.show("show configuration checkpoints | json"):
            return
        self._cli.do(f"configure checkpoint restore {session}", any_host=True)
        self._save()  # the change may have been confirmed, and with it saved for the next boot

    def _save(self) -> None:
        self._cli.copy("write memory")
        if self._cli.startup() != self._cli.running():
            raise DeviceError(
                f"{self.ref.name}: the startup configuration differs from the running one after it was saved"
            )

    def _remove(self, file: str) -> None:
        """The file holds secrets: it goes in all cases, over a fresh connection when the first one broke."""
        try:
            self._connection.remove(file)
        except DeviceError:
            self._connection.close()
            try:
                self._connection.remove(file)
            except DeviceError as error:
                raise DeviceError(
                    f"{self.ref.name}: {file} (secrets!) could not be removed: {error.message}"
                ) from error

    def _abandon(self, session: str) -> None:
        """After a failed staging: abort the session if it can be reached; what stays is aborted by the next `stage`."""
        try:
            if self._cli.is_pending(session):
                self._cli.abort(session)
        except DeviceError:
            self._connection.close()

    # --------------------------------------------------------------------------------------------------------- facts

    def version(self) -> Version:
        """See Device."""
        return read_version(self._cli.show("show version | json"), self._cli.show("show hostname | json"))

    def lldp(self) -> list[LldpNeighbor]:
        """See Device."""
        return read_lldp(self._cli.show("show lldp neighbors detail | json"))

    def bgp(self) -> list[BgpSession]:
        """See Device."""
        return merge_bgp(self._bgp_summary(forms) for forms in _BGP_SUMMARIES)

    def _bgp_summary(self, forms: Sequence[str]) -> list[BgpSession]:
        *others, last = forms
        for form in others:
            try:
                return read_bgp(self._cli.show(f"{form} | json"))
            except DeviceRefusedError as error:
                if not is_refusal_of_family(error):
                    raise
        return read_bgp(self._cli.show(f"{last} | json"))

    def routes(self) -> list[Route]:
        """See Device."""
        return [
            route for family in ("ip", "ipv6") for route in read_route(self._cli.show(f"show {family} route | json"))
        ]

    def interfaces(self) -> list[InterfaceState]:
        """See Device."""
        try:
            return read_interfaces(self._cli.show("show interfaces | json"))
        except DeviceRefusedError:
            return read_interface_status(self._cli.show("show interfaces status | json"))


def _session(token: str) -> str:
    return PREFIX + checked_token(token)


def _startup_config(device: str, artifacts: Sequence[Artifact]) -> bytes:
    paths = [artifact.path for artifact in artifacts]
    if paths != [STARTUP_CONFIG]:
        raise DeviceError(f"{device}: EOS takes {STARTUP_CONFIG} and nothing else, not {paths}")
    return artifacts[0].content
