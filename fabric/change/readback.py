"""Reading a device back: which state it is in, and what remains different from the declared one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fabric.change.diff import Normalise, diff_file
from fabric.change.plan import DevicePlan, fingerprint
from fabric.targets.base import Artifact
from fabric.targets.device import Device, Reloads

_SHOWN = 3


def paths_of(plan: DevicePlan) -> list[str]:
    """The paths on the device that a plan is about."""
    return [path for path, _ in plan.desired]


def held(plan: DevicePlan, running: Mapping[str, bytes | None]) -> str:
    """The fingerprint of what was read, as in the plan; needs no rendered file."""
    blank = [Artifact(plan.name, plan.role, plan.target, path, b"") for path in paths_of(plan)]
    return fingerprint(blank, running)


def remaining(
    artifacts: Sequence[Artifact],
    running: Mapping[str, bytes | None],
    normalise: Normalise,
    absent: Iterable[str] = (),
) -> str:
    """What differs from the declared state, as one line for people; "" when nothing does. Secrets are masked in it.

    `absent` are paths where no file is to be.
    """
    parts = [f"{path} is still there" for path in absent if running[path] is not None]
    for artifact in artifacts:
        diff = diff_file(artifact, running[artifact.path], normalise)
        if diff.kind == "same":
            continue
        lines = [line.strip() for change in diff.changes for line in change.lines if line[:1] in "+-~"]
        more = f" and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
        parts.append(f"{artifact.path}: {' | '.join(lines[:_SHOWN]) or diff.note or diff.kind}{more}")
    return "; ".join(parts)


def read(device: Device, plan: DevicePlan) -> dict[str, bytes | None]:
    """Everything that the plan is about, as the device holds it. Raises DeviceError."""
    paths = paths_of(plan)
    found = device.read(paths)
    return {path: found.get(path) for path in paths}


def run_files(device: Device) -> None:
    """A device that holds its old files runs them too, where these are two things: an agent may say yes to a reload and do nothing.

    Raises DeviceError when it does not.
    """
    if isinstance(device, Reloads):
        device.run_files()
