"""Where a host's setting comes from: `nccl.NCCL_IB_TC`, `sysctl.vm.zone_reclaim_mode`, `firmware.CNP_DSCP_P1`."""

from __future__ import annotations

from fabric.catalog import catalog
from fabric.design.explain import Explanation
from fabric.design.hosts.model import HostFleet, NcclSetting, Setting
from fabric.errors import FabricError
from fabric.spec.suggest import listing, nearest

_MEANINGS = {"nccl": "a line of /etc/nccl.conf", "sysctl": "a kernel setting", "firmware": "a NIC firmware parameter"}


def explain_hosts(fleet: HostFleet, path: str) -> Explanation | None:
    """The explanation of a setting of the hosts, None when `path` is of no such kind. FabricError for a setting that hosts do not get."""
    kind, _, key = path.partition(".")
    rows: dict[str, tuple[NcclSetting | Setting, ...]] = {
        "nccl": fleet.nccl,
        "sysctl": fleet.sysctls,
        "firmware": fleet.firmware,
    }
    if kind not in rows:
        return None
    row = next((row for row in rows[kind] if row.key == key), None)
    if row is None:
        keys = [row.key for row in rows[kind]]
        near = nearest(key, keys)
        hint = f"did you mean '{kind}.{near}'?" if near else f"hosts get {listing(keys)}" if keys else "hosts get none"
        raise FabricError(f"nothing is called {path!r}", hint=hint)
    own = row.why.startswith("hosts.")
    place = (*row.why.split("."), key) if own else None
    formula = row.why.removeprefix("derived: ") if kind == "nccl" and not own else ""
    source = catalog().nccl().source if kind == "nccl" else "" if own else row.why
    return Explanation(path, row.value, _MEANINGS[kind], formula, source, place)
