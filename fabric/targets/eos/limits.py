"""What a spec declares and EOS cannot be given, because no command for it is known well enough to be sent to a switch."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.catalog import catalog
from fabric.design.fabric import Fabric
from fabric.design.model import Switch
from fabric.design.qos import plan_qos
from fabric.targets.eos.view_qos import CONTROL_PLANE


def unsupported(fabric: Fabric, switch: Switch) -> list[str]:
    """One sentence for each declared thing that the configuration of this EOS switch does not hold; empty for other switches."""
    side = catalog().switch(switch.model).eos
    if switch.nos != "eos" or side is None:
        return []
    return [*_balancing(fabric, switch, side.family), *_qos(fabric), *_headroom(side.family)]


def _balancing(fabric: Fabric, switch: Switch, family: str) -> Iterator[str]:
    spec = fabric.spec.load_balancing
    seeded = "seeds" in spec.model_fields_set or fabric.settings_of(switch).hash_seed is not None
    if seeded:
        yield "EOS has no known command for the hash seed, so the switch keeps its own"
    if fabric.settings_of(switch).agent_args:
        yield "agent_args are flags of FBOSS's agent; EOS has nothing like it"
    if spec.method != "ecmp" and family == "trident":
        yield "the destination queue pair is not hashed: the UDF form of this EOS family is not known well enough, plain ECMP is used"
    if spec.method == "dlb" and switch.role == "rtsw":
        yield "dynamic load balancing is left out: its EOS commands are not known for this box"


def _qos(fabric: Fabric) -> Iterator[str]:
    qos = fabric.spec.qos
    if qos.lossless.pfc_priority != qos.lossless.traffic_class:
        yield (
            f"PFC priority {qos.lossless.pfc_priority} is not traffic class {qos.lossless.traffic_class}: "
            "EOS has no known map between the two"
        )
    for queue in plan_qos(qos).queues:
        own = CONTROL_PLANE in (queue.number, queue.traffic_class)
        if own and not (queue.name == "control" and queue.strict and queue.number == queue.traffic_class):
            yield (
                f"class {queue.name} asks for traffic class {queue.traffic_class} and queue {queue.number}: "
                f"EOS keeps {CONTROL_PLANE} for its control plane, so its queue and scheduling are not set"
            )


def _headroom(family: str) -> Iterator[str]:
    if family == "sand":
        yield "PFC headroom stays as EOS has it: no command that sets it by cable length is known for this EOS family"
