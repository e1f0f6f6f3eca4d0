"""Checks of the storage mounts. Nothing here touches a mount: the probe does, in a child that may hang."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabric.design.hosts.expect import Expectation, ExpectedMount
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import Check, PerUnit
from fabric.verify.hosts.node.parse_system import MountPoint, blocks, mountinfo, mountstats, unit_text
from fabric.verify.hosts.node.result import WARNING, Result
from fabric.verify.hosts.node.sources import Command, Probe, Seen, Source, Unseen

KINDS = {"fuse": ("fuse", "fuseblk"), "pnfs": ("nfs4", "nfs")}
"""Kind of mount -> kinds of file system in /proc; a FUSE client may call itself fuse.NAME."""
FLEXFILES = "nfs_layout_flexfiles"


class PerMount(PerUnit):
    """A check of each declared mount."""

    def units(self, want: Expectation) -> Sequence[str]:
        """Paths of the mounts that it is about."""
        return [mount.path for mount in self.mounts(want)]

    def mounts(self, want: Expectation) -> Sequence[ExpectedMount]:
        """The mounts that it is about."""
        return want.mounts

    def one(self, want: Expectation, seen: Seen, unit: str) -> Iterator[Result]:
        """See PerUnit."""
        yield from self.mount(want, seen, next(mount for mount in want.mounts if mount.path == unit))

    def mount(self, want: Expectation, seen: Seen, mount: ExpectedMount) -> Iterator[Result]:
        """The results of one mount. May raise Unseen."""
        raise NotImplementedError


def _mounted(seen: Seen, mount: ExpectedMount) -> MountPoint | None:
    """What programs see at the path: the last one that is mounted there, the trap of an automount not counted."""
    points = [point for point in mountinfo(seen.file(src.MOUNTINFO)) if point.path == mount.path]
    real = [point for point in points if point.kind != "autofs"]
    return real[-1] if real else None


class Mounted(PerMount):
    """Each declared mount is there, of the right kind, from the right server."""

    id = "storage.mounted"
    action = "systemctl status of the mount's unit says why; systemctl restart it"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.MOUNTINFO, *(_probe(mount, want.host) for mount in want.mounts)] if want.mounts else []

    def mount(self, want: Expectation, seen: Seen, mount: ExpectedMount) -> Iterator[Result]:
        point = _mounted(seen, mount)
        if point is None:
            yield self.bad(mount.path, "not mounted", f"{mount.kind} of {mount.source or mount.name}")
        elif point.kind.partition(".")[0] not in KINDS.get(mount.kind, (point.kind,)):
            yield self.bad(mount.path, f"{point.kind} of {point.source}", mount.kind)
        elif mount.kind == "pnfs" and mount.source and not _same_server(mount.source, point.source):
            yield self.bad(
                mount.path, f"from {point.source}", f"from {mount.source}", "unmount it and start the mount's unit"
            )
        else:
            yield self.ok(mount.path, f"{point.kind} of {point.source}")


def _same_server(want: str, have: str) -> bool:
    """Whether two "server:/export" are the same; a slash at the end counts for nothing, and a name against an address as right."""
    wanted, path = want.rsplit(":", 1) if ":" in want else (want, "")
    server, export = have.rsplit(":", 1) if ":" in have else (have, "")
    named = any(char.isalpha() for char in wanted) != any(char.isalpha() for char in server)
    return (path.rstrip("/") == export.rstrip("/")) and (named or wanted.strip("[]") == server.strip("[]"))


NFS_OPTIONS = ("vers", "proto", "nconnect", "rsize", "wsize", "hard", "soft", "timeo", "retrans")


class Options(PerMount):
    """Each NFS mount runs with the declared options; the kernel keeps what was agreed, not what was asked for."""

    id = "storage.options"
    severity = WARNING
    action = (
        "another mount of the same server was there first, or the server allows less: unmount all of it and mount again"
    )

    def mounts(self, want: Expectation) -> Sequence[ExpectedMount]:
        return [mount for mount in want.mounts if mount.kind == "pnfs" and mount.options]

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.MOUNTINFO] if self.mounts(want) else []

    def mount(self, want: Expectation, seen: Seen, mount: ExpectedMount) -> Iterator[Result]:
        point = _mounted(seen, mount)
        if point is None:
            raise Unseen("not mounted")
        have = set(point.options)
        declared = [option for option in mount.options if option.partition("=")[0] in NFS_OPTIONS]
        missing = [option for option in declared if option not in have]
        if missing:
            keys = {option.partition("=")[0] for option in missing}
            now = ", ".join(sorted(option for option in have if option.partition("=")[0] in keys)) or "not set"
            yield self.bad(mount.path, now, ", ".join(missing))
        else:
            yield self.ok(mount.path, f"{len(declared)} options as declared")


class Layouts(PerMount):
    """pNFS: data goes to the data servers by layouts, not all of it through the metadata server."""

    id = "storage.layout"
    severity = WARNING
    action = "modprobe nfs_layout_flexfiles before the mount, then mount again; ask the server whether it gives layouts to this client"

    def mounts(self, want: Expectation) -> Sequence[ExpectedMount]:
        return [mount for mount in want.mounts if mount.kind == "pnfs"]

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.MOUNTSTATS] if self.mounts(want) else []

    def mount(self, want: Expectation, seen: Seen, mount: ExpectedMount) -> Iterator[Result]:
        stats = mountstats(seen.file(src.MOUNTSTATS)).get(mount.path)
        if stats is None:
            raise Unseen("the kernel has no NFS statistics of it")
        moved = stats.operations.get("READ", 0) + stats.operations.get("WRITE", 0)
        layouts = stats.operations.get("LAYOUTGET", 0)
        if stats.layout == "not configured":
            yield self.bad(mount.path, "no layout driver", "a layout driver, such as flexfiles")
        elif layouts:
            yield self.ok(mount.path, f"{layouts} layouts{f', {stats.layout}' if stats.layout else ''}")
        elif moved:
            yield self.bad(mount.path, f"{moved} reads and writes, no LAYOUTGET", "layouts in use")
        else:
            raise Unseen("nothing was read or written yet")


MEANINGS = {
    "ENOTCONN": ("its FUSE client is dead", "systemctl restart the mount's unit (fusermount3 -uz PATH clears the dead mount)"),
    "ECONNABORTED": ("its FUSE client is dead", "systemctl restart the mount's unit (fusermount3 -uz PATH clears the dead mount)"),
    "ESTALE": ("stale file handle: the server has another file system there now", "umount -l PATH, then start the mount's unit"),
    "EIO": ("input/output error", "look at the client's log and at the server"),
    "ENOSPC": ("no space is left", "free space, or enlarge the file system"),
    "EDQUOT": ("the quota is used up", "free space, or enlarge the quota"),
    "EROFS": ("it is read-only", "the server or the mount's options made it so: mount it again with rw"),
    "ETIMEDOUT": ("the server does not answer", "is the server up, and is there a route by the front-end NIC?"),
    "EHOSTDOWN": ("the server does not answer", "is the server up, and is there a route by the front-end NIC?"),
    "ENOENT": ("there is no such folder", "start the mount's unit; it makes the folder"),
    "DIFFERENT": ("other bytes came back than were written", "stop using it at once, and look at the client's and the server's log"),
}  # fmt: skip
NOT_ALLOWED = ("EACCES", "EPERM")


class Works(PerMount):
    """Each mount takes a small file, gives it back, renames and removes it, all within the deadline. A mount that hangs is named."""

    id = "storage.probe"
    action = "systemctl status of the mount's unit; the client's and the server's log"

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [src.MOUNTINFO, *(_probe(mount, want.host) for mount in want.mounts)] if want.mounts else []

    def mount(self, want: Expectation, seen: Seen, mount: ExpectedMount) -> Iterator[Result]:
        answer = seen.text(_probe(mount, want.host))
        step, _, why = answer.partition(" ")
        if _mounted(seen, mount) is None and why not in ("ENOTCONN", "ESTALE") and step != "hangs":
            raise Unseen("not mounted")
        expected = "write, read, rename and remove a file" if mount.probe else "list it"
        if not answer:
            yield self.ok(mount.path, expected)
        elif step == "hangs":
            text = (
                "the server or the FUSE client does not answer: is it up? A process that waits there cannot be killed"
            )
            yield self.bad(mount.path, f"no answer in {why} s", expected, text)
        elif why in NOT_ALLOWED:
            yield self.unseen(mount.path, f"root may not {step} there ({why}), as with root_squash", expected)
        else:
            words, action = MEANINGS.get(why, (why, ""))
            yield self.bad(mount.path, f"{step}: {words}", expected, action.replace("PATH", mount.path))


def _probe(mount: ExpectedMount, host: str) -> Probe:
    """It also wakes an automount; what is mounted is read afterwards."""
    return Probe(mount.path, host, mount.probe)


class Client(PerMount):
    """The systemd unit of each FUSE mount is active."""

    id = "storage.client"
    action = "journalctl -u UNIT -b says why; then systemctl restart UNIT"

    def mounts(self, want: Expectation) -> Sequence[ExpectedMount]:
        return [mount for mount in want.mounts if mount.kind == "fuse" and mount.unit]

    def needs(self, want: Expectation) -> Sequence[Source]:
        return [_units(self.mounts(want))] if self.mounts(want) else []

    def mount(self, want: Expectation, seen: Seen, mount: ExpectedMount) -> Iterator[Result]:
        states = {block.get("Id", ""): block for block in blocks(seen.text(_units(self.mounts(want))))}
        state = states.get(_unit(mount))
        if state is None:
            raise Unseen("systemd says nothing of its unit")
        if state.get("ActiveState") == "active":
            yield self.ok(mount.path, f"{_unit(mount)} is active")
        else:
            yield self.bad(mount.path, f"{_unit(mount)} is {unit_text(state)}", "active")


def _unit(mount: ExpectedMount) -> str:
    return mount.unit if "." in mount.unit else f"{mount.unit}.service"


def _units(mounts: Sequence[ExpectedMount]) -> Command:
    return src.units([_unit(mount) for mount in mounts])


CHECKS: tuple[Check, ...] = (Mounted(), Client(), Options(), Works(), Layouts())
