"""Combinations of keys in opensm.conf that opensm takes without a word, though they do not do what one means."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.targets.opensm.conf import Conf
from fabric.targets.opensm.problem import Problem
from fabric.targets.opensm.values import NO_FALLBACK, number

VERBOSE = 0x04
ROUND_ROBIN = frozenset({"updn", "dnup", "minhop", "ar_updn"})
"""Engines that give out uplinks in turn by LID: over three tiers the turns of leaf and spine fall into step (measured)."""
FTREES = frozenset({"ftree", "ar_ftree", "pqft"})


def check_settings(conf: Conf, file: str, *, tiers: int, fallback: bool) -> list[Problem]:
    """The problems of the settings as a whole; `tiers` 0 when it is not known; `fallback`: MinHop may take over."""
    found = [*_routing(conf, tiers, fallback=fallback), *_manager(conf)]
    return [Problem(file, conf.lines.get(name, 0), message, hint) for name, message, hint in found]


Found = tuple[str, str, str | None]
"""Key, message, hint."""


def _routing(conf: Conf, tiers: int, *, fallback: bool) -> Iterator[Found]:
    engines = (conf.text("routing_engine") or "minhop").split(",")
    if (conf.number("lmc") or 0) > 0:
        yield "lmc", f"lmc {conf.text('lmc')}: ftree routes LMC 0 only, and a large fabric runs out of LIDs", "lmc 0"
    if not fallback and NO_FALLBACK not in engines and "minhop" not in engines:
        yield "routing_engine", "without no_fallback MinHop takes over in silence", "add ,no_fallback at the end"
    if FTREES & set(engines):
        for name in ("root_guid_file", "cn_guid_file"):
            if conf.text(name) is None:
                yield "routing_engine", f"ftree without {name}: one failed link can end it", f"set {name}"
    if tiers > 2 and ROUND_ROBIN & set(engines) and not conf.number("scatter_ports"):
        why = "routing by turns over three tiers leaves most uplinks idle with scatter_ports 0"
        yield "routing_engine", why, "scatter_ports 8"
    if conf.text("io_guid_file") and not conf.number("max_reverse_hops"):
        yield "io_guid_file", "io_guid_file without max_reverse_hops opens no path between hosts without GPUs", None


def _manager(conf: Conf) -> Iterator[Found]:
    flags = conf.number("log_flags")
    if flags is None or not flags & VERBOSE:
        yield "log_flags", "without bit 0x04 what partitions.conf loses is in no log", "log_flags 0x07"
    guid = conf.text("guid")
    if guid is None or number(guid) == 0:
        yield "guid", "no port GUID: this SM would bind to whichever port it finds first", "set guid"
    if not conf.true("honor_guid2lid_file"):
        yield "honor_guid2lid_file", "a handover need not keep the LIDs", "honor_guid2lid_file TRUE"
    if conf.true("sm_inactive"):
        yield "sm_inactive", "sm_inactive TRUE: this SM never starts by itself", None
    short, long = conf.number("transaction_timeout"), conf.number("long_transaction_timeout")
    if short is not None and long is not None and long < short:
        yield (
            "long_transaction_timeout",
            f"long_transaction_timeout {long} is below transaction_timeout {short}: opensm rejects it",
            None,
        )
    if conf.number("m_key_protection_level") and conf.text("m_key") in (None, "0", "0x0000000000000000"):
        yield "m_key_protection_level", "a protection level without an m_key protects nothing", "set m_key"
    if (
        conf.number("m_key_protection_level")
        and conf.number("m_key_lease_period")
        and conf.number("sweep_interval") == 0
    ):
        yield "sweep_interval", "with M_Key protection and a lease opensm switches sweep_interval 0 on again", None
