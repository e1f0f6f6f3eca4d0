"""From a spec and what was asked for to a job: which hosts, which stages, which launcher, what is expected."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fabric.catalog import catalog
from fabric.design.seats import Seat, Seating, load_seating
from fabric.errors import FabricError
from fabric.spec.collectives import Collectives
from fabric.spec.messages import choices
from fabric.verify.collectives.budget import Plan, plan
from fabric.verify.collectives.engines import Around, Task
from fabric.verify.collectives.gates import Expected, Key, expected_rates
from fabric.verify.collectives.launch import CommandLauncher, Launcher
from fabric.verify.collectives.launch_ansible import AnsibleLauncher
from fabric.verify.collectives.launch_mpi import MpiWay
from fabric.verify.collectives.launch_slurm import SlurmWay
from fabric.verify.collectives.model import Stage
from fabric.verify.collectives.processes import Command
from fabric.verify.collectives.stages import Group, tests_of
from fabric.verify.locate.places import Places
from fabric.verify.locate.plan_flows import flow_count
from fabric.words import counted


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a run needs, and that a dry run shows. `seats`: the hosts that take part."""

    spec: Path
    seating: Seating
    places: Places
    how: Collectives
    seats: Mapping[str, tuple[Seat, ...]]
    tests: dict[Stage, tuple[str, ...]]
    expected: dict[Key, Expected]
    launcher: CommandLauncher | AnsibleLauncher
    given: frozenset[str]

    def plan(self, minutes: float | None = None) -> Plan:
        """The stages that fit."""
        return plan(self.how, self.tests, self.seats, minutes)

    def commands(self, groups: Sequence[Group]) -> Iterator[tuple[Task, Command]]:
        """What the launcher would start for a round."""
        for task in self.launcher.tasks(groups):
            yield task, self.launcher.command(task)


def make_job(
    spec: Path, changes: Mapping[str, Any], patterns: Sequence[str], zones: Sequence[int], environ: Mapping[str, str]
) -> Job:
    """The job of a spec with `changes` to its section `collectives` (dotted keys; None changes nothing). FabricError for what cannot be."""
    chosen = tuple(changes.get("tests") or ())
    seating = load_seating(spec)
    whole = seating.cluster.spec
    how = _changed(whole.collectives, {key: value for key, value in changes.items() if key != "tests"})
    seats = _hosts(seating, patterns, zones)
    tests = tests_of(how, chosen)
    if chosen:
        _must_be(chosen, sorted({test for found in _ALL_TESTS for test in found}), "--test")
    given = frozenset(name.removeprefix("OMPI_MCA_") for name in environ if name.startswith("OMPI_MCA_"))
    places = Places(seating)
    launcher = _launcher(spec, places, how, seats, given)
    return Job(spec, seating, places, how, seats, tests, expected_rates(seating, how), launcher, given)


_ALL_TESTS = (("all_gather", "all_reduce", "reduce_scatter", "alltoall", "sendrecv", "ib_write_bw"),)


def _must_be(values: Sequence[str], known: Sequence[str], option: str) -> None:
    for value in values:
        if value not in known:
            raise FabricError(f"{option} {value!r} is none of {', '.join(known)}")


def _changed(own: Collectives, changes: Mapping[str, Any]) -> Collectives:
    """The section with what was asked for on the command line; checked like the spec itself."""
    data = own.model_dump()
    for key, value in changes.items():
        if value is not None and value != ():
            *parents, last = key.split(".")
            place = data
            for part in parents:
                place = place[part]
            place[last] = list(value) if isinstance(value, tuple) else value
    try:
        return Collectives.model_validate(data)
    except ValidationError as error:
        raise FabricError(_reason(error.errors(include_url=False)[0])) from None


def _reason(error: Mapping[str, Any]) -> str:
    """What is wrong with one value of the section, in a line."""
    where = ".".join(str(part) for part in error["loc"] if not isinstance(part, int))
    if error["type"] == "literal_error":
        return f"collectives.{where}: {error['input']!r:.60} is none of {', '.join(choices(error))}"
    if error["type"] == "string_pattern_mismatch":
        like = "a size such as 64M or 1G" if where.startswith("sizes") else "a name or an absolute path"
        return f"collectives.{where}: {error['input']!r:.60} is not {like}"
    return f"collectives.{where}: {error['msg'].removeprefix('Value error, ')}"


def _hosts(seating: Seating, patterns: Sequence[str], zones: Sequence[int]) -> dict[str, tuple[Seat, ...]]:
    """Deployed hosts; drained ones only where a pattern names them. Hosts without back-end NICs have nothing to measure."""
    there = {host: seats for host, seats in seating.by_host.items() if seats}
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(host, pattern) for host in there):
            raise FabricError(f"--device {pattern!r} fits no host of the spec")
    for zone in zones:
        if not any(seats[0].zone == zone for seats in there.values()):
            raise FabricError(f"--zone {zone} has no host in the spec")
    found = {
        host: seats
        for host, seats in there.items()
        if (
            any(fnmatch.fnmatchcase(host, pattern) for pattern in patterns)
            if patterns
            else seats[0].state == "deployed"
        )
        and (not zones or seats[0].zone in zones)
    }
    if not found:
        raise FabricError("no host is left by --device and --zone")
    return found


def _launcher(
    spec: Path, places: Places, how: Collectives, seats: Mapping[str, tuple[Seat, ...]], given: frozenset[str]
) -> CommandLauncher | AnsibleLauncher:
    seating, whole = places.seating, places.seating.cluster.spec
    front = () if whole.hosts.network is None else tuple(whole.hosts.network.front_end)
    front = () if "oob_tcp_if_include" in given else front
    around = Around(front, whole.mtu.ip, partial(flow_count, places))
    name = how.launcher or ("slurm" if whole.scheduler is not None else "mpirun")
    if name == "slurm":
        return CommandLauncher(how, seats, SlurmWay(how.slurm), seating, around)
    model = catalog().host(whole.hosts.platform)
    sockets = model.cpus.value if model.cpus is not None else 1
    login = whole.hosts.ssh
    if name == "ansible":
        way = MpiWay(how.mpirun, front, login.user, login.port, sockets, as_root=True, placed=False)
        return AnsibleLauncher(how, seats, way, seating, around, spec)
    way = MpiWay(how.mpirun, front, login.user, login.port, sockets, as_root=os.geteuid() == 0, given=given)
    return CommandLauncher(how, seats, way, seating, around)


def launcher_name(launcher: Launcher) -> str:
    """As --launcher has it."""
    if isinstance(launcher, AnsibleLauncher):
        return "ansible"
    return launcher.way.name if isinstance(launcher, CommandLauncher) else type(launcher).__name__


def in_short(job: Job, made: Plan) -> str:
    """The plan in one line."""
    name = launcher_name(job.launcher)
    return f"{counted(len(job.seats), 'host')} by {job.how.engine} and {name}: {', '.join(made.names)}"
