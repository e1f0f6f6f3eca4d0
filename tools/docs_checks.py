"""The page of the host checks: every check of `check-host`, from the code that makes it."""

from __future__ import annotations

import inspect

from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.checks import HOSTS, STORAGE
from tools.docs_text import GENERATED, table

_INTRO = """# Host checks

What `fabric validate hosts` and `fabric validate storage` look at on every host, and what `check-host` looks at on the host itself.
A check that the spec declares nothing for does not apply and gives no result; one that cannot be made is unknown, with the reason.
`--only ID` and `--skip ID` choose, also by pattern (`gpu.*`). The thresholds are those of the host model
([catalog](catalog.md)): corrected ECC errors, Xids and their window, lost carriers and theirs, PCIe speed and width.

"""


def checks_page() -> str:
    """The whole page: the checks of hosts, then those of storage."""
    parts = [GENERATED, _INTRO]
    for title, checks in (("Hosts", HOSTS), ("Storage", STORAGE)):
        rows = [(f"`{check.id}`", check.severity, _says(check), check.action) for check in checks]
        parts.append(f"## {title}\n\n" + table(("check", "severity", "passes when", "what to do first"), rows))
    cases = [(f"`{check.id}`", ", ".join(check.cases)) for check in (*HOSTS, *STORAGE) if check.cases]
    parts.append("## Public failure reports that they answer to\n\n" + table(("check", "reports"), cases))
    return "".join(parts).rstrip("\n") + "\n"


def _says(check: Check) -> str:
    return " ".join((inspect.getdoc(check) or "").split())
