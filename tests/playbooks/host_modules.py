"""The modules for GPU hosts as Ansible finds them, and a host in a folder for them to work on."""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils import basic
from ansible.module_utils.testing import patch_module_args

PLUGINS = Path(__file__).resolve().parents[2] / "playbooks" / "plugins"


def imported(path: str, name: str) -> Any:
    """A plugin's file as a module of that name."""
    spec = importlib.util.spec_from_file_location(name, PLUGINS / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


utils = imported("module_utils/fabric_host.py", "ansible.module_utils.fabric_host")
found = imported("module_utils/fabric_found.py", "ansible.module_utils.fabric_found")
files = imported("modules/fabric_files.py", "fabric_files")
settle = imported("modules/fabric_settle.py", "fabric_settle")
firmware = imported("modules/fabric_firmware.py", "fabric_firmware")
check = imported("modules/fabric_check.py", "fabric_check")
action = imported("action/fabric_files.py", "fabric_files_action")


@dataclass(slots=True)
class Host:
    """A host: its files are in `root`, systemd and the package manager answer from what stands here. `done` is what they were told."""

    root: Path
    units: dict[str, str] = field(default_factory=dict)
    """Unit -> "enabled active", "disabled inactive", ..."""
    packages: dict[str, str] = field(default_factory=dict)
    """Package -> "install 1.0" or "hold 1.0"."""
    refuse: dict[str, str] = field(default_factory=dict)
    """Beginning of a command -> what it says when it fails."""
    answers: dict[str, str] = field(default_factory=dict)
    """Beginning of a command -> its output."""
    done: list[str] = field(default_factory=list)

    def run(self, argv: Sequence[str]) -> tuple[int, str, str]:
        """Code, output, errors of a command."""
        words = [Path(argv[0]).name, *argv[1:]]
        line = " ".join(words)
        if words[:2] == ["systemctl", "show"]:
            return 0, "\n".join(map(self._shown, words[words.index("--") + 1 :])), ""
        if words[0] == "dpkg-query":
            return 0, "".join(self._listed(name) for name in words[words.index("--") + 1 :]), ""
        self.done.append(line)
        for table, code in ((self.refuse, 1), (self.answers, 0)):
            said = next((text for start, text in table.items() if line.startswith(start)), None)
            if said is not None:
                return code, "" if code else said, said if code else ""
        if "--" in words and words[1] in ("enable", "start", "restart"):
            for unit in words[words.index("--") + 1 :]:
                enabled, _, active = self.units[unit].partition(" ")
                self.units[unit] = f"enabled {active}" if words[1] == "enable" else f"{enabled} active"
        if words[:2] == ["apt-mark", "hold"]:
            self.packages |= {name: f"hold {self.packages[name].split()[1]}" for name in words[2:]}
        return 0, "", ""

    def _shown(self, unit: str) -> str:
        if unit not in self.units:
            return "LoadState=not-found\nActiveState=inactive\nUnitFileState=\n"
        enabled, active, *condition = self.units[unit].split()
        unmet = "ConditionResult=no\nConditionTimestampMonotonic=5\n" if condition else ""
        return f"LoadState=loaded\nActiveState={active}\nUnitFileState={enabled}\n{unmet}"

    def _listed(self, name: str) -> str:
        want, _, version = self.packages.get(name, "").partition(" ")
        return f"{name}\t{version}\t{want}\tinstalled\n" if want else ""


Call = Callable[..., dict[str, Any]]


def caller(host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`call(module, check=False, **params)`: runs a module on the host; its result."""

    def place(root: str, path: str) -> Path:
        return (host.root if root == "/" else Path(root)) / path.lstrip("/")

    for module in (utils, files, settle):
        monkeypatch.setattr(module, "place", place)
    monkeypatch.setattr(firmware, "REASON", place("/", f"{utils.REBOOT}/firmware"))
    monkeypatch.setattr(basic.AnsibleModule, "run_command", lambda _self, argv, **_more: host.run(argv))

    def call(module: Any, *, check: bool = False, **params: Any) -> dict[str, Any]:
        internal = {"_ansible_check_mode": check, "_ansible_diff": True}
        with patch_module_args({**internal, **params}), pytest.raises(SystemExit):
            module.main()
        result: dict[str, Any] = json.loads(capsys.readouterr().out)
        return result

    return call


def packed(wanted: Mapping[str, Any]) -> str:
    """The argument `payload` as the action plugin makes it."""
    return base64.b64encode(zlib.compress(json.dumps(wanted).encode())).decode()
