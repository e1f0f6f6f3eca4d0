"""What a new box has on it: command lines, fruid.json, its platform mapping.

The lab calls `prepare` before the box is switched on (it reads the catalog); the box itself calls `tools` at each power-on, since only
/etc/coop and /var/facebook survive.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import fabric
from fabric.lab.fboss.conf import save_inventory
from fabric.lab.fboss.node import FRUID, Node, write_whole
from fabric.lab.fboss.toolbox import CALL

TOOLS = {
    "fboss2": ("fboss2",),
    "fboss2-dev": ("fboss2", "--dev"),
    "systemctl": ("units",),
    "systemd-run": ("timers",),
    "journalctl": ("journal",),
}
"""Command line of the box -> our module that stands for it, and first arguments."""

_UNKNOWN = "VIRTUAL"


def prepare(folder: Path, model: str) -> None:
    """Keep what the box must know of the catalog's `model` in its folder (node.json must be there); FabricError for a model without FBOSS."""
    from fabric.targets.fboss.box import box

    made = box(model)
    node = Node(folder)
    save_inventory(node, made.inventory)
    information = {
        "Product Name": made.fboss.fruid_prefixes[0] if made.fboss.fruid_prefixes else _UNKNOWN,
        "Product Asset Tag": "",
        "System Manufacturer": "fabric virtual lab",
        "Product Serial Number": f"LAB-{node.name}",
    }
    write_whole(node.state("fruid.json"), json.dumps({"Information": information, "Actions": [], "Resources": []}))


def blank_agent(conf: dict[str, Any]) -> dict[str, Any]:
    """The agent.conf of a new box, from a rendered one: the agent takes it, and no port, address or route is in it.

    An empty `sw` would not do: FBOSS then reads the whole file as a bare SwitchConfig and refuses it (fboss.md section 12.2).
    """
    sw = conf["sw"]
    default = sw.get("defaultVlan", 0)
    kept = {key: sw[key] for key in ("version", "hostname", "defaultVlan", "switchSettings", "sdkVersion") if key in sw}
    vlans = [vlan for vlan in sw.get("vlans", []) if vlan.get("id") == default]
    flags = {key: value for key, value in conf.get("defaultCommandLineArgs", {}).items() if key == "mode"}
    return {
        "defaultCommandLineArgs": flags,
        "sw": {**kept, "ports": [], "vlans": vlans, "vlanPorts": [], "interfaces": []},
        "platform": conf.get("platform", {}),
    }


def tools(node: Node, python: str = sys.executable) -> None:
    """Write the command lines into the box, and fruid.json when its disk has none."""
    home = Path(fabric.__file__).resolve().parent.parent
    for name, (module, *first) in TOOLS.items():
        words = [python, "-I", "-S", str(CALL), str(node.folder), module, *first]
        text = f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(home))} exec {shlex.join(words)} "$@"\n'
        _script(node.path(f"/usr/local/bin/{name}"), text)
    programs = node.path("/opt/fboss/bin")
    programs.mkdir(parents=True, exist_ok=True)
    for name in ("fboss2", "fboss2-dev"):
        _script(programs / name, f'#!/bin/sh\nexec {shlex.quote(str(node.path(f"/usr/local/bin/{name}")))} "$@"\n')
    fruid, kept = node.path(FRUID), node.state("fruid.json")
    if not fruid.exists():
        found: Any = (
            kept.read_text(encoding="utf-8") if kept.exists() else '{"Information": {"Product Name": "VIRTUAL"}}'
        )
        write_whole(fruid, found)


def root_home(node: Node, home: str = "/var/home/root") -> None:
    """Give the box's root a home of its own: the machine's /root shows through in every box, with shell set-up files that belong to it."""
    passwd = node.path("/etc/passwd")
    if not passwd.exists():
        return
    text = passwd.read_text(encoding="utf-8")
    changed = re.sub(r"(?m)^(root:[^:]*:0:0:[^:]*):/root:", rf"\1:{home}:", text)
    if changed != text:
        node.path(home).mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(passwd, changed)


def _script(path: Path, text: str) -> None:
    write_whole(path, text)
    path.chmod(0o755)
