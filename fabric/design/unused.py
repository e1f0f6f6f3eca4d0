"""What a spec declares without any effect on a switch or a figure: said, as it may be a slip."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fabric.design.fabric import Fabric, matches
from fabric.design.fit_settings import secrets_used
from fabric.design.remark import Remark

_CODE = "no-effect"


def unused(fabric: Fabric) -> Iterator[Remark]:
    """All remarks: of the cluster, of its management, of an operating system, of single devices."""
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
    yield from _management(fabric)
    yield from _by_nos(fabric)
    yield from _single(fabric)


def _management(fabric: Fabric) -> Iterator[Remark]:
    """Users that cannot log in, servers that the management network cannot reach."""
    management = fabric.spec.management
    if management is None:
        return
    for index, user in enumerate(management.users):
        if user.password_hash is None and user.ssh_key is None:
            yield Remark(
                ("management", "users", index), _CODE, f"{user.name} has neither a password nor a key to log in with"
            )
    tacacs = management.tacacs.servers if management.tacacs else []
    for path, servers in (
        (("dns",), management.dns), (("ntp",), management.ntp), (("syslog",), management.syslog), (("tacacs", "servers"), tacacs),
    ):  # fmt: skip
        for index, server in enumerate(servers):
            if ":" in server:
                yield Remark(
                    ("management", *path, index), _CODE, f"{server} cannot be reached: the management network is IPv4"
                )


def _by_nos(fabric: Fabric) -> Iterator[Remark]:
    """What only one network operating system has, in a cluster without it."""
    spec = fabric.spec
    nos = {switch.nos for switch in fabric.switches}
    if "fboss" not in nos:
        for name in sorted(spec.fboss.model_fields_set):
            yield Remark(("fboss", name), _CODE, "no switch of this cluster runs FBOSS")
    tiers = [{switch.nos for switch in fabric.switches if switch.role == role} for role in ("rtsw", "ctsw", "atsw")]
    if spec.bgp.bfd is not None and not any("eos" in lower and "eos" in upper for lower, upper in pairwise(tiers)):
        yield Remark(("bgp", "bfd"), _CODE, "no session has EOS at both ends, and only such sessions run BFD")


def _single(fabric: Fabric) -> Iterator[Remark]:
    """Settings and states of single devices."""
    for index, override in enumerate(fabric.spec.overrides):
        if override.set.image is not None:
            yield Remark(
                ("overrides", index, "set", "image"), _CODE, "no configuration file holds the image: it is not rendered"
            )
        if override.set.sflow_sample_rate is not None and not (fabric.spec.management and fabric.spec.management.sflow):
            yield Remark(("overrides", index, "set", "sflow_sample_rate"), _CODE, "management.sflow is not declared")
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
