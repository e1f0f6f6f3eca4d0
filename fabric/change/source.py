"""Where the running state comes from: live devices, or a folder of configurations."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from fabric.change.diff_model import LIMIT
from fabric.change.files import cannot, read_regular
from fabric.change.manifest import Manifest, load_manifest
from fabric.change.paths import MANIFEST, device_problem
from fabric.errors import FabricError
from fabric.targets.base import DeviceRef


class RunningSource(Protocol):
    """Reads what devices hold now. Worker processes inherit it, so it opens what it needs for each device."""

    @property
    def name(self) -> str:
        """What the plan is made against, for people ("out/roce-24k", "the live devices")."""

    def devices(self) -> Sequence[str]:
        """The names of all devices there are, declared or not; sorted."""

    def running(self, device: DeviceRef, paths: Sequence[str]) -> dict[str, bytes | None]:
        """The bytes of each of `paths` on the device, None where there is no such file.

        At most `diff_model.LIMIT` + 1 bytes of each. Raises FabricError when the device cannot be read.
        """

    def managed(self, device: DeviceRef) -> frozenset[str]:
        """The paths on the device that an earlier run of ours put there, as far as is known."""


class TreeSource:
    """A tree written by `fabric render`, or configurations pulled from devices.

    The latter stand as `DIR/<device>/<path on the device>`, or, for devices with one text configuration, as `DIR/<device>.cfg`.
    Symbolic links are not followed. Raises FabricError when `folder` is no folder that can be read.
    """

    def __init__(self, folder: Path) -> None:
        try:
            entries = list(os.scandir(folder))
        except FileNotFoundError as error:
            raise FabricError(
                f"there is no folder {folder}", hint="render a tree there, or pull configurations into it"
            ) from error
        except OSError as error:
            raise cannot("read the folder", folder, error) from error
        self._folder = folder
        self._manifest: Manifest | None = load_manifest(folder)
        self._rows = self._manifest.by_device() if self._manifest else {}
        self._single = {e.name.removesuffix(".cfg") for e in entries if e.name.endswith(".cfg") and not e.is_dir()}
        self._folders = {e.name for e in entries if e.is_dir(follow_symlinks=False) and not device_problem(e.name)}

    @property
    def name(self) -> str:
        """The folder, as it was given."""
        return str(self._folder)

    def devices(self) -> list[str]:
        """Names of what has a folder or a file; with a manifest only those that it lists, so that notes are no devices."""
        if self._manifest is not None:
            return sorted(self._folders & self._rows.keys())
        return sorted(self._folders | {name for name in self._single if not device_problem(name) and name != MANIFEST})

    def running(self, device: DeviceRef, paths: Sequence[str]) -> dict[str, bytes | None]:
        """See RunningSource."""
        if device.name in self._folders:
            return {path: self._read(f"{self._folder}/{device.name}", path) for path in paths}
        if device.name in self._single and len(paths) == 1:
            return {paths[0]: self._read(str(self._folder), f"/{device.name}.cfg")}
        if (self._folder / device.name).is_symlink():
            raise FabricError(f"{self._folder / device.name} is a symbolic link; fabric does not read through links")
        return dict.fromkeys(paths)

    def managed(self, device: DeviceRef) -> frozenset[str]:
        """What the manifest lists for the device and is still there."""
        paths = (row.path.removeprefix(device.name) for row in self._rows.get(device.name, ()))
        return frozenset(path for path in paths if _mode(f"{self._folder}/{device.name}{path}"))

    def _read(self, top: str, path: str) -> bytes | None:
        at = top
        for part in path.split("/")[1:-1]:
            at = f"{at}/{part}"
            if stat.S_ISLNK(_mode(at)):
                raise FabricError(f"{at} is a symbolic link; fabric does not read through links")
        try:
            return read_regular(top + path, LIMIT)
        except NotADirectoryError:
            return None
        except OSError as error:
            raise cannot("read", top + path, error) from error


def _mode(path: str) -> int:
    """The type and mode of what stands there, a link not followed; 0 for nothing."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0
