"""Unfinished changes on an FBOSS box: our folders with their timers, and open sessions of FBOSS's own configuration tool."""

from __future__ import annotations

from fabric.targets.device import DeviceError, Pending

PENDING_SCRIPT = """
for folder in {coop}/.fabric-*/; do
  [ -d "$folder" ] || continue
  token=$(basename -- "$folder"); token=${{token#.fabric-}}; state=incomplete
  for known in staged committed restored; do [ -e "$folder/state.$known" ] && state=$known; done
  armed=$(systemctl is-active "fabric-revert-$token.timer" 2>/dev/null)
  case "$(systemctl is-active "fabric-revert-$token.service" 2>/dev/null)" in active | activating) armed=active ;; esac  # it is at it
  echo "ours $token $state $armed"
done
for file in /root/.fboss2/agent.conf /home/*/.fboss2/agent.conf; do
  [ -e "$file" ] && echo "session $file"
done
true
"""
"""Prints one line for each unfinished change; `coop` is FBOSS's configuration folder, quoted."""

_SAYS = {
    "incomplete": "its upload was broken off",
    "staged": "staged",
    "restored": "restored: the timer has returned the old files",
}


def read_pending(answer: str) -> list[Pending]:
    """What PENDING_SCRIPT printed."""
    return [_pending(line) for line in answer.splitlines() if line.strip()]


def _pending(line: str) -> Pending:
    words = line.split()
    if words[0] == "session" and len(words) == 2:
        return Pending(token=words[1], armed=False, ours=False, detail=f"open session of fboss2-dev: {words[1]}")
    if words[0] != "ours" or len(words) not in (3, 4):
        raise DeviceError(f"pending changes: {line[:80]!r} cannot be read")
    token, state, armed = words[1], words[2], words[3:] == ["active"]
    committed = "committed, timer armed" if armed else "committed and never confirmed, its timer is gone (a reboot?)"
    detail = committed if state == "committed" else _SAYS.get(state, state)
    return Pending(token=token, armed=armed, ours=True, detail=detail)
