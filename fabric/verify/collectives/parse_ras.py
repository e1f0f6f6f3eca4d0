"""NCCL RAS (`ncclras`, NCCL 2.24 and later), text or JSON -> clues.

Facts: flight-recorder.md section 5; shapes: NCCL's user guide, troubleshooting, RAS (text from 2.24, JSON from 2.28.7). A node is named
by the address of NCCL's bootstrap, which is that of the front end.
"""

from __future__ import annotations

import re
from typing import Any

from fabric.errors import FabricError
from fabric.verify.collectives.json_salvage import read_json
from fabric.verify.collectives.launcher_lines import lines_of
from fabric.verify.collectives.model import Clue
from fabric.verify.collectives.parse_nccl_log import clean

MAX_TEXT = 64 << 20
MAX_CLUES = 10_000

_STATE = re.compile(r"^\s*(?:#\d+-\d+ \([0-9a-f]+\) )?(DEAD|INCOMPLETE|MISMATCH|ERROR|TIMEOUT)\s*$")
_PROCESS = re.compile(r"^\s*Process (\d+) on node (\S+) managing GPUs? ([\d,]+)")
_RANK = re.compile(r"^\s*Rank (\d+)\b.*? -- GPU (\d+)(?: \(NVML (\d+)\))? managed by process \d+ on node (\S+)")
_SAID = {"DEAD": "considered dead: unreachable for 60 s or more", "INCOMPLETE": "did not answer"}


def parse_ras(text: str, *, source: str) -> tuple[Clue, ...]:
    """Processes that are dead or do not answer (`hang`). Ranks that are merely behind in one look are no clue: jobs outrun the question.

    `where` is `ADDRESS:gpuN`. A healthy report gives none. FabricError when the text is no report.
    """
    if len(text) > MAX_TEXT:
        raise FabricError(f"{source}: {len(text):,} characters of RAS output, more than the {MAX_TEXT:,} that are read")
    if not is_ras(text):
        raise FabricError(f"{source}: no output of ncclras")
    if '"communicators"' in text:
        document, _ = read_json(text, source=source)
        return tuple(_from_json(document, source))[:MAX_CLUES]
    return tuple(_from_text(text, source))[:MAX_CLUES]


def is_ras(text: str) -> bool:
    """Whether a text looks like a report of RAS."""
    json_form = '"communicators"' in text and '"communicators_count"' in text
    return json_form or bool(re.search(r"^Job summary\s*$|^Communicators\.\.\. \(", text, re.MULTILINE))


def _from_text(text: str, source: str) -> list[Clue]:
    clues: dict[tuple[str, str], Clue] = {}
    state = ""
    for line in lines_of(text):
        if not line.whole or len(clues) >= MAX_CLUES:
            continue
        at = f"{source}:{line.number}"
        if found := _STATE.match(line.text):
            state = found[1]
        elif (found := _PROCESS.match(line.text)) and state in _SAID:
            for gpu in found[3].split(","):
                where = f"{found[2]}:gpu{gpu}"
                clues.setdefault(("hang", where), Clue("hang", where, f"process {found[1]} {_SAID[state]}", source=at))
        elif (found := _RANK.match(line.text)) and state == "INCOMPLETE":
            where = f"{found[4]}:gpu{found[3] or found[2]}"
            clues.setdefault(("hang", where), Clue("hang", where, f"rank {found[1]} {_SAID[state]}", source=at))
    return list(clues.values())


def _from_json(document: Any, source: str) -> list[Clue]:
    clues: dict[tuple[str, str], Clue] = {}
    for comm in _objects(document, "communicators"):
        for item in _objects(comm, "missing_ranks"):
            said = item.get("status")
            status = said if isinstance(said, dict) else {}
            dead, silent = status.get("considered_dead") is True, status.get("unresponsive") is True
            if (where := _where(item)) and (dead or silent):
                text = f"rank {item.get('rank')} {_SAID['DEAD' if dead else 'INCOMPLETE']}"
                clues.setdefault(("hang", where), Clue("hang", where, clean(text), source=source))
    return list(clues.values())


def _where(item: dict[str, Any]) -> str:
    host = item.get("host")
    gpu = item.get("nvml_dev", item.get("cuda_dev"))
    if not isinstance(host, str) or host in ("", "unknown") or not isinstance(gpu, int):
        return ""
    return f"{clean(host)}:gpu{gpu}"


def _objects(item: Any, key: str) -> list[dict[str, Any]]:
    value = item.get(key) if isinstance(item, dict) else None
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
