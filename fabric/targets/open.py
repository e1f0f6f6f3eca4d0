"""From a device of the spec to its driver. The drivers, and netmiko under them, are imported only here, when asked for."""

from __future__ import annotations

from collections.abc import Callable

from fabric.targets.base import DeviceRef
from fabric.targets.device import Device, DeviceError, Login


def open_device(ref: DeviceRef, model: str, login: Login, fill: Callable[[bytes], bytes]) -> Device:
    """The driver of `ref`; it connects when first used. `fill` replaces the secrets' placeholders in what is sent.

    DeviceError for a target that has no driver.
    """
    if ref.target == "eos":
        from fabric.targets.eos.device import EosDevice

        return EosDevice(ref, login, fill)
    if ref.target == "fboss":
        from fabric.targets.fboss.device import FbossDevice

        return FbossDevice(ref, login, fill)
    raise DeviceError(f"{ref.name} ({model}): there is no driver for {ref.target!r}")
