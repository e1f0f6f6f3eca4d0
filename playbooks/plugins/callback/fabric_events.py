"""What a playbook does, as JSON lines on a file descriptor, for `fabric plan --hosts` and `fabric apply --hosts`; nothing on the screen."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible.plugins.callback import CallbackBase

if TYPE_CHECKING:
    from ansible.executor.stats import AggregateStats
    from ansible.executor.task_result import CallbackTaskResult
    from ansible.playbook.task import Task

DOCUMENTATION = """
name: fabric_events
type: stdout
short_description: JSON lines for fabric plan --hosts and fabric apply --hosts
description:
  - Writes one JSON object a line to the file descriptor that the environment variable C(FABRIC_EVENTS_FD) names, and nothing else.
  - "C(task): a task begins (C(task), C(role))."
  - "C(host): a task changed something on a host, failed there, or could not reach it (C(host), C(status), C(task), C(role), C(msg), C(files))."
  - "C(end): the run is over (C(hosts): counts of each; C(told): what tasks of C(ansible.builtin.set_stats) with C(per_host) told of each)."
  - Arguments and results of modules are never written, but for their message and their diff; secrets are masked in both, and what
    C(no_log) hides stays hidden.
requirements:
  - the Python that runs Ansible has the package clusterfabric
"""

ENVIRONMENT = "FABRIC_EVENTS_FD"
MESSAGE = 600
"""Characters of a message that are kept (our choice: a line of a report)."""
LINES = 400
"""Lines of one file's diff that are kept."""
FILES = 200
"""Files of one task on one host that are kept."""
_COUNTS = ("ok", "changed", "failures", "dark", "skipped", "rescued", "ignored")


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """See DOCUMENTATION."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "fabric_events"

    def __init__(self) -> None:
        super().__init__()
        self._handle = int(os.environ.get(ENVIRONMENT, "-1"))

    def v2_playbook_on_task_start(self, task: Task, is_conditional: bool) -> None:  # noqa: ARG002 - Ansible's signature
        """A task begins."""
        self._write({"event": "task", **_task(task)})

    def v2_playbook_on_handler_task_start(self, task: Task) -> None:
        """A handler begins."""
        self._write({"event": "task", **_task(task)})

    def v2_runner_on_ok(self, result: CallbackTaskResult) -> None:
        """Told only where something changed."""
        if result.result.get("changed"):
            self._host("changed", result)

    def v2_runner_on_failed(self, result: CallbackTaskResult, ignore_errors: bool = False) -> None:
        """A task failed on a host; one whose failure is ignored may have changed something."""
        if not ignore_errors:
            self._host("failed", result)
        elif result.result.get("changed"):
            self._host("changed", result)

    def v2_runner_on_unreachable(self, result: CallbackTaskResult) -> None:
        """A host was not reached."""
        self._host("unreachable", result)

    def v2_playbook_on_stats(self, stats: AggregateStats) -> None:
        """The end."""
        hosts = {host: {name: getattr(stats, name).get(host, 0) for name in _COUNTS} for host in stats.processed}
        told = {host: values for host, values in stats.custom.items() if host != "_run"}
        self._write({"event": "end", "hosts": hosts, "told": told})

    def _host(self, status: str, result: CallbackTaskResult) -> None:
        body = result.result
        message = "" if status == "changed" else _message(body)
        self._write(
            {
                "event": "host",
                "host": result.host.get_name(),
                "status": status,
                **_task(result.task),
                "msg": message,
                "files": _files(body) if status == "changed" else [],
            }
        )

    def _write(self, record: Mapping[str, Any]) -> None:
        """One line. Who reads is gone: then nobody is there to finish the run, and it ends."""
        line = (json.dumps(record, default=str) + "\n").encode()
        try:
            while line:
                line = line[os.write(self._handle, line) :]
        except OSError:
            os._exit(4)


def _task(task: Task) -> dict[str, str]:
    role = getattr(task, "_role", None)
    return {"task": str(task.get_name()).rpartition(" : ")[2], "role": role.get_name() if role else ""}


def _message(body: Mapping[str, Any]) -> str:
    """Why it failed: the module's message, that of its first failed item, or what it said on standard error. Masked."""
    from fabric.change.mask import mask_lines

    said = [body, *(item for item in body.get("results") or () if isinstance(item, dict) and item.get("failed"))]
    if body.get("censored"):
        return "hidden by no_log"
    texts = [str(part.get(key) or "").strip() for part in reversed(said) for key in ("msg", "stderr", "module_stderr")]
    text = next((text for text in texts if text and text != "One or more items failed"), "no reason was given")
    more = next((str(part["stderr"]).strip() for part in said if part.get("stderr")), "")
    text = f"{text}: {more}" if more and more not in text else text
    return " ".join(mask_lines(text[: 4 * MESSAGE].splitlines()))[:MESSAGE]


def _files(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files that a task changed, with their differences, from the results of the task or of its items."""
    if body.get("censored"):
        return []
    found: list[dict[str, Any]] = []
    for part in [body, *(item for item in body.get("results") or () if isinstance(item, dict))]:
        diffs = part.get("diff") or []
        for diff in [diffs] if isinstance(diffs, dict) else diffs:
            if isinstance(diff, dict) and len(found) < FILES:
                found += _file(diff, part)
    return found


def _file(diff: Mapping[str, Any], body: Mapping[str, Any]) -> list[dict[str, Any]]:
    from fabric.change.diff import diff_lines
    from fabric.change.diff_model import UnreadableError, printable
    from fabric.change.mask import mask_lines

    path = str(diff.get("after_header") or diff.get("before_header") or body.get("path") or body.get("dest") or "")
    path = path.removesuffix(" (content)")
    row: dict[str, Any] = {"path": printable(path)[:512], "kind": "changed", "note": "", "hunks": []}
    if "prepared" in diff:
        lines = [printable(line) for line in mask_lines(str(diff["prepared"]).splitlines()[:LINES])]
        return [{**row, "hunks": [[f"  {line}" for line in lines]]}]
    before, after = _text(diff.get("before")), _text(diff.get("after"))
    if before == after:
        return []
    try:
        hunks = [list(change.lines) for change in diff_lines(before, after)]
    except UnreadableError as error:
        return [{**row, "kind": "replaced", "note": str(error)}]
    kind = "new" if not before else "removed" if not after else "changed"
    if sum(map(len, hunks)) > LINES:
        return [{**row, "kind": "replaced", "note": f"more than {LINES:,} lines differ"}]
    return [{**row, "kind": kind, "hunks": hunks}]


def _text(value: Any) -> str:
    """A side of a diff: text, or what a module tells as data."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True, default=str)
