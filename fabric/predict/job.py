"""A job's hosts in rank order: from a file (names, or a hostfile with slots), to indices of the fabric's hosts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fabric.errors import FabricError
from fabric.words import counted

_LARGEST = 16 << 20
_LONGEST = 1000  # characters of a line that are looked at: a name of 253, and its slots
_LINE = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]{0,252})((?:[ \t]+(?:max_)?slots=[0-9]{1,6})*)\s*(?:#.*)?\Z")


def read_job(path: Path) -> tuple[str, ...]:
    """The hosts of a file in rank order: one name a line, as Open MPI's hostfile (`slots=`) and SLURM_HOSTFILE (a line a task) have it.

    Lines of one host that follow each other are its tasks. FabricError with file and line for anything else.
    """
    found: list[str] = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _LINE.match(text) if len(text) <= _LONGEST else None
        if match is None:
            raise FabricError(f"{path}:{number}: this is no host name: {text[:40]!r}", hint="one host a line")
        if not found or found[-1] != match[1]:
            found.append(match[1])
    if not found:
        raise FabricError(f"{path} names no host", hint="one host a line, in rank order")
    return tuple(found)


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise FabricError(f"cannot read {path}: {'it is no regular file' if path.exists() else 'no such file'}")
        if path.stat().st_size > _LARGEST:
            raise FabricError(f"cannot read {path}: larger than {_LARGEST >> 20} MiB")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FabricError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise FabricError(f"cannot read {path}: it is no text") from None


def indices(hosts: Sequence[str], names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Index of each host in `names`; FabricError for one that is not there (with the nearest name) or stands twice."""
    place = {name: index for index, name in enumerate(names)}
    unknown = [host for host in hosts if host not in place]
    if unknown:
        near = difflib.get_close_matches(unknown[0], place, n=1, cutoff=0.6) if len(place) <= 50_000 else []
        more = f" and {counted(len(unknown) - 1, 'more host')}" if len(unknown) > 1 else ""
        raise FabricError(
            f"the job's host {unknown[0]!r}{more} is not in the fabric" if not more
            else f"the job's host {unknown[0]!r}{more} are not in the fabric",
            hint=f"did you mean {near[0]}?" if near else "fabric show devices SPEC lists all names",
        )  # fmt: skip
    seen: set[str] = set()
    for host in hosts:
        if host in seen:
            raise FabricError(f"the job has the host {host} twice", hint="each host once, in rank order")
        seen.add(host)
    return np.array([place[host] for host in hosts], dtype=np.int64)
