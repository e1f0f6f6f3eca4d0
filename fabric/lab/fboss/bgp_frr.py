"""bgpcpp.conf as FRR's bgpd.conf: pure text from plain values."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from fabric.lab.fboss.bgp_policy import NotImitatedError, policies, word

Json = dict[str, Any]

WIDTH = 64
"""Equal-cost paths of a route: the default of the flag `ecmp_width` (fboss.md section 3)."""

_KEEPALIVE_SHARE = 3  # of the hold time: fboss.md section 11


def frr_conf(conf: Json, name: str) -> str:
    """bgpd.conf for a bgpcpp.conf that passed all checks; NotImitatedError for what FRR is not given.

    Not given, and without effect on which routes pass: graceful restart, end-of-RIB timers, link bandwidth, next_hop4/6 (FRR takes the
    address of the session), `drain_state` (it is reported; our files drain by their policies).
    """
    _refuse_confederations(conf)
    peers = [merged(conf, peer) for peer in conf.get("peers") or []]
    lines = [f"hostname {name}", *policies(conf), *_network_maps(conf)]
    lines += [f"router bgp {number(conf, 'local_as')}", f" bgp router-id {conf['router_id']}", *_GLOBAL]
    for at, peer in enumerate(peers):
        lines += [f" {line}" for line in _neighbour(conf, peer, at)]
    for version in (4, 6):
        lines += _family(conf, peers, version)
    return "\n".join(lines) + "\n"


_GLOBAL = (
    " no bgp default ipv4-unicast",
    " no bgp ebgp-requires-policy",
    " no bgp network import-check",
    " bgp bestpath as-path multipath-relax",
    " bgp log-neighbor-changes",
)


def number(holder: Json, name: str) -> int:
    """An AS number in either spelling; 0 when neither is set."""
    return holder.get(f"{name}_4_byte") or holder.get(name) or 0


def merged(conf: Json, peer: Json) -> Json:
    """A peer over its group: the peer's own values come first; of two groups of one name the first counts."""
    groups: dict[str, Json] = {}
    for group in conf.get("peer_groups") or []:
        groups.setdefault(group["name"], group)
    base = groups.get(peer.get("peer_group_name") or "", {})
    kept = {key: value for key, value in base.items() if key not in ("name", "description")}
    return {**kept, **{key: value for key, value in peer.items() if value is not None}}


def _refuse_confederations(conf: Json) -> None:
    if number(conf, "local_confed_as") or any(peer.get("is_confed_peer") for peer in conf.get("peers") or []):
        raise NotImitatedError("confederations are not imitated")


def _target(peer: Json, at: int) -> tuple[str, bool]:
    """(what FRR calls the neighbour, whether it is a range of neighbours that call us)."""
    address = peer["peer_addr"]
    if "/" in address:
        net = ipaddress.ip_network(address, strict=False)
        if net.prefixlen < net.max_prefixlen:
            return f"DYNAMIC-{at + 1}", True
        address = str(net.network_address)
    return str(ipaddress.ip_address(address)), False


def _neighbour(conf: Json, peer: Json, at: int) -> Iterator[str]:
    name, ranged = _target(peer, at)
    if ranged:
        yield f"neighbor {name} peer-group"
    remote = number(peer, "remote_as")
    if not remote:
        raise NotImitatedError(f"peer {peer['peer_addr']}: a peer without a remote AS is not imitated")
    yield f"neighbor {name} remote-as {remote}"
    timers = peer.get("bgp_peer_timers") or {}
    hold = timers.get("hold_time_seconds") or conf.get("hold_time") or 30  # the IDL's default
    yield f"neighbor {name} timers {timers.get('keep_alive_seconds') or hold // _KEEPALIVE_SHARE} {hold}"
    yield f"neighbor {name} timers connect 1"
    yield from (f"neighbor {name} {words}" for words in _options(conf, peer))
    if ranged:
        yield f"bgp listen range {peer['peer_addr']} peer-group {name}"


def _options(conf: Json, peer: Json) -> Iterator[str]:
    if peer.get("description"):
        yield f"description {' '.join(peer['description'].split())}"
    if peer.get("local_addr"):
        yield f"update-source {peer['local_addr']}"
    own = number(peer, "local_as")
    if own and own != number(conf, "local_as"):
        yield f"local-as {own} no-prepend replace-as"
    if peer.get("is_passive"):
        yield "passive"
    if peer.get("ttl_security_hops"):
        yield f"ttl-security hops {peer['ttl_security_hops']}"
    if peer.get("enabled") is False:
        yield "shutdown"
    if peer.get("v4_over_v6_nexthop"):
        yield "capability extended-nexthop"


def _family(conf: Json, peers: list[Json], version: int) -> Iterator[str]:
    yield f" address-family ipv{version} unicast"
    for at, network in enumerate(conf.get(f"networks{version}") or []):
        prefix = ipaddress.ip_network(network["prefix"], strict=False)
        yield f"  network {prefix}" + (f" route-map {_map_name(version, at)}" if _needs_map(network) else "")
    yield f"  maximum-paths {WIDTH}"
    yield f"  maximum-paths ibgp {WIDTH}"
    for at, peer in enumerate(peers):
        if not peer.get(f"disable_ipv{version}_afi"):
            name, _ = _target(peer, at)
            yield from (f"  neighbor {name} {words}" for words in _session(peer))
    yield " exit-address-family"


def _session(peer: Json) -> Iterator[str]:
    yield "activate"
    yield "soft-reconfiguration inbound"
    if peer.get("next_hop_self"):
        yield "next-hop-self"
    if peer.get("is_rr_client"):
        yield "route-reflector-client"
    if peer.get("remove_private_as"):
        yield "remove-private-AS"
    if peer.get("ingress_policy_name"):
        yield f"route-map {word(peer['ingress_policy_name'])} in"
    if peer.get("egress_policy_name"):
        yield f"route-map {word(peer['egress_policy_name'])} out"
    yield from _limit(peer)


def _limit(peer: Json) -> Iterator[str]:
    """`pre_filter` counts what is received (FRR: force), `post_filter` what passes; FRR takes one of them."""
    before, after = peer.get("pre_filter"), peer.get("post_filter")
    found = before or after
    most = (found or {}).get("max_routes", 12000)  # the IDL's default
    if not found or not most:
        return
    line = f"maximum-prefix {most}"
    warn = found.get("warning_limit") or 0
    if 0 < warn < most:
        line += f" {max(1, warn * 100 // most)}"
    yield line + (" warning-only" if found.get("warning_only") else "") + (" force" if before else "")


def _needs_map(network: Json) -> bool:
    return bool(network.get("communities") or network.get("policy_name") or network.get("local_pref"))


def _map_name(version: int, at: int) -> str:
    return f"NETWORK{version}-{at + 1}"


def _network_maps(conf: Json) -> Iterator[str]:
    for version in (4, 6):
        for at, network in enumerate(conf.get(f"networks{version}") or []):
            if not _needs_map(network):
                continue
            yield f"route-map {_map_name(version, at)} permit 10"
            if network.get("policy_name"):
                yield f" call {word(network['policy_name'])}"
            if network.get("communities"):
                yield f" set community {' '.join(map(word, network['communities']))}"
            if network.get("local_pref"):
                yield f" set local-preference {network['local_pref']}"
