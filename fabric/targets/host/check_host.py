"""`check-host` as one file: a zip that Python runs, with the sources of `fabric.verify.hosts.node`. Equal sources give equal bytes.

The sources are read as files, not imported: they belong to a room above this one, and are the host's program, not ours.
"""

from __future__ import annotations

import functools
import io
import zipfile
from pathlib import Path

SHEBANG = b"#!/usr/bin/python3\n"
PATH = "/usr/libexec/fabric/check-host"
"""Where it stands on a host, mode 0755."""
_MAIN = "import sys\n\nfrom fabric.verify.hosts.node.main import main\n\nsys.exit(main())\n"
_PACKAGES = ("", "design", "design/hosts", "verify", "verify/hosts")
_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip can say; a real date would make the bytes differ."""


@functools.cache
def check_host() -> bytes:
    """The file's bytes: the package `node`, the schema of its expectation, and the empty rooms around them."""
    top = Path(__file__).resolve().parents[2]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in [("__main__.py", _MAIN), *((f"fabric/{name}", text) for name, text in _sources(top))]:
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text)
    return SHEBANG + made.getvalue()


def _sources(top: Path) -> list[tuple[str, str]]:
    found = [(f"{name}/__init__.py".lstrip("/"), '"""See the package clusterfabric."""\n') for name in _PACKAGES]
    paths = [top / "design/hosts/expect.py", *sorted((top / "verify/hosts/node").glob("*.py"))]
    return [*found, *((path.relative_to(top).as_posix(), path.read_text(encoding="utf-8")) for path in paths)]
