"""Path records by infiniband-diags' `saquery`: subnet administration is a class of packets of its own, which it speaks."""

from __future__ import annotations

import re
import subprocess

from fabric.errors import FabricError
from fabric.verify.ib.reads import Path
from fabric.verify.lldp_names import printable

LIMIT_S = 10.0
"""Seconds that one question may take: some tools hang on a broken fabric (reference, section 1.3)."""
_FIELD = re.compile(r"^\s*(pkey|sl|rate)\.+0x([0-9a-fA-F]+)\s*$", re.MULTILINE)
_CODE = 0x3F
"""The lower six bits of a rate are its code; above them is the selector (InfiniBand Architecture Specification, PathRecord)."""


def path_record(source: int, target: int, program: str = "saquery") -> Path | None:
    """The path between two LIDs as the SA answers it, None when it has none; FabricError when nobody can be asked."""
    try:
        ran = subprocess.run(  # noqa: S603 - a fixed program; the rest are two numbers
            [program, "--src-to-dst", f"{source}:{target}"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FabricError(f"{program} gave no answer within {LIMIT_S:g} s") from None
    except OSError as error:
        raise FabricError(f"{program}: {error.strerror}", hint="apt-get install infiniband-diags") from None
    if ran.returncode != 0:
        said = ran.stderr.strip().splitlines()
        raise FabricError(f"{program} ended with {ran.returncode}{f': {printable(said[-1], 160)}' if said else ''}")
    return read_record(ran.stdout)


def read_record(text: str) -> Path | None:
    """The first path record in what saquery prints."""
    found = {name: int(value, 16) for name, value in reversed(_FIELD.findall(text))}
    if set(found) != {"pkey", "sl", "rate"}:
        return None
    return Path(found["pkey"], found["sl"], found["rate"] & _CODE)
