"""The page of causes: what a log, a diagnosis or a set of measurements shows, why, and what to do, from the table that decides it."""

from __future__ import annotations

from fabric.verify.collectives.causes import CAUSES, ELSEWHERE, REPORTS, STATUSES
from tools.docs_text import GENERATED, table

_INTRO = """# Clues and causes

What `fabric locate` and `fabric validate collectives` read besides bandwidths: logs of NCCL, the kernel and the drivers, completion
errors, DCGM's diagnosis, NCCL's RAS. A clue says that something was seen, and where; the first row below with its kind, and with its
words where it needs some, is its cause. A clue of a connection is of the end that is suspected: the NIC itself for a local error, the
other end when that did not answer or refused.

"""
_STATUS = """## Completion errors

The numbers of `ibv_wc_status`, as NCCL and perftest print them. Vendor error 81 makes a local protection error one of ACS; a link-local or
empty GID makes an error 12 one of the GID index.

"""


def causes_page() -> str:
    """The whole page: causes, completion errors, and the reports that no log tells."""
    rows = [(f"`{cause.kind}`", cause.said, cause.cause, cause.do, REPORTS.get(cause.report, "")) for cause in CAUSES]
    errors = [
        (number, f"`{status.name}`", f"`{status.kind}`", f"the {status.end} end") for number, status in STATUSES.items()
    ]
    others = [(where, REPORTS[number]) for number, where in ELSEWHERE.items()]
    return (
        GENERATED
        + _INTRO
        + table(("clue", "words", "cause", "what to do", "public reports"), rows)
        + _STATUS
        + table(("number", "name", "clue", "of"), errors)
        + "## Reports that no log tells\n\n"
        + table(("where they are seen", "public reports"), others)
    ).rstrip("\n") + "\n"
