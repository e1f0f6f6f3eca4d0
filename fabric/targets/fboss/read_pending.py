"""Open sessions of FBOSS's own configuration tool, which are unfinished changes as well."""

from __future__ import annotations

from fabric.targets.device import DeviceError, Pending

SESSIONS_SCRIPT = """
for file in /root/.fboss2/agent.conf /home/*/.fboss2/agent.conf; do
  [ -e "$file" ] && echo "session $file"
done
true
"""
"""Prints one line for each open session."""


def read_sessions(answer: str) -> list[Pending]:
    """What SESSIONS_SCRIPT printed."""
    return [_session(line) for line in answer.splitlines() if line.strip()]


def _session(line: str) -> Pending:
    words = line.split()
    if words[0] != "session" or len(words) != 2:
        raise DeviceError(f"pending changes: {line[:80]!r} cannot be read")
    return Pending(token=words[1], armed=False, ours=False, detail=f"open session of fboss2-dev: {words[1]}")
