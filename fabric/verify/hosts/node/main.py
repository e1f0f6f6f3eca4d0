"""The command `check-host`: compares this host with /etc/fabric/host.json and says what differs. It changes nothing.

    check-host [--json | --nagios | --list] [--only ID] [--skip ID] [--deadline S] [--expect FILE]

ID may be a pattern ("gpu.*"). Exit status, as monitoring systems know it: 0 all right, 2 a critical fault, 1 only warnings,
3 no fault but something could not be seen. For a prolog: drain on 2; a 3 is no reason to drain a host.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fabric.design.hosts import expect
from fabric.verify.hosts.node.check import Check, chosen, run, sources
from fabric.verify.hosts.node.checks import ALL
from fabric.verify.hosts.node.gather import DEADLINE_S, gather
from fabric.verify.hosts.node.result import CRITICAL, FAIL, PASS, UNKNOWN, Result

SCHEMA = "fabric.check-host/1"
OK, WARN, BAD, UNSEEN = 0, 1, 2, 3
WORDS = {OK: "OK", WARN: "WARNING", BAD: "CRITICAL", UNSEEN: "UNKNOWN"}
ONE_LINE = 400
"""Characters of the Nagios line (our choice; plugins may print more, but a drain reason of Slurm should stay readable)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status. Never a traceback: what goes wrong with check-host itself is unknown."""
    parser = argparse.ArgumentParser(prog="check-host", description="Compare this host with what its cluster declares.")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help=f"print {SCHEMA}")
    form.add_argument(
        "--nagios", action="store_true", help="print one line first, for monitoring and for a prolog's drain reason"
    )
    form.add_argument("--list", action="store_true", help="list the checks")
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="only these checks; may be repeated")
    parser.add_argument("--skip", action="append", default=[], metavar="ID", help="not these checks; may be repeated")
    parser.add_argument(
        "--deadline", type=float, default=DEADLINE_S, metavar="S", help="seconds for each thing that is read"
    )
    parser.add_argument(
        "--expect", default=expect.PATH, metavar="FILE", help="what the host should be (- is standard input)"
    )
    options = parser.parse_args(arguments)
    try:
        checks = chosen(ALL, options.only, options.skip)
        if options.list:
            _print([f"{check.id:22} {check.severity:9} {first_line(check)}" for check in checks])
            return OK
        want = expect.loads(_text(options.expect))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        print(
            f"check-host: {'' if isinstance(error, ValueError) and 'no check' in str(error) else options.expect + ': '}{why}",
            file=sys.stderr,
        )
        return UNSEEN
    began = time.monotonic()
    found = run(checks, want, gather(sources(checks, want), options.deadline))
    status = status_of(found)
    if options.json:
        _print([json.dumps(document(want.host, found, time.monotonic() - began))])
    else:
        _print(nagios(found, status) if options.nagios else lines(found))
    return status


def _print(text: Sequence[str]) -> None:
    """To whom still reads: a reader that has left (`| head -n 1`) changes nothing of the exit status."""
    try:
        print("\n".join(text), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _text(path: str) -> str:
    return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")


def first_line(check: Check) -> str:
    """What a check says of itself."""
    return (check.__doc__ or "").split("\n")[0]


def status_of(found: Sequence[Result]) -> int:
    """The exit status of results. Nothing at all was judged: unknown."""
    failed = [result.severity for result in found if result.verdict == FAIL]
    if CRITICAL in failed:
        return BAD
    if failed:
        return WARN
    seen = any(result.verdict == PASS for result in found)
    return OK if seen and not any(result.verdict == UNKNOWN for result in found) else UNSEEN


def document(host: str, found: Sequence[Result], seconds: float) -> dict[str, object]:
    """The results as data, version `fabric.check-host/1`."""
    return {
        "schema": SCHEMA,
        "host": host,
        "at": round(time.time(), 3),
        "seconds": round(seconds, 3),
        "exit_code": status_of(found),
        "results": [result.data() for result in found],
    }


def _subject(result: Result) -> str:
    return f"{result.check}{f' {result.unit}' if result.unit else ''}"


def lines(found: Sequence[Result]) -> list[str]:
    """For people: what is wrong, what could not be seen, how much is right."""
    text = []
    for result in found:
        if result.verdict == FAIL:
            text.append(
                f"{'FAIL' if result.severity == CRITICAL else 'WARN':8} {_subject(result)}: {result.measured}, expected {result.expected}"
            )
            if result.action:
                text.append(f"         do: {result.action}")
    text += [f"unknown  {_subject(result)}: {result.measured}" for result in found if result.verdict == UNKNOWN]
    return [*text, _counts(found)]


def _counts(found: Sequence[Result]) -> str:
    count = Counter(result.verdict for result in found)
    return f"{count[FAIL]} failed, {count[UNKNOWN]} unknown, {count[PASS]} passed"


def nagios(found: Sequence[Result], status: int) -> list[str]:
    """The worst first, in one line; then all lines."""
    faults = sorted(
        (result for result in found if result.verdict == FAIL), key=lambda result: result.severity != CRITICAL
    )
    told = faults or [result for result in found if result.verdict == UNKNOWN]
    words = "; ".join(f"{_subject(result)}: {result.measured}" for result in told).replace("|", "/")
    short = words if len(words) <= ONE_LINE else words[: ONE_LINE - 3] + "..."
    return [f"FABRIC {WORDS[status]}: {short or _counts(found)}", *(line.replace("|", "/") for line in lines(found))]
