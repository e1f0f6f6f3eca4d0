"""Whether the agent runs what its file says: `fboss2 show config running agent` (device-answers.md B9) against agent.conf."""

from __future__ import annotations

from typing import Any

from fabric.errors import FabricError
from fabric.targets.answer import parse_object
from fabric.targets.device import DeviceError
from fabric.targets.fboss import wire


def first_difference(answer: str, file: bytes) -> str:
    """The first place under `sw` where the agent does not run what the file says, with both values; "" when there is none.

    What the agent runs beyond the file are defaults that it has filled in. Raises DeviceError when either cannot be read.
    """
    running = parse_object(answer, "show config running agent")
    try:
        wanted = wire.loads(file, source="agent.conf")
    except FabricError as error:
        raise DeviceError(error.message) from error
    return _differs("sw", wanted.get("sw", {}), running.get("sw", {})) if isinstance(wanted, dict) else ""


def _differs(place: str, wanted: Any, running: Any) -> str:
    if isinstance(wanted, dict) and isinstance(running, dict):
        parts = [_differs(f"{place}.{key}", value, running.get(key)) for key, value in wanted.items()]
        return next((part for part in parts if part), "")
    if isinstance(wanted, list) and isinstance(running, list) and len(wanted) == len(running):
        pairs = enumerate(zip(wanted, running, strict=True))
        return next((part for i, (one, two) in pairs if (part := _differs(f"{place}[{i}]", one, two))), "")
    return "" if wanted == running else f"{place}: {str(wanted)[:60]} in the file, {str(running)[:60]} in force"
