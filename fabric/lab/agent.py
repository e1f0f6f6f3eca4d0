"""How a launcher of parallel programs starts something on the hosts of a lab: a script that takes the place of ssh.

`mpirun --mca plm_rsh_agent SCRIPT` calls it as `SCRIPT HOST COMMAND...` at the operator's seat. It enters the namespaces of the host. What Open
MPI says to itself goes over the management network, so that it does not die with a NIC under test.
"""

from __future__ import annotations

import json
from pathlib import Path

from fabric.lab.names import MANAGEMENT

SCRIPT = "enter-host"
FIRST = "first"
"""File in the folder of a node: the process id of its process 1, as the lab sees it."""

MPI_FILES = "mpi"
"""Folder of the temporary files of Open MPI; it ends with the lab."""

_TEXT = """#!/bin/sh
# enter-host HOST COMMAND...: runs the command in that host of the lab.
case $1 in '' | -* | *[!A-Za-z0-9.-]*) echo "enter-host: $1 is no host" >&2; exit 255 ;; esac
pid=$(cat "{folder}/nodes/$1/first" 2>/dev/null) || {{ echo "enter-host: there is no host $1" >&2; exit 255; }}
shift
exec nsenter -t "$pid" -m -u -i -n -p /bin/sh -c "$*"
"""


def write(folder: Path) -> None:
    """Put the script into the lab's folder."""
    path = folder / SCRIPT
    path.write_text(_TEXT.format(folder=folder), encoding="utf-8")
    path.chmod(0o755)


def environment(folder: Path) -> dict[str, str]:
    """What `mpirun` at the seat needs to know of the lab, as environment variables that Open MPI reads."""
    network = _network(folder)
    return {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_plm_rsh_agent": str(folder / SCRIPT),
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "OMPI_MCA_orte_tmpdir_base": str(folder / MPI_FILES),
        "OMPI_MCA_oob_tcp_if_include": network,
        # A lab is many hosts on few cores: nobody spins, nobody owns a core.
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }


def _network(folder: Path) -> str:
    """The management network, or its interface's name when the lab's record does not tell."""
    from ipaddress import ip_interface

    try:
        return str(ip_interface(json.loads((folder / "lab.json").read_text(encoding="utf-8"))["gateway"]).network)
    except (OSError, ValueError, KeyError):
        return MANAGEMENT
