"""The rendered tree on disk: `DIR/<device>/<path on the device>` and `DIR/manifest.json`.

Kill -9 at any moment leaves each file either as it was or complete: files are written aside and renamed, those of a device that has no
folder yet all at once, with their folder. The manifest comes last,
after the file system is synced: a manifest on disk means that all it lists is on disk. What a killed run had begun stands in a
journal, so that the next run knows those files as ours.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabric.change.files import cannot, sync_file_system, write_atomic
from fabric.change.manifest import Manifest, Row, merge
from fabric.change.paths import MANIFEST, device_problem
from fabric.change.pool import Progress, default_workers, run_chunks
from fabric.change.tree_scan import JOURNAL, Found, locked, open_folder, scan
from fabric.change.tree_work import ChunkResult, TreeWorker, prune, remove_leftover
from fabric.errors import FabricError
from fabric.targets.base import DeviceRef, RenderJob

_SYNC_EVERY = 0.5  # seconds; early write-back, so that the last sync has little left to wait for


@dataclass(frozen=True, slots=True)
class TreeReport:
    """What a render did. Counts are files; `size` is the bytes of all declared files; `unmanaged` names what nobody declared."""

    devices: int
    files: int
    size: int
    written: int
    unchanged: int
    removed: int
    unmanaged: tuple[str, ...]


def write_tree(
    job: RenderJob,
    out: Path,
    *,
    only: Sequence[DeviceRef] | None = None,
    targets: frozenset[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> TreeReport:
    """Makes the tree at `out` what `job` declares; writes only what differs, removes what an earlier manifest lists and nobody declares.

    With `only` or `targets`, files outside the selection stay as they are, in the tree and in the manifest.
    Raises FabricError, before anything is written, when `out` cannot be used.
    """
    devices = job.devices if only is None else only
    names = [device.name for device in devices]
    _check_names(names)
    whole = only is None and targets is None
    with open_folder(out), locked(out) as handle:
        found = scan(out, names, whole=whole)
        _begin(out, found)
        results = _write(
            TreeWorker(job, out, targets, found.folders), names, handle, workers or default_workers(), progress
        )
        rows = [row for result in results for row in result.rows]
        scope = _scope(found, set(names), targets, whole=whole)
        removed = _remove(out, scope - {row.path for row in rows}, found.files)
        if removed or any(result.written for result in results):
            _sync(out, handle)
        _finish(out, job, found, _rows(found, rows, scope), whole=whole)
    unmanaged = sorted(found.files - {row.path for row in rows} - scope - _listed(found)) + sorted(found.foreign)
    return TreeReport(
        devices=len(names),
        files=len(rows),
        size=sum(result.size for result in results),
        written=sum(result.written for result in results),
        unchanged=sum(result.unchanged for result in results),
        removed=removed,
        unmanaged=tuple(unmanaged),
    )


def _check_names(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if problem := device_problem(name):
            raise FabricError(problem)
        if name in seen:
            raise FabricError(f"two devices are named {name!r}")
        seen.add(name)


def _begin(out: Path, found: Found) -> None:
    """Opens the journal (the first write: it shows whether we may write at all) and clears what a killed run left."""
    path = out / JOURNAL
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644))
        for leftover in found.leftovers:
            remove_leftover(out / leftover)
    except OSError as error:
        raise cannot("write to the folder", out, error) from error


def _write(
    worker: TreeWorker, names: Sequence[str], handle: int, workers: int, progress: Progress | None
) -> list[ChunkResult]:
    results: list[ChunkResult] = []
    stop = threading.Event()
    syncer: threading.Thread | None = None
    try:
        for result in run_chunks(worker, names, workers=workers, progress=progress):
            results.append(result)
            if syncer is None and result.written:  # after the fork: a process with threads should not be forked
                syncer = threading.Thread(target=_sync_early, args=(handle, stop), daemon=True)
                syncer.start()
    finally:
        stop.set()
        if syncer:
            syncer.join()
    return results


def _sync_early(handle: int, stop: threading.Event) -> None:
    while not stop.wait(_SYNC_EVERY):
        with contextlib.suppress(OSError):  # the last sync, in _finish, is the one that counts and reports
            sync_file_system(handle)


def _listed(found: Found) -> set[str]:
    return set(found.manifest.rows) if found.manifest else set()


def _scope(found: Found, names: set[str], targets: frozenset[str] | None, *, whole: bool) -> set[str]:
    """The paths that earlier runs wrote and that this run may remove."""
    rows = found.manifest.rows if found.manifest else {}
    if whole:
        return set(rows) | found.journal
    scope = {r.path for r in rows.values() if r.device in names and (targets is None or r.target in targets)}
    if targets is None:
        scope |= {path for path in found.journal if path.partition("/")[0] in names}
    return scope


def _remove(out: Path, stale: set[str], there: set[str]) -> int:
    """Removes those files that are there, then all folders that are left empty; how many files."""
    for relative in sorted(stale):
        if relative in there:
            try:
                (out / relative).unlink(missing_ok=True)
            except OSError as error:
                raise cannot("remove", out / relative, error) from error
        prune(out, relative)
    return len(stale & there)


def _rows(found: Found, rows: list[Row], scope: set[str]) -> dict[str, Row]:
    earlier = found.manifest.rows.values() if found.manifest else ()
    return merge(rows, (row for row in earlier if row.path not in scope))


def _sync(out: Path, handle: int) -> None:
    try:
        sync_file_system(handle)
    except OSError as error:
        raise cannot("sync", out, error) from error


def _finish(out: Path, job: RenderJob, found: Found, rows: dict[str, Row], *, whole: bool) -> None:
    """The manifest, when it says something new; then the end of the journal."""
    earlier = found.manifest.spec_sha256 if found.manifest else ""
    content = Manifest(job.spec_sha256 if whole else earlier, rows=rows).dump()
    if found.manifest is None or content != found.manifest.dump():
        write_atomic(out / MANIFEST, content)
    if whole or not found.journal:
        (out / JOURNAL).unlink(missing_ok=True)
