"""The files that a device held before a run, kept in the run's folder: for a rollback of devices that keep none themselves.

Never a secret: when one file of a device looks as if it held one, nothing of that device is kept. EOS, whose configuration always
holds some, keeps a checkpoint of its own instead; FBOSS's files hold none.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from fabric.change.files import cannot, read_regular, write_atomic
from fabric.change.mask import mask_lines
from fabric.change.paths import device_problem
from fabric.errors import FabricError
from fabric.words import misread

FOLDER = "before"
LIMIT = 256 << 20
Keep = Callable[[str, Mapping[str, bytes | None]], None]
"""(device, what it holds): called before a device is touched; raises FabricError when it cannot be kept."""


def keep_nothing(_device: str, _held: Mapping[str, bytes | None]) -> None:
    """For a dry run."""


def keeper(run: Path) -> Keep:
    """Keeps in the folder of a run."""

    def keep(device: str, held: Mapping[str, bytes | None]) -> None:
        if any(content is not None and looks_secret(content) for content in held.values()):
            return
        body = {path: None if c is None else base64.b64encode(zlib.compress(c)).decode() for path, c in held.items()}
        path = _path(run, device)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise cannot("make the folder", path.parent, error) from error
        write_atomic(path, json.dumps(body).encode(), 0o600)

    return keep


def kept(run: Path, device: str) -> dict[str, bytes | None] | None:
    """What the device held before the run; None when nothing was kept. Raises FabricError for a damaged file."""
    path = _path(run, device)
    try:
        data = read_regular(str(path), LIMIT)
    except OSError as error:
        raise cannot("read", path, error) from error
    if data is None:
        return None
    try:
        body = json.loads(data)
        return {p: None if c is None else zlib.decompress(base64.b64decode(c)) for p, c in body.items()}
    except (ValueError, TypeError, AttributeError, binascii.Error, zlib.error) as error:
        raise FabricError(f"{path} is damaged: {misread(error)}") from error


def looks_secret(content: bytes) -> bool:
    """Whether anything in a file would be masked when it is shown."""
    lines = content.decode("utf-8", "replace").split("\n")
    return mask_lines(lines) != lines


def without_secrets(spec: str, declared: Iterable[str]) -> str:
    """The text of a spec; "" when something in it looks like a secret. The names of those that it declares are none."""
    text = spec
    for name in sorted(declared, key=len, reverse=True):
        text = re.sub(
            rf"[\w-]+:[ \t]*[\"']?{re.escape(name)}[\"']?(?![\w-])|(?<![\w-])[\"']?{re.escape(name)}[\"']?:", "", text
        )
    return "" if looks_secret(text.encode()) else spec


def _path(run: Path, device: str) -> Path:
    problem = device_problem(device)
    if problem:
        raise FabricError(problem)
    return run / FOLDER / f"{device}.json"
