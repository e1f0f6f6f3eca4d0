"""The page from what was found. Same input, same bytes: the time is given, never read."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from fabric.design.seats import Seating
from fabric.export.html_report.drawing import Drawing, draw
from fabric.export.html_report.heat import Heat, heat
from fabric.export.html_report.rails import Chart, rail_charts
from fabric.resources import resource
from fabric.templating import environment
from fabric.verify.collectives.model import Measurement, Part
from fabric.verify.finding import Counts, Finding, count
from fabric.verify.history import Offender

ROWS = 2000
"""Findings of one verdict that stand in the page; what is left out is counted (our choice: more nobody reads, and a page must open)."""
GROUPS = 50
"""Reasons of measurements that could not be made, and hosts whose rails are drawn."""
KINDS: Mapping[str, str] = {
    "gpu": "GPU", "nic": "NIC", "cable": "host cable with its switch port", "host": "host", "switch": "switch",
    "trunk": "cable between switches", "zone-uplinks": "uplinks of a zone", "path": "path collision, nobody's fault",
    "setting": "setting", "process": "a rank's program", "undecided": "undecided: the evidence is not enough",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Page:
    """What a page shows. `at`: UTC as text; `sources`: files or runs that it was made from; `offenders`: from the history, if there is one."""

    title: str
    at: str
    tool: str
    seating: Seating
    findings: Sequence[Finding] = ()
    parts: Sequence[Part] = ()
    measurements: Sequence[Measurement] = ()
    sources: Sequence[str] = ()
    spec_sha256: str = ""
    offenders: Sequence[Offender] = ()


@dataclass(frozen=True, slots=True)
class _Located:
    part: Part
    kind: str
    percent: int
    drawing: Drawing | None
    charts: tuple[Chart, ...]


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class _View:
    page: Page
    verdict: str
    counts: Counts
    kinds: Sequence[_Kind]
    failed: Sequence[Finding]
    unknown: Sequence[Finding]
    left_failed: int
    left_unknown: int
    passes: Sequence[tuple[str, int]]
    located: Sequence[_Located]
    heat: Heat
    charts: Sequence[Chart]
    unmade: Sequence[tuple[str, int]]
    broken: Sequence[Measurement]
    groups: Sequence[Measurement]
    hosts: int
    style: Markup
    script: Markup
    data: Markup
    policy: str


def html_report(page: Page) -> str:
    """The whole file: styles, script and data are in it, and its policy forbids to load anything else. Everything from outside is escaped."""
    return environment("report", html=True).get_template("report.html.j2").render(v=_view(page))


def _view(page: Page) -> _View:
    failed, unknown = (_of(page.findings, verdict) for verdict in ("fail", "unknown"))
    counts = count(page.findings)
    drawn = heat(page.seating, page.measurements)
    style, script = _text("report.css"), _text("report.js")
    return _View(
        page=page,
        verdict=_verdict(page, counts),
        counts=counts,
        kinds=[_Kind(kind, count(f for f in page.findings if f.kind == kind)) for kind in _kinds(page.findings)],
        failed=failed[:ROWS],
        unknown=unknown[:ROWS],
        left_failed=len(failed) - ROWS,
        left_unknown=len(unknown) - ROWS,
        passes=_passes(page.findings),
        located=[_located(page, part) for part in page.parts],
        heat=drawn,
        charts=rail_charts(page.measurements),
        unmade=_unmade(page.measurements),
        broken=[one for one in page.measurements if one.state == "broken" or one.wrong][:ROWS],
        groups=[one for one in page.measurements if len(one.hosts) > 2][:ROWS],
        hosts=len({host for one in page.measurements for host in one.hosts}),
        style=Markup(style),  # noqa: S704 - a file of ours
        script=Markup(script),  # noqa: S704 - a file of ours
        data=_data(drawn),
        policy=_policy(style, script),
    )


def _verdict(page: Page, counts: Counts) -> str:
    if counts.failed or page.parts:
        return (
            f"{counts.failed or len(page.parts):,} found wrong"  # every part is a finding too, where there are findings
        )
    if counts.passed:
        return "nothing that could be seen is wrong"
    return "nothing could be judged"


def _kinds(findings: Sequence[Finding]) -> list[str]:
    return list(dict.fromkeys(finding.kind for finding in findings))


def _of(findings: Sequence[Finding], verdict: str) -> list[Finding]:
    found = [finding for finding in findings if finding.verdict == verdict]
    return sorted(found, key=lambda finding: finding.severity != "critical") if verdict == "fail" else found


def _passes(findings: Sequence[Finding]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for finding in findings:
        if finding.verdict == "pass":
            found[finding.check] = found.get(finding.check, 0) + finding.count
    return list(found.items())


def _located(page: Page, part: Part) -> _Located:
    named = part.hosts if len(part.hosts) <= 2 else ()
    host = part.name.partition(":")[0]
    hosts = [host] if host in page.seating.by_host else named
    charts = tuple(chart for host in hosts for chart in rail_charts(page.measurements, host=host))
    return _Located(
        part, KINDS.get(part.kind, part.kind), round(100 * part.confidence), draw(page.seating, part), charts
    )


def _unmade(measurements: Sequence[Measurement]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for one in measurements:
        if one.state == "unmade":
            reason = one.reason or "no reason is told"
            found[reason] = found.get(reason, 0) + 1
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:GROUPS]


def _text(name: str) -> str:
    path: Path = resource("templates") / "report" / name
    return path.read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing is loaded, nothing runs but the one script and the one style sheet whose hashes these are."""
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _data(drawn: Heat) -> Markup:
    """The map for the script. No `<` or `&` of a name can end the element that it stands in."""
    body: dict[str, Any] = {
        "hosts": drawn.hosts,
        "racks": drawn.racks,
        "layers": [
            {"label": layer.label, "pairs": layer.pairs, "codes": layer.codes, "top": layer.top, "median": layer.median}
            for layer in drawn.layers
        ],
    }
    text = json.dumps(body, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 - JSON without < > &
