"""From a device of the spec to its driver. The drivers, and netmiko under them, are imported only here, when asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection

from fabric.targets.base import DeviceRef
from fabric.targets.device import Device, DeviceError, Login


def preload(targets: Collection[str]) -> None:
    """Import the drivers of `targets`, with netmiko, before threads do: two that import it at once can lock each other out."""
    if "eos" in targets:
        import fabric.targets.eos.device
    if "fboss" in targets:
        import fabric.targets.fboss.device
    if "opensm" in targets:
        import fabric.targets.opensm.device  # noqa: F401
    import netmiko
    import paramiko  # noqa: F401

    netmiko.ConnectHandler  # noqa: B018 - netmiko's own modules are loaded by now


def open_device(ref: DeviceRef, model: str, login: Login, fill: Callable[[bytes], bytes]) -> Device:
    """The driver of `ref`; it connects when first used. `fill` replaces the secrets' placeholders in what is sent.

    `model` is the switch's, or the flavour of an SM.

    DeviceError for a target that has no driver.
    """
    if ref.target == "eos":
        from fabric.targets.eos.device import EosDevice

        return EosDevice(ref, login, fill)
    if ref.target == "fboss":
        from fabric.targets.fboss.device import FbossDevice

        return FbossDevice(ref, login, fill)
    if ref.target == "opensm":
        from fabric.targets.opensm.device import OpensmDevice

        return OpensmDevice(ref, login, fill, flavour="nvidia" if model == "nvidia" else "opensm")
    raise DeviceError(f"{ref.name} ({model}): there is no driver for {ref.target!r}")
