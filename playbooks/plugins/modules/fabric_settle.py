#!/usr/bin/python
"""Ansible module fabric_settle: puts into effect what fabric_files has found or written on a GPU host; never reboots."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.fabric_host import (
    REBOOT,
    Failed,
    State,
    last_line,
    make_folders,
    packages_of,
    place,
    units_of,
    write,
)

DOCUMENTATION = """
module: fabric_settle
short_description: Put the files and packages of one concern of a GPU host into effect
description:
  - Holds pinned packages, applies kernel settings, tells udev, systemd and the network's manager what is new, enables and starts services,
    and restarts those whose files have changed. What a run that was cut off left undone is done by the next.
  - Never reboots. What only a reboot brings is said in RV(reboot) and in a file of the concern's name in /run/fabric/reboot-required.d;
    until then its services are enabled, and neither started nor restarted.
options:
  concern: {description: Which part of a host., type: str, required: true}
  plan: {description: C(plan) of fabric_files., type: dict, required: true}
attributes:
  check_mode: {support: none, details: "In check mode fabric_files says all there is to say."}
"""

EXAMPLES = """
- name: Put it into effect
  fabric_settle:
    concern: base
    plan: "{{ base_files.plan }}"
  when: base_files.settle
"""

RETURN = """
done: {description: What was done., returned: always, type: list, elements: str}
reboot: {description: Why the host must be rebooted; empty when it need not., returned: always, type: str}
"""

UNITS = "/etc/systemd/system/"
SAID = 3
"""Lines of a service's log that its failure is told with."""


def main() -> None:
    """Runs the module."""
    module = AnsibleModule(
        argument_spec={"concern": {"type": "str", "required": True}, "plan": {"type": "dict", "required": True}},
        supports_check_mode=False,
    )
    os.umask(0o022)
    done: list[str] = []
    try:
        settle = Settle(module, done)
        settle.run()
    except (Failed, OSError) as error:
        module.fail_json(msg=str(error), changed=bool(done))
    else:
        module.exit_json(changed=bool(done), done=done, reboot=settle.reboot or "")


class Settle:
    """One concern of the host that this runs on. What it has done comes into `done`, also when it fails half-way."""

    def __init__(self, module: Any, done: list[str]) -> None:
        self.module, self.done = module, done
        self.concern: str = module.params["concern"]
        self.plan: dict[str, Any] = module.params["plan"]
        self.state = State("/", self.concern)
        self.reboot: str | None = None
        self.have = packages_of(module, self.plan["family"], sorted(self.state.before))

    def run(self) -> None:
        """Everything, in the order in which each step needs the ones before; what is pending is forgotten only at the end."""
        self._hold()
        changed = self.state.pending
        self._forget(changed)
        self._kernel(changed)
        self._managers(changed)
        self._services(changed)
        self.state.pending, self.state.before = [], {}
        self.state.save()

    def _do(self, what: str, argv: Sequence[str]) -> None:
        """Runs a command; Failed with its last words."""
        code, out, err = self.module.run_command(list(argv))
        if code:
            raise Failed(f"{what}: {' '.join(argv)}: {last_line(err or out)}")
        self.done.append(what)

    def _hold(self) -> None:
        """No upgrade touches what the spec pins (Debian family; dnf's locks are one of the files)."""
        have = packages_of(self.module, "debian", self.plan["held"]) if self.plan["family"] == "debian" else {}
        loose = [name for name, (_, held) in have.items() if not held]
        if loose:
            self._do(f"held {', '.join(loose)}", ["apt-mark", "hold", *loose])

    def _forget(self, changed: Sequence[str]) -> None:
        """Stops units whose files are gone, while systemd still knows them, and undoes their enabling."""
        gone = [path[len(UNITS) :] for path in changed if path.startswith(UNITS) and not _here(path).exists()]
        units = [name for name in gone if "/" not in name and "@." not in name]
        for name, unit in units_of(self.module, units).items():
            if unit.there:
                self._do(f"stopped {name}", ["systemctl", "stop", "--", name])
            for link in _here(UNITS).glob("*.*/*"):
                if link.name == name and link.is_symlink():
                    link.unlink()

    def _kernel(self, changed: Sequence[str]) -> None:
        """Settings of the kernel and of udev."""
        for path in changed:
            if path.startswith("/etc/sysctl.d/") and _here(path).exists():
                self._do(f"applied {path}", ["/usr/lib/systemd/systemd-sysctl", path])
        if _any(changed, "/etc/udev/rules.d/") and _here("/run/udev/control").exists():  # no udev runs in a container
            self._do("udev reads its rules", ["udevadm", "control", "--reload"])
        if _any(changed, "/etc/modules-load.d/") and not self._reason():
            self._do("loaded modules", ["systemctl", "restart", "systemd-modules-load.service"])

    def _managers(self, changed: Sequence[str]) -> None:
        """The managers of units and of the network."""
        if _any(changed, "/etc/systemd/system.conf.d/"):
            self._do("systemd reads its settings", ["systemctl", "daemon-reexec"])
        elif _any(changed, UNITS):
            self._do("systemd reads its units", ["systemctl", "daemon-reload"])
        if _any(changed, "/etc/systemd/network/"):
            self._do("networkd reads its files", ["networkctl", "reload"])
        keyfiles = [path for path in changed if path.startswith("/etc/NetworkManager/system-connections/")]
        if _any(changed, "/etc/NetworkManager/"):
            self._do("NetworkManager reads its files", ["nmcli", "general", "reload"])
            self._do("NetworkManager reads its connections", ["nmcli", "connection", "reload"])
        for path in keyfiles:
            name = Path(path).stem
            if _here(path).exists() and _here(f"/sys/class/net/{name.partition('-')[2]}").exists():
                self._do(f"connection {name} is up", ["nmcli", "connection", "up", "id", name])

    def _reason(self) -> str:
        """Why this concern waits for a reboot; "" when it does not. Once told it holds until /run is empty."""
        if self.reboot is None:
            self.reboot = self._told() or self._replaced() or self._in_the_way() or self._unnamed() or self._behind()
        return self.reboot

    def _told(self) -> str:
        try:
            return _here(f"{REBOOT}/{self.concern}").read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return ""

    def _replaced(self) -> str:
        """A package of kernel modules in another version than the kernel runs."""
        for name, (version, _) in self.have.items():
            before = self.state.before[name]
            if before and before != version and any(fnmatch.fnmatchcase(name, p) for p in self.plan["reboot_packages"]):
                return f"{name} {version} replaced {before}, whose modules the kernel still runs"
        return ""

    def _in_the_way(self) -> str:
        """A module that must be gone before those of a new package can run."""
        if not any(name in self.have and not before for name, before in self.state.before.items()):
            return ""
        found = [name for name in self.plan["reboot_modules"] if _here(f"/sys/module/{name}/initstate").exists()]
        return f"module {found[0]} is loaded, in the way of the one that was installed" if found else ""

    def _unnamed(self) -> str:
        """NICs that have not got their names yet: udev gives them when the kernel finds the NIC."""
        if not _any(self.state.pending, "/etc/udev/rules.d/70-fabric-names"):
            return ""
        missing = [nic for nic in self.plan["nics"] if not _here(f"/sys/class/net/{nic}").exists()]
        return f"NICs get their names at boot: {', '.join(missing)}" if missing else ""

    def _behind(self) -> str:
        """Another concern that waits for a reboot, without which this one cannot run."""
        waits = [name for name in self.plan["reboot_after"] if _here(f"{REBOOT}/{name}").exists()]
        return f"{waits[0]} waits for a reboot, and must be there first" if waits else ""

    def _services(self, changed: Sequence[str]) -> None:
        """Enables all; unless a reboot must come first, restarts what has changed and starts what does not run."""
        units = units_of(self.module, self.plan["services"])
        units = {name: unit for name, unit in units.items() if unit.there or name not in self.plan["optional"]}
        off = [name for name, unit in units.items() if not unit.enabled]
        if off:
            self._do(f"enabled {', '.join(off)}", ["systemctl", "enable", "--", *off])
        if self._reason():
            self._ask_for_reboot()
            return
        new = any(before and self.have.get(name, (before,))[0] != before for name, before in self.state.before.items())
        restart = self.plan["restart"]
        moved = [name for name in units if units[name].active and (new or set(restart.get(name, ())) & set(changed))]
        for name in moved:
            self._start("restart", name)
        other = [unit for unit in self.plan["others"] if set(self.plan["others"][unit]) & set(changed)]
        if other:
            self._do(f"restarted {', '.join(other)} where active", ["systemctl", "try-restart", "--", *other])
        for name in [name for name in units if not units[name].runs and name not in moved]:
            self._start("start", name)

    def _start(self, verb: str, name: str) -> None:
        """Starts or restarts a service; Failed with what it said last."""
        code, _, err = self.module.run_command(["systemctl", verb, "--", name])
        unit = units_of(self.module, [name])[name]
        if code or not unit.runs:
            log = ["journalctl", "--quiet", "--no-pager", "--output=cat", f"--lines={SAID}", f"_SYSTEMD_UNIT={name}"]
            _, out, _ = self.module.run_command(log)
            said = [line.strip() for line in out.splitlines() if line.strip()]
            raise Failed(f"{name} does not {verb}: {'; '.join(dict.fromkeys(said)) or last_line(err)}")
        if unit.active:
            self.done.append(f"{verb}ed {name}")

    def _ask_for_reboot(self) -> None:
        """Says why in a file that the next boot takes away, and `fabric apply --hosts --allow-reboot` acts on."""
        if not self._told():
            make_folders(_here(REBOOT))
            write(_here(f"{REBOOT}/{self.concern}"), f"{self.reboot}\n".encode(), 0o644)
            self.done.append(f"a reboot is needed: {self.reboot}")


def _here(path: str) -> Path:
    return place("/", path)


def _any(paths: Iterable[str], prefix: str) -> bool:
    return any(path.startswith(prefix) for path in paths)


if __name__ == "__main__":
    main()
