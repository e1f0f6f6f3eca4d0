"""agent.conf of one switch: its ports, addresses and routes on top of what equal switches share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.targets.fboss import agent_ports
from fabric.targets.fboss.agent_shared import AgentShared
from fabric.targets.fboss.box import Json


@dataclass(frozen=True, slots=True)
class AgentConf:
    """agent.conf of one switch, twice: `text` is to be dumped (shared parts and rows are checked text already), `plain` is all
    objects, for the refusals.
    """

    text: Json
    plain: Json


def agent_conf(fabric: Fabric, switch: Switch, shared: AgentShared, ports: Sequence[Port]) -> AgentConf:
    """agent.conf of one switch from what its kind shares and its own ports."""
    rows = agent_ports.port_rows(ports, shared.facts)
    svis = agent_ports.interface_rows(switch, ports, shared.facts)
    lists = agent_ports.vlan_lists(rows, shared.facts)
    head: Json = {"version": 0, "hostname": switch.name}
    tail: Json = {
        "staticRoutesWithNhops": [],
        "staticRoutesToNull": null_routes(fabric, switch),
        "staticRoutesToCPU": [],
        "mirrors": _mirrors(switch, shared),
        "sFlowCollectors": [],
    }
    text: Json = {
        **head,
        "ports": rows.texts(),
        "vlans": lists.vlans_text,
        "vlanPorts": lists.vlan_ports_text,
        "interfaces": svis.texts(),
        **tail,
        **shared.text,
    }
    plain: Json = {
        **head,
        "ports": rows.objects(),
        "vlans": lists.vlans,
        "vlanPorts": lists.vlan_ports,
        "interfaces": svis.objects(),
        **tail,
        **shared.plain,
    }
    around: Json = {"defaultCommandLineArgs": shared.args}
    return AgentConf(
        {**around, "sw": text, "platform": shared.platform},
        {**around, "sw": plain, "platform": shared.platform_object},
    )


def rack_networks(fabric: Fabric, switch: Switch) -> tuple[str | None, str | None]:
    """(IPv4, IPv6) aggregate of an RTSW's rack as text."""
    four, six = fabric.rack_prefix(switch.zone, switch.number)
    return (
        None if four is None else f"{fmt4(four.base)}/{four.length}",
        None if six is None else f"{fmt6(six.base)}/{six.length}",
    )


def null_routes(fabric: Fabric, switch: Switch) -> list[Json]:
    """`staticRoutesToNull`: an RTSW that announces its rack as one prefix drops what no NIC of it has, instead of sending it back."""
    if switch.role != "rtsw" or not fabric.spec.bgp.aggregate_racks:
        return []
    if fabric.numbering.nics == 1:  # the aggregate is the one link's own prefix
        return []
    return [{"routerID": 0, "prefix": text} for text in reversed(rack_networks(fabric, switch)) if text is not None]


def _mirrors(switch: Switch, shared: AgentShared) -> list[Json]:
    """The one mirror that sFlow samples go to: towards the first collector, in the class of monitoring."""
    if shared.sflow is None:
        return []
    collector = shared.sflow.collectors[0]
    end = {"ip": collector, "udpSrcPort": shared.sflow.port, "udpDstPort": shared.sflow.port}
    tunnel: Json = {"sflowTunnel": end}
    if ":" not in collector and shared.facts.four:
        tunnel["srcIp"] = fmt4(switch.router_id)
    elif ":" in collector and switch.loopback6 is not None:
        tunnel["srcIp"] = fmt6(switch.loopback6)
    mirror = {
        "name": agent_ports.MIRROR,
        "dscp": shared.mirror_dscp,
        "truncate": True,
        "destination": {"tunnel": tunnel},
    }
    return [mirror]
