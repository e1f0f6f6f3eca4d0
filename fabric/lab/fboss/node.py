"""One virtual box as its daemons see it: node.json, its disk, its faults, its logs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fabric.errors import FabricError

AGENT_CONF = "/etc/coop/agent.conf"
BGP_CONF = "/etc/coop/bgpcpp/bgpcpp.conf"
AGENT_LOG = "/var/facebook/logs/fboss/wedge_agent.log"
BOOT_LOG = "/var/facebook/logs/fboss/fboss_sw_agent_boot_history.log"
FRUID = "/var/facebook/fboss/fruid.json"


class Node:
    """The box whose folder is `folder`; raises FabricError when there is no node.json that can be read.

    `ports` maps FBOSS port names to Linux interfaces (only the cabled ones), `frr` is FRR's path space, `settings` what the lab
    set for the box: `model` (catalog name), `agent` ("split" or "wedge_agent"). `root` = where the box's disk is ("/" in the lab, where
    each box has its own; another folder in tests).
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder).absolute()
        try:
            raw: dict[str, Any] = json.loads((self.folder / "node.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FabricError(f"{self.folder}: no virtual switch can be read there: {error}") from None
        self.name: str = raw["name"]
        self.ports: Mapping[str, str] = raw.get("ports", {})
        self.frr: str = raw.get("frr") or self.name
        self.lldp_socket: str | None = raw.get("lldp_socket")
        self.settings: Mapping[str, Any] = raw.get("settings", {})
        self.root = Path(raw.get("root") or "/")

    def path(self, absolute: str) -> Path:
        """The file that the box sees as `absolute`."""
        return self.root / absolute.lstrip("/")

    def state(self, name: str) -> Path:
        """A file of the lab's own, which the box does not see as a file of its disk."""
        folder = self.folder / "fboss"
        folder.mkdir(exist_ok=True)
        return folder / name

    @property
    def split(self) -> bool:
        """Whether the box runs sw_agent and hw_agent (else one wedge_agent)."""
        return bool(self.settings.get("agent", "split") == "split")

    def faults(self) -> dict[str, Any]:
        """The faults that are set now (faults.json); {} when there are none."""
        try:
            found = json.loads((self.folder / "faults.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError:
            return {}  # being written at this moment
        return found if isinstance(found, dict) else {}

    def log(self, line: str, *, level: str = "I", path: str = AGENT_LOG) -> None:
        """One line in a log of the box, in the form of folly's log lines."""
        now = time.time()
        stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now)) + f".{int(now * 1e6) % 1_000_000:06d}"
        text = line.replace("\n", " ")
        self._append(self.path(path), f"{level}{stamp} {os.getpid():6d} Main.cpp:1] {text}\n")

    def journal(self, unit: str, line: str) -> None:
        """One line in the journal of a unit, as `journalctl -u` prints it."""
        stamp = time.strftime("%b %d %H:%M:%S")
        self._append(self.state("journal.log"), f"{unit}\t{stamp} {self.name} {unit}[{os.getpid()}]: {line}\n")

    @staticmethod
    def _append(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as out:
            out.write(text)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
