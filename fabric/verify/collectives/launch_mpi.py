"""Open MPI: a task as one `mpirun`, with its hostfile or its rankfile by topology."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fabric.spec.collectives import MpiRuns
from fabric.verify.collectives.engines import Task
from fabric.verify.collectives.processes import FOLDER, Command

_MARGIN_S = 20
"""Seconds after a run's limit at which mpirun ends it by itself, should nobody be left to do so (our choice)."""


@dataclass(frozen=True, slots=True)
class MpiWay:
    """How mpirun is called. `front_end`: interfaces for its own traffic. `user`, `port`: logins. `sockets`: CPU sockets of a host.

    `as_root`: this process is root, which Open MPI wants to be told. `placed`: hostfile and rankfile can be files beside the command.
    `given`: MCA parameters that the environment sets already (OMPI_MCA_*), and which are left alone: a lab, or a site, knows better.
    """

    own: MpiRuns
    front_end: tuple[str, ...] = ()
    user: str = "root"
    port: int = 22
    sockets: int = 2
    as_root: bool = False
    placed: bool = True
    given: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """As --launcher has it."""
        return "mpirun"

    def command(self, task: Task, limit_s: float) -> Command:
        """The command; nothing is started."""
        ranks = task.ranks * len(task.hosts)
        argv: list[str] = [self.own.program]
        if self.as_root:
            argv.append("--allow-run-as-root")
        argv += ["--tag-output", "--np", str(ranks), "--timeout", str(int(limit_s + (_MARGIN_S if self.placed else 0)))]
        files: dict[str, str] = {}
        if not self.placed:
            argv += ["--host", ",".join(f"{host}:{task.ranks}" for host in task.hosts)]
            argv += ["--map-by", f"ppr:{task.ranks}:node", "--bind-to", "none"]
        elif task.gpus == "rank":
            files["rankfile"] = rankfile(task.hosts, task.ranks, self.sockets)
            argv += ["--rankfile", f"{FOLDER}/rankfile"]
        else:
            # The sequential mapper: ranks stand on the hosts exactly in the file's order.
            files["hostfile"] = "".join(f"{host}\n" * task.ranks for host in task.hosts)
            argv += ["--mca", "rmaps", "seq", "--hostfile", f"{FOLDER}/hostfile", "--bind-to", "none"]
        mca = (*self._reach(), *task.mca)
        argv += [word for name, value in mca if name not in self.given for word in ("--mca", name, value)]
        argv += [word for name, value in task.env for word in ("-x", f"{name}={value}")]
        # Runs beside each other would make and remove one and the same session folder, and one may find it gone.
        env = {"TMPDIR": FOLDER} if self.placed else {}
        return Command((*argv, *task.argv), limit_s, env, files)

    def _reach(self) -> Iterator[tuple[str, str]]:
        """How its daemons are started and talk."""
        yield "plm_rsh_no_tree_spawn", "1"
        yield "plm_rsh_num_concurrent", str(self.own.concurrent)
        if self.own.rsh_agent is not None:
            yield "plm_rsh_agent", self.own.rsh_agent
        elif "plm_rsh_agent" not in self.given:
            yield "plm_rsh_args", f"-o BatchMode=yes -l {self.user} -p {self.port}"
        if self.front_end:
            yield "oob_tcp_if_include", ",".join(self.front_end)


def rankfile(hosts: Sequence[str], ranks: int, sockets: int) -> str:
    """Each rank on its host, on any core of the CPU socket that its GPU hangs on; GPUs share the sockets evenly, in their order."""
    places = ((place, local) for place in range(len(hosts)) for local in range(ranks))
    return "".join(
        f"rank {place * ranks + local}={hosts[place]} slot={local * sockets // ranks}:*\n" for place, local in places
    )
