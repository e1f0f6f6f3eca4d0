"""The driver of an SM host: a Linux box whose opensm files we swap under a dead-man timer of our own (see `fabric.targets.swap_box`).

A change is put in force by a SIGHUP where that is enough (see `effect`), else by a restart; the master then hands over to a standby first.
`/etc/opensm/.fabric-loaded` on the box notes what the running opensm has read.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from fabric.design.ib.model import Flavour
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.connect import Connection
from fabric.targets.device import DeviceError, DeviceRefusedError, Login, Pending, Staged
from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, Route, Version
from fabric.targets.opensm import device_files, device_look, device_scripts, device_state
from fabric.targets.opensm.device_scripts import CONF
from fabric.targets.opensm.device_state import State
from fabric.targets.opensm.effect import Effect, effect_of
from fabric.targets.opensm.read_version import read_version
from fabric.targets.swap_box import Change, SwapBox

ETC = "/etc/opensm"
TOOLS = ("opensm", "sminfo", "smpquery", "saquery", "systemctl", "systemd-run", "sha256sum", "timeout")
"""What a change needs on the host: opensm, infiniband-diags, systemd, coreutils."""


class OpensmDevice:
    """One SM host. `fill` puts the secrets into a file just before it is sent.

    `flavour` says whose opensm it runs, `etc` where its files are.
    """

    def __init__(
        self,
        ref: DeviceRef,
        login: Login,
        fill: Callable[[bytes], bytes],
        *,
        flavour: Flavour = "opensm",
        etc: str = ETC,
    ) -> None:
        self.ref = ref
        self._fill, self._flavour, self._etc = fill, flavour, etc
        self._connection = Connection(login, "linux", ref.name, cli=False)
        self._box = SwapBox(self._connection, etc)

    def reconnect(self) -> None:
        """See Device."""
        self._connection.reconnect()

    def close(self) -> None:
        """See Device."""
        self._connection.close()

    # -------------------------------------------------------------------------------------------------------- change

    def read(self, paths: Sequence[str]) -> dict[str, bytes | None]:
        """The files as far as opensm runs them: one that lies on disk and is not in force begins with a line that says why."""
        state = self._state(paths)
        return {
            path: device_state.in_force(self._etc, path, content, state)
            for path, content in self._box.files(paths).items()
        }

    def stage(self, artifacts: Sequence[Artifact], token: str, absent: Sequence[str] = ()) -> Staged:
        """See Device. The strict check of the files is ours: opensm takes a broken partitions file for "all are in the default one"."""
        new = {artifact.path: self._filled(artifact) for artifact in artifacts}
        device_files.check(self.ref.name, self._etc, new, self._flavour)
        self._must_take(new)
        self._box.clear_way()
        wanted: dict[str, bytes | None] = {**new, **dict.fromkeys(absent)}
        old, state = self._box.files(list(wanted)), self._state(list(wanted))
        reasons = {path: device_state.not_in_force(self._etc, path, old[path], state) for path in wanted}
        changed = {path: (old[path], content) for path, content in wanted.items() if old[path] != content}
        effect = self._effect(changed, reasons, state)
        manager = device_files.manager(self._etc, wanted, self._flavour)
        hooks = device_scripts.hooks(manager, effect, list(wanted), ran_before=bool(state.now))
        look = {"look.sh": device_scripts.look_since(self._box.folder(token), manager)}
        modes = {artifact.path: artifact.mode for artifact in artifacts}
        secret = any(artifact.secret for artifact in artifacts)
        self._box.stage(token, Change(old, wanted, modes, hooks, look, keep=secret))
        said = [device_files.diff(path, *contents) for path, contents in changed.items()]
        said += device_files.words(reasons)
        said += [f"opensm: {effect}"] if effect != "none" else []
        return Staged(self.ref.name, token, "\n".join(text for text in said if text))

    def commit(self, staged: Staged, timer_s: int) -> None:
        """See Device. A handover may take a third of the timer."""
        self._box.commit(staged.token, timer_s, self._box.long + timer_s / 3)

    def confirm(self, staged: Staged) -> None:
        """See Device. The files are what opensm starts with, so that there is nothing more to save."""
        self._box.confirm(staged.token)

    def finish(self, staged: Staged) -> None:
        """See Device."""
        self._box.finish(staged.token)

    def rollback(self, staged: Staged) -> None:
        """See Device."""
        self._box.rollback(staged.token)

    def discard(self, staged: Staged) -> None:
        """See Device."""
        self._box.discard(staged.token)

    def pending(self) -> list[Pending]:
        """See Device."""
        return self._box.pending()

    # --------------------------------------------------------------------------------------------------------- facts

    def problems(self) -> list[str]:
        """See Examined and `device_look`: is the subnet well, and with a change under its timer, was all of it taken as it stands?"""
        token = self._box.committed()
        files = self._box.files([f"{self._etc}/{CONF}"])
        conf = device_files.conf_of(self._etc, files, self._flavour)
        engine = device_files.engine(conf)
        if not token or files[f"{self._etc}/{CONF}"] is None:
            look = self._look(device_scripts.look_now(device_files.manager(self._etc, files, self._flavour)))
            return (
                device_look.problems(look, engine, {}) if files[f"{self._etc}/{CONF}"] is not None else look.stopped()
            )
        files |= self._box.files([path for path in [device_files.partitions_path(conf)] if path])
        look = self._look(f"/bin/sh {shlex.quote(self._box.folder(token))}/look.sh")
        return device_look.problems(look, engine, device_files.tables(self._etc, files, self._flavour))

    def version(self) -> Version:
        """Host name and up time of Linux, version of opensm."""
        host = self._connection.run("hostname").text.strip()
        if not host:
            raise DeviceError(f"{self.ref.name}: it tells no host name")
        said = self._connection.run("opensm --version 2>/dev/null").text
        return read_version(host, said, self._connection.run("cat /proc/uptime").text)

    def lldp(self) -> list[LldpNeighbor]:
        """None: InfiniBand has no LLDP."""
        return []

    def bgp(self) -> list[BgpSession]:
        """None."""
        return []

    def routes(self) -> list[Route]:
        """None: the forwarding tables are in the switches."""
        return []

    def interfaces(self) -> list[InterfaceState]:
        """None: a change of the SM's files touches no interface of its host."""
        return []

    # -------------------------------------------------------------------------------------------------------- inside

    def _state(self, paths: Sequence[str]) -> State:
        return device_state.read_state(
            self._box.must_run(device_scripts.state_script(self._etc, paths)).text, self.ref.name
        )

    def _look(self, command: str) -> device_look.Look:
        return device_look.read_look(self._connection.run(command, timeout=self._box.long).text, self.ref.name)

    def _filled(self, artifact: Artifact) -> bytes:
        return self._fill(artifact.content) if artifact.secret else artifact.content

    def _must_take(self, files: Mapping[str, bytes]) -> None:
        """The host has what a change needs, and its opensm knows every key: one that it does not know it would pass over."""
        missing = self._box.must_run(
            f"for tool in {' '.join(TOOLS)}; do command -v $tool >/dev/null || echo $tool; done"
        ).text.split()
        if missing:
            hint = "install opensm and infiniband-diags"
            raise DeviceRefusedError(f"{self.ref.name}: it has no {', '.join(missing)}", hint=hint)
        known = self._box.must_run(device_scripts.KNOWN_KEYS).text.split()
        conf = device_files.conf_of(self._etc, files, self._flavour)
        unknown = device_files.unknown_keys(conf, frozenset(known))
        if unknown:
            lines = [
                f"opensm.conf:{conf.lines[name]}: the opensm of {self.ref.name} does not know {name}"
                for name in unknown
            ]
            raise DeviceRefusedError(lines[0], lines, hint="see `opensm -c`; is it the declared flavour?")

    def _effect(
        self, changed: Mapping[str, tuple[bytes | None, bytes | None]], reasons: Mapping[str, str], state: State
    ) -> Effect:
        effect = effect_of(self._etc, changed, self._flavour)
        if effect != "stop" and (not state.now or reasons.get(f"{self._etc}/{CONF}")):
            return "restart"
        return "reload" if effect == "none" and any(reasons.values()) else effect
