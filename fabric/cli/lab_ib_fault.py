"""`fabric lab fault` in an InfiniBand lab: make or undo it, then wait until the SMs have taken it in."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fabric.errors import FabricError
from fabric.lab import control

if TYPE_CHECKING:
    from fabric.lab.state import Lab

_CABLES = ("cut", "swap", "remove")
_SWEPT_S = 20.0
_QUIET_S = 0.6
"""After a good sweep so long without another one, the SM has taken in all traps, in seconds."""

_TAKEOVER_S = 60.0
_CLEAR_S = 30.0
_POLL_S = 0.1


def parse_counters(words: Sequence[str]) -> dict[str, int]:
    """`NAME=VALUE` -> names and values; FabricError for what is none."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isalnum() or not value.isdecimal():
            raise FabricError(f"{word!r} is not NAME=VALUE", hint="e.g. SymbolErrorCounter=77")
        found[name] = int(value)
    return found


def make(lab: Lab, kind: str, arguments: dict[str, Any]) -> None:
    """Make a fault and say what it was and what came of it."""
    if kind == "cut" and arguments.pop("b", None) is not None:
        raise FabricError("in an InfiniBand lab `cut` takes one port", hint="fabric lab fault SPEC cut NODE:PORT")
    before = _sweeps(lab)
    fault = control.ask(lab.folder, "fault", kind=kind, arguments=arguments)["fault"]
    click.echo(f"{fault['id']}: {fault['said']}")
    if kind in _CABLES:
        _wait_swept(lab, before)
    elif kind == "kill-sm":
        _wait_managers(lab, [host for host in _states(lab) if host != fault["host"]])


def restore(lab: Lab, number: int | None) -> None:
    """Undo one fault, or all; when none is left, the error counters are set back too."""
    before = _sweeps(lab)
    undone = control.ask(lab.folder, "restore", id=number)["faults"]
    for fault in undone:
        click.echo(f"{fault['id']}: {fault['said']}: undone")
    if any(fault["kind"] in _CABLES for fault in undone):
        _wait_swept(lab, before)
    _wait_managers(lab, [fault["host"] for fault in undone if fault["kind"] == "kill-sm"])
    whole = not control.ask(lab.folder, "faults")["faults"]
    if undone and whole:
        _wait_one_master(lab)
        control.ask(lab.folder, "clear", limit_s=_CLEAR_S)


def _sweeps(lab: Lab) -> int:
    return int(control.ask(lab.folder, "sweeps")["sweeps"])


def _states(lab: Lab) -> dict[str, str]:
    """State of each SM that runs, by its log."""
    found: dict[str, str] = control.ask(lab.folder, "sweeps")["states"]
    return found


def _wait_swept(lab: Lab, before: int) -> None:
    """Until an SM has reported a good sweep since then, and no other one follows."""
    if not _states(lab):
        return
    began = last = time.monotonic()
    seen = before
    while (now := time.monotonic()) - began < _SWEPT_S:
        sweeps = _sweeps(lab)
        if sweeps != seen:
            seen, last = sweeps, now
        if seen > before and now - last > _QUIET_S:
            click.echo(f"the SM has swept the fabric again ({last - began:.1f} s)", err=True)
            return
        time.sleep(_POLL_S)
    click.echo(f"no SM has reported a good sweep in {_SWEPT_S:g} s", err=True)


def _wait_managers(lab: Lab, hosts: list[str]) -> None:
    """Until these SMs are master or standby, and one of all is master; told when that took a while."""
    began = time.monotonic()
    while hosts:
        missing = control.ask(lab.folder, "converged", nodes=hosts)["missing"]
        masters = [host for host, state in _states(lab).items() if state == "master"]
        if masters and not missing:
            if (took := time.monotonic() - began) > _POLL_S:
                click.echo(f"{masters[0]} is master ({took:.1f} s)", err=True)
            return
        if time.monotonic() - began > _TAKEOVER_S:
            host, words = next(iter(missing.items())) if missing else ("", "no SM has become master")
            raise FabricError(f"{host}: {words}".lstrip(": "), hint="fabric lab logs SPEC HOST opensm")
        time.sleep(_POLL_S)


def _wait_one_master(lab: Lab) -> None:
    """SMs that were apart sort out who is master. Upstream opensm does not always: that is told, as it is no fault of the lab's."""
    began = time.monotonic()
    while True:
        states = _states(lab)
        masters = [host for host, state in states.items() if state == "master"]
        if len(masters) == 1 and set(states.values()) <= {"master", "standby"}:
            return
        if not states or time.monotonic() - began > _SWEPT_S:
            break
        time.sleep(_POLL_S)
    if len(masters) > 1:
        click.echo(
            f"{' and '.join(masters)} are both master; `fabric lab daemon SPEC restart HOST opensm` ends that", err=True
        )
