"""Where a host's setting comes from: `nccl.NCCL_IB_TC`, `sysctl.vm.zone_reclaim_mode`, `firmware.CNP_DSCP_P1`."""

from __future__ import annotations

from fabric.catalog import catalog
from fabric.design.explain import Explanation
from fabric.design.hosts.model import HostFleet, NcclSetting, Setting

_MEANINGS = {"nccl": "a line of /etc/nccl.conf", "sysctl": "a kernel setting", "firmware": "a NIC firmware parameter"}


def explain_hosts(fleet: HostFleet, path: str) -> Explanation | None:
    """The explanation of a setting of the hosts, None when `path` is none."""
    kind, _, key = path.partition(".")
    rows: dict[str, tuple[NcclSetting | Setting, ...]] = {
        "nccl": fleet.nccl,
        "sysctl": fleet.sysctls,
        "firmware": fleet.firmware,
    }
    row = next((row for row in rows.get(kind, ()) if row.key == key), None)
    if row is None:
        return None
    own = row.why.startswith("hosts.")
    place = (*row.why.split("."), key) if own else None
    formula = row.why.removeprefix("derived: ") if kind == "nccl" and not own else ""
    source = catalog().nccl().source if kind == "nccl" else "" if own else row.why
    return Explanation(path, row.value, _MEANINGS[kind], formula, source, place)
