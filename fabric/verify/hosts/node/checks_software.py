"""Checks of what is installed and written: packages, services, files, and whether a change waits for a reboot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabric.design.hosts.expect import Expectation
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check
from fabric.verify.hosts.node.parse_system import blocks, packages, unit_text
from fabric.verify.hosts.node.result import WARNING, Result, same_version, some
from fabric.verify.hosts.node.sources import Command, Seen, Source, Unseen

PROVISION = "run: fabric apply --hosts (fabric plan --hosts shows the difference)"


class Packages(Check):
    """Every pinned package has its declared version and is held: an unattended upgrade shows here first."""

    id = "host.packages"
    action = PROVISION
    cases = ("lyulyul/shine-cluster#30", "lyulyul/shine-cluster#50", "pando85/homelab#4110")

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [_query(want), *_held(want)] if want.packages else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        have, right = packages(seen.text(_query(want))), 0
        missing = [package.name for package in want.packages if package.name not in have]
        if missing:
            yield self.bad("", f"not installed: {some(missing)}", "installed")
        for package in want.packages:
            version = have.get(package.name)
            if version is None:
                continue
            if package.version and not same_version(package.version, version):
                yield self.bad(package.name, version, package.version)
            else:
                right += 1
        if right:
            yield self.ok("", f"{right} packages as declared")
        yield from self._holds(want, seen)

    def _holds(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        """Nothing else may upgrade them."""
        wanted = [package.name for package in want.packages if package.hold and package.version]
        if not wanted or not _held(want):
            return
        try:
            text = seen.text(_held(want)[0])
        except Unseen as why:
            yield self.unseen("hold", why)
            return
        loose = [name for name in wanted if name not in text.split() and f"{name}-" not in text]
        if loose:
            yield self.bad("hold", f"not held: {some(loose)}", "held", severity=WARNING)
        else:
            yield self.ok("hold", f"{len(wanted)} packages are held")


def _rpm(want: Expectation) -> bool:
    return want.os_id in ("rhel", "rocky", "almalinux", "centos", "ol")


def _query(want: Expectation) -> Command:
    names = [package.name for package in want.packages]
    return src.rpm(names) if _rpm(want) else src.dpkg(names)


def _held(want: Expectation) -> list[Command]:
    if not any(package.hold for package in want.packages):
        return []
    return [src.HELD_DNF if _rpm(want) else src.HELD_APT]


class Services(Check):
    """The declared units are active."""

    id = "host.services"
    action = "journalctl -u UNIT -b says why; then systemctl restart UNIT"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.units(_units(want))] if want.services else []

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        states = {block.get("Id", ""): block for block in blocks(seen.text(src.units(_units(want))))}
        missing = [unit for unit in _units(want) if states.get(unit, {}).get("LoadState") == "not-found"]
        if missing:
            yield self.bad("", f"there is no such unit: {some(missing)}", "active", PROVISION)
        for unit in _units(want):
            state = states.get(unit)
            if unit in missing:
                continue
            if state is None:
                yield self.unseen(unit, "systemd says nothing of it")
            elif state.get("ActiveState") == "active":
                yield self.ok(unit, "active")
            else:
                yield self.bad(unit, unit_text(state), "active")


def _units(want: Expectation) -> list[str]:
    return [name if "." in name else f"{name}.service" for name in want.services]


class Written(Check):
    """The files that the roles wrote are as they were written: nobody edited them by hand, and they are of this spec."""

    id = "host.files"
    severity = WARNING
    action = "put the change into the spec, or let the roles write the file again (fabric apply --hosts)"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.Digest(path) for path in want.files]

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        have = {path: seen.files(src.Digest(path)).get(path) for path in want.files}
        missing = [path for path, digest in have.items() if digest is None]
        if missing:
            yield self.bad("", f"not there: {some(missing)}", "as the spec renders them", PROVISION)
        for path, digest in want.files.items():
            if have[path] not in (None, digest):
                yield self.bad(path, "other content", "as the spec renders it")
        right = sum(have[path] == digest for path, digest in want.files.items())
        if right:
            yield self.ok("", f"{right} files as rendered")


class RebootDue(Check):
    """No change waits for a reboot."""

    id = "host.reboot"
    severity = WARNING
    action = "fabric apply --hosts --allow-reboot"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.REBOOT_DUE]

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        files = seen.files(src.REBOOT_DUE)
        for path, text in files.items():
            yield self.bad(path.rsplit("/", 1)[-1], text.strip() or "a reboot is due", "no reboot is due")
        if not files:
            yield self.ok("", "no reboot is due")


CHECKS: tuple[Check, ...] = (Packages(), Services(), Written(), RebootDue())
