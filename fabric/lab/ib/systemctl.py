"""systemctl of an SM host: the one unit `opensm`, which the lab's supervisor starts and stops."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from fabric.lab import control, systemctl
from fabric.lab.fboss.node import Node

UNIT = "opensm"


class Host:
    """One SM host: its folder, and the supervisor behind it. See `fabric.lab.systemctl.Box`."""

    units = (UNIT,)
    changes = ("start", "stop", "restart", "reload")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.node = Node(folder)

    def _ask(self, action: str) -> dict[str, Any]:
        """Have the supervisor do something to opensm; FabricError in its words."""
        lab = self.folder.parent.parent
        return control.ask(lab, "daemon", node=self.folder.name, daemon=UNIT, action=action, timeout_s=90)

    def own_state(self, unit: str) -> str:  # noqa: ARG002 - there is only one
        """See Box."""
        answer = self._ask("query")
        return "active" if answer["pid"] else ("failed" if answer["failed"] else "inactive")

    def pid(self, unit: str) -> int:  # noqa: ARG002 - there is only one
        """See Box."""
        return int(self._ask("query")["pid"])

    def change(self, verb: str, unit: str) -> None:  # noqa: ARG002 - there is only one
        """See Box."""
        self._ask(verb)

    def more(self, unit: str) -> dict[str, str]:  # noqa: ARG002 - nothing more of any
        """See Box."""
        return {}


if __name__ == "__main__":
    sys.exit(systemctl.run(Host(Path(sys.argv[1])), sys.argv[2:]))
