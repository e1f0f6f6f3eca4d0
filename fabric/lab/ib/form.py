"""The lab form of an SM host's files: what stands in its /etc/opensm, changed as little as a simulated run needs (infiniband.md 5.5).

`python -m fabric.lab.ib.form NODE_FOLDER` makes it again before opensm starts or re-reads its files, in a process of its own since the
supervisor loads nothing but the standard library.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.errors import FabricError
from fabric.lab.ib.places import CONF, ETC, SmPlace

if TYPE_CHECKING:
    from fabric.targets.base import Artifact

CHANGES = "changes.json"


def fingerprint(etc: Path) -> str:
    """Of all files below /etc/opensm: names and contents."""
    digest = hashlib.sha256()
    for path in _files(etc):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(etc)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _files(etc: Path) -> list[Path]:
    """All but what a change keeps beside them in hidden folders."""
    found = [path for path in sorted(etc.rglob("*")) if path.is_file()]
    return [path for path in found if not any(part.startswith(".") for part in path.relative_to(etc).parts)]


def make(place: SmPlace, host: str) -> list[str]:
    """Write the lab form; returns what was changed, a line each. FabricError when there is no opensm.conf."""
    from fabric.targets.base import Artifact

    if not (place.etc / CONF).is_file():
        raise FabricError(f"{host}: there is no {ETC}/{CONF}")
    found = fingerprint(place.etc)
    artifacts = [
        Artifact(host, "sm", "opensm", f"{ETC}/{path.relative_to(place.etc)}", path.read_bytes())
        for path in _files(place.etc)
    ]
    files, changes = _lab_form(artifacts, place)
    for old in place.form.iterdir():
        if old.name not in files:
            old.unlink()
    for name, content in files.items():
        part = place.form / f".{name}.part"
        part.write_bytes(content)
        part.replace(place.form / name)
    record = {"of": found, "changes": changes}
    (place.form / CHANGES).write_text(json.dumps(record, indent=1), encoding="utf-8")
    return changes


def made_of(place: SmPlace) -> str:
    """Fingerprint of the files that the lab form was made of; "" when there is none."""
    try:
        return str(json.loads((place.form / CHANGES).read_text(encoding="utf-8"))["of"])
    except (OSError, ValueError, KeyError):
        return ""


def changes_of(place: SmPlace) -> list[str]:
    """What the lab form in force changed."""
    try:
        found: list[str] = json.loads((place.form / CHANGES).read_text(encoding="utf-8"))["changes"]
    except (OSError, ValueError, KeyError):
        return []
    return found


def _lab_form(artifacts: list[Artifact], place: SmPlace) -> tuple[dict[str, bytes], list[str]]:
    from fabric.targets.opensm.labform import LabPaths, lab_form

    return lab_form(artifacts, LabPaths(folder=place.form, log=place.log, dumps=place.dump))


def main() -> int:
    """Make it for the node folder given."""
    folder = Path(sys.argv[1])
    try:
        make(SmPlace(folder), folder.name)
    except FabricError as error:
        print(error.message, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
