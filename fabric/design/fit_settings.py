"""Do the settings name things that exist: secrets, users, matches, overrides; and can the boxes take the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fabric.catalog import catalog
from fabric.design.fabric import Fabric
from fabric.design.hosts.storage_fit import storage_secrets
from fabric.design.suggest import near
from fabric.errors import DesignError
from fabric.spec.cluster import ClusterSpec

Path = tuple[str | int, ...]


def setting_problems(fabric: Fabric) -> Iterator[DesignError]:
    """All of them, in the spec's order."""
    spec = fabric.spec
    yield from _fboss(fabric)
    yield from _ecmp(fabric)
    yield from _routes(fabric)
    yield from _mtu(spec)
    yield from secret_problems(spec, secrets_used(spec))
    names = [user.name for user in spec.management.users] if spec.management else []
    for index, name in enumerate(names):
        if name in names[:index]:
            yield DesignError(("management", "users", index, "name"), f"user {name!r} is declared twice")


def secret_problems(spec: ClusterSpec, used: Iterable[tuple[Path, str]]) -> Iterator[DesignError]:
    """References to secrets that are not declared, and secrets that do not come from exactly one place."""
    for path, name in used:
        if name not in spec.secrets:
            hint = near(name, spec.secrets) if spec.secrets else f"declare it under secrets: {{{name}: {{env: ...}}}}"
            yield DesignError(path, f"there is no secret {name!r}", hint=hint)
    for name, secret in spec.secrets.items():
        if sum(value is not None for value in (secret.env, secret.file, secret.vault)) != 1:
            yield DesignError(("secrets", name), "a secret comes from exactly one of env, file, vault")


def secrets_used(spec: ClusterSpec) -> Iterator[tuple[Path, str]]:
    """(place, name) of each reference to a secret."""
    yield from storage_secrets(spec)
    management = spec.management
    if management is None:
        return
    for index, user in enumerate(management.users):
        if user.password_hash is not None:
            yield ("management", "users", index, "password_hash"), user.password_hash
    if management.tacacs is not None:
        yield ("management", "tacacs", "key"), management.tacacs.key
    if management.snmp is not None:
        yield ("management", "snmp", "community"), management.snmp.community


def _mtu(spec: ClusterSpec) -> Iterator[DesignError]:
    room = spec.mtu.frame - 18  # Ethernet header and FCS
    if spec.mtu.ip > room:
        yield DesignError(
            ("mtu", "ip"), f"IP MTU {spec.mtu.ip} + 18 bytes of Ethernet do not fit a frame of {spec.mtu.frame}"
        )


def _models(fabric: Fabric) -> dict[tuple[str, str], Path]:
    """(model, NOS) of every tier -> where the spec chooses it; a rack profile without racks chooses nothing."""
    backend = fabric.spec.roce
    used = {plan.profile_name for plan in fabric.zones.values()}
    found: dict[tuple[str, str], Path] = {}
    for name, profile in backend.rack_profiles.items():
        if name in used:
            found[(profile.switch, profile.nos)] = ("backend", "rack_profiles", name)
    for tier, box in (("ctsw", backend.ctsw), ("atsw", backend.atsw)):
        if box is not None:
            found.setdefault((box.model, box.nos), ("backend", tier))
    return found


def _fboss(fabric: Fabric) -> Iterator[DesignError]:
    spec = fabric.spec
    for (model, nos), path in _models(fabric).items():
        side = catalog().switch(model).fboss
        if (
            nos == "fboss"
            and side is not None
            and side.platform_base_required
            and model not in spec.fboss.platform_base
        ):
            yield DesignError(
                path,
                f"no public SDK settings fit {model}, so fboss.platform_base.{model} must name an agent.conf that has them",
            )
        watchdog = spec.qos.pfc_watchdog
        if nos == "fboss" and watchdog is not None and not _ticks(watchdog.detect_ms):
            yield DesignError(
                ("qos", "pfc_watchdog", "detect_ms"),
                f"{watchdog.detect_ms} ms cannot be set on {model}: its 4-bit timer counts up to 15 steps of 1, 10 or 100 ms",
                hint="at most 150 in steps of 10, or 1500 in steps of 100",
            )
    for model in spec.fboss.platform_base:
        if model not in {name for name, _ in _models(fabric)}:
            yield DesignError(("fboss", "platform_base", model), f"no switch of this cluster is a {model}")


def expected_routes(fabric: Fabric) -> tuple[int, str]:
    """(routes of one address family that every switch learns, the arithmetic): rack prefixes or NIC links, and loopbacks."""
    backend = fabric.spec.roce
    racks = sum(plan.racks for plan in fabric.zones.values())
    ctsws = sum(plan.profile.uplinks for plan in fabric.zones.values()) if backend.ctsw else 0
    switches = racks + ctsws + (backend.atsw.count * backend.atsw.planes if backend.atsw else 0)
    if fabric.spec.bgp.aggregate_racks:
        return racks + switches, f"{racks:,} rack prefixes + {switches:,} loopbacks"
    nics = sum(plan.racks * plan.profile.hosts for plan in fabric.zones.values()) * fabric.platform.backend_nics.value
    return nics + switches, f"{nics:,} NIC links + {switches:,} loopbacks"


def _routes(fabric: Fabric) -> Iterator[DesignError]:
    """A neighbour that sends more routes than are accepted is cut off."""
    routes, why = expected_routes(fabric)
    limit = fabric.spec.bgp.max_routes
    if routes > limit:
        hint = "raise bgp.max_routes" + (
            "" if fabric.spec.bgp.aggregate_racks else ", or set bgp.aggregate_racks to true"
        )
        yield DesignError(
            ("bgp", "max_routes"), f"{why} are {routes:,} routes, a neighbour may send {limit:,}", hint=hint
        )


def _ticks(milliseconds: int) -> bool:
    return any(milliseconds % step == 0 and milliseconds <= 15 * step for step in (1, 10, 100))


def needed_ecmp(fabric: Fabric) -> int:
    """Equal-cost paths that the widest tier has: RTSW or CTSW uplinks, or an ATSW's links into one zone."""
    backend = fabric.spec.roce
    widths = [1, *(plan.profile.uplinks for plan in fabric.zones.values())]
    if backend.ctsw is not None and backend.atsw is not None:
        parallel = backend.ctsw.uplinks // backend.atsw.count
        members = max(plan.profile.uplinks for plan in fabric.zones.values()) // backend.atsw.planes
        widths += [backend.ctsw.uplinks, parallel * members]
    return max(widths)


def _ecmp(fabric: Fabric) -> Iterator[DesignError]:
    declared, needed = fabric.spec.bgp.ecmp_width, needed_ecmp(fabric)
    if declared is not None and declared < needed:
        yield DesignError(("bgp", "ecmp_width"), f"{declared} paths are allowed, the widest tier has {needed}")
    width = declared or needed
    for (model, nos), path in _models(fabric).items():
        asic = catalog().switch(model).asic
        limit = catalog().asic(asic).limits.get("wide_ecmp_width") if asic else None
        if nos == "fboss" and limit is not None and width > limit.value:
            yield DesignError(
                ("bgp", "ecmp_width") if declared else path,
                f"{width} equal-cost paths are needed, {asic} of {model} takes {limit.value}",
            )
