"""The subnet managers of a lab: one opensm for each SM host, what state it is in, and what it said last."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import nodekinds
from fabric.lab.ib import child, client, form
from fabric.lab.ib.places import CONF, SmPlace

OPENSM = "/usr/sbin/opensm"
_STATE = re.compile(rb"Entering ([A-Z]+) state|SUBNET UP|Errors during initialization|No routing engine able")
_STOP_S = 30.0
_POLL_S = 0.05
_SETTLE_S = 60.0
STOPPED = "opensm was stopped"


@dataclass(slots=True)
class _Life:
    """One run of an opensm: from which byte of its log and output on, since when (monotonic), its state and the count of good sweeps."""

    process: subprocess.Popen[bytes]
    read: int
    out_at: int
    since: float
    state: str = ""
    ups: int = 0
    problem: str = ""
    up_after_s: float | None = None


@dataclass(slots=True)
class Managers:
    """All SMs by host. FabricError for a host that is none, and for an opensm that does not start."""

    folder: Path
    lab: dict[str, Any]
    lives: dict[str, _Life] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)

    def spec(self, host: str) -> dict[str, Any]:
        """An SM host as lab.json has it."""
        found: dict[str, Any] | None = next((item for item in self.lab["managers"] if item["host"] == host), None)
        if found is None:
            hosts = ", ".join(item["host"] for item in self.lab["managers"])
            raise FabricError(f"this lab has no SM host {host!r}", hint=f"SM hosts are {hosts}")
        return found

    def runs(self, host: str) -> bool:
        """Does opensm run there?"""
        self.spec(host)
        return host in self.lives

    def pid(self, host: str) -> int:
        """Of the running opensm; 0 when none runs."""
        return self.lives[host].process.pid if self.runs(host) else 0

    def failed(self, host: str) -> bool:
        """Did its opensm end otherwise than by being stopped?"""
        return self.ended.get(host, STOPPED) != STOPPED

    def start(self, host: str) -> None:
        """Start opensm on a host; nothing when it runs."""
        if self.runs(host):
            return
        place, node = SmPlace.of(self.folder, host), self.spec(host)["node"]
        self._form(place)
        env = {
            **client.without_preload(), **client.environment(self.lab["socket"], node),
            "OSM_TMP_DIR": str(place.dump), "OSM_CACHE_DIR": str(place.cache),
        }  # fmt: skip
        for path in (place.log, place.out):
            path.touch()
        read, out_at = place.log.stat().st_size, place.out.stat().st_size
        process = child.start([OPENSM, "-F", str(place.form / CONF)], env=env, cwd=place.run, log=place.out)
        self.lives[host] = _Life(process, read, out_at, time.monotonic())
        self.ended.pop(host, None)

    def wait(self, host: str) -> None:
        """Wait until opensm on a host is the master of a subnet that is up, or standby; not when it ended, meets a problem or finds no way."""
        end = time.monotonic() + _SETTLE_S
        while host in self.missing([host]) and time.monotonic() < end:
            life = self.lives.get(host)
            if life is None or life.problem:
                return
            time.sleep(_POLL_S)

    def stop(self, host: str, number: int = signal.SIGTERM) -> None:
        """End opensm on a host and wait for it; `number` SIGKILL is a crash. Nothing when none runs."""
        if not self.runs(host):
            return
        process = self.lives[host].process
        process.send_signal(number)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_STOP_S)
        self._over(host, "was killed" if number == signal.SIGKILL else STOPPED.removeprefix("opensm "))

    def reload(self, host: str) -> None:
        """Have opensm re-read its files (SIGHUP: a heavy sweep)."""
        if not self.runs(host):
            raise FabricError(f"{host}: opensm does not run")
        self._form(SmPlace.of(self.folder, host))
        self.lives[host].process.send_signal(signal.SIGHUP)

    def _form(self, place: SmPlace) -> None:
        if not (place.etc / CONF).is_file():
            raise FabricError(f"{place.folder.name}: there is no /etc/opensm/{CONF}")
        if form.made_of(place) == form.fingerprint(place.etc):
            return
        done = subprocess.run(  # noqa: S603 - our own module, with its libraries
            [sys.executable, "-P", "-m", "fabric.lab.ib.form", str(place.folder)],
            env={**nodekinds.environment("lab"), "PYTHONPATH": ":".join(self.lab["python_path"])},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise FabricError((done.stderr.strip().splitlines() or ["the lab form of its files could not be made"])[-1])

    def look(self) -> None:
        """Read on in all logs, and take note of those that ended by themselves."""
        for host in list(self.lives):
            life = self.lives[host]
            self._read(host, life)
            code = life.process.poll()
            if code is not None:
                self._over(host, f"ended ({code}): {self._last_words(host, life)}")

    def _over(self, host: str, how: str) -> None:
        del self.lives[host]
        self.ended[host] = f"opensm {how}"
        print(f"{host}: opensm {how}", flush=True)
        client.sweep(SmPlace.of(self.folder, host).run)

    def _read(self, host: str, life: _Life) -> None:
        path = SmPlace.of(self.folder, host).log
        size = path.stat().st_size
        if size < life.read:  # begun anew
            life.read = 0
        if size == life.read:
            return
        with path.open("rb") as log:
            log.seek(life.read)
            new = log.read(size - life.read)
        whole = new.rfind(b"\n") + 1
        life.read += whole
        for found in _STATE.finditer(new[:whole]):
            self._note(life, found)

    @staticmethod
    def _note(life: _Life, found: re.Match[bytes]) -> None:
        if found[1]:
            life.state = found[1].decode().lower()
        elif found[0] == b"SUBNET UP":
            life.ups += 1
            life.problem = ""
            if life.up_after_s is None:
                life.up_after_s = time.monotonic() - life.since
        else:
            life.problem = found[0].decode()

    def _last_words(self, host: str, life: _Life) -> str:
        with SmPlace.of(self.folder, host).out.open("rb") as out:
            out.seek(life.out_at)
            lines = [line.strip() for line in out.read().decode(errors="replace").splitlines() if line.strip()]
        words = [line for line in lines if "rror" in line or "another instance" in line]
        return (words or lines or ["it said nothing"])[-1]

    def master(self) -> str | None:
        """The host whose opensm says that it is the master."""
        self.look()
        return next((host for host, life in self.lives.items() if life.state == "master"), None)

    def missing(self, hosts: list[str]) -> dict[str, str]:
        """Of these hosts: what is not there yet, in words. A master must have the subnet up, another SM be standby."""
        self.look()
        found = {}
        for host in hosts:
            life = self.lives.get(host)
            if life is None:
                found[host] = self.ended.get(host, "opensm does not run")
            elif life.problem:
                found[host] = life.problem
            elif not (life.state == "standby" or (life.state == "master" and life.ups)):
                found[host] = f"opensm is {life.state or 'discovering'}"
        return found

    def sweeps(self) -> int:
        """Good sweeps that all running SMs have reported so far."""
        self.look()
        return sum(life.ups for life in self.lives.values())
