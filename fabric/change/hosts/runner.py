"""Who runs Ansible: this machine, or control machines that share the hosts of a wave (`fabric.change.hosts.dask`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from fabric.change.hosts.ansible import run_work
from fabric.change.hosts.work import HostOutcome, Work
from fabric.errors import FabricError

Lost = Callable[[Sequence[str], str], None]
"""(hosts, what was lost): called when nobody knows any more what happens on them, before their work is given to somebody else."""


class Runner(Protocol):
    """Runs a work. FabricError when Ansible could not begin anywhere."""

    def run(self, work: Work, lost: Lost) -> Mapping[str, HostOutcome]:
        """What became of each host of it."""

    def close(self) -> None:
        """Ends what it holds open."""


class LocalRunner:
    """On this machine, one run of Ansible for the whole work. `stop`: nobody waits any more."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop

    def run(self, work: Work, lost: Lost) -> Mapping[str, HostOutcome]:  # noqa: ARG002 - nothing is lost here but with us
        """See Runner."""
        return run_work(work, self._stop)

    def close(self) -> None:
        """Nothing is open."""


def runner_of(executor: str, stop: Callable[[], bool]) -> Runner:
    """`local`, or `dask=ADDRESS` of a scheduler. Raises FabricError for anything else, and when the scheduler is not reached."""
    if executor == "local":
        return LocalRunner(stop)
    kind, equals, address = executor.partition("=")
    if kind != "dask" or not equals or not address:
        raise FabricError(
            f"--executor {executor!r} is neither local nor dask=ADDRESS", hint="dask=tls://scheduler.example.net:8786"
        )
    from fabric.change.hosts.dask import DaskRunner

    return DaskRunner(address, stop)
