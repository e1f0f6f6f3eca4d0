"""bgpcpp.conf: one session a neighbour and family, one peer group a peer role and family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.targets.fboss import bgp_policy, wire
from fabric.targets.fboss.agent import rack_networks
from fabric.targets.fboss.box import Json
from fabric.targets.fboss.schema import enum_value
from fabric.targets.fboss.strict import checked_raw

_BGP_PORT = 179
_WARN_SHARE = 4  # a warning at three quarters of max_routes (9,000 of the default 12,000, as in the reference example)


@dataclass(frozen=True, slots=True)
class BgpShared:
    """What all switches of one role share; `*_text` are the same objects, checked and dumped. No egress policies: see `_policies`."""

    groups: list[Json]
    groups_text: list[wire.Raw]
    ingress: list[Json]
    ingress_text: list[wire.Raw]
    lists: list[Json]
    families: tuple[str, ...]


def bgp_shared(fabric: Fabric, switch: Switch) -> BgpShared:
    """The peer groups, the ingress policies and the prefix lists of the switch's role."""
    pools = fabric.pools
    families = tuple(name for name, base in (("V6", pools.host6), ("V4", pools.host4)) if base is not None)
    kinds = [(peer, family) for peer in _peer_roles(fabric, switch) for family in families]
    groups = [_group(fabric, switch.role, peer, family) for peer, family in kinds]
    ingress = [
        bgp_policy.statement(
            policy_name(switch.role, peer, family, "IN"),
            f"from {peer.upper()}s: declared pools only",
            bgp_policy.FABRIC_LIST.format(family=family),
        )
        for peer, family in kinds
    ]
    return BgpShared(
        groups=groups,
        groups_text=[checked_raw("PeerGroup", group, depth=3) for group in groups],
        ingress=ingress,
        ingress_text=[checked_raw("BgpPolicyStatement", policy, depth=4) for policy in ingress],
        lists=bgp_policy.fabric_lists(fabric),
        families=families,
    )


def _peer_roles(fabric: Fabric, switch: Switch) -> tuple[str, ...]:
    """Roles of the neighbours, the upper tier first."""
    if switch.role == "rtsw":
        return ("ctsw",) if fabric.spec.roce.ctsw is not None else ()
    if switch.role == "ctsw":
        return ("atsw", "rtsw") if fabric.wiring is not None else ("rtsw",)
    return ("ctsw",)


def group_name(role: str, peer: str, family: str) -> str:
    """Name of a peer group, such as RTSW-CTSW-V6."""
    return f"{role.upper()}-{peer.upper()}-{family}"


def policy_name(role: str, peer: str, family: str, way: str) -> str:
    """Name of a policy, such as PROPAGATE_RTSW_CTSW_V6_IN."""
    return f"PROPAGATE_{role.upper()}_{peer.upper()}_{family}_{way}"


def _group(fabric: Fabric, role: str, peer: str, family: str) -> Json:
    bgp = fabric.spec.bgp
    timers: Json = {
        "hold_time_seconds": bgp.timers.hold_s,
        "keep_alive_seconds": bgp.timers.keepalive_s,
        "out_delay_seconds": 0,
        "withdraw_unprog_delay_seconds": 0,
    }
    if bgp.graceful_restart_s:
        timers["graceful_restart_seconds"] = bgp.graceful_restart_s
    return {
        "name": group_name(role, peer, family),
        "description": f"{peer.upper()}s over IPv{family[1]}",
        "ingress_policy_name": policy_name(role, peer, family, "IN"),
        "egress_policy_name": policy_name(role, peer, family, "OUT"),
        "disable_ipv4_afi": family != "V4",
        "disable_ipv6_afi": family != "V6",
        "v4_over_v6_nexthop": False,
        "next_hop_self": True,
        "is_passive": False,
        "bgp_peer_timers": timers,
        "pre_filter": {
            "max_routes": bgp.max_routes,
            "warning_only": False,
            "warning_limit": bgp.max_routes - bgp.max_routes // _WARN_SHARE,
        },
    }


def bgp_conf(fabric: Fabric, switch: Switch, shared: BgpShared, ports: Sequence[Port]) -> tuple[Json, Json]:
    """bgpcpp.conf of one switch, twice: to be dumped (with shared parts as text), and all as objects, for the refusals."""
    spec = fabric.spec.bgp
    four, six = _networks(fabric, switch, ports)
    head: Json = {
        "router_id": fmt4(switch.router_id),
        "local_as_4_byte": switch.asn,
        "hold_time": spec.timers.hold_s,
        "listen_port": _BGP_PORT,
        "listen_addr": "::",
        "networks4": [_network(prefix) for prefix in four],
        "networks6": [_network(prefix) for prefix in six],
    }
    if spec.graceful_restart_s:
        head["graceful_restart_convergence_seconds"] = spec.graceful_restart_s
        head["eor_time_s"] = spec.graceful_restart_s
    if switch.state == "drained":
        # That the daemon drains by policy is all that is known of drain_state (device-answers.md B9), so the longer path, whose
        # effect is certain, goes with it: neighbours keep the switch only as long as nothing else leads there.
        head["drain_state"] = enum_value("DrainState.DRAINED")
    peers = list(_peers(switch, ports))
    own = bgp_policy.own_lists(fabric, switch) if switch.role == "rtsw" else []
    egress = _egress(fabric, switch, shared.families)
    lists = [*shared.lists, *own]
    to_dump: Json = {
        **head,
        "peer_groups": shared.groups_text,
        "peers": peers,
        "policies": {"bgp_policy_statements": [*shared.ingress_text, *egress], "prefix_lists": lists},
    }
    plain: Json = {
        **head,
        "peer_groups": shared.groups,
        "peers": peers,
        "policies": {"bgp_policy_statements": [*shared.ingress, *egress], "prefix_lists": lists},
    }
    return to_dump, plain


def _egress(fabric: Fabric, switch: Switch, families: Sequence[str]) -> list[Json]:
    """What is told to each peer role: an RTSW tells of its own rack alone, the tiers above pass on all racks."""
    wanted = bgp_policy.OWN_LIST if switch.role == "rtsw" else bgp_policy.FABRIC_LIST
    told = "this rack" if switch.role == "rtsw" else "declared pools"
    prepend = switch.asn if switch.state == "drained" else None
    return [
        bgp_policy.statement(
            policy_name(switch.role, peer, family, "OUT"),
            f"to {peer.upper()}s: {told} only",
            wanted.format(family=family),
            prepend=prepend,
        )
        for peer in _peer_roles(fabric, switch)
        for family in families
    ]


def _peers(switch: Switch, ports: Sequence[Port]) -> Iterator[Json]:
    """One session for each family of each neighbouring switch that is not planned."""
    for port in ports:
        if port.role not in ("up", "down") or not port.enabled:
            continue
        # both next hops must be valid on every session; the one of the family that the session does not carry is never used
        hop4 = fmt4(switch.router_id if port.local4 is None else port.local4)
        hop6 = f"::ffff:{hop4}" if port.local6 is None else fmt6(port.local6)
        common = {
            "description": f"{port.peer}:{port.peer_port}",
            "remote_as_4_byte": port.peer_asn,
            "next_hop4": hop4,
            "next_hop6": hop6,
            "type": port.peer_role.upper(),
        }
        if port.peer6 is not None:
            group = group_name(switch.role, port.peer_role, "V6")
            yield {"peer_group_name": group, "peer_addr": fmt6(port.peer6), "local_addr": hop6, **common}
        if port.peer4 is not None:
            group = group_name(switch.role, port.peer_role, "V4")
            yield {"peer_group_name": group, "peer_addr": fmt4(port.peer4), "local_addr": hop4, **common}


def _networks(fabric: Fabric, switch: Switch, ports: Sequence[Port]) -> tuple[list[str], list[str]]:
    """What the switch itself announces, (IPv4, IPv6): of an RTSW the rack (or its single NIC links), of every one the loopback."""
    four: list[str] = []
    six: list[str] = []
    if switch.role == "rtsw" and fabric.spec.bgp.aggregate_racks:
        rack4, rack6 = rack_networks(fabric, switch)
        four += [rack4] if rack4 is not None else []
        six += [rack6] if rack6 is not None else []
    elif switch.role == "rtsw":
        live = [port for port in ports if port.role == "host" and port.enabled]
        four += [f"{fmt4(port.local4 & ~1)}/31" for port in live if port.local4 is not None]
        six += [f"{fmt6(port.local6 >> 64 << 64)}/64" for port in live if port.local6 is not None]
    if fabric.pools.host4 is not None:
        four.append(f"{fmt4(switch.router_id)}/32")
    if switch.loopback6 is not None:
        six.append(f"{fmt6(switch.loopback6)}/128")
    return four, six


def _network(prefix: str) -> Json:
    return {"prefix": prefix, "minimum_supporting_routes": 0, "install_to_fib": False}
