"""Can a lab be built here? Tries in namespaces of its own, which end with this process; one line on standard error says what is refused."""

from __future__ import annotations

import os
import sys

from fabric.errors import FabricError
from fabric.lab import syscalls
from fabric.lab.proc import ip_batch


def main() -> int:
    """Exit code 0 = yes."""
    try:
        syscalls.unshare(syscalls.NEWNS | syscalls.NEWNET | syscalls.NEWUTS | syscalls.NEWIPC | syscalls.NEWPID)
        child = os.fork()
        if child:  # only the child is in the new pid namespace
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        syscalls.mount("none", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
        _overlay()
        ip_batch(["link add va type veth peer name vb", "link add br0 type bridge"])
    except (OSError, FabricError) as error:
        why = getattr(error, "strerror", None) or error
        print(f"this kernel, or the container around us, refuses what a lab needs: {why}", file=sys.stderr)
        return 1
    return 0


def _overlay() -> None:
    """A tmpfs and an overlay over /mnt, as each node has them."""
    syscalls.mount("probe", "/mnt", "tmpfs")
    for name in ("upper", "work"):
        os.mkdir(f"/mnt/{name}")  # noqa: PTH102 - pathlib is slow to import
    syscalls.mount("probe", "/var", "overlay", options="lowerdir=/var,upperdir=/mnt/upper,workdir=/mnt/work")


if __name__ == "__main__":
    sys.exit(main())
