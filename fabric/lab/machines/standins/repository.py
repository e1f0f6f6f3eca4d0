"""A flat repository of Debian packages: built by dpkg-deb, indexed as apt wants it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fabric.lab.machines.standins.packages import Deb
from fabric.lab.proc import run


def build(folder: Path, debs: Sequence[Deb]) -> None:
    """Fill `folder` with the packages, `Packages` and `Release`. FabricError with what dpkg-deb refused."""
    folder.mkdir(parents=True)
    stanzas = []
    with tempfile.TemporaryDirectory() as work:
        for number, deb in enumerate(debs):
            stanzas.append(_package(Path(work) / str(number), deb, folder))
    index = "\n".join(stanzas)
    (folder / "Packages").write_text(index, encoding="utf-8")
    digest = hashlib.sha256(index.encode()).hexdigest()
    release = f"Origin: fabric-lab\nLabel: stand-ins\nArchitectures: amd64 all\nSHA256:\n {digest} {len(index.encode())} Packages\n"
    (folder / "Release").write_text(release, encoding="utf-8")


def control(deb: Deb) -> str:
    """The fields of a package, without an empty line at the end."""
    lines = [
        f"Package: {deb.name}",
        f"Version: {deb.version}",
        "Architecture: all",
        "Maintainer: fabric lab <root@localhost>",
    ]
    if deb.depends:
        lines.append(f"Depends: {deb.depends}")
    if deb.provides:
        lines += [f"{name}: {deb.provides}" for name in ("Provides", "Conflicts", "Replaces")]
    return "\n".join([*lines, f"Description: stand-in for {deb.name}", ""])


def _package(tree: Path, deb: Deb, folder: Path) -> str:
    """Build one package; returns its entry in the index."""
    scripts = {"control": (control(deb), 0o644), "postinst": (_postinst(deb), 0o755)}
    files = {**deb.files, **{f"DEBIAN/{name}": content for name, content in scripts.items()}}
    for path, (text, mode) in files.items():
        place = tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        place.chmod(mode)
    for inner in (tree, *(place for place in tree.rglob("*") if place.is_dir())):
        inner.chmod(0o755)  # whatever the umask is: dpkg-deb refuses others, and what is installed is for all
    built = folder / f"{deb.name}_{deb.version.rpartition(':')[2]}_all.deb"
    run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(tree), str(built)])
    data = built.read_bytes()
    return f"{control(deb)}Filename: ./{built.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"


def _postinst(deb: Deb) -> str:
    lines = ["#!/bin/sh", "set -e", "[ -d /run/systemd/system ] || exit 0", "systemctl daemon-reload"]
    lines += [f"systemctl enable --now {unit}" for unit in deb.enable]
    return "\n".join([*lines, ""])
