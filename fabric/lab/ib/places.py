"""Where things lie in the state folder of an InfiniBand lab.

fabric.net, run/                  the net; where ibsim runs
logs/HOST/opensm.log, opensm.out  log file and standard output of an SM (a link to nodes/HOST/disk/log)
nodes/HOST/disk/opensm            the SM host's /etc/opensm
nodes/HOST/lab                    the form of these files that opensm really reads here, and changes.json: what differs
nodes/HOST/cache, dump, run       guid2lid and so on; dumps; working directory of opensm
seats/PID                         working directory of a command that `lab exec` runs now
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ETC = "/etc/opensm"
CONF = "opensm.conf"

OPERATOR, KEY = "netops", "id_ed25519"
"""As in `fabric.lab.prepare`, which takes long to load: the account of every box, and the file of the operator's key."""


@dataclass(frozen=True, slots=True)
class SmPlace:
    """The folders of one SM host."""

    folder: Path

    @classmethod
    def of(cls, lab: Path, host: str) -> SmPlace:
        """Those of a host in the lab whose state folder is `lab`."""
        return cls(lab / "nodes" / host)

    @property
    def etc(self) -> Path:
        """What the host sees as /etc/opensm."""
        return self.folder / "disk" / "opensm"

    @property
    def log_folder(self) -> Path:
        """What the host sees as /var/log."""
        return self.folder / "disk" / "log"

    @property
    def log(self) -> Path:
        """The log file of opensm."""
        return self.log_folder / "opensm.log"

    @property
    def out(self) -> Path:
        """What opensm printed, over all its lives."""
        return self.log_folder / "opensm.out"

    @property
    def form(self) -> Path:
        """The files as opensm reads them here."""
        return self.folder / "lab"

    @property
    def cache(self) -> Path:
        """`OSM_CACHE_DIR`: each SM has its own (infiniband.md 1.2)."""
        return self.folder / "cache"

    @property
    def dump(self) -> Path:
        """`OSM_TMP_DIR` and `dump_files_dir`."""
        return self.folder / "dump"

    @property
    def run(self) -> Path:
        """Working directory of opensm, where its `sys-<pid>` comes."""
        return self.folder / "run"

    def make(self) -> None:
        """Make all folders."""
        for folder in (self.etc, self.log_folder, self.form, self.cache, self.dump, self.run):
            folder.mkdir(parents=True, exist_ok=True)
