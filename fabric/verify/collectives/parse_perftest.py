"""ib_write_bw's output, text or JSON -> one run of one NIC pair.

Facts: reference hosts.md section 3.5 for the table and the options. The unit of MB/s there is 2^20 bytes (perftest
src/perftest_parameters.h, BW_MB); whatever the unit, bandwidth must agree with message rate times size, else the row is dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address
from itertools import pairwise

from fabric.errors import FabricError
from fabric.verify.collectives.causes import STATUSES
from fabric.verify.collectives.launcher_lines import lines_of, whole_lines
from fabric.verify.collectives.model import Clue, Measurement, Stage, State
from fabric.verify.collectives.parse_nccl_log import clean

MAX_TEXT = 4 << 20

_HEADER = re.compile(r"#bytes\s+#iterations\s+BW peak\[(Gb/sec|MB/sec)\]\s+BW average\[\1\]\s+MsgRate\[Mpps\]")
_ROW = re.compile(
    r"\s*(\d{1,15})\s+(\d{1,15})\s+(\d{1,9}\.\d{1,6})\s+(\d{1,9}\.\d{1,6})\s+(\d{1,9}\.\d{1,6})(?:\s+\d{1,3}\.\d{1,4})?\s*\Z"
)
_DEVICE = re.compile(r"(?:^|\s)Device\s*:\s*(\S{1,60})")
_GID = re.compile(r"(local|remote) address:[^\n]{0,200}\n[^\n]{0,40}GID:\s*((?:\d{1,3}:){15}\d{1,3})\s*\n")
_TITLE = re.compile(r"RDMA_Write (Bidirectional )?BW Test|Dual-port")
_BEGIN = re.compile(r"^.{0,60}\bRDMA_Write (?:Bidirectional )?BW Test", re.MULTILINE)
_STATUS = re.compile(r"Failed status (\d{1,3})|status:? (\d{1,3})\b.{0,40}syndrom", re.IGNORECASE)
_NEVER = re.compile(
    r"Couldn't connect to|Unable to init the socket|IB device \S+ not found|Unable to find the Infiniband|No IB devices found|"
    r"command not found|No such file or directory|Couldn't get context|Unable to open file descriptor|Connection refused|Failed to exchange",
    re.IGNORECASE,
)  # fmt: skip
_BROKE = re.compile(
    r"Failed status|Completion with error|Failed to complete run_iter|Failed to modify QP|Failed to post|syndrom|Unexpected CM event",
    re.IGNORECASE,
)
_JSON_KEY = {
    key: re.compile(rf'"?{key}"?\s*:\s*"?(-?\d{{1,15}}(?:\.\d{{1,9}})?)"?\s*[,}}\n]')
    for key in ("MsgSize", "n_iterations", "BW_average", "MsgRate")
}
_JSON_DEVICE = re.compile(r'"?Device"?\s*:\s*"?([\w.-]{1,60})"?')
_JSON_TEST = re.compile(r'"?test"?\s*:\s*"?(RDMA_Write[^",}\n]{0,40})')

GBIT, MIB = 1e9 / 8, float(1 << 20)


@dataclass(frozen=True, slots=True)
class PerftestRow:
    """One size: bytes, iterations, GB/s on average (10^9 bytes a second; of both directions together when bidirectional)."""

    size: int
    iterations: int
    average: float


@dataclass(frozen=True, slots=True)
class PerftestRun:
    """What one end printed. `local`, `remote`: the GIDs as addresses, empty when they were not printed (`::ffff:10.0.0.1`)."""

    device: str
    local: str
    remote: str
    bidirectional: bool
    rows: tuple[PerftestRow, ...]
    state: State
    reason: str
    source: str

    @property
    def largest(self) -> PerftestRow | None:
        """The row of the largest size."""
        return max(self.rows, key=lambda row: row.size, default=None)


def parse_ib_write_bw(text: str, *, source: str) -> PerftestRun:
    """The one run of ib_write_bw in a text (what it printed, or wrote with --out_json); FabricError when there is none, or several."""
    parts = perftest_texts(text, source=source)
    if len(parts) != 1:
        found = "no output of ib_write_bw" if not parts else f"{len(parts)} runs of ib_write_bw, not one"
        raise FabricError(f"{source}: {found}")
    text = parts[0]
    rows, cut = _json_rows(text) if _is_json(text) else _text_rows(text)
    broke, never = _line_with(_BROKE, text), _line_with(_NEVER, text)
    state, reason = _state(rows, cut, broke, never)
    device = _JSON_DEVICE.search(text) if _is_json(text) else _DEVICE.search(text)
    title = _JSON_TEST.search(text) if _is_json(text) else _TITLE.search(text)
    gids = {end: _address(gid) for end, gid in reversed(_GID.findall(text))}
    return PerftestRun(
        device[1] if device else "", gids.get("local", ""), gids.get("remote", ""),
        bool(title and "Bidirectional" in title[0]), tuple(rows), state, reason, source,
    )  # fmt: skip


def perftest_texts(text: str, *, source: str) -> tuple[str, ...]:
    """The text of each run: a loop over NICs prints one after another. What stands before the first belongs to it."""
    if len(text) > MAX_TEXT:
        raise FabricError(
            f"{source}: {len(text):,} characters of perftest output, more than the {MAX_TEXT:,} that are read"
        )
    if _is_json(text):
        return (text,)
    starts = [match.start() for match in _BEGIN.finditer(text)]
    if len(starts) < 2:
        return (text,) if is_perftest(text) else ()
    cuts = [0, *starts[1:], len(text)]
    return tuple(text[start:end] for start, end in pairwise(cuts))


def is_perftest(text: str) -> bool:
    """Whether a text looks like ib_write_bw's."""
    return _is_json(text) or bool(_TITLE.search(text) or _HEADER.search(text))


def perftest_measurement(
    runs: Iterable[PerftestRun], *, stage: Stage, hosts: tuple[str, ...], rails: tuple[int, ...] = (), source: str = ""
) -> Measurement:
    """All repeats of one pair of NICs: GB/s at the largest size.

    Of a bidirectional run half, which is the mean of both directions: so that all runs compare.
    """
    repeats = tuple(runs)
    size = max((run.largest.size for run in repeats if run.largest), default=0)
    at = source or (repeats[0].source if repeats else "")
    for state in ("broken", "unmade"):
        reasons = [run.reason for run in repeats if run.state == state]
        if reasons:
            return Measurement(stage, "ib_write_bw", hosts, rails, size, state=state, reason=reasons[0], source=at)
    if not repeats:
        return Measurement(stage, "ib_write_bw", hosts, rails, state="unmade", reason="nothing was printed", source=at)
    values = tuple(
        row.average / (2 if run.bidirectional else 1) for run in repeats for row in run.rows if row.size == size
    )  # fmt: skip
    return Measurement(stage, "ib_write_bw", hosts, rails, size, values, source=at)


def perftest_clues(text: str, run: PerftestRun, *, host: str = "") -> tuple[Clue, ...]:
    """The completion error that ended a run, as NCCL's logs tell it: of the end that is suspected."""
    found = _STATUS.search(whole_lines(text))
    status = STATUSES.get(int(found[1] or found[2])) if found else None
    if status is None:
        return ()
    here = run.local or (f"{host}:{run.device}" if host and run.device else host)
    where, peer = (run.remote, here) if status.end == "remote" and run.remote else (here, run.remote)
    return (Clue(status.kind, where, clean(f"ib_write_bw: {run.reason}"), peer, run.source),)


def _state(rows: list[PerftestRow], cut: bool, broke: str, never: str) -> tuple[State, str]:
    if broke:
        return "broken", broke
    if rows and not cut:
        return "ok", ""
    if never:
        return "unmade", never
    return ("broken", "it ended before its last line") if rows or cut else ("unmade", "it printed no result")


def _line_with(pattern: re.Pattern[str], text: str) -> str:
    return next((clean(line.text) for line in lines_of(text) if pattern.search(line.text)), "")


def _is_json(text: str) -> bool:
    return "BW_average" in text and "MsgSize" in text


def _text_rows(text: str) -> tuple[list[PerftestRow], bool]:
    """The rows, and whether one was cut or contradicts itself."""
    rows: list[PerftestRow] = []
    unit, cut = 0.0, False
    if len(_HEADER.findall(text)) > 1:
        return [], True  # two runs whose titles were lost: whose rows they are is not known
    for line in lines_of(text):
        header = _HEADER.search(line.text)
        if header:
            unit = (GBIT if header[1] == "Gb/sec" else MIB) if line.whole else 0.0
        elif unit and re.match(r"\s*\d", line.text):
            found = _ROW.match(line.text) if line.whole else None
            row = _row(found[1], found[2], found[4], found[5], (unit,)) if found else None
            cut = cut or row is None
            if row is not None:
                rows.append(row)
    return rows, cut


def _json_rows(text: str) -> tuple[list[PerftestRow], bool]:
    """The JSON has one result; some releases do not quote its words, so that it is searched, not parsed."""
    found = {key: pattern.findall(text) for key, pattern in _JSON_KEY.items()}
    if any(len(values) != 1 for values in found.values()):
        return [], True
    row = _row(found["MsgSize"][0], found["n_iterations"][0], found["BW_average"][0], found["MsgRate"][0], (GBIT, MIB))
    return ([row], False) if row is not None else ([], True)


def _row(size: str, iterations: str, average: str, rate: str, units: tuple[float, ...]) -> PerftestRow | None:
    """The row in the unit with which bandwidth and message rate agree; None when none does."""
    if "." in size or "." in iterations or not int(size):
        return None
    by_rate = float(rate) * 1e6 * int(size)
    slack = 10.0 ** -len(rate.partition(".")[2]) / max(float(rate), 1e-12) + 10.0 ** -len(
        average.partition(".")[2]
    ) / max(float(average), 1e-12)
    for unit in units:
        value = float(average) * unit
        if value > 0 and math.isclose(value, by_rate, rel_tol=0.005 + slack):
            return PerftestRow(int(size), int(iterations), value / 1e9)
    return None


def _address(gid: str) -> str:
    """A GID is printed as sixteen decimal bytes; empty when it is none."""
    parts = [int(part) for part in gid.split(":")]
    if max(parts) > 255 or not any(parts):
        return ""
    address = IPv6Address(bytes(parts))
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped else str(address)
