"""The lines of the callback `fabric_events` -> what became of each host. A host is judged by the run's end, never by silence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fabric.change.diff_model import printable
from fabric.change.hosts.work import HostOutcome, Outcome, TaskRow, file_row

LIMIT = 8 << 20
"""Bytes of one line that are read."""
_REASON = 200


class Tally:
    """Takes lines as they come; `outcomes` gives every host of the run once it is over, or was cut off."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._hosts = tuple(hosts)
        self._tasks: dict[str, list[TaskRow]] = {host: [] for host in self._hosts}
        self._bad: dict[str, tuple[Outcome, str]] = {}
        self._counts: Mapping[str, Any] | None = None
        self._told: Mapping[str, Any] = {}
        self.task = ""

    def line(self, line: bytes) -> None:
        """One line; what is no record of ours is left out (it came from a program that we do not know)."""
        try:
            record = json.loads(line)
            kind = record["event"]
            if kind == "task":
                self.task = str(record["task"])
            elif kind == "host" and record["host"] in self._tasks:
                self._host(record)
            elif kind == "end":
                self._counts, self._told = dict(record["hosts"]), dict(record["told"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return

    def _host(self, record: Mapping[str, Any]) -> None:
        host, status = record["host"], record["status"]
        role, task = printable(str(record["role"])), printable(str(record["task"]))
        row = TaskRow(role, task, tuple(map(file_row, record["files"])))
        if status == "changed":
            self._tasks[host].append(row)
        elif status in ("failed", "unreachable"):
            said = printable(str(record["msg"]))
            self._bad[host] = (status, said if status == "unreachable" else f"{row.title}: {said}")

    def outcomes(self, why: str) -> dict[str, HostOutcome]:
        """All hosts of the run; `why` says what cut it off, for those that nothing final was told of."""
        return {host: self._outcome(host, why) for host in self._hosts}

    def _outcome(self, host: str, why: str) -> HostOutcome:
        tasks = tuple(self._tasks[host])
        counts = (self._counts or {}).get(host)
        if host in self._bad and (counts is None or counts.get("failures") or counts.get("dark")):
            status, said = self._bad[host]
            return HostOutcome(host, status, said, tasks)
        if counts is None:
            where = f" in the task {self.task!r}" if self.task and self._counts is None else ""
            return HostOutcome(host, "unknown", f"{why}{where}", tasks)
        if counts.get("failures") or counts.get("dark"):
            return HostOutcome(host, "failed", "it failed, and Ansible did not say why", tasks)
        return HostOutcome(host, "changed" if tasks else "unchanged", "", tasks, self._reboot(host))

    def _reboot(self, host: str) -> dict[str, str]:
        told = self._told.get(host)
        reasons = told.get("fabric_reboot") if isinstance(told, dict) else None
        if not isinstance(reasons, dict):
            return {}
        return {printable(str(k))[:64]: printable(str(v))[:_REASON] for k, v in sorted(reasons.items())}
