"""Control machines as workers of a Dask scheduler: each takes a part of a wave's hosts and runs its own Ansible on them.

A worker gets the spec's text and names of playbooks, and runs those of its own installation; secrets it finds in its own environment.
Each part is bound to one worker, so that Dask never starts it a second time unseen: when a worker is lost its hosts are unknown, that is
told and written down, and only then is the part given to another worker. Ansible ends with the worker, and with who asked for it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fabric.change.hosts.ansible import run_work
from fabric.change.hosts.runner import Lost
from fabric.change.hosts.work import HostOutcome, Work, dump_outcomes, load_outcomes, load_work
from fabric.errors import FabricError
from fabric.words import counted

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 10
"""Seconds in which the scheduler must answer (our choice)."""
ATTEMPTS = 3
"""How often a part is given to a worker: a work that has killed three is not given to a fourth (our choice)."""
_TICK_S = 0.2
_SLACK_S = 60.0
_STARTING = "no control machine (Dask worker) is there"


def remote(text: str) -> str:
    """On a worker: runs the work, until nobody wants it any more. JSON both ways; an expected error is a value too."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def unwanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state in ("cancelled", "resumed")

    try:
        outcomes = run_work(load_work(text), unwanted)
    except FabricError as error:
        return json.dumps({"error": error.message, "hint": error.hint})
    return json.dumps({"outcomes": dump_outcomes(outcomes)})


@dataclass(slots=True)
class _Part:
    """Some hosts of a work at a worker."""

    work: Work
    worker: str
    future: Future[str]
    attempt: int
    until: float


class DaskRunner:
    """See the module. Raises FabricError when the scheduler is not reached."""

    def __init__(self, address: str, stop: Callable[[], bool]) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise FabricError(
                "--executor dask needs the Python package distributed", hint="pip install 'clusterfabric[dask]'"
            ) from None
        self._address, self._stop = address, stop
        self._known: list[str] = []
        try:
            self._client: Client = Client(address, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError, TypeError) as error:
            why = str(error).splitlines()[0][:200] if isinstance(error, ValueError) else f"no answer in {CONNECT_S} s"
            raise FabricError(f"the Dask scheduler {address} is not reached: {why}") from error
        if not self._workers():
            self.close()
            raise FabricError(f"{_STARTING} at {address}", hint="start one with: dask worker ADDRESS --nthreads 1")

    def close(self) -> None:
        """Leaves the scheduler; what still runs at its workers is ended there."""
        self._client.close(timeout=CONNECT_S)  # type: ignore[no-untyped-call]

    def run(self, work: Work, lost: Lost) -> Mapping[str, HostOutcome]:
        """See Runner: every worker takes an equal part."""
        workers = self._workers()
        if not workers:
            raise FabricError(f"{_STARTING} any more at {self._address}")
        parts = [self._start(replace(work, hosts=hosts), worker, 1) for hosts, worker in _shares(work.hosts, workers)]
        found: dict[str, HostOutcome] = {}
        while parts and not self._stop():
            wait([part.future for part in parts], timeout=_TICK_S)
            parts = [again for part in parts for again in self._look(part, found, lost)]
        for part in parts:
            part.future.cancel()
            found.update(_unknown(part.work, "it was stopped by the operator"))
        return {host: found[host] for host in work.hosts}

    def _workers(self) -> list[str]:
        """The addresses of all workers there are, in order; the last known ones while the scheduler is not reached.

        Asked of the scheduler itself: what `scheduler_info` returns is overwritten every two seconds by an answer without workers.
        """
        scheduler = self._client.scheduler
        if scheduler is not None and self._client.status == "running":
            try:
                info: Mapping[str, Any] = self._client.sync(scheduler.identity, n_workers=-1)  # type: ignore[no-untyped-call]
            except OSError:
                return self._known
            self._known = sorted(info["workers"])
        return self._known

    def _start(self, work: Work, worker: str, attempt: int) -> _Part:
        executor: Executor = self._client.get_executor(  # type: ignore[no-untyped-call]
            workers=[worker], allow_other_workers=False, pure=False, retries=0
        )
        return _Part(
            work, worker, executor.submit(remote, work.dump()), attempt, time.monotonic() + work.deadline_s + _SLACK_S
        )

    def _look(self, part: _Part, found: dict[str, HostOutcome], lost: Lost) -> list[_Part]:
        """[part] while it goes on; [] when it is through; another one when its worker was lost."""
        if part.future.done():
            answer = _answer(part)
            if answer is not None:
                found.update(answer)
                return []
        elif part.worker in self._workers():
            if time.monotonic() < part.until:
                return [part]
            part.future.cancel()
            found.update(_unknown(part.work, f"the control machine {part.worker} gave no answer"))
            return []
        part.future.cancel()
        why = f"the control machine {part.worker} was lost"
        lost(part.work.hosts, why)
        others = [worker for worker in self._workers() if worker != part.worker]
        if not others or part.attempt == ATTEMPTS:
            found.update(_unknown(part.work, f"{why}, and {'no other is there' if not others else 'others before it'}"))
            return []
        return [self._start(part.work, others[part.attempt % len(others)], part.attempt + 1)]


def _answer(part: _Part) -> Mapping[str, HostOutcome] | None:
    """What a worker has answered; None when it was lost. Raises FabricError for what it refused."""
    try:
        raw = json.loads(part.future.result())
    except CancelledError:
        return None
    except Exception as error:
        if type(error).__name__ in ("KilledWorker", "FutureCancelledError", "NoValidWorkerError"):
            return None
        text = f"the control machine {part.worker} cannot do the work: {type(error).__name__}: {str(error)[:200]}"
        raise FabricError(text, hint="install the same clusterfabric and ansible-core on all of them") from error
    if "error" in raw:
        raise FabricError(f"control machine {part.worker}: {raw['error']}", hint=raw.get("hint"))
    outcomes = load_outcomes(raw["outcomes"])
    missing = [host for host in part.work.hosts if host not in outcomes]
    if missing:
        raise FabricError(f"the control machine {part.worker} said nothing of {counted(len(missing), 'host')}")
    return {host: outcomes[host] for host in part.work.hosts}


def _unknown(work: Work, why: str) -> dict[str, HostOutcome]:
    return {host: HostOutcome(host, "unknown", why) for host in work.hosts}


def _shares(hosts: Sequence[str], workers: Sequence[str]) -> list[tuple[tuple[str, ...], str]]:
    """Neighbouring hosts to the same worker, shares of equal size; no empty ones."""
    each = -(-len(hosts) // len(workers))
    return [
        (tuple(hosts[i : i + each]), worker) for i, worker in zip(range(0, len(hosts), each), workers, strict=False)
    ]
