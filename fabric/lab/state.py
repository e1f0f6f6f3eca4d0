"""Where labs are recorded: one folder per running lab, outside of its namespaces."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab.machines import cgroups
from fabric.lab.proc import start_time

PID_FILE = "pid"
LAB_FILE = "lab.json"


def base() -> Path:
    """Folder of all labs of this user: $FABRIC_LAB_DIR, /run/fabric-lab for root, else below $XDG_RUNTIME_DIR."""
    if os.environ.get("FABRIC_LAB_DIR"):
        return Path(os.environ["FABRIC_LAB_DIR"]).absolute()
    if os.geteuid() == 0:
        return Path("/run/fabric-lab")
    return Path(os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/fabric-lab-{os.geteuid()}") / "fabric-lab"  # noqa: S108


@dataclass(frozen=True, slots=True)
class Lab:
    """The recorded lab of a spec; it may run or not."""

    folder: Path

    @classmethod
    def of(cls, spec: Path, cluster: str) -> Lab:
        """The lab of the spec at `spec`: the same file is the same lab, however its path is written."""
        digest = hashlib.sha256(str(spec.resolve()).encode()).hexdigest()[:8]
        return cls(base() / f"{cluster}-{digest}")

    @classmethod
    def find(cls, spec: Path) -> Lab | None:
        """The recorded lab of a spec without reading it; None when there is none."""
        digest = hashlib.sha256(str(spec.resolve()).encode()).hexdigest()[:8]
        found = sorted(base().glob(f"*-{digest}"))
        return cls(found[0]) if found else None

    def supervisor(self) -> int | None:
        """Pid of the running supervisor, process 1 of the lab, as seen here; None when the lab is dead."""
        try:
            pid, born = (self.folder / PID_FILE).read_text(encoding="ascii").split()
        except (OSError, ValueError):
            return None
        return int(pid) if start_time(int(pid)) == born else None

    def first_process(self) -> int:
        """The same; raises FabricError when the lab does not run."""
        pid = self.supervisor()
        if pid is None:
            raise FabricError("this lab does not run", hint="fabric lab up SPEC")
        return pid

    def read(self) -> dict[str, Any]:
        """lab.json."""
        try:
            data: dict[str, Any] = json.loads((self.folder / LAB_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FabricError(f"{self.folder}: the lab's record cannot be read: {error}") from None
        return data

    def remove(self) -> None:
        """Forget a lab that does not run."""
        cgroups.remove(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def logs(self, node: str) -> Path:
        """Folder of a node's logs."""
        return self.folder / "logs" / node

    def node_folder(self, node: str) -> Path:
        """Folder of a node."""
        return self.folder / "nodes" / node


def all_labs() -> list[Lab]:
    """All recorded labs."""
    folder = base()
    return [Lab(path) for path in sorted(folder.iterdir()) if path.is_dir()] if folder.is_dir() else []
