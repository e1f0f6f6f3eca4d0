"""Check of nccl.conf, which rests on NICs and the lossless class."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabric.design.hosts.expect import Expectation
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.parse_system import nccl_conf
from fabric.verify.hosts.node.result import WARNING, Result
from fabric.verify.hosts.node.sources import Seen, Source


class NcclConf(Check):
    """/etc/nccl.conf says, by NCCL's own rules of reading it, what the fabric needs; no line is other than it looks."""

    id = "nccl.conf"
    action = "fabric apply --hosts writes it; what must differ goes to hosts.nccl.overrides, where it is checked"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.NCCL_CONF, src.ENVIRONMENT] if want.nccl else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        files = seen.files(src.NCCL_CONF)
        if "/etc/nccl.conf" not in files:
            yield self.bad("", "there is no /etc/nccl.conf", f"{len(want.nccl)} settings")
            return
        have: dict[str, str] = {}
        right = 0
        for line in nccl_conf(files["/etc/nccl.conf"]):
            have.setdefault(line.key, line.value)
            if line.suspicion:
                yield self.bad(f"line {line.number}", line.suspicion, "KEY=VALUE and nothing else")
        for key, value in want.nccl.items():
            if have.get(key) == value:
                right += 1
            else:
                yield self.bad(key, "not set" if key not in have else have[key] or "empty", value)
        for key in have.keys() - want.nccl.keys():
            yield self.bad(key, f"set to {have[key] or 'nothing'}", "not set", severity=WARNING)
        yield from self._environment(seen)
        if right:
            yield self.ok("", f"{right} settings as rendered")

    def _environment(self, seen: Seen) -> Iterator[Result]:
        """A variable of the environment wins over the file."""
        for text in seen.files(src.ENVIRONMENT).values():
            for key in re.findall(r"^\s*(?:export\s+)?(NCCL_\w+)=", text, re.MULTILINE):
                yield self.bad(
                    key, "set in /etc/environment, which wins", "set in /etc/nccl.conf only", severity=WARNING
                )


CHECKS: tuple[Check, ...] = (NcclConf(),)
