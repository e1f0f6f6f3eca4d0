"""Taking hosts out of the scheduler before a change, and giving them back after it.

Slurm: `scontrol` and `squeue`, on this machine or over SSH on the controller. Anything else: a program of your own, called as
`PROGRAM drain HOST...`, `PROGRAM busy HOST...` (prints the names of those that still run jobs), `PROGRAM undrain HOST...`; exit code 0.
What somebody else has drained stays drained: only nodes that carry our reason are given back.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fabric.change.diff_model import printable
from fabric.change.mask import mask_line
from fabric.errors import FabricError

ANSWER_S = 60.0
"""Seconds that one answer of the scheduler may take (our choice)."""
AT_ONCE = 200
"""Hosts in one command: keeps it far below the kernel's limit of 128 KiB for one argument (our choice)."""
_OUT = re.compile(r"DRAIN|DOWN|FAIL|MAINT|POWER", re.IGNORECASE)
Call = Callable[[Sequence[str]], str]
"""Runs a command, gives its standard output; raises FabricError when it fails."""


class Drainer(Protocol):
    """A scheduler. All methods raise FabricError when it cannot be asked."""

    def drain(self, hosts: Sequence[str], run: str) -> frozenset[str]:
        """No new jobs on these; those that we have taken out, without those that somebody else had taken out already."""

    def busy(self, hosts: Sequence[str]) -> frozenset[str]:
        """Those that still run jobs."""

    def undrain(self, hosts: Sequence[str], run: str) -> frozenset[str]:
        """Gives back what we have taken out for this run; those that it left alone, since somebody else wants them out."""


class NoDrain:
    """No scheduler: hosts are changed as they are."""

    def drain(self, hosts: Sequence[str], run: str) -> frozenset[str]:  # noqa: ARG002 - the Protocol's
        """None was taken out."""
        return frozenset()

    def busy(self, hosts: Sequence[str]) -> frozenset[str]:  # noqa: ARG002 - the Protocol's
        """Nobody knows of jobs."""
        return frozenset()

    def undrain(self, hosts: Sequence[str], run: str) -> frozenset[str]:  # noqa: ARG002 - the Protocol's
        """Nothing to give back."""
        return frozenset()


@dataclass(frozen=True, slots=True)
class SlurmDrain:
    """Slurm. `call` runs scontrol, squeue and sinfo; node names are the hosts' names."""

    call: Call

    def drain(self, hosts: Sequence[str], run: str) -> frozenset[str]:
        """See Drainer."""
        states = self._states(hosts)
        ours = [host for host in hosts if _OUT.search(states[host][0]) is None or states[host][1] == reason(run)]
        for some in _some(ours):
            self.call(["scontrol", "update", f"NodeName={','.join(some)}", "State=DRAIN", f"Reason={reason(run)}"])
        return frozenset(ours)

    def busy(self, hosts: Sequence[str]) -> frozenset[str]:
        """See Drainer. By the state of the node, which Slurm keeps apart for one that is drained and still has jobs: draining."""
        states = self._states(hosts)
        return frozenset(
            host for host in hosts if re.search(r"ALLOC|MIX|COMP|DRAINING|DRNG", states[host][0], re.IGNORECASE)
        )

    def undrain(self, hosts: Sequence[str], run: str) -> frozenset[str]:
        """See Drainer."""
        states = self._states(hosts)
        held = [host for host in hosts if _OUT.search(states[host][0]) and states[host][1] != reason(run)]
        back = [host for host in hosts if states[host][1] == reason(run)]
        for some in _some(back):
            self._resume(some, run)
        return frozenset(held)

    def _resume(self, hosts: Sequence[str], run: str) -> None:
        """Slurm says "Invalid node state specified" of a node whose slurmd has never come, and takes the drain back all the same."""
        try:
            self.call(["scontrol", "update", f"NodeName={','.join(hosts)}", "State=RESUME"])
        except FabricError:
            if any(why == reason(run) for _, why in self._states(hosts).values()):
                raise

    def _states(self, hosts: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Host -> (state, reason). A node may stand in several partitions: one line each, all equal."""
        found: dict[str, tuple[str, str]] = {}
        for some in _some(hosts):
            for line in self.call(["sinfo", "-N", "-h", "-n", ",".join(some), "-o", "%N|%T|%E"]).splitlines():
                name, _, rest = line.strip().partition("|")
                state, _, why = rest.partition("|")
                found[name] = (state, why.strip())
        missing = [host for host in hosts if host not in found]
        if missing:
            raise FabricError(
                f"Slurm has no node {missing[0]}{f' and {len(missing) - 1:,} more' if missing[1:] else ''}",
                hint="its nodes must have the hosts' names; --drain none changes hosts without the scheduler",
            )
        return found


@dataclass(frozen=True, slots=True)
class HookDrain:
    """A program of the user's."""

    call: Call
    program: str

    def drain(self, hosts: Sequence[str], run: str) -> frozenset[str]:
        """See Drainer: all of them count as taken out by us."""
        self.call([self.program, "drain", f"--reason={reason(run)}", *hosts])
        return frozenset(hosts)

    def busy(self, hosts: Sequence[str]) -> frozenset[str]:
        """See Drainer."""
        return frozenset(self.call([self.program, "busy", *hosts]).split()) & frozenset(hosts)

    def undrain(self, hosts: Sequence[str], run: str) -> frozenset[str]:
        """See Drainer."""
        self.call([self.program, "undrain", f"--reason={reason(run)}", *hosts])
        return frozenset()


def reason(run: str) -> str:
    """What Slurm shows of a node that we have taken out; one word, so that no shell splits it."""
    return f"fabric:{run}"


def command(prefix: str) -> Call:
    """Runs commands here, or after a prefix such as `ssh slurmctl`: then each is quoted for the shell at the far end."""
    before = shlex.split(prefix)

    def call(argv: Sequence[str]) -> str:
        whole = [*before, *(map(shlex.quote, argv) if before else argv)]
        try:
            done = subprocess.run(  # noqa: S603 - the operator's own prefix or program; no shell here
                whole, capture_output=True, timeout=ANSWER_S, check=False, stdin=subprocess.DEVNULL
            )
        except OSError as error:
            raise FabricError(f"{whole[0]} cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired:
            raise FabricError(f"{argv[0]} gave no answer in {ANSWER_S:g} s") from None
        if done.returncode:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
            raise FabricError(f"{argv[0]} failed with code {done.returncode}: {mask_line(printable(said[-1]))[:300]}")
        return done.stdout.decode("utf-8", "replace")

    return call


def drainer_of(how: str, controller: str | None) -> Drainer:
    """`none`, `slurm` (on `controller` over SSH, here when None), or the path of a program. Raises FabricError for none of these."""
    if how == "none":
        return NoDrain()
    if how == "slurm":
        return SlurmDrain(command(f"ssh -o BatchMode=yes -- {shlex.quote(controller)}" if controller else ""))
    if "/" not in how:
        raise FabricError(
            f"--drain {how!r} is neither slurm nor none nor a path", hint="a program of your own: --drain ./drain.sh"
        )
    if shutil.which(how) is None:
        raise FabricError(f"--drain {how!r} is no program that can be run")
    return HookDrain(command(""), how)


def _some(hosts: Sequence[str]) -> list[Sequence[str]]:
    return [hosts[i : i + AT_ONCE] for i in range(0, len(hosts), AT_ONCE)]
