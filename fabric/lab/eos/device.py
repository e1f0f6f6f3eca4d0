"""One virtual EOS switch: what it is, its configurations, its flash, its boot. The daemon owns one; every CLI works on it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.lab.eos import config
from fabric.lab.eos.config import Hardware
from fabric.lab.eos.editor import Editor
from fabric.lab.eos.faults import Faults
from fabric.lab.eos.sessions import Session, Sessions
from fabric.lab.eos.tree import Node
from fabric.lab.eos.values import natural

Program = Callable[[Node], None]
"""Brings the kernel, FRR and lldpd to a configuration."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`settings.eos` of node.json: release, prompt forms, what `show version` says, how long a reload takes (seconds);
    without `program` the kernel, FRR and lldpd are left alone.
    """

    version: str = "4.33.1F"
    model: str = "vEOS-lab"
    supervisor_prompt: bool = False
    session_name_cut: int = 6
    reload_s: float = 3.0
    program: bool = True

    @property
    def release(self) -> tuple[int, int]:
        """(4, 33) of "4.33.1F"."""
        match = re.match(r"(\d+)\.(\d+)", self.version)
        return (int(match[1]), int(match[2])) if match else (0, 0)


@dataclass(frozen=True, slots=True)
class NodeFile:
    """node.json of a switch: its name, its NOS port names with their Linux names, and where its daemons listen."""

    folder: Path
    name: str
    ports: dict[str, str]
    frr: str
    lldp_socket: str
    management_linux: str
    settings: Settings
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def flash(self) -> Path:
        """The folder that is the switch's /mnt/flash."""
        return Path(self.extra.get("flash") or "/mnt/flash")

    @classmethod
    def read(cls, folder: Path) -> NodeFile:
        """Read NODE_DIR/node.json."""
        data = json.loads((folder / "node.json").read_text(encoding="utf-8"))
        known = set(Settings.__dataclass_fields__)
        given = (data.get("settings") or {}).get("eos") or {}
        settings = Settings(**{key: value for key, value in (_model(data) | given).items() if key in known})
        return cls(
            folder,
            data["name"],
            dict(data.get("ports") or {}),
            data.get("frr") or data["name"],
            data.get("lldp_socket") or "",
            data.get("management_linux") or "ma0",
            settings,
            data,
        )


def _model(data: dict[str, Any]) -> dict[str, Any]:
    """The catalog's name of the box, unless `settings.eos.model` says otherwise."""
    model = (data.get("settings") or {}).get("model")
    return {"model": str(model)} if model else {}


class Switch:
    """The state of one switch. Not thread-safe: the daemon holds a lock around every use."""

    def __init__(self, node: NodeFile, program: Program, clock: Callable[[], float] = time.time) -> None:
        self.node = node
        self.hardware = Hardware(tuple(sorted(node.ports, key=natural)), node.settings.model, node.settings.version)
        self.clock = clock
        self.faults = Faults(node.folder / "faults.json")
        self.log: list[str] = []
        self.booted = clock()
        self.reload_causes: list[tuple[float, str]] = []
        self.generation = 0
        self._program = program
        self.sessions = self._fresh()

    @property
    def hostname(self) -> str:
        """The running-config's host name; EOS's own default without one."""
        return self.sessions.running.value("hostname") or "localhost"

    @property
    def startup_path(self) -> Path:
        """The startup-config on flash."""
        return self.node.flash / "startup-config"

    def boot(self) -> None:
        """Start from the startup-config: sessions, timers and what was not saved are gone."""
        self.generation += 1
        self.booted = self.clock()
        self.sessions = self._fresh()
        complaints = config.load(Editor(self.sessions.running), self.startup_lines() or [])
        self.log += complaints
        self.sessions.edited()

    def power_off(self) -> None:
        """What the neighbours see of a reload: links and sessions go down."""
        self._program(Node())

    def startup_lines(self) -> list[str] | None:
        """The startup-config's lines; None without one."""
        if not self.startup_path.is_file():
            return None
        return self.startup_path.read_text(encoding="utf-8", errors="replace").splitlines()

    def save(self) -> None:
        """`write memory`. Raises OSError when flash is full."""
        text = config.text_of(self.sessions.running)
        fresh = self.startup_path.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self.startup_path)

    def editor(self, session: Session | None) -> Editor:
        """An editor on a session, or on the running-config itself."""
        root = session.tree if session else self.sessions.running
        return Editor(root, self.sessions.running, self.faults.refuses, self.faults.keeps)

    def _fresh(self) -> Sessions:
        return Sessions(config.clean(self.hardware), self._program, self.log.append, self.clock)
