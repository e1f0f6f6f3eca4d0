"""Findings as JUnit XML, which CI systems show: a failed one is a failure, an unknown one is skipped with its reason."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from fabric.verify.finding import Finding


def junit_xml(findings: Sequence[Finding], name: str) -> bytes:
    """The document, UTF-8; one suite a kind of check, in order of the findings; no times, so that equal results are equal bytes."""
    top = ET.Element("testsuites", name=_clean(name))
    for kind in dict.fromkeys(finding.kind for finding in findings):
        found = [finding for finding in findings if finding.kind == kind]
        suite = ET.SubElement(top, "testsuite", name=kind, tests=str(len(found)))
        suite.set("failures", str(sum(finding.verdict == "fail" for finding in found)))
        suite.set("skipped", str(sum(finding.verdict == "unknown" for finding in found)))
        suite.set("errors", "0")
        for finding in found:
            _case(suite, finding)
    ET.indent(top)
    document: bytes = ET.tostring(top, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _case(suite: ET.Element, finding: Finding) -> None:
    case = ET.SubElement(suite, "testcase", classname=f"fabric.{finding.check}", name=_clean(finding.subject))
    if finding.verdict == "unknown":
        ET.SubElement(case, "skipped", message=_clean(finding.measured))
    elif finding.verdict == "fail":
        failure = ET.SubElement(case, "failure", message=_clean(finding.measured), type=finding.check)
        rows = [
            f"found: {finding.measured}",
            f"expected: {finding.expected}",
            f"do: {finding.action}",
            *finding.evidence,
        ]
        failure.text = _clean("\n".join(rows))


def _clean(text: str) -> str:
    """Without the characters that XML 1.0 does not have; what devices say may hold any."""
    return "".join(char if char in "\n\t" or char.isprintable() else "?" for char in text)
