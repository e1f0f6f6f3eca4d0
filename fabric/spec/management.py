"""How the switches are reached, watched and logged in to."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from fabric.spec.base import (
    Address,
    Addresses,
    Banner,
    HostLabel,
    Line,
    Model,
    Network4,
    PlainText,
    SecretName,
    SshKey,
    sourced,
)


class User(Model):
    """A local user of the switches."""

    name: HostLabel = Field(description="User name.")
    role: str = Field("network-admin", pattern=r"^[a-z][a-z0-9-]{0,31}$", description="EOS role.")
    password_hash: SecretName | None = Field(
        None, description="Secret that holds the sha512 crypt hash; null = no password login."
    )
    ssh_key: SshKey | None = Field(None, description="Public key line: type, key, comment.")


class Tacacs(Model):
    """TACACS+ servers."""

    servers: Addresses = Field(min_length=1, max_length=8, description="Server addresses.")
    key: SecretName = Field(description="Secret that holds the shared key in EOS type-7 form.")
    timeout_s: int = Field(5, ge=1, le=60, description="Timeout, in seconds.")


class SnmpUser(Model):
    """SNMP read community."""

    community: SecretName = Field(description="Secret that holds the community.")
    location: PlainText | None = Field(None, description="sysLocation.")
    contact: PlainText | None = Field(None, description="sysContact.")


class Sflow(Model):
    """Packet sampling."""

    collectors: Addresses = Field(min_length=1, max_length=4, description="Collector addresses.")
    port: int = Field(6343, ge=1, le=65535, description="Collector UDP port.")
    sample_rate: int = sourced(
        65536,
        "One packet in so many.",
        source="Arista example; low rates need `sample dangerous`",
        status="quoted",
        ge=16384,
        le=16_777_216,
    )
    polling_interval_s: int = Field(10, ge=0, le=300, description="Counter polling interval on EOS, in seconds.")


class Management(Model):
    """The management plane."""

    network: Network4 = Field(
        description="Management network; each switch has an address in it.", examples=["10.0.0.0/16"]
    )
    gateway: Address = Field(description="Default gateway of the management network.", examples=["10.0.0.1"])
    reserved: int = Field(256, ge=2, le=65536, description="Addresses at the start of the network that no switch gets.")
    vrf: str = Field("MGMT", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$", description="Management VRF on EOS.")
    dns: Addresses = Field(default_factory=list, max_length=8, description="Name servers.")
    ntp: Addresses = Field(default_factory=list, max_length=8, description="NTP servers; the first is preferred.")
    syslog: Addresses = Field(default_factory=list, max_length=8, description="Syslog servers.")
    tacacs: Tacacs | None = Field(None, description="TACACS+, or null for local login only.")
    snmp: SnmpUser | None = Field(None, description="SNMP, or null for none.")
    gnmi: bool = Field(True, description="gNMI server in the management VRF.")
    eapi: bool = Field(True, description="eAPI over HTTPS in the management VRF.")
    sflow: Sflow | None = Field(None, description="sFlow, or null for none.")
    users: list[User] = Field(default_factory=list, max_length=64, description="Local users.")
    login_banner: Banner | None = Field(None, description="Banner before login.")
    motd_banner: Banner | None = Field(None, description="Banner after login.")
    ssh_idle_timeout_min: int = Field(30, ge=0, le=1440, description="SSH idle timeout, in minutes.")

    @field_validator("vrf")
    @classmethod
    def _not_default(cls, name: str) -> str:
        if name.lower() == "default":
            raise ValueError(f"{name!r} is the VRF of the fabric itself, management needs one of its own such as MGMT")
        return name


class Secret(Model):
    """Where a secret's value comes from; it is put in last, just before sending."""

    env: str | None = Field(None, pattern=r"^[A-Z][A-Z0-9_]*$", description="Environment variable.")
    file: Line | None = Field(None, description="File that holds the value alone.")
    vault: Line | None = Field(None, description="`FILE:KEY` in an ansible-vault file.")


class FbossSettings(Model):
    """What the FBOSS boxes need besides the fabric's own facts."""

    platform_base: dict[str, Line] = Field(
        default_factory=dict,
        description="Switch model -> agent.conf whose `platform` section is the base for the SDK settings.",
        examples=[{"wedge400-grandteton": "base/wedge400-gt.json"}],
    )
    sdk: Literal["sai", "native"] = Field("sai", description="SAI agent, or the native Broadcom agent.")
    agent_args: dict[str, str] = Field(default_factory=dict, description="More gflag defaults for the agent.")
    trusted_subnets: list[Line] = Field(default_factory=list, description="Subnets that fsdb trusts.")
