"""What stands in for ansible-playbook: changes the hosts' files, and tells it as the callback fabric_events does.

As a program (`fake_ansible.py FOLDER ARGUMENT...`), or in this process by `perform`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def perform(folder: Path, hosts: Sequence[str], kind: str, tell: Callable[[dict[str, Any]], None]) -> int:
    """One run; its exit code."""
    counts, told = {}, {}
    tell({"event": "task", "task": "Write the files", "role": "network"})
    for name in hosts:
        path = folder / "hosts" / f"{name}.json"
        host = json.loads(path.read_text())
        time.sleep(host.get("hang", {}).get(kind, 0))
        bad = {host.get("unreachable"): "unreachable", host.get("fail"): "failed"}.get(kind, "")
        counts[name] = {"ok": 1, "failures": int(bad == "failed"), "dark": int(bad == "unreachable")}
        row = {"event": "host", "host": name, "role": "network", "task": "Write the files", "msg": "", "files": []}
        if bad:
            tell({**row, "status": bad, "msg": f"it is {bad}"})
            continue
        if kind == "reboot":
            host["reboot_needed"] = host.get("reboot") == "always"
            host["booted_with"] = host["has"]
        elif host["has"] != host["wants"] or host.get("sticky"):
            hunk = [f"- mtu {host['has']}", f"+ mtu {host['wants']} # {name}"]
            file = {"path": "/etc/x", "kind": "changed", "note": "", "hunks": [hunk]}
            tell({**row, "status": "changed", "files": [file]})
            if kind == "apply":
                host["has"] = host["wants"]
                host["reboot_needed"] = bool(host.get("reboot")) and host.get("booted_with") != host["wants"]
        told[name] = {"fabric_reboot": {"rdma": "firmware changes"} if host.get("reboot_needed") else {}}
        aside = path.with_suffix(".new")
        aside.write_text(json.dumps(host))
        aside.replace(path)  # whoever looks meanwhile reads the old or the new
    if (folder / "die").exists():
        os.kill(os.getpid(), 9)
    tell({"event": "end", "hosts": counts, "told": told})
    return 2 if any(c["failures"] or c["dark"] for c in counts.values()) else 0


def main(folder: Path, argv: list[str]) -> int:
    """As ansible-playbook is called."""
    handle = int(os.environ["FABRIC_EVENTS_FD"])
    limit = Path(argv[argv.index("--limit") + 1].removeprefix("@")).read_text().split()
    kind = "reboot" if Path(argv[-1]).name == "hosts_reboot.yml" else "check" if "--check" in argv else "apply"
    spec = Path(argv[argv.index("-i") + 1]).read_text()
    note(folder, kind=kind, hosts=limit, pid=os.getpid(), argv=argv, spec=spec, parent=os.getppid())
    if (folder / "refuse").exists():
        sys.stderr.write("[WARNING]: old\n[ERROR]: site.yml: line 3: no such role\nmore\n")
        return 4
    return perform(folder, limit, kind, lambda record: _write(handle, record))


def _write(handle: int, record: dict[str, Any]) -> None:
    os.write(handle, (json.dumps(record) + "\n").encode())


def note(folder: Path, **what: Any) -> None:
    """Writes down that there was a run."""
    with (folder / "runs.jsonl").open("a") as log:
        log.write(json.dumps(what) + "\n")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
