"""`fabric validate hosts` and `storage`: all hosts of a spec, at once, as findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fabric.design.hosts import expect
from fabric.design.hosts.model import HostFleet, HostPlan
from fabric.design.load import load_fleet
from fabric.errors import FabricError
from fabric.targets.host import render_concern
from fabric.verify.finding import Finding
from fabric.verify.hosts.ansible import Job, ask
from fabric.verify.hosts.answers import findings
from fabric.verify.hosts.node.check import Check, chosen
from fabric.verify.hosts.node.checks import ALL, HOSTS, STORAGE

Part = Literal["hosts", "storage", "all"]
CHECKS: Mapping[Part, tuple[Check, ...]] = {"hosts": HOSTS, "storage": STORAGE, "all": ALL}
Ask = Callable[[Job], Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Options:
    """`only` and `skip` are ids or patterns of checks. `deadline_s`: seconds for each thing that a host reads. `forks`: hosts at once."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    deadline_s: float = 20.0
    forks: int = 64
    host_s: float = 120.0


def check_hosts(
    spec: Path,
    names: Sequence[str] | None = None,
    part: Part = "all",
    options: Options | None = None,
    *,
    ask: Ask = ask,
) -> list[Finding]:
    """Findings of the hosts `names` (all that are deployed or drained when None) of the spec at `spec`.

    Each is compared with what the spec says now, whatever stands in its own files. Raises FabricError for a spec with mistakes, an
    unknown host or check, and when Ansible cannot begin.
    """
    options = options or Options()
    fleet = load_fleet(spec).fleet
    arguments = _arguments(part, options)
    plans = _plans(fleet, names)
    if not plans:
        raise FabricError("no host of this spec is deployed", hint="planned hosts are not looked at")
    expected = {plan.name: expected_text(fleet, plan) for plan in plans}
    answers = ask(Job(spec, expected, arguments, options.forks, options.host_s))
    return findings([plan.name for plan in plans], answers)


def expected_text(fleet: HostFleet, plan: HostPlan) -> bytes:
    """What a host is compared with: the file that the role `checks` writes."""
    return next(file.content for file in render_concern(fleet, plan, "checks") if file.path == expect.PATH)


def _plans(fleet: HostFleet, names: Sequence[str] | None) -> list[HostPlan]:
    if names is None:
        return [plan for plan in fleet.hosts if plan.state != "planned"]
    wanted = set(names)
    found = [plan for plan in fleet.hosts if plan.name in wanted]
    missing = wanted - {plan.name for plan in found}
    if missing:
        raise FabricError(f"{min(missing)} is no host of this spec", hint="fabric show hosts lists them")
    return found


def _arguments(part: Part, options: Options) -> tuple[str, ...]:
    """For check-host. A pattern is checked here, where a mistake is one line and not one a host."""
    try:
        names = [check.id for check in chosen(CHECKS[part], options.only, options.skip)]
    except ValueError as error:
        raise FabricError(str(error), hint="the checks are listed in docs/reference/host-checks.md") from None
    if not names:
        raise FabricError("all checks are skipped")
    every = len(names) == len(ALL)
    only = [] if every else [word for name in names for word in ("--only", name)]
    return ("--deadline", f"{options.deadline_s:g}", *only)
