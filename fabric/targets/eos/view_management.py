"""The management plane: users, servers and collectors, all in the management VRF."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4
from fabric.design.model import Switch
from fabric.errors import FabricError
from fabric.spec.base import PLACEHOLDER
from fabric.spec.management import Management, User


@dataclass(frozen=True, slots=True)
class UserView:
    """A local user; `secret` is the placeholder of the password hash, empty for no password login."""

    name: str
    privilege: int | None
    role: str
    secret: str
    ssh_key: str


@dataclass(frozen=True, slots=True)
class TacacsView:
    """TACACS+ servers with the placeholder of their key, `timeout` in seconds."""

    servers: list[str]
    key: str
    timeout: int


@dataclass(frozen=True, slots=True)
class SnmpView:
    """SNMP read access; empty texts are left out."""

    community: str
    location: str
    contact: str


@dataclass(frozen=True, slots=True)
class SflowView:
    """sFlow: one packet in `rate`, counters every `polling` seconds."""

    collectors: list[str]
    port: int
    rate: int
    polling: int


@dataclass(frozen=True, slots=True)
class ManagementView:
    """All of it. `address` has a length; banners are lines, empty for none."""

    vrf: str
    interface: str
    address: str
    gateway: str
    domain: str
    dns: list[str]
    ntp: list[str]
    ntp_preferred: str
    syslog: list[str]
    users: list[UserView]
    tacacs: TacacsView | None
    snmp: SnmpView | None
    sflow: SflowView | None
    gnmi: bool
    eapi: bool
    login_banner: list[str]
    motd_banner: list[str]
    ssh_idle_timeout: int


def management_view(fabric: Fabric, switch: Switch, interface: str) -> ManagementView:
    """The management view of a switch whose management interface is `interface`."""
    spec = fabric.spec.management
    if spec is None:
        raise FabricError(f"{switch.name}: an EOS switch needs the section 'management'")
    return ManagementView(
        vrf=spec.vrf,
        interface=interface,
        address=f"{fmt4(switch.management)}/{spec.network.prefixlen}",
        gateway=spec.gateway,
        domain=fabric.spec.site.domain,
        dns=_sorted(spec.dns),
        ntp=_sorted(spec.ntp),
        ntp_preferred=spec.ntp[0] if spec.ntp else "",
        syslog=sorted(spec.syslog),  # as texts: so AVD has them, unlike all other lists of servers
        users=[_user(user) for user in sorted(spec.users, key=lambda user: user.name)],
        tacacs=_tacacs(spec),
        snmp=_snmp(spec),
        sflow=_sflow(spec, fabric.settings_of(switch).sflow_sample_rate),
        gnmi=spec.gnmi,
        eapi=spec.eapi,
        login_banner=(spec.login_banner or "").splitlines(),
        motd_banner=(spec.motd_banner or "").splitlines(),
        ssh_idle_timeout=spec.ssh_idle_timeout_min,
    )


def placeholder(secret: str) -> str:
    """What stands in the text for a secret; the value is put in just before sending."""
    return f"{PLACEHOLDER}{secret}}}"


def _sorted(addresses: list[str]) -> list[str]:
    """Addresses in the order in which EOS shows them: by number, IPv4 first (the order of AVD's rendering)."""
    return sorted(addresses, key=lambda text: ((parsed := ip_address(text)).version, int(parsed)))


def _user(user: User) -> UserView:
    # privilege 1 is the default of EOS and hidden; only the administrators' role gets 15
    privilege = 15 if user.role == "network-admin" else None
    secret = placeholder(user.password_hash) if user.password_hash else ""
    return UserView(user.name, privilege, user.role, secret, user.ssh_key or "")


def _tacacs(spec: Management) -> TacacsView | None:
    if spec.tacacs is None:
        return None
    return TacacsView(list(spec.tacacs.servers), placeholder(spec.tacacs.key), spec.tacacs.timeout_s)


def _snmp(spec: Management) -> SnmpView | None:
    if spec.snmp is None:
        return None
    return SnmpView(placeholder(spec.snmp.community), spec.snmp.location or "", spec.snmp.contact or "")


def _sflow(spec: Management, rate: int | None) -> SflowView | None:
    if spec.sflow is None:
        return None
    flow = spec.sflow
    return SflowView(_sorted(flow.collectors), flow.port, rate or flow.sample_rate, flow.polling_interval_s)
