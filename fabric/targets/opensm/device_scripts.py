"""What the scripts of a change do on an SM host: hand over, restart or reload opensm, and look at what came of it.

A master hands over by stopping: the standby finds out by its polling, as it must when the master dies. Asked by priority it would take over
at once, but measured on the simulator (opensm 3.3.23, 6 of 6) an SM that takes over from one which itself was handed the subnet stands still
in its first sweep.

The unit is `opensm`. Debian's unit starts one `opensm@GUID` a port and knows no reload: then the process gets its SIGHUP from us. Tools are
those of infiniband-diags; on a host of several HCAs they are told the one that the SM binds to. No text of a device is ever run.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric.targets.opensm.effect import Effect
from fabric.targets.swap import DIFFERS, Hooks

CONF = "opensm.conf"
LOADED = ".fabric-loaded"
"""In opensm's folder, what the running opensm has read: its identity (boot, process, start), then the sum of each of our files."""
UP_S = 30
"""Seconds that opensm gets to bind to its port and answer after a start: on a test fabric it took 0.2 s (our choice)."""
LINES = 400
"""Lines of the log, the last ones, that are looked at."""

LOG_WORDS = (
    r"Entering [A-Z]+ state|SUBNET UP|tables configured on all switches|Errors during initialization|No routing engine able"
    r"|cannot find or setup routing engine|Failed to setup routing engine|PARSE (ERROR|WARN)|artition configuration in error"
    r"|ERR A[BC][0-9A-F]{2}|ERR 2F18"
)
STDOUT_WORDS = (
    r"Unrecognized token|Invalid Cached Option|Parsing error|Warning: Cached Option|Error from|Perhaps another"
)

KNOWN_KEYS = """
folder=$(mktemp -d) && cd "$folder" && opensm -c keys >/dev/null 2>&1
cut -d' ' -f1 keys; status=$?; cd /; rm -rf -- "$folder"; exit "$status"
"""
"""Prints the first word of each line of opensm's own template: among them every key that it knows. Values, which may be secret, are not."""


@dataclass(frozen=True, slots=True)
class Manager:
    """What the scripts must know of the SM: opensm's folder, its port GUID (0: any), its log file, whether it keeps the log at a start.

    `sample`: the ports whose P_Keys are looked at.
    """

    etc: str
    guid: int = 0
    log: str = ""
    keeps_log: bool = True
    sample: tuple[int, ...] = ()


_FUNCTIONS = """
conf={conf} loaded={loaded} guid={guid} short={short} log={log} keeps_log={keeps_log}
pids=
only_living() {{
  for pid in $pids; do
    case "$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null)" in "" | Z*) pids= ;; esac
  done
}}
find_pids() {{
  only_living
  [ -z "$pids" ] || return 0
  pids=$(systemctl show -p MainPID --value opensm 2>/dev/null)
  case "$pids" in
    "" | 0 | *[!0-9]*) pids=; systemctl is-active opensm 'opensm@*' >/dev/null 2>&1 && pids=$(pgrep -x opensm) ;;
  esac
  only_living
}}
runs() {{ find_pids; [ -n "$pids" ]; }}
ca=; ca_port=
for one in /sys/class/infiniband/*/ports/*; do
  [ -e "$one/gids/0" ] || continue
  case "$(tr -d : < "$one/gids/0")" in *"$guid") ca_port=${{one##*/}}; ca=${{one%/ports/*}}; ca=${{ca##*/}} ;; esac
done
ask() {{
  tool=$1; shift
  if [ -n "$ca" ]; then set -- -C "$ca" -P "$ca_port" "$@"; fi
  timeout 20 "$tool" "$@" 2>/dev/null
}}
own() {{ ask sminfo -D 0 | head -n 1; }}
master() {{ case "$(own)" in *SMINFO_MASTER*) true ;; *) false ;; esac; }}
answers() {{  # answers SECONDS
  left=$1
  while [ "$left" -gt 0 ]; do
    if runs; then case "$(own)" in *SMINFO_*) return 0 ;; esac; fi
    sleep 1; left=$((left - 1))
  done
  return 1
}}
log_since() {{  # the log since the mark
  file=$(log_file); read -r inode size < log.mark 2>/dev/null || {{ inode=0; size=0; }}
  {{ [ "$(stat -c %i -- "$file" 2>/dev/null)" = "$inode" ] && [ "$(stat -c %s -- "$file")" -ge "$size" ]; }} || size=0
  tail -c "+$((size + 1))" -- "$file" 2>/dev/null
}}
entered() {{  # entered STATES SECONDS: it says in its log that it is in one of them; who asks it meanwhile is a client at the same port
  left=$(($2 * 4)) states=$1
  while [ "$left" -gt 0 ]; do
    log_since | grep -aqE "Entering ($states) state" && return 0
    runs || [ $((left % 4)) != 0 ] || return 1
    sleep 0.25; left=$((left - 1))
  done
  case "$(own)" in *SMINFO_MASTER*) found=MASTER ;; *SMINFO_STANDBY*) found=STANDBY ;; *) return 1 ;; esac
  case "|$states|" in *"|$found|"*) return 0 ;; esac
  return 1
}}
identity() {{
  read -r boot < /proc/sys/kernel/random/boot_id
  find_pids; for pid in $pids; do echo "$boot $pid $(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f20)"; done | tr '\\n' ' '
}}
log_file() {{  # a log file of the command line wins over that of opensm.conf
  find_pids; for pid in $pids; do tr '\\0' '\\n' < "/proc/$pid/cmdline"; done |
    awk -v log_="$log" 'take {{ log_ = $0; take = 0 }} $0 == "-f" || $0 == "--log_file" {{ take = 1 }} END {{ print log_ }}'
}}
mark() {{
  date +%s > began
  journalctl -q -n 0 --show-cursor -u opensm -u 'opensm@*' 2>/dev/null | sed -n 's/^-- cursor: //p' > journal.cursor
  {{ [ "$1" != start ] || [ "$keeps_log" = 1 ]; }} && stat -c '%i %s' -- "$(log_file)" 2>/dev/null > log.mark && return 0
  echo "0 0" > log.mark
}}
keep_loaded() {{  # keep_loaded FILE...: what it has read now
  {{ identity; echo; for file in "$@"; do [ ! -e "$file" ] || sha256sum -- "$file"; done; }} > loaded.new && mv -f loaded.new "$loaded"
}}
restart_sm() {{
  systemctl stop opensm; mark start; pids=
  systemctl start opensm && entered "MASTER|STANDBY" {up} || return 1
  tries=2
  until under_way; do
    [ "$tries" -gt 0 ] || return 1
    tries=$((tries - 1)); systemctl stop opensm; mark start; pids=
    systemctl start opensm && entered "MASTER|STANDBY" {up} || return 1
  done
}}
ticks() {{
  for pid in $pids; do sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null; done | awk '{{ sum += $12 + $13 }} END {{ print sum + 0 }}'
}}
under_way() {{  # false for a master that stands still in its first sweep: no word in its log and no work for 5 s
  still=0 waits=0 tries_left=30 said_before= done_before=0
  while [ "$tries_left" -gt 0 ]; do
    said=$(log_since | tee last.log | wc -c); runs; did=$(ticks)
    grep -aq "SUBNET UP" last.log && return 0
    if grep -aq "Entering MASTER state" last.log; then
      if [ "$said" = "$said_before" ] && [ "$((did - done_before))" -lt 3 ]; then still=$((still + 1)); else still=0; fi
      [ "$still" -lt 5 ] || return 1
    else
      waits=$((waits + 1)); [ "$waits" -lt 4 ] || return 0  # a standby, as far as can be seen
    fi
    said_before=$said done_before=$did; sleep 1; tries_left=$((tries_left - 1))
  done
}}
reload_sm() {{
  mark reload
  systemctl reload opensm 2>/dev/null || {{ runs && kill -HUP $pids; }} || return 1
  sleep 1; runs  # one that ends at its reload may answer once more before it does
}}
hand_over() {{  # hand_over SECONDS: a standby is master while this one is away
  runs && master || return 0
  [ "$(ask saquery SMIR | grep -c '[.]GUID[.]\\|^[[:space:]]*GUID[.]')" -gt 1 ] || return 0
  systemctl stop opensm; pids=
  end=$(($(date +%s) + $1))
  while [ "$(date +%s)" -lt "$end" ]; do
    case "$(ask sminfo)" in *"0x$short,"*) ;; *SMINFO_MASTER*) return 0 ;; esac
    sleep 0.5
  done
  return 1
}}
"""


def functions(manager: Manager) -> str:
    """The shell functions that all scripts begin with."""
    return _FUNCTIONS.format(
        conf=shlex.quote(f"{manager.etc}/{CONF}"),
        loaded=shlex.quote(f"{manager.etc}/{LOADED}"),
        guid=f"{manager.guid:016x}",
        short=f"{manager.guid:x}",
        log=shlex.quote(manager.log),
        keeps_log=int(manager.keeps_log),
        up=UP_S,
    )


def hooks(manager: Manager, effect: Effect, paths: Sequence[str], ran_before: bool) -> Hooks:
    """The steps around the swap. `paths` are all our files; `ran_before`: opensm ran, so that going back means that it runs again."""
    keep = f"keep_loaded {shlex.join(paths)}"
    undo: list[str] = []
    if effect != "none" and not ran_before:
        undo += ["systemctl stop opensm; pids=; runs && failed=1", 'rm -f -- "$loaded"']
    elif effect == "reload":
        undo += [f"{{ {{ runs && reload_sm; }} || restart_sm; }} && {keep} || failed=1"]
    elif effect != "none":
        undo += [f"restart_sm && {keep} || failed=1"]
    before, act, confirm = _ACTS[effect]
    return Hooks(
        functions(manager), before, [*act, *([keep] if effect in ("reload", "restart") else [])], undo, confirm
    )


_HAND_OVER = 'hand_over "$(($1 / 3))" || undo "no standby took over as master"'
_RUNS = f'answers 5 || fail {DIFFERS} "opensm does not run"'
_ACTS: Mapping[Effect, tuple[list[str], list[str], list[str]]] = {
    "none": ([], [], []),
    "reload": ([], ['reload_sm && answers 10 || undo "opensm does not answer after its reload"'], [_RUNS]),
    "restart": ([_HAND_OVER], ['restart_sm || undo "opensm does not come up with the new files"'], [_RUNS]),
    "stop": (
        [_HAND_OVER],
        ['systemctl stop opensm || undo "opensm does not stop"', 'rm -f -- "$loaded"'],
        [f'runs && fail {DIFFERS} "opensm runs"'],
    ),
}
"""For each effect: before the swap, after it, before it is confirmed."""


_LOOK = """
find_pids; echo "@pids" $pids
echo "@own $(own)"
echo "@master $(ask sminfo | head -n 1)"
"""
_LOOK_SINCE = """#!/bin/sh
cd {folder} || exit 10
{functions}{look}
echo "@log"
log_since | grep -aE {log_words} | tail -n {lines} | cut -c1-300 | sed 's/^/ /'
echo "@stdout"
read -r began < began 2>/dev/null || began=0; set -- --since "@$began"
read -r cursor < journal.cursor 2>/dev/null && set -- --after-cursor "$cursor"
journalctl -q -o cat --no-pager -u opensm -u 'opensm@*' "$@" 2>/dev/null |
  grep -aE {stdout_words} | head -n 60 | cut -c1-300 | sed 's/^/ /'
if master; then
  echo "@pkeys {guid}"; ask smpquery -D pkeys 0 | sed 's/^/ /'
  for port in {sample}; do echo "@pkeys $port"; ask smpquery -G pkeys "0x$port" | sed 's/^/ /'; done
fi
"""
_END = 'echo "@end"\n'


def look_now(manager: Manager) -> str:
    """Prints who is master: see `device_look`."""
    return functions(manager) + _LOOK + _END


def look_since(folder: str, manager: Manager) -> str:
    """Prints that and what has become of the change; each line that comes from elsewhere begins with a blank."""
    return _END.join(
        (
            _LOOK_SINCE.format(
                folder=shlex.quote(folder),
                functions=functions(manager),
                look=_LOOK,
                log_words=shlex.quote(LOG_WORDS),
                stdout_words=shlex.quote(STDOUT_WORDS),
                lines=LINES,
                guid=f"{manager.guid:016x}",
                sample=" ".join(f"{guid:016x}" for guid in manager.sample),
            ),
            "",
        )
    )


def state_script(etc: str, paths: Sequence[str]) -> str:
    """Prints what `device_state` reads: which opensm runs, what it is known to have read, when each file was written."""
    return f"""{functions(Manager(etc))}
find_pids; echo "@now $(identity)"
for pid in $pids; do
  ticks=$(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f20)
  echo "@started $(($(sed -n 's/^btime //p' /proc/stat) + ticks / $(getconf CLK_TCK)))"
done
echo "@noted $(stat -c %Y -- "$loaded" 2>/dev/null)"
echo "@loaded"; head -n 64 "$loaded" 2>/dev/null | cut -c1-400 | sed 's/^/ /'
echo "@written"; for file in {shlex.join(paths)}; do [ ! -e "$file" ] || stat -L -c ' %Z %Y %n' -- "$file"; done
echo "@end"
"""
