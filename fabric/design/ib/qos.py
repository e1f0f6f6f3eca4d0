"""QoS of an InfiniBand subnet: the tables of opensm.conf and the rules of the policy file."""

from __future__ import annotations

from collections.abc import Sequence

from fabric.design.ib.model import Hca, Partition, QosTables, UlpRule
from fabric.design.suggest import near
from fabric.errors import DesignError, FabricError, FabricErrors
from fabric.spec.ib_policy import UlpSpec
from fabric.spec.infiniband import InfinibandBackend


def tables_of(backend: InfinibandBackend) -> QosTables | None:
    """The tables as declared; None without QoS."""
    qos = backend.qos
    if qos is None:
        return None
    return QosTables(qos.max_vls, qos.high_limit, tuple(qos.vlarb_high), tuple(qos.vlarb_low), tuple(qos.sl2vl))


def ulps_of(backend: InfinibandBackend, partitions: Sequence[Partition], hcas: Sequence[Hca]) -> tuple[UlpRule, ...]:
    """The policy's rules in order, `default` last; DesignError(s) for unknown partitions and HCAs, and SLs that are dropped."""
    if backend.qos is None:
        return ()
    keys = {partition.name: partition.pkey for partition in partitions}
    rules, errors = list[UlpRule](), list[FabricError]()
    last = len(backend.qos.ulps) - 1
    for index, entry in enumerate(backend.qos.ulps):
        path = ("backend", "qos", "ulps", index)
        if backend.qos.sl2vl[entry.sl] == 15:
            errors.append(DesignError((*path, "sl"), f"SL {entry.sl} is dropped by sl2vl (VL 15)"))
        if entry.ulp == "default" and index != last:
            errors.append(DesignError((*path, "ulp"), "default matches all, so it must be the last rule"))
        try:
            rules.append(UlpRule(_match(entry, keys, hcas, path), entry.sl))
        except DesignError as error:
            errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else FabricErrors(errors)
    if not rules or rules[-1].match != "default":
        rules.append(UlpRule("default", 0))
    return tuple(rules)


def _match(entry: UlpSpec, keys: dict[str, int], hcas: Sequence[Hca], path: tuple[str | int, ...]) -> str:
    if entry.partition is not None:
        if entry.partition not in keys:
            raise DesignError(
                (*path, "partition"), f"no partition is named {entry.partition!r}", hint=near(entry.partition, keys)
            )
        return f"{entry.ulp}, pkey 0x{keys[entry.partition]:04x}"
    if entry.service_id is not None:
        return f"{entry.ulp}, service-id {entry.service_id}"
    if entry.port_num is not None:
        return f"{entry.ulp}, port-num {entry.port_num}"
    for key in ("target", "source"):
        name = getattr(entry, key)
        if name is not None:
            guid = next((hca.port_guid for hca in hcas if hca.name == name), None)
            if guid is None:
                raise DesignError(
                    (*path, key), f"no HCA is named {name!r}", hint=f"HCAs are named like {hcas[0].name!r}"
                )
            return f"{entry.ulp}, {key}-port-guid 0x{guid:016x}"
    return entry.ulp
