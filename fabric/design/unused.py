"""What a spec declares without any effect on a switch or a figure: said, as it may be a slip."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.fabric import Fabric, matches
from fabric.design.fit_settings import secrets_used
from fabric.design.remark import Remark

_CODE = "no-effect"


def unused(fabric: Fabric) -> Iterator[Remark]:
    """Rack profiles of no zone, secrets that nothing names, weights of strict queues, images, hosts that are drained."""
    spec = fabric.spec
    used = {plan.profile_name for plan in fabric.zones.values()}
    for name in spec.roce.rack_profiles:
        if name not in used:
            yield Remark(("backend", "rack_profiles", name), _CODE, "no zone has racks of this profile")
    named = {name for _, name in secrets_used(spec)}
    for name in spec.secrets:
        if name not in named:
            yield Remark(("secrets", name), _CODE, "nothing names this secret")
    for name, entry in spec.qos.classes():
        if entry.scheduling == "strict" and "weight" in entry.model_fields_set:
            yield Remark(("qos", name, "weight"), _CODE, "a queue with strict priority has no weight")
    if spec.load_balancing.method != "dlb" and "flowlets" in spec.load_balancing.model_fields_set:
        yield Remark(("load_balancing", "flowlets"), _CODE, f"method {spec.load_balancing.method} has no flowlets")
    yield from _single(fabric)


def _single(fabric: Fabric) -> Iterator[Remark]:
    """Settings and states of single devices."""
    for index, override in enumerate(fabric.spec.overrides):
        if override.set.image is not None:
            yield Remark(
                ("overrides", index, "set", "image"), _CODE, "no configuration file holds the image: it is not rendered"
            )
        if not override.set.model_fields_set:
            yield Remark(("overrides", index, "set"), _CODE, "sets nothing")
        if override.match.role == "host":
            yield Remark(
                ("overrides", index, "match", "role"), _CODE, "hosts have no settings of their own, switches have"
            )
    for index, entry in enumerate(fabric.spec.state):
        if entry.state == "drained" and not any(
            matches(entry.match, switch.name, switch.role, switch.zone) for switch in fabric.switches
        ):
            yield Remark(
                ("state", index, "state"),
                _CODE,
                "draining moves traffic away from switches, a host has one rack switch",
            )
