"""What equal switches share of agent.conf: built, checked and dumped once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fabric.design.fabric import Fabric
from fabric.design.ip import pow2
from fabric.design.model import Switch
from fabric.design.places import setting_place
from fabric.design.qos import plan_qos
from fabric.errors import DesignError
from fabric.spec.management import Sflow
from fabric.spec.overrides import Settings
from fabric.targets.fboss import agent_buffers, agent_cpu, agent_hashing, agent_ports, wire
from fabric.targets.fboss.agent_ports import PortFacts
from fabric.targets.fboss.agent_qos import QUEUES, port_queues, qos_policies
from fabric.targets.fboss.box import Box, Json, box
from fabric.targets.fboss.flags import agent_flags
from fabric.targets.fboss.platform_section import dumped, platform_section
from fabric.targets.fboss.refusals_base import gflag_true
from fabric.targets.fboss.schema import enum_value
from fabric.targets.fboss.strict import checked_raw

_DEFAULT_WIDTH = 64  # FBOSS source: default of the flag ecmp_width

_NEIGHBOURS: Json = {
    "arpTimeoutSeconds": 60,
    "arpRefreshSeconds": 20,
    "arpAgerInterval": 5,
    "maxNeighborProbes": 300,
    "staleEntryInterval": 10,
    "proactiveArp": False,
}
"""The IDL's defaults, written out so that a reader of the file sees them."""

_DISTANCES: Json = {"0": 20, "1": 1, "2": 0, "3": 0, "4": 0, "700": 255, "786": 10, "800": 2}
"""clientIdToAdminDistance: the IDL's default (0 = BGP, 1 = static, 2 = interface routes)."""


@dataclass(frozen=True, slots=True)
class AgentShared:
    """What all switches of one kind share.

    `args` and `platform` stand beside `sw`. `plain` holds the shared members of `sw` as objects (for the refusals), `text` the same
    with its large parts checked and dumped already.
    """

    box: Box
    args: dict[str, str]
    platform: wire.Raw
    platform_object: Json
    plain: Json
    text: Json
    facts: PortFacts
    sflow: Sflow | None
    mirror_dscp: int


def uses_dlb(fabric: Fabric, switch: Switch) -> bool:
    """Flowlets run on RTSW uplinks, and only with the method `dlb`."""
    return fabric.spec.load_balancing.method == "dlb" and switch.role == "rtsw" and bool(_uplinks(fabric, switch))


def _uplinks(fabric: Fabric, switch: Switch) -> int:
    roce = fabric.spec.roce
    if switch.role == "rtsw":
        return fabric.zones[switch.zone].profile.uplinks if roce.ctsw is not None else 0
    if switch.role == "ctsw":
        return roce.ctsw.uplinks if roce.ctsw is not None and fabric.wiring is not None else 0
    return 0


def ecmp_width(fabric: Fabric, switch: Switch, settings: Settings) -> int:
    """`ecmpWidth`: declared, or enough for the uplinks; at least FBOSS's default, as a change wants a cold boot.

    Raises DesignError for more than the ASIC can use.
    """
    limit = box(switch.model).asic.ecmp_width
    declared = settings.ecmp_width or fabric.spec.bgp.ecmp_width
    width = declared or max(_DEFAULT_WIDTH, pow2(max(_uplinks(fabric, switch), 1)))
    if width > limit:
        where = setting_place(fabric, switch, "ecmp_width") if settings.ecmp_width else None
        asic = box(switch.model).asic.name
        raise DesignError(
            where or ("bgp", "ecmp_width"), f"an ECMP width of {width} is more than the {limit} that {asic} can use"
        )
    return width


def agent_shared(fabric: Fabric, switch: Switch, settings: Settings, base_dir: Path) -> AgentShared:
    """What `switch` shares with all switches of its model, role, rack profile and overrides."""
    spec, made_of = fabric.spec, box(switch.model)
    sflow = spec.management.sflow if spec.management is not None else None
    if sflow is not None and settings.sflow_sample_rate is not None:
        sflow = sflow.model_copy(update={"sample_rate": settings.sflow_sample_rate})
    args = agent_flags(fabric, switch, settings, dlb=uses_dlb(fabric, switch))
    platform = platform_section(
        made_of, spec.fboss, base_dir, qgroup=gflag_true(args.get("qgroup_guarantee_enable", "false"))
    )
    plain = _shared_members(fabric, switch, settings, made_of)
    monitoring = spec.qos.monitoring
    return AgentShared(
        box=made_of,
        args=args,
        platform=dumped(platform),
        platform_object=platform,
        plain=plain,
        text={**plain, **_pre_dumped(plain)},
        facts=_port_facts(fabric, switch, made_of, sflow),
        sflow=sflow,
        mirror_dscp=min(monitoring.dscp) if monitoring is not None else 0,
    )


def _port_facts(fabric: Fabric, switch: Switch, made_of: Box, sflow: Sflow | None) -> PortFacts:
    spec = fabric.spec
    sampled = {} if sflow is None else _sampling(sflow)
    frame = spec.mtu.frame
    watchdog = spec.qos.pfc_watchdog
    down: Json = {
        "pfc": agent_buffers.port_pfc(agent_buffers.DOWNLINK_PG, watchdog),
        "portQueueConfigName": QUEUES,
        **sampled,
    }
    up = {**down, "pfc": agent_buffers.port_pfc(agent_buffers.UPLINK_PG, watchdog)}
    if uses_dlb(fabric, switch):
        up["flowletConfigName"] = agent_hashing.FLOWLET_CONFIG
    downlink = agent_ports.port_template(frame, down)
    return PortFacts(
        ports={
            "host": downlink,
            "down": downlink,
            "up": agent_ports.port_template(frame, up),
            "front-end": agent_ports.port_template(frame, {}),
        },
        svis=agent_ports.svi_templates(spec.mtu.ip, six=fabric.pools.host6 is not None),
        box=made_of,
        four=fabric.pools.host4 is not None,
        sai=spec.fboss.sdk == "sai",
        lists={},
    )


def _sampling(sflow: Sflow) -> Json:
    return {
        "sFlowIngressRate": sflow.sample_rate,
        "sFlowEgressRate": 0,
        "sampleDest": enum_value("SampleDestination.MIRROR"),
        "ingressMirror": agent_ports.MIRROR,
    }


def _shared_members(fabric: Fabric, switch: Switch, settings: Settings, made_of: Box) -> Json:
    """The members of `sw` that follow from the spec, the model and the role alone."""
    spec, plan = fabric.spec, plan_qos(fabric.spec.qos)
    queue_pair = spec.load_balancing.method in ("e-ecmp", "dlb")
    dlb, sai, uplinks = uses_dlb(fabric, switch), spec.fboss.sdk == "sai", _uplinks(fabric, switch)
    seed = settings.hash_seed if settings.hash_seed is not None else getattr(spec.load_balancing.seeds, switch.role)
    acls = [*agent_cpu.cpu_acls(plan), *(agent_hashing.flowlet_acls() if dlb else [])]
    made: Json = {
        "defaultVlan": agent_ports.DEFAULT_VLAN,
        **_NEIGHBOURS,
        "clientIdToAdminDistance": _DISTANCES,
        "sdkVersion": {"asicSdk": "sdk", "saiSdk": "sai"} if sai else {"asicSdk": "sdk"},
        "qosPolicies": qos_policies(plan),
        "portQueueConfigs": port_queues(plan, spec.qos.ecn),
        "defaultPortQueues": [],
        "portPgConfigs": agent_buffers.pg_configs(made_of, plan, uplinks=uplinks > 0),
        "bufferPoolConfigs": agent_buffers.buffer_pools(made_of),
        "cpuQueues": agent_cpu.cpu_queues(),
        "cpuTrafficPolicy": agent_cpu.cpu_policy(plan),
        "loadBalancers": agent_hashing.load_balancers(seed, queue_pair=queue_pair),
        "trafficCounters": agent_hashing.traffic_counters(dlb=dlb),
        "aclTableGroups": agent_hashing.acl_groups(acls),
        "dataPlaneTrafficPolicy": agent_hashing.data_policy(dlb=dlb),
        "switchSettings": _switch_settings(fabric, switch, settings, made_of),
    }
    if queue_pair:
        made["udfConfig"] = agent_hashing.udf_config()
    if dlb:
        flowlets = spec.load_balancing.flowlets
        made["flowletSwitchingConfig"] = agent_hashing.flowlet_switching(flowlets, made_of, uplinks, sai=sai)
        made["portFlowletConfigs"] = agent_hashing.port_flowlets(sai=sai)
    return made


def _switch_settings(fabric: Fabric, switch: Switch, settings: Settings, made_of: Box) -> Json:
    made: Json = {
        "l2LearningMode": enum_value("L2LearningMode.HARDWARE"),
        "l2AgeTimerSeconds": 300,
        "qcmEnable": False,
        "ptpTcEnable": False,
        "switchType": enum_value("SwitchType.NPU"),
        "switchDrainState": enum_value("SwitchDrainState.UNDRAINED"),
        "blockNeighbors": [],
        "macAddrsToBlock": [],
        "exactMatchTableConfigs": [],
        "ecmpWidth": ecmp_width(fabric, switch, settings),
    }
    watchdog = fabric.spec.qos.pfc_watchdog
    if watchdog is not None:
        made["pfcWatchdogTimerGranularityMsec"] = agent_buffers.detection(watchdog.detect_ms).granularity_ms
    made["switchIdToSwitchInfo"] = {
        "0": {
            "switchType": enum_value("SwitchType.NPU"),
            "asicType": enum_value(f"AsicType.{made_of.fboss.asic_type_name}"),
            "switchIndex": 0,
            "portIdRange": {"minimum": 0, "maximum": 2047},
        }
    }
    return made


_STRUCTS = {
    "sdkVersion": "SdkVersion",
    "cpuTrafficPolicy": "CPUTrafficPolicyConfig",
    "dataPlaneTrafficPolicy": "TrafficPolicyConfig",
    "switchSettings": "SwitchSettings",
    "udfConfig": "UdfConfig",
    "flowletSwitchingConfig": "FlowletSwitchingConfig",
}
_LISTS = {
    "qosPolicies": "QosPolicy",
    "cpuQueues": "PortQueue",
    "loadBalancers": "LoadBalancer",
    "trafficCounters": "TrafficCounter",
    "aclTableGroups": "AclTableGroup",
}


def _pre_dumped(plain: Json) -> Json:
    """The structs among the shared members, checked and dumped once."""
    made: Json = {key: checked_raw(struct, plain[key], depth=3) for key, struct in _STRUCTS.items() if key in plain}
    for key, struct in _LISTS.items():
        made[key] = [checked_raw(struct, item, depth=4) for item in plain[key]]
    return made
