#!/usr/bin/python
"""Ansible module fabric_files: writes the files of one concern on a GPU host, and says what else is not as declared."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.fabric_found import Found, difference, read
from ansible.module_utils.fabric_host import (
    REBOOT,
    STATE,
    Failed,
    State,
    fits,
    make_folders,
    packages_of,
    place,
    units_of,
    write,
)

DOCUMENTATION = """
module: fabric_files
short_description: The files of one concern of a GPU host, as its cluster.yaml declares, and what else is missing there
description:
  - The action plugin of the same name renders the files on the controller, with the code of C(fabric render --target host), and sends all
    of them in one call. They are written whole, with their permissions; what an earlier run wrote and is declared no more is removed.
  - The same call looks at packages and services, so that tasks for them run only on a host that needs them.
  - A host that runs another distribution than declared is left alone, and fails.
  - In check mode nothing is written, and RV(ignore:changed) also covers packages and services, whose tasks do not run then.
options:
  concern:
    description: Which part of a host.
    choices: [base, network, rdma, nvidia, cuda, nccl, storage, slurm, checks, topology]
    required: true
    type: str
  folder:
    description: "Read by the action plugin: folder of slurm.conf, for V(topology), which is for Slurm's controller."
    type: path
    default: /etc/slurm
  packages:
    description: Look at packages too; V(false) where images bring them.
    type: bool
    default: true
  services:
    description: Look at services too; V(false) where nothing may be started, as in the making of an image.
    type: bool
    default: true
  root:
    description: Where the host's file system begins; another one than V(/) gets files alone.
    type: path
    default: /
  restart:
    description: "Read by the action plugin: files whose change restarts a service, beside those that its unit names."
    type: dict
    default: {}
  optional:
    description: "Read by the action plugin: services that need not be there."
    type: list
    elements: str
    default: []
  reboot_packages:
    description: "Read by the action plugin: patterns of packages whose other version takes a reboot."
    type: list
    elements: str
    default: []
  reboot_modules:
    description: "Read by the action plugin: kernel modules in the way of a first install, until a reboot."
    type: list
    elements: str
    default: []
  reboot_after:
    description: "Read by the action plugin: concerns without which this one cannot run; when one waits for a reboot, this one does too."
    type: list
    elements: str
    default: []
  payload:
    description: Put in by the action plugin.
    type: str
attributes:
  check_mode: {support: full}
  diff_mode: {support: full, details: The content of a file that holds a secret is never shown.}
"""

EXAMPLES = """
- name: Write the settings of NCCL
  fabric_files:
    concern: nccl
"""

RETURN = """
changed_paths: {description: Files that were written or removed., returned: always, type: list, elements: str}
install:
  description: Packages that are not there in their version, as the package manager takes them.
  returned: always
  type: list
  elements: str
remove: {description: Packages that an earlier run pinned and that are declared no more., returned: always, type: list, elements: str}
keys: {description: "Keys of repositories that are not there: url and path.", returned: always, type: list, elements: dict}
family: {description: "V(debian) or V(rhel).", returned: always, type: str}
settle: {description: Whether something waits to be put into effect by fabric_settle., returned: always, type: bool}
plan: {description: What fabric_settle needs., returned: always, type: dict}
notes: {description: "What is not as declared beside files, in words.", returned: always, type: list, elements: str}
"""


def main() -> None:
    """Runs the module."""
    module = AnsibleModule(
        argument_spec={
            "concern": {"type": "str", "required": True},
            "packages": {"type": "bool", "default": True},
            "services": {"type": "bool", "default": True},
            "root": {"type": "path", "default": "/"},
            # One text that Ansible takes for a secret: nothing of it comes into a log or a result.
            "payload": {"type": "str", "required": True, "no_log": True},
        },
        supports_check_mode=True,
    )
    os.umask(0o022)
    try:
        result = Concern(module, json.loads(zlib.decompress(base64.b64decode(module.params["payload"])))).run()
    except Failed as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}" if error.filename else str(error))
    module.exit_json(**result)


class Concern:
    """One concern of the host that this runs on. `wanted` is what the action plugin has sent."""

    def __init__(self, module: Any, wanted: Mapping[str, Any]) -> None:
        self.module, self.wanted = module, wanted
        self.root, self.name = str(module.params["root"]), str(module.params["concern"])
        self.state = State(self.root, self.name)
        self.diffs: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.notes: list[str] = []
        self.writing = not module.check_mode

    def run(self) -> dict[str, Any]:
        """Files first, since repositories and pins are among them; then what is to be said of packages and services."""
        self._same_distribution()
        for file in self.wanted["files"]:
            self._file(file)
        self._gone({file["path"] for file in self.wanted["files"]})
        here = self.root == "/"
        install, remove = self._packages() if self.module.params["packages"] and here else ([], [])
        waiting = self.module.params["services"] and here and self._services()
        keys = [key for key in self.wanted["keys"] if here and not place(self.root, key["path"]).exists()]
        self.notes += [f"key {key['path']} is not there" for key in keys]
        if self.writing:
            self.state.save()
        notes = bool(self.notes) and self.module.check_mode
        return {
            "changed": bool(self.paths) or notes,
            "changed_paths": sorted(self.paths),
            "install": install,
            "remove": remove,
            "keys": keys,
            "family": self.wanted["family"],
            "settle": bool(waiting or install or remove),
            "plan": self.wanted["plan"],
            "notes": self.notes,
            "diff": self._diff(),
        }

    def _same_distribution(self) -> None:
        """Fails for a host of another distribution than declared: nothing of its files would be right there."""
        wanted = self.wanted["distribution"]
        if self.root != "/" or wanted is None:
            return
        lines = place(self.root, "/etc/os-release").read_text(encoding="utf-8").splitlines()
        found = {key: value.strip("\"'") for key, _, value in (line.partition("=") for line in lines)}
        ids = {found.get("ID", ""), *found.get("ID_LIKE", "").split()}
        version = found.get("VERSION_ID", "")
        same = version == wanted["version"] or version.startswith(wanted["version"] + ".")
        if not ids & set(wanted["ids"]) or not same:
            name = found.get("PRETTY_NAME") or f"{found.get('ID', '?')} {version}"
            raise Failed(f"the host runs {name}, the spec declares {wanted['title']} (hosts.os: {wanted['name']})")

    def _file(self, file: Mapping[str, Any]) -> None:
        """One declared file: its content, permissions and owner."""
        path = place(self.root, file["path"])
        wanted = Found(base64.b64decode(file["content"]), file["mode"])
        before = read(path)
        made = self.state.files.get(file["path"], [])
        if before != wanted:
            self.paths.append(file["path"])
            self.diffs.append(difference(file["path"], before, wanted, secret=file["secret"]))
            if self.writing:
                if before is not None and file["path"] not in self.state.files:
                    self._keep(file["path"], before)
                made = [*map(str, make_folders(path.parent)), *made]
                write(path, wanted.content, wanted.mode)
                self.module.set_default_selinux_context(str(path), False)
        self.state.files[file["path"]] = made

    def _kept(self, name: str) -> Path:
        """Where the file that stood at `name` before our first run is kept: a distribution's own, as /etc/chrony/chrony.conf."""
        return place(self.root, f"{STATE}/originals{name}")

    def _keep(self, name: str, before: Found) -> None:
        for folder in make_folders(place(self.root, f"{STATE}/originals"))[:1]:
            folder.chmod(0o700)
        make_folders(self._kept(name).parent)
        write(self._kept(name), before.content, before.mode)

    def _gone(self, declared: set[str]) -> None:
        """Removes what an earlier run wrote and is declared no more, with its folders; what stood there before comes back."""
        for name in sorted(set(self.state.files) - declared):
            path, kept = place(self.root, name), self._kept(name)
            before, after = read(path), read(kept)
            if before != after:
                self.paths.append(name)
                self.diffs.append(difference(name, before, after, secret=bool(before and not before.mode & 0o077)))
            if self.writing:
                made = map(Path, self.state.files.pop(name))
                if after is not None:
                    write(path, after.content, after.mode)
                    kept.unlink()
                else:
                    path.unlink(missing_ok=True)
                for folder in made:
                    if folder.is_dir() and not any(folder.iterdir()):
                        folder.rmdir()

    def _packages(self) -> tuple[list[str], list[str]]:
        """(to install, to remove), as the package manager takes them; notes what is missing and what is not held."""
        wanted, family = self.wanted["packages"], self.wanted["family"]
        pinned = [package["name"] for package in wanted if package["hold"]]
        stale = [name for name in self.state.packages if name not in pinned]
        have = packages_of(self.module, family, [package["name"] for package in wanted] + stale)
        missing = [p for p in wanted if p["name"] not in have or not fits(have[p["name"]][0], p["version"])]
        for package in missing:
            before = have.get(package["name"])
            if package["hold"]:
                self.state.before.setdefault(package["name"], before[0] if before else "")
            self.notes.append(
                f"package {package['name']} {package['version'] or ''}: {before[0] if before else 'not there'}"
            )
        remove = [name for name in stale if name in have]
        self.notes += [f"package {name} is declared no more" for name in remove]
        self.state.packages = sorted({*pinned, *remove})
        joint = "=" if family == "debian" else "-"
        return [p["name"] + (joint + p["version"] if p["version"] else "") for p in missing], remove

    def _services(self) -> bool:
        """Whether fabric_settle has something to do; notes services that are not as declared."""
        plan, family = self.wanted["plan"], self.wanted["family"]
        self.state.pending = sorted({*self.state.pending, *self.paths})
        waits = place(self.root, f"{REBOOT}/{self.name}").exists()
        for name, unit in units_of(self.module, plan["services"]).items():
            if unit.there:
                if not unit.enabled or not (unit.runs or waits):
                    self.notes.append(f"{name} is {unit}")
            elif name not in plan["optional"]:
                self.notes.append(f"{name} is not there")
        have = packages_of(self.module, family, plan["held"]) if self.module.params["packages"] else {}
        loose = [name for name, (_, held) in have.items() if not held]
        self.notes += [f"package {name} is not held" for name in loose]
        return bool(self.state.pending or self.notes)

    def _diff(self) -> list[dict[str, str]]:
        if not self.notes or self.writing:
            return self.diffs
        what = f"packages and services of {self.name}"
        return [*self.diffs, {"after_header": what, "prepared": "".join(f"{note}\n" for note in self.notes)}]


if __name__ == "__main__":
    main()
