"""One cause, one finding: sessions that are down on a cable that is wrong are told with the cable."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from fabric.verify.finding import Finding

_FOLLOWS = ("routing.session", "routing.device")


def fold(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without the failed sessions all of whose links a failed cabling finding names; that one says so."""
    causes = {
        link: place
        for place, finding in enumerate(findings)
        if finding.verdict == "fail" and finding.kind == "cabling"
        for link in finding.links
    }
    told: dict[int, set[str]] = {}
    routes: dict[int, str] = {}
    left: list[tuple[int, Finding]] = []
    for number, finding in enumerate(findings):
        follows = finding.check in _FOLLOWS and finding.verdict == "fail" and finding.links
        if not follows or not all(link in causes for link in finding.links):
            left.append((number, finding))
            continue
        for link in finding.links:
            told.setdefault(causes[link], set()).add(link)
            routes.update(dict.fromkeys([causes[link]], *finding.evidence[:1]))
    return [_told(finding, told.get(number), routes.get(number)) for number, finding in left]


def _told(finding: Finding, links: set[str] | None, routes: str | None) -> Finding:
    if not links:
        return finding
    where = "this link" if len(links) == 1 else f"these {len(links):,} links"
    more = [f"BGP is down on {where}, as it must be"]
    if routes:
        more.append(routes)
    return dataclasses.replace(finding, evidence=(*finding.evidence, *more))
