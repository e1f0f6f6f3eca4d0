"""A Linux box that answers as FBOSS does: real shell, real files in a folder, stand-ins for systemd and fboss2."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import asyncssh

_SYSTEMCTL = """#!/bin/sh
case "$1" in
  is-active)
    case "$2" in *.timer|*.service) [ -e "$FAKE/units/$2" ] ;; *) [ ! -e "$FAKE/dead/$2" ] ;; esac || { echo inactive; exit 3; }
    echo active ;;
  stop) rm -f "$FAKE/units/$2"; case "$2" in *.timer) ;; *) echo "stop $2" >> "$FAKE/log" ;; esac ;;
  restart) echo "restart $2" >> "$FAKE/log"; [ ! -e "$FAKE/refuse/$2" ] || { echo "Job for $2.service failed." >&2; exit 1; } ;;
esac
"""
_SYSTEMD_RUN = """#!/bin/sh
[ ! -e "$FAKE/refuse/systemd-run" ] || { echo "Failed to start transient timer unit" >&2; exit 1; }
after=${1#--on-active=}; unit=${2#--unit=}; shift 2
: > "$FAKE/units/$unit.timer"
export after unit
setsid sh -c 'sleep "${after%s}"; [ -e "$FAKE/units/$unit.timer" ] && rm "$FAKE/units/$unit.timer" && "$@"' sh "$@" >/dev/null 2>&1 </dev/null &
mkdir -p "$FAKE/timers"; echo $! > "$FAKE/timers/$unit.pid"
echo "Running timer as unit: $unit.timer" >&2
"""
_FBOSS2_DEV = """#!/bin/sh
echo "$*" >> "$FAKE/log"
if grep -q REFUSED "$FAKE/coop/agent.conf"; then
  printf 'localhost::\\n====\\nThrift call failed: bad config\\n' >&2; echo '{}'; exit 1
fi
echo "Config reloaded successfully"
"""
_FBOSS2 = """#!/bin/sh
file="$FAKE/answers/$(echo "$*" | sed 's/--fmt json //; s/ /_/g')"
[ -e "$file" ] || case "$*" in "show config running agent") file="$FAKE/coop/agent.conf" ;; esac
[ -e "$file" ] || { echo '{}'; echo "localhost::" >&2; echo "Thrift call failed: 'no'" >&2; exit 1; }
echo "I0102 log line" >&2
cat "$file"
"""


class FakeFboss:
    """`folder`/coop stands for /etc/coop, `folder`/answers/show_lldp holds what `fboss2 show lldp` prints."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.coop = folder, folder / "coop"
        for name in ("coop/bgpcpp", "bin", "units", "refuse", "dead", "answers"):
            (folder / name).mkdir(parents=True)
        tools = {"systemctl": _SYSTEMCTL, "systemd-run": _SYSTEMD_RUN, "fboss2-dev": _FBOSS2_DEV, "fboss2": _FBOSS2}
        for name, text in tools.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        self.env = os.environ | {"FAKE": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        self.drop_before = ""

    def end_timers(self) -> None:
        """End the timers that were armed and never stopped, with all that they started."""
        for file in (self.folder / "timers").glob("*.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(file.read_text()), signal.SIGKILL)

    @property
    def log(self) -> list[str]:
        """What was reloaded and restarted, in order."""
        file = self.folder / "log"
        return file.read_text().splitlines() if file.exists() else []

    async def shell(self, process: asyncssh.SSHServerProcess[Any]) -> None:
        if process.command is None:  # the interactive shell that netmiko opens
            await process.stdin.read()
            return
        if self.drop_before and self.drop_before in process.command:
            self.drop_before = ""
            process.channel.get_connection().abort()
            return
        child = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            process.command,
            env=self.env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await child.communicate()
        except asyncio.CancelledError:
            child.kill()
            await child.wait()
            raise
        process.stdout.write(out.decode())
        process.stderr.write(err.decode())
        process.exit(child.returncode or 0)
        await process.wait_closed()
