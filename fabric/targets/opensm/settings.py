"""Which keys stand in a subnet manager's opensm.conf, and with which values.

Only what follows from the spec or must not be left to a default is written; every other key keeps opensm's own value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabric.design.ib.model import Flavour, QosTables, Subnet, SubnetManager
from fabric.design.suggest import near
from fabric.errors import DesignError
from fabric.spec.ib_subnet import SmKeys, SubnetManagement
from fabric.spec.infiniband import InfinibandBackend
from fabric.targets.opensm import paths
from fabric.targets.opensm.keys import known_keys, nvidia_keys
from fabric.targets.opensm.members import services, wants_both, wants_order
from fabric.targets.opensm.settings_nvidia import nvidia_sections
from fabric.targets.opensm.values import complain

LOG_FLAGS = "0x07"
"""Errors, information and VERBOSE: without the last, what opensm drops from partitions.conf is in no log (measured)."""
LOG_SIZE_MB = "1024"
"""opensm starts the log anew above it; our choice, since its default is no limit and VERBOSE writes at every sweep."""
SCATTER = "8"
"""Seed of the random port order for Up/Down in three tiers (NVIDIA's recipe for a large cluster; measured: 1.4-1.6 against 8-32)."""
VLS = {1: "1", 2: "2", 4: "3", 8: "4", 15: "5"}
"""Data VLs -> code of `max_op_vls`."""
OURS = frozenset({"log_flags", "log_max_size", "force_log_flush", "part_enforce", "max_wire_smps2", "scatter_ports"})
"""Keys whose value is our choice, not the spec's: an option of the spec takes their place."""
_SPREAD = frozenset({"updn", "dnup", "minhop", "ar_updn"})  # round robin by LID falls into step over three tiers

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Section:
    """Some keys under one heading."""

    title: str
    pairs: Pairs


def backend(subnet: Subnet) -> InfinibandBackend:
    """The InfiniBand back end of the subnet's spec."""
    found = subnet.spec.backend
    if not isinstance(found, InfinibandBackend):
        raise TypeError("a Subnet is designed from an InfiniBand back end only")
    return found


def sections(subnet: Subnet, manager: SubnetManager) -> list[Section]:
    """All keys of an SM's file, in order, each once: ours, then the spec's options.

    Raises DesignError with the spec's place for an option that the flavour does not know or that follows from another part of the spec.
    """
    declared = backend(subnet).subnet_manager
    found = [
        Section("the port that this subnet manager binds to", [("guid", f"{manager.hca.port_guid:#018x}")]),
        Section("several subnet managers: the highest priority is master", list(_handover(manager, declared))),
        Section("keys of the subnet", list(_keys(declared))),
        Section("sweeps and management packets", list(_sweeps(declared))),
        Section("routing", list(_routing(subnet))),
        Section("partitions", list(_partitions(subnet))),
        Section("QoS", list(_qos(subnet))),
        Section("log and names", list(_log())),
    ]
    if subnet.flavour == "nvidia":
        found += [Section(title, pairs) for title, pairs in nvidia_sections(subnet, declared)]
    elif declared.congestion_control:
        found.append(Section("congestion control", _congestion(declared)))
    given = {*subnet.routing.options, *declared.options} & OURS
    found = [Section(section.title, [pair for pair in section.pairs if pair[0] not in given]) for section in found]
    taken = {name for section in found for name, _ in section.pairs}
    options = _options(subnet, declared, taken)
    return [section for section in [*found, Section("options of the spec", options)] if section.pairs]


def _handover(manager: SubnetManager, declared: SubnetManagement) -> Iterator[tuple[str, str]]:
    yield "sm_priority", str(manager.priority)
    yield "sminfo_polling_timeout", str(declared.polling.timeout_ms)
    yield "polling_retry_number", str(declared.polling.retries)
    yield "honor_guid2lid_file", "TRUE"


def _keys(declared: SubnetManagement) -> Iterator[tuple[str, str]]:
    for name in ("m_key", "sm_key", "sa_key"):
        if secret := getattr(declared.keys, name):
            yield name, f"$SECRET{{{secret}}}"
    if declared.keys.m_key:
        yield "m_key_protection_level", str(declared.m_key_protection)
        yield "m_key_lease_period", str(declared.m_key_lease_s)


def _sweeps(declared: SubnetManagement) -> Iterator[tuple[str, str]]:
    yield "lmc", "0"
    yield "sweep_interval", str(declared.sweep_interval_s)
    yield "max_wire_smps", str(declared.wire_smps)
    yield "max_wire_smps2", str(declared.wire_smps)


def _routing(subnet: Subnet) -> Iterator[tuple[str, str]]:
    routing = subnet.routing
    yield "routing_engine", ",".join((*routing.engines, *(() if routing.fallback else ("no_fallback",))))
    yield "root_guid_file", paths.ROOTS
    yield "cn_guid_file", paths.COMPUTE
    if services(subnet):
        yield "io_guid_file", paths.IO
        yield "max_reverse_hops", str(max(subnet.tiers - 1, 1))
    if _SPREAD & set(routing.engines):
        yield "scatter_ports", SCATTER
    if wants_order(subnet):
        yield "guid_routing_order_file", paths.ORDER
        yield "guid_routing_order_no_scatter", "TRUE"


def _partitions(subnet: Subnet) -> Iterator[tuple[str, str]]:
    yield "partition_config_file", paths.PARTITIONS
    yield "part_enforce", "both"
    yield "allow_both_pkeys", "TRUE" if wants_both(subnet) else "FALSE"


def _qos(subnet: Subnet) -> Iterator[tuple[str, str]]:
    if subnet.qos is None:
        yield "qos", "FALSE"
        return
    yield "qos", "TRUE"
    yield from _tables(subnet.qos)
    yield "qos_policy_file", paths.QOS


def _tables(qos: QosTables) -> Iterator[tuple[str, str]]:
    if qos.max_vls is not None:
        yield "max_op_vls", VLS[qos.max_vls]
        yield "qos_max_vls", str(qos.max_vls)
    if qos.high_limit is not None:
        yield "qos_high_limit", str(qos.high_limit)
    for name, table in (("qos_vlarb_high", qos.vlarb_high), ("qos_vlarb_low", qos.vlarb_low)):
        if table:
            yield name, ",".join(f"{vl}:{weight}" for vl, weight in table)
    if qos.sl2vl is not None:
        yield "qos_sl2vl", ",".join(map(str, qos.sl2vl))


def _log() -> Iterator[tuple[str, str]]:
    yield "log_file", paths.LOG
    yield "log_flags", LOG_FLAGS
    yield "force_log_flush", "TRUE"  # `SUBNET UP` is in the file when it is so, not when a buffer is full
    yield "log_max_size", LOG_SIZE_MB
    yield "node_name_map_name", paths.NAMES


def _congestion(declared: SubnetManagement) -> Pairs:
    key = declared.keys.cc_key
    return [("congestion_control", "TRUE"), *([("cc_key", f"$SECRET{{{key}}}")] if key else [])]


def _options(subnet: Subnet, declared: SubnetManagement, taken: set[str]) -> Pairs:
    """The spec's free options. What the file already says cannot be said a second time."""
    found: dict[str, str] = {}
    keys = SmKeys.model_fields
    for place, options in (("routing", subnet.routing.options), ("subnet_manager", declared.options)):
        for name, value in options.items():
            path = ("backend", place, "options", name)
            if name in found:
                raise DesignError(path, f"{name} is given in both routing.options and subnet_manager.options")
            if name in keys:
                hint = f"name the secret under backend.subnet_manager.keys: {{{name}: ...}}"
                raise DesignError(
                    path, f"{name} is a secret, which cannot stand in the spec or in rendered files", hint=hint
                )
            if name in taken:
                hint = "declare it there, not as an option"
                raise DesignError(path, f"{name} follows from the rest of the spec", hint=hint)
            _check(path, name, value, subnet.flavour)
            found[name] = value
    return list(found.items())


def _check(path: tuple[str, ...], name: str, value: str, flavour: Flavour) -> None:
    known = known_keys(flavour)
    if name not in known:
        hint = near(name, known)
        other = "leave it out, or set the flavour that knows it" if name in nvidia_keys() else "leave it out"
        message = f"the SM of flavour {flavour} knows no key {name!r} and would ignore it"
        raise DesignError(path, message, hint=hint if hint.startswith("did") else other)
    if complaint := complain(known[name], value, flavour):
        raise DesignError(path, complaint[0], hint=complaint[1])
