"""Where the files that travel with the package are: `templates/` and `playbooks/`.

In a checkout they stand at the top level; in an installed wheel they stand inside the package. Both hold the same files.
"""

from __future__ import annotations

from pathlib import Path

from fabric.errors import FabricError

_PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """The folder `name` ("templates", "playbooks", "inventories"); raises FabricError when the installation lacks it."""
    for base in (_PACKAGE / "_resources", _PACKAGE.parent):
        folder = base / name
        if folder.is_dir():
            return folder
    raise FabricError(f"this installation of fabric has no folder {name!r}", hint="reinstall the package")
