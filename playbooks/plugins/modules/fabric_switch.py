#!/usr/bin/python
"""Ansible module fabric_switch: plan and apply a cluster's switches, or its subnet managers, by the code of `fabric plan` and `fabric apply`."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

if TYPE_CHECKING:
    from fabric.change.control import Control
    from fabric.change.events import Ended
    from fabric.change.plan import Plan

DOCUMENTATION = """
module: fabric_switch
short_description: Configure a cluster's switches as its spec declares, in safe waves
description:
  - Reads the switches, compares them with what the spec declares, and applies the difference in waves by failure domain.
  - Every change is committed under a timer, checked over a fresh connection, and confirmed; else the switch returns to its old state.
  - An InfiniBand spec has its subnet managers' hosts for devices, standbys before the master; what is said of switches goes for them.
  - One task does all switches. Run it once on localhost (O(devices) takes the hosts of the play), never once for each switch.
  - The run is recorded as one of C(fabric apply); C(fabric runs) lists, resumes and rolls back runs.
  - "Credentials are those of the command: an SSH agent, or the environment variables C(FABRIC_USER), C(FABRIC_KEY_FILE), C(FABRIC_PASSWORD)."
requirements: [clusterfabric]
options:
  spec: {description: The cluster's spec., type: path, required: true}
  state:
    description: V(planned) only compares, as check mode does; V(applied) changes.
    choices: [planned, applied]
    default: applied
  devices: {description: Names or patterns of the switches; all when empty., type: list, elements: str, default: []}
  commit_timer: {description: Seconds after which a switch returns to its old state unless confirmed., type: int, default: 300}
  gate_timeout: {description: "Seconds for sessions and links, or the subnet, to be up again.", type: int, default: 90}
  wave_size: {description: Most switches in one wave., type: int}
  canary: {description: Pattern of the switches that go first; by default one of each role and system., type: str}
  max_parallel: {description: Switches worked on at once., type: int, default: 32}
  max_failed: {description: Failed switches after which the run stops., type: int, default: 1}
  state_dir: {description: "Folder of runs, lock and known hosts; by default C(FABRIC_STATE), else C(.fabric) beside the spec.", type: path}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
"""

EXAMPLES = """
- name: All switches of the play, in waves
  fabric_switch:
    spec: "{{ fabric_spec }}"
    devices: "{{ ansible_play_hosts_all }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = """
run: {description: "Id of the run, for C(fabric runs); empty when nothing was to be changed.", returned: always, type: str}
counts: {description: How many switches ended how., returned: always, type: dict}
devices: {description: "Each switch that differs: result and detail.", returned: always, type: dict}
"""

ARGUMENTS: dict[str, dict[str, Any]] = {
    "spec": {"type": "path", "required": True},
    "state": {"choices": ["planned", "applied"], "default": "applied"},
    "devices": {"type": "list", "elements": "str", "default": []},
    "commit_timer": {"type": "int", "default": 300},
    "gate_timeout": {"type": "int", "default": 90},
    "wave_size": {"type": "int"},
    "canary": {"type": "str"},
    "max_parallel": {"type": "int", "default": 32},
    "max_failed": {"type": "int", "default": 1},
    "state_dir": {"type": "path"},
}
LIMITS = {
    "commit_timer": (30, 3600),
    "gate_timeout": (1, 3000),
    "wave_size": (1, 4096),
    "max_parallel": (1, 1024),
    "max_failed": (1, 10000),
}
"""Smallest and largest value, as `fabric apply` has them."""
NAMED = 5
"""Switches that an error names; the rest is counted."""
LOOK_S = 1.0
"""How often the module looks whether Ansible is still there, in seconds."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the task returns. `problem` is the reason of its failure, "" when all switches are as declared."""

    changed: bool
    diff: str
    counts: Mapping[str, int]
    devices: Mapping[str, Mapping[str, str]]
    run: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()


def work(params: Mapping[str, Any], *, only_plan: bool, gone: Callable[[], bool]) -> Outcome:
    """Plans, and unless `only_plan` applies. `gone` says whether nobody waits for the result. Raises FabricError."""
    from pathlib import Path

    from fabric.change.apply import to_apply
    from fabric.change.show import show_plan
    from fabric.cli.live import open_live

    _check_limits(params)
    live = open_live(
        Path(params["spec"]),
        devices=params["devices"],
        max_parallel=params["max_parallel"],
        state=None if params["state_dir"] is None else Path(params["state_dir"]),
    )
    plan = live.plan()
    diff = "\n".join(show_plan(plan)) + "\n" if plan.exit_code else ""
    if only_plan or not to_apply(plan):
        return _planned(plan, diff)
    return _applied(live, plan, diff, params, gone)


def _check_limits(params: Mapping[str, Any]) -> None:
    from fabric.errors import FabricError

    for name, (low, high) in LIMITS.items():
        if params[name] is not None and not low <= params[name] <= high:
            raise FabricError(f"{name} is {params[name]}; it must be between {low} and {high}")


def _planned(plan: Plan, diff: str) -> Outcome:
    from fabric.change.plan import KINDS

    differ = {d.name: {"result": d.kind, "detail": d.note} for d in plan.devices if d.kind != "same"}
    counts: dict[str, int] = {kind: plan.count(kind) for kind in KINDS if plan.count(kind)}
    return Outcome(plan.exit_code == 2 or _some(plan), diff, counts, differ, problem=_unread(plan))


def _some(plan: Plan) -> bool:
    return any(device.kind in ("changed", "new") for device in plan.devices)


def _unread(plan: Plan) -> str:
    return _listed(plan, "could not be read", {d.name: d.note for d in plan.devices if d.kind == "unknown"})


def _applied(live: Any, plan: Plan, diff: str, params: Mapping[str, Any], gone: Callable[[], bool]) -> Outcome:
    from fabric.change.control import Options
    from fabric.change.events import GOOD, OLD, Event, Note, RunEnded, RunStarted
    from fabric.change.operate import Operator
    from fabric.change.waves import WAVE_SIZE

    seen: dict[str, str] = {}
    notes: list[str] = []

    def observe(event: Event) -> None:
        if isinstance(event, RunStarted):
            seen["run"] = event.run
        elif isinstance(event, RunEnded):
            seen["stopped"] = event.stopped
        elif isinstance(event, Note):
            notes.append(f"{event.device}: {event.text}" if event.device else event.text)

    options = Options(
        params["commit_timer"], params["gate_timeout"], parallel=params["max_parallel"], max_failed=params["max_failed"]
    )
    waves = live.waves(params["wave_size"] or WAVE_SIZE, params["canary"])
    operator = Operator(
        live.job, str(live.spec), live.state, live.secrets, live.connect, waves, options, [observe], spec_text=live.text
    )  # fmt: skip
    stop_when_gone(operator.control, gone)
    ended: dict[str, Ended] = operator.apply(plan)
    counts: dict[str, int] = {}
    for one in ended.values():
        counts[one.result] = counts.get(one.result, 0) + 1
    good = {*GOOD, "not-started"}
    failed = {name: f"{one.result}: {one.detail}" for name, one in ended.items() if one.result not in good}
    stopped = f"stopped: {seen['stopped']}" if seen.get("stopped") else ""
    left = f"{counts['not-started']:,} not started" if "not-started" in counts else ""
    problems = filter(None, (_listed(plan, "not as declared", failed), _unread(plan), stopped, left))
    return Outcome(
        any(one.result not in OLD and one.result != "unchanged" for one in ended.values()),
        diff,
        counts,
        {name: {"result": one.result, "detail": one.detail} for name, one in ended.items()},
        seen.get("run", ""),
        "; ".join(problems),
        tuple(notes),
    )


def _listed(plan: Plan, what: str, reasons: Mapping[str, str]) -> str:
    """`2 switches could not be read: a: why; b: why`; "" for none."""
    if not reasons:
        return ""
    shown = "; ".join(why if why.startswith(name) else f"{name}: {why}" for name, why in list(reasons.items())[:NAMED])
    more = f"; and {len(reasons) - NAMED:,} more" if len(reasons) > NAMED else ""
    subnet = any(device.target == "opensm" for device in plan.devices)
    one, many = ("SM host", "SM hosts") if subnet else ("switch", "switches")
    return f"{len(reasons):,} {one if len(reasons) == 1 else many} {what}: {shown}{more}"


def stop_when_gone(control: Control, gone: Callable[[], bool]) -> None:
    """Ends the run in order when nobody waits for its result: devices in flight are finished, nothing further starts.

    Ansible ends its own processes on Ctrl-C, but not a module that is at work.
    """

    def watch() -> None:
        pause = threading.Event()
        while not gone():
            pause.wait(LOOK_S)
        control.interrupt()

    threading.Thread(target=watch, daemon=True).start()


def reader_gone() -> bool:
    """Whether the other end of our standard output, a pipe to Ansible, is closed."""
    poll = select.poll()
    poll.register(1, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        from fabric.errors import FabricError, FabricErrors
    except ImportError as error:
        module.fail_json(msg=f"{missing_required_lib('clusterfabric')} ({error})")
    os.umask(0o077)
    only_plan = module.check_mode or module.params["state"] == "planned"
    try:
        outcome = work(module.params, only_plan=only_plan, gone=reader_gone)
    except FabricErrors as errors:
        module.fail_json(msg="\n".join(map(str, errors.errors)))
    except FabricError as error:
        module.fail_json(msg=str(error))
    for note in outcome.notes:
        module.warn(note)
    result: dict[str, Any] = {
        "changed": outcome.changed,
        "run": outcome.run,
        "counts": dict(outcome.counts),
        "devices": dict(outcome.devices),
    }
    if module._diff and outcome.diff:
        result["diff"] = {"prepared": outcome.diff}
    if outcome.problem:
        module.fail_json(msg=outcome.problem, **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
