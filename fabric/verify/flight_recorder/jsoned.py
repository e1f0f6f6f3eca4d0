"""A flight recorder's JSON twin, read without trusting it: bounded in size, depth, memory and length of numbers."""

from __future__ import annotations

import json
from typing import Any

from fabric.errors import FabricError
from fabric.verify.flight_recorder.pickled import MEMORY


def load_json(data: bytes) -> Any:
    """The data of a JSON dump; FabricError for what is cut off, no JSON, too deep or too large."""
    need = 16 * len(data) + 88 * (data.count(b"[") + data.count(b"{"))
    if need > MEMORY:
        raise FabricError(f"could need {need >> 20:,} MiB of memory, more than the {MEMORY >> 20} MiB that a dump may")
    try:
        return json.loads(data)
    except RecursionError as error:
        raise FabricError("is nested deeper than any dump") from error
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc.rstrip()) - 1 or error.msg.startswith("Unterminated"):
            raise FabricError(f"is cut off after {len(data):,} bytes") from error
        raise FabricError(f"is no JSON: {error.msg} in line {error.lineno}, column {error.colno}") from error
    except ValueError as error:  # no UTF-8, or a number of more digits than Python reads
        raise FabricError(f"is no JSON: {str(error)[:80]}") from error
