"""A Linux box that answers as an SM host does: real shell, real files in a folder, stand-ins for systemd, opensm and infiniband-diags."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from fabric.targets.opensm.keys import upstream_keys
from tests.targets.fake_fboss import _SYSTEMD_RUN, FakeFboss

_SYSTEMCTL = """#!/bin/sh
sm=$FAKE/sm; conf=$FAKE/etc/opensm.conf
key() { sed -n "s/^$1 //p" "$conf" 2>/dev/null | tail -n 1; }
sweep() {
  log=$(key log_file)
  echo MASTER > "$FAKE/state"; echo "x -> Entering MASTER state" >> "$log"; cat "$FAKE/says" >> "$log" 2>/dev/null
  echo "x -> osm_ucast_mgr_process: $(cut -d, -f1 "$FAKE/engine") tables configured on all switches" >> "$log"; echo "x -> SUBNET UP" >> "$log"
}
stop() { [ ! -e "$sm" ] || kill "$(cat "$sm")" 2>/dev/null; rm -f "$sm"; }
case "$1" in
  is-active)
    case "$2" in *.timer|*.service) [ -e "$FAKE/units/$2" ] ;; *) [ -e "$sm" ] ;; esac || { echo inactive; exit 3; }
    echo active ;;
  show) [ -e "$sm" ] && cat "$sm" || echo 0 ;;
  stop) case "$2" in opensm) echo stop >> "$FAKE/log"; stop ;; *) rm -f "$FAKE/units/$2" ;; esac ;;
  start) echo start >> "$FAKE/log"; stop; grep -q CANNOT_BIND "$conf" && exit 0
    run="exec sleep 600"; [ ! -e "$FAKE/ends_late" ] || run='trap "sleep 0.5; exit 1" HUP; while :; do sleep 0.05; done'
    env --default-signal=HUP setsid sh -c "$run" >/dev/null 2>&1 </dev/null & echo $! > "$sm"; key routing_engine > "$FAKE/engine"; sweep ;;
  reload) [ ! -e "$FAKE/no_reload" ] || exit 1
    echo "reload $(key sm_priority)" >> "$FAKE/log"; [ -e "$sm" ] && sweep ;;
esac
"""
_OPENSM = """#!/bin/sh
case "$1" in --version) echo "OpenSM 3.3.23" ;; -c) cp "$FAKE/keys" "$2" ;; esac
"""
_SMINFO = """#!/bin/sh
if [ ! -e "$FAKE/sm" ] && [ -e "$FAKE/standby" ] && [ "$1" != -D ]; then
  echo "sm guid 0x11, activity count 9 priority 13 state 3 SMINFO_MASTER"; exit
fi
[ -e "$FAKE/sm" ] && [ ! -e "$FAKE/mute" ] || { echo "sminfo: iberror: failed: query" >&2; exit 1; }
case "$(cat "$FAKE/state")" in MASTER) n=3 ;; *) n=2 ;; esac
priority=$(sed -n 's/^sm_priority //p' "$FAKE/etc/opensm.conf" | tail -n 1)
own="sm guid 0xa00000000001, activity count 5 priority $priority state $n SMINFO_$(cat "$FAKE/state")"
if [ "$1" != -D ] && [ "$n" = 2 ]; then own="sm guid 0xa00000000011, activity count 9 priority 13 state 3 SMINFO_MASTER"; fi
echo "sminfo: sm lid 1 $own"
"""
_SAQUERY = """#!/bin/sh
echo "		GUID..................0x0000a00000000001"
[ ! -e "$FAKE/standby" ] || echo "		GUID..................0x0000a00000000011"
"""
_SMPQUERY = """#!/bin/sh
for last; do :; done
[ "$last" != 0 ] || last=0x0000a00000000001
[ -e "$FAKE/pkeys/$last" ] || exit 1
echo "   0:$(cat "$FAKE/pkeys/$last") 0x0000"; echo "2 pkeys capacity for this port"
"""
_JOURNALCTL = """#!/bin/sh
case "$*" in *--show-cursor*) echo "-- cursor: s=1;i=2" ;; *"--after-cursor s=1;i=2"*) cat "$FAKE/stdout" 2>/dev/null ;; esac
"""


class FakeSm(FakeFboss):
    """`folder`/etc stands for /etc/opensm. `says` is written to opensm's log at each sweep, `stdout` is what it prints."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.etc = folder / "etc"
        for name in ("etc", "pkeys"):
            (folder / name).mkdir()
        tools = {
            "systemctl": _SYSTEMCTL, "systemd-run": _SYSTEMD_RUN, "opensm": _OPENSM, "sminfo": _SMINFO, "saquery": _SAQUERY,
            "smpquery": _SMPQUERY, "journalctl": _JOURNALCTL, "pgrep": "#!/bin/sh\ncat \"$FAKE/sm\" 2>/dev/null\n",
        }  # fmt: skip
        for name, text in tools.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        (folder / "keys").write_text("".join(f"{name} x\n" for name in upstream_keys()))

    def end(self) -> None:
        """End what runs, also what a timer's command has begun and not written down yet: they are known by the folder in their environment."""
        self.end_timers()
        mine = f"FAKE={self.folder}\0".encode()
        while running := [pid for pid in _processes() if mine in _environment(pid)]:
            for pid in running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)


def _processes() -> list[int]:
    return [
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and int(entry.name) != os.getpid()
    ]


def _environment(pid: int) -> bytes:
    """What a process was started with; nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
