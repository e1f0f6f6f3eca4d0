"""What a spec declares and an FBOSS switch cannot be given, as sentences for `fabric check`."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.fabric import Fabric
from fabric.design.model import Switch
from fabric.targets.fboss.box import box
from fabric.targets.fboss.flags import declared_flags
from fabric.targets.fboss.schema import load_flags
from fabric.targets.fboss.strict_walk import near

_NATIVE_TH4_BLOCK = 100


def unsupported(fabric: Fabric, switch: Switch) -> list[str]:
    """One sentence for each declared thing that the switch does not get, or gets otherwise; nothing here stops the rendering."""
    return [
        *_management(fabric),
        *_sflow(fabric),
        *_flags(fabric, switch),
        *_platform(fabric, switch),
        *_vlans(fabric, switch),
    ]


def _management(fabric: Fabric) -> Iterator[str]:
    management = fabric.spec.management
    if management is None:
        return
    declared = {
        "ntp": management.ntp,
        "dns": management.dns,
        "syslog": management.syslog,
        "tacacs": management.tacacs,
        "snmp": management.snmp,
        "users": management.users,
        "login_banner": management.login_banner,
        "motd_banner": management.motd_banner,
    }
    names = [name for name, value in declared.items() if value]
    if names:
        yield f"management.{{{', '.join(names)}}}: no FBOSS file holds them; they belong to the switch's Linux image"


def _sflow(fabric: Fabric) -> Iterator[str]:
    sflow = fabric.spec.management.sflow if fabric.spec.management is not None else None
    if sflow is None:
        return
    if len(sflow.collectors) > 1:
        yield f"management.sflow.collectors: FBOSS samples to one mirror, so only {sflow.collectors[0]} gets samples"
    yield f"management.sflow: samples leave through the fabric's own ports, so {sflow.collectors[0]} must be reachable there"


def _flags(fabric: Fabric, switch: Switch) -> Iterator[str]:
    known = load_flags()
    for path, flags in declared_flags(fabric, switch, fabric.settings_of(switch)):
        where = "overrides" if path[0] == "overrides" else "fboss.agent_args"
        for name in flags:
            if name not in known:
                yield f"{where}: FBOSS has no flag {name!r}{near(name, known)}; it skips it"


def _platform(fabric: Fabric, switch: Switch) -> Iterator[str]:
    made_of = box(switch.model)
    if switch.model not in fabric.spec.fboss.platform_base and not made_of.fboss.platform_base_required:
        yield (
            f"fboss.platform_base has no file for {switch.model}: the platform section holds the port map and the lossless settings "
            "alone; ports of a real box also want its lane maps and polarities"
        )


def _vlans(fabric: Fabric, switch: Switch) -> Iterator[str]:
    """Native Tomahawk 4 folds interface numbers into 511 L2 stations, 100 a block (fboss.md section 4)."""
    if fabric.spec.fboss.sdk != "native" or box(switch.model).asic.name != "TOMAHAWK4":
        return
    most = max((port.index for port in fabric.ports(switch)), default=0)
    if most > _NATIVE_TH4_BLOCK:
        yield f"fboss.sdk native: {most} ports of one kind, but interface numbers above {_NATIVE_TH4_BLOCK} of a block collide on Tomahawk 4"
