"""Answers of `fboss2 --fmt json`: one object {host: model}."""

from __future__ import annotations

from typing import Any

from fabric.targets.answer import Json, mapping, parse_object
from fabric.targets.device import DeviceRefusedError


def host_model(answer: str, what: str) -> Any:
    """What stands under the one host. DeviceRefusedError for `{}`: then the daemon asked did not answer."""
    top = parse_object(answer, what)
    if not top:
        raise DeviceRefusedError(f"{what}: the daemon did not answer")
    return top["localhost"] if "localhost" in top else next(iter(top.values()))


def host_object(answer: str, what: str) -> Json:
    """The same, when the model is an object (all but `show bgp neighbors`)."""
    return mapping(host_model(answer, what), what)
