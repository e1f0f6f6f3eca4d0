"""What the BGP++ daemon refuses of bgpcpp.conf: the speaker, peers, groups and networks (reference: fboss.md 12.7).

Policies are in `refusals_policy`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabric.targets.fboss.problem import Problem
from fabric.targets.fboss.refusals_agent import flag_problems
from fabric.targets.fboss.refusals_base import (
    Json,
    Row,
    has,
    ip,
    is_version,
    items,
    member,
    network,
    number,
    rows,
    text,
    twice,
)
from fabric.targets.fboss.refusals_policy import policy_problems
from fabric.targets.fboss.schema import enum_value
from fabric.targets.fboss.strict import compile_validator

_AS_NUMBERS = range(1, 1 << 32)
_TTL_HOPS = range(1, 255)
_HOLD_RATIO = 3
_OUT_DELAY_MAX = 15
_TLS = ("x509_ca_path", "x509_cert_path", "x509_key_path", "ecc_curve_name")


def bgp_refusals(conf: Json) -> list[Problem]:
    """What BGP++ refuses of a bgpcpp.conf that passed the strict check: speaker, groups, peers, networks, policies.

    Levels: "error" = refused, "silent" = taken but not done, "warning" = the daemon warns of it.
    """
    return [
        *_speaker(conf),
        *_services(conf),
        *_groups(conf),
        *_peers(conf),
        *_networks(conf),
        *policy_problems(conf),
        *flag_problems(member(conf, "defaultCommandLineArgs")),
    ]


def check_bgp(conf: object) -> list[Problem]:
    """The strict check, then (only when it finds nothing) the refusals."""
    problems = compile_validator("bgp")(conf)
    return problems if problems or not isinstance(conf, dict) else bgp_refusals(conf)


def as_number(holder: Json, name: str) -> int:
    """The AS number `name` in either spelling (`remote_as_4_byte`, or the older `remote_as`); 0 when neither is set."""
    return number(holder, f"{name}_4_byte") or number(holder, name)


def _both_spellings(path: str, holder: Json, names: tuple[str, ...]) -> Iterator[Problem]:
    for name in names:
        if has(holder, name) and has(holder, f"{name}_4_byte"):
            yield Problem(f"{path}{name}", f"both spellings of the AS number are set: keep {name}_4_byte")


def _speaker(conf: Json) -> Iterator[Problem]:
    if not is_version(text(conf, "router_id"), 4):
        yield Problem("router_id", f"{text(conf, 'router_id')!r} is not an IPv4 address")
    if ip(text(conf, "listen_addr", "::")) is None:
        yield Problem("listen_addr", f"{text(conf, 'listen_addr')!r} is not an IP address")
    yield from _both_spellings("", conf, ("local_as", "local_confed_as"))
    local = as_number(conf, "local_as")
    if local not in _AS_NUMBERS:
        yield Problem("local_as_4_byte", f"{local} is outside 1..4294967295")


def _services(conf: Json) -> Iterator[Problem]:
    server = member(conf, "thrift_server_config")
    if server.get("enable_tls"):
        for key in _TLS:
            if not has(server, key):
                yield Problem(f"thrift_server_config.{key}", "enable_tls needs it")
    if has(conf, "ucmp_quantizer_config"):
        found, path = conf["ucmp_quantizer_config"], "ucmp_quantizer_config"
        if not items(found, "fixed_quantized_bps_list"):
            yield Problem(f"{path}.fixed_quantized_bps_list", "must not be empty")
        share: float | None = found.get("error_pct_threshold")
        if not 0 <= (share or 0) < 1:
            yield Problem(f"{path}.error_pct_threshold", f"{share} is outside [0, 1)")


def _policy_names(conf: Json) -> set[str]:
    return {text(found, "name") for found in items(member(conf, "policies"), "bgp_policy_statements")}


def _groups(conf: Json) -> Iterator[Problem]:
    known = _policy_names(conf)
    found = list(rows(conf, "peer_groups", "peer_groups"))
    names = [(f"{path}.name", text(group, "name")) for path, group in found]
    yield from twice(names, lambda name: f"peer group {name!r} is defined twice: the first one wins", "silent")
    for path, group in found:
        yield from _session(path, group, known)


def _session(path: str, holder: Json, policies: set[str]) -> Iterator[Problem]:
    """What peers and peer groups have in common."""
    yield from _both_spellings(f"{path}.", holder, ("remote_as", "local_as"))
    for key in ("ingress_policy_name", "egress_policy_name"):
        if has(holder, key) and holder[key] not in policies:
            yield Problem(f"{path}.{key}", f"there is no policy {holder[key]!r}")
    for key in ("pre_filter", "post_filter"):
        for limit in ("max_routes", "warning_limit"):
            if number(member(holder, key), limit) < 0:
                yield Problem(f"{path}.{key}.{limit}", "must not be negative")
    if has(holder, "ttl_security_hops") and holder["ttl_security_hops"] not in _TTL_HOPS:
        yield Problem(f"{path}.ttl_security_hops", f"{holder['ttl_security_hops']} is outside 1..254")
    if has(holder, "bgp_peer_timers"):
        yield from _timers(f"{path}.bgp_peer_timers", holder["bgp_peer_timers"])


def _timers(path: str, timers: Json) -> Iterator[Problem]:
    hold, keep = number(timers, "hold_time_seconds"), number(timers, "keep_alive_seconds")
    if hold != _HOLD_RATIO * keep:
        yield Problem(f"{path}.hold_time_seconds", f"{hold} is not 3 x keep_alive_seconds ({keep})", "warning")
    if number(timers, "out_delay_seconds") > _OUT_DELAY_MAX:
        yield Problem(
            f"{path}.out_delay_seconds", f"{timers['out_delay_seconds']} is above {_OUT_DELAY_MAX}", "warning"
        )


def _peers(conf: Json) -> Iterator[Problem]:
    policies = _policy_names(conf)
    groups: dict[str, Json] = {}
    for group in items(conf, "peer_groups"):
        groups.setdefault(text(group, "name"), group)
    for path, peer in rows(conf, "peers", "peers"):
        name = peer.get("peer_group_name")
        if name is not None and name not in groups:
            yield Problem(f"{path}.peer_group_name", f"there is no peer group {name!r}")
        merged = _Merged(peer, groups.get(name or "", {}))
        yield from _peer_addresses(path, peer, merged)
        yield from _session(path, peer, policies)
        yield from _peer_as(conf, path, peer, merged)
        yield from _link_bandwidth(path, merged)


class _Merged:
    """A peer over its group: the peer's own value comes first."""

    def __init__(self, peer: Json, group: Json) -> None:
        self._peer, self._group = peer, group

    def get(self, key: str) -> Any:
        """The value in force, or None."""
        own = self._peer.get(key)
        return self._group.get(key) if own is None else own

    def as_number(self, name: str) -> int:
        """The AS number in force, or 0."""
        return as_number(self._peer, name) or as_number(self._group, name)


def _peer_addresses(path: str, peer: Json, merged: _Merged) -> Iterator[Problem]:
    address = text(peer, "peer_addr")
    if network(address) is None:
        yield Problem(f"{path}.peer_addr", f"{address!r} is neither an address nor a prefix")
    local = merged.get("local_addr") or ""
    if ip(local) is None:
        yield Problem(f"{path}.local_addr", f"{local!r} is not an IP address")
    for version in (4, 6):
        hop = text(peer, f"next_hop{version}")
        if not is_version(hop, version):
            why = "is needed on every peer" if not hop else f"{hop!r} is not an IPv{version} address"
            yield Problem(f"{path}.next_hop{version}", why)


def _peer_as(conf: Json, path: str, peer: Json, merged: _Merged) -> Iterator[Problem]:
    remote, ours = merged.as_number("remote_as"), as_number(conf, "local_as")
    confed = bool(merged.get("is_confed_peer"))
    if not remote and not merged.get("additional_remote_as_4_byte"):
        yield Problem(f"{path}.remote_as_4_byte", "neither the peer nor its group has a remote AS", "silent")
    if confed and not as_number(conf, "local_confed_as"):
        yield Problem(f"{path}.is_confed_peer", "needs local_confed_as_4_byte")
    local = as_number(peer, "local_as")
    if local and local == remote:
        yield Problem(f"{path}.local_as_4_byte", f"{local} is the remote AS too")
    elif local and (confed or remote == ours):
        yield Problem(f"{path}.local_as_4_byte", "is only for EBGP peers")


def _link_bandwidth(path: str, merged: _Merged) -> Iterator[Problem]:
    for key, kind in (
        ("advertise_link_bandwidth", "AdvertiseLinkBandwidth"),
        ("receive_link_bandwidth", "ReceiveLinkBandwidth"),
    ):
        if merged.get(key) == enum_value(f"{kind}.SET_LINK_BPS") and not merged.get("link_bandwidth_bps"):
            yield Problem(f"{path}.{key}", "SET_LINK_BPS needs link_bandwidth_bps")


def _networks(conf: Json) -> Iterator[Problem]:
    policies = _policy_names(conf)
    found: list[Row] = [*rows(conf, "networks4", "networks4"), *rows(conf, "networks6", "networks6")]
    for path, row in found:
        if network(text(row, "prefix")) is None:
            yield Problem(f"{path}.prefix", f"{text(row, 'prefix')!r} is not a prefix")
        if has(row, "policy_name") and row["policy_name"] not in policies:
            yield Problem(f"{path}.policy_name", f"there is no policy {row['policy_name']!r}")
