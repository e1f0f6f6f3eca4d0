"""`dcgmi diag -j` -> one measurement a test and a clue for each GPU that failed.

Facts: reference hosts.md section 3.5. Root `DCGM GPU Diagnostic` (3.x); `DCGM Diagnostic` (4.x) is read in the same way, which is
not verified against a real one. Text may stand before the JSON.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fabric.errors import FabricError
from fabric.verify.collectives.json_salvage import read_json
from fabric.verify.collectives.model import Clue, ClueKind, Measurement, State
from fabric.verify.collectives.parse_nccl_log import clean

ROOTS = ("DCGM GPU Diagnostic", "DCGM Diagnostic")
MAX_GPU = 1024

_KINDS: tuple[tuple[re.Pattern[str], ClueKind], ...] = (
    (re.compile(r"fabric ?manager", re.IGNORECASE), "fabric-manager"),
    (re.compile(r"\bxid\b", re.IGNORECASE), "xid"),
    (re.compile(r"\becc\b|row.?remap|double.?bit|\bDBE\b|retired page", re.IGNORECASE), "ecc"),
    (re.compile(r"driver/library|version mismatch", re.IGNORECASE), "driver-mismatch"),
    (re.compile(r"pci.?e\b.*(?:width|generation|replay|speed)|replay", re.IGNORECASE), "pcie"),
)
"""What the words of a warning say more exactly than that a test failed."""


@dataclass(frozen=True, slots=True)
class _Result:
    test: str
    status: str
    gpus: tuple[int, ...]
    words: str


def parse_dcgmi(text: str, *, source: str, host: str) -> tuple[tuple[Measurement, ...], tuple[Clue, ...]]:
    """The measurements (stage `diag`, test `dcgm.<name>`, `rails`: the GPUs that failed) and clues of one host.

    A test that was skipped, or whose status is not known, is `unmade`; a warning is a clue only. A cut document gives what is whole of it.
    FabricError when the text is no diagnosis.
    """
    document, whole = read_json(text, source=source)
    root = next(
        (document[key] for key in ROOTS if isinstance(document, dict) and isinstance(document.get(key), dict)), None
    )
    if root is None:
        raise FabricError(f"{source}: JSON, but not of dcgmi diag -j (no {ROOTS[0]!r})")
    results = [
        result
        for category in _list(root, "test_categories")
        for test in _list(category, "tests")
        for result in _results(test)
    ]
    measurements = [
        _measurement(name, results, host, source) for name in dict.fromkeys(result.test for result in results)
    ]
    if not whole or not results:
        reason = "it ended before its last line" if not whole else _words(root) or "it made no test"
        measurements.append(Measurement("diag", "dcgm", (host,), state="unmade", reason=clean(reason), source=source))
    return tuple(measurements), tuple(clue for result in results for clue in _clues(result, host, source))


def is_dcgm(text: str) -> bool:
    """Whether a text looks like a diagnosis."""
    return any(f'"{root}"' in text for root in ROOTS)


def _results(test: dict[str, Any]) -> list[_Result]:
    name = test.get("name")
    if not isinstance(name, str) or not name:
        return []
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60] or "test"
    found = []
    for item in _list(test, "results"):
        status = item.get("status")
        if isinstance(status, str):
            found.append(_Result(slug, status.strip().lower(), _gpus(item), _words(item)))
    return found


def _gpus(item: dict[str, Any]) -> tuple[int, ...]:
    """`gpu_ids` is a string of numbers, of one GPU or of all that a test was for; 4.x says `entity_id` (not verified)."""
    for key in ("gpu_ids", "gpu_id", "entity_id"):
        value = item.get(key)
        if isinstance(value, bool):
            continue
        if isinstance(value, int):
            return (value,) if 0 <= value < MAX_GPU else ()
        if isinstance(value, str):
            return tuple(int(word) for word in re.findall(r"\d{1,4}", value[:4096]) if int(word) < MAX_GPU)
    return ()


def _words(item: dict[str, Any]) -> str:
    """Warnings and errors as one text: strings, lists of strings, or lists of objects with a text."""
    said: list[str] = []
    for key in ("warnings", "error", "errors", "runtime_error", "info"):
        value = item.get(key)
        for part in value if isinstance(value, list) else [value]:
            text = (
                next((part[word] for word in ("warning", "error", "text") if word in part), None)
                if isinstance(part, dict)
                else part
            )
            if isinstance(text, str) and text.strip():
                said.append(text.strip())
    return "; ".join(said)


def _measurement(name: str, results: list[_Result], host: str, source: str) -> Measurement:
    """One test of one host: broken when a GPU failed, ok when one passed, else unmade."""
    mine = [result for result in results if result.test == name]
    failed = [result for result in mine if result.status.startswith("fail")]
    passed = [result for result in mine if result.status.startswith(("pass", "warn"))]
    state: State = "broken" if failed else "ok" if passed else "unmade"
    gpus = tuple(sorted({gpu for result in failed for gpu in result.gpus}))
    told = failed or ([] if passed else mine)
    reason = clean("; ".join(dict.fromkeys(result.words or result.status for result in told)))
    return Measurement("diag", f"dcgm.{name}", (host,), rails=gpus, state=state, reason=reason, source=source)


def _clues(result: _Result, host: str, source: str) -> list[Clue]:
    if not result.status.startswith(("fail", "warn")):
        return []
    kind: ClueKind | None = next((kind for pattern, kind in _KINDS if pattern.search(result.words)), None)
    if kind is None:
        if not result.status.startswith("fail"):
            return []
        kind = "diag-failed"
    text = clean(f"dcgmi diag: {result.test}: {result.status}" + (f": {result.words}" if result.words else ""))
    # a result of all GPUs together names none of them
    where = f"{host}:gpu{result.gpus[0]}" if len(result.gpus) == 1 else host
    return [Clue(kind, where, text, source=source)]


def _list(item: Any, key: str) -> list[dict[str, Any]]:
    value = item.get(key) if isinstance(item, dict) else None
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
