"""Address pools and the BGP plan."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from fabric.spec.base import Asn, Model, Network4, Network6, sourced

_FBOSS_SAMPLE = "FBOSS BGP_CLI_TEST_PLAN.md (sample)"


class Pools4(Model):
    """IPv4 pools: host links and fabric links are cut into /31s, loopbacks into /32s."""

    host_links: Network4 = Field(description="NIC to RTSW links.", examples=["10.128.0.0/15"])
    rtsw_links: Network4 = Field(description="RTSW to CTSW links.", examples=["10.64.0.0/14"])
    ctsw_links: Network4 = Field(description="CTSW to ATSW links.", examples=["10.32.0.0/15"])


class Pools6(Model):
    """IPv6 pools: host links are cut into /64s, fabric links into /127s, loopbacks into /128s."""

    host_links: Network6 = Field(description="NIC to RTSW links.", examples=["2001:db8:8000::/47"])
    rtsw_links: Network6 = Field(description="RTSW to CTSW links.", examples=["2001:db8:1::/64"])
    ctsw_links: Network6 = Field(description="CTSW to ATSW links.", examples=["2001:db8:2::/64"])
    loopbacks: Network6 = Field(description="One /128 a switch.", examples=["2001:db8:f::/64"])


class Addressing(Model):
    """Address family and pools. Which address a link gets follows from where it stands, with the room of
    `backend.growth`.
    """

    family: Literal["ipv4", "ipv6", "dual"] = Field("dual", description="Families used on links and in BGP.")
    router_ids: Network4 = Field(
        description="One IPv4 address a switch: the BGP router id, and the IPv4 loopback where IPv4 is used.",
        examples=["10.255.0.0/16"],
    )
    ipv4: Pools4 | None = Field(None, description="Wanted when family is ipv4 or dual.")
    ipv6: Pools6 | None = Field(None, description="Wanted when family is ipv6 or dual.")

    @model_validator(mode="after")
    def _families(self) -> Addressing:
        for family, pools in (("ipv4", self.ipv4), ("ipv6", self.ipv6)):
            if pools is None and self.family in (family, "dual"):
                raise ValueError(f"family {self.family} needs the pools {family}")
            if pools is not None and self.family not in (family, "dual"):
                raise ValueError(f"pools {family} are given, but family is {self.family}")
        return self


class AsnPlan(Model):
    """First AS number of each tier; the rest follows: one for each RTSW, one for each zone's CTSWs, one for all
    ATSWs.
    """

    rtsw: Asn = Field(4_200_000_000, description="RTSW of zone z, rack r: this + (z - 1) x racks_per_zone + (r - 1).")
    ctsw: Asn = Field(4_220_000_000, description="CTSWs of zone z: this + (z - 1).")
    atsw: Asn = Field(4_230_000_000, description="All ATSWs.")


class BgpTimers(Model):
    """Session timers."""

    keepalive_s: int = sourced(10, "Keepalive interval.", source=_FBOSS_SAMPLE, status="code", unit="s", ge=1, le=3600)
    hold_s: int = sourced(
        30, "Hold time; must be 3 x keepalive.", source=_FBOSS_SAMPLE, status="code", unit="s", ge=3, le=10800
    )

    @model_validator(mode="after")
    def _triple(self) -> BgpTimers:
        if self.hold_s != 3 * self.keepalive_s:
            raise ValueError(
                f"hold_s must be 3 x keepalive_s = {3 * self.keepalive_s} (BGP++ expects it), found {self.hold_s}"
            )
        return self


class Bfd(Model):
    """Bidirectional forwarding detection, on sessions whose both ends run EOS."""

    interval_ms: int = Field(300, ge=50, le=60_000, description="Transmit and receive interval, in milliseconds.")
    multiplier: int = Field(3, ge=3, le=50, description="Lost packets that take a session down.")


class Bgp(Model):
    """eBGP between the tiers."""

    asn: AsnPlan = Field(default_factory=AsnPlan, description="The ASN plan.")
    timers: BgpTimers = Field(default_factory=BgpTimers, description="Keepalive and hold time.")
    bfd: Bfd | None = Field(None, description="BFD, or null for none.")
    ecmp_width: int | None = Field(
        None, ge=1, le=2048, description="Most equal-cost paths; null = as many as the widest tier needs."
    )
    graceful_restart_s: int = sourced(
        120, "Restart time; 0 = off.", source="BGP++ eor_time_s default", status="code", unit="s", ge=0, le=3600
    )
    aggregate_racks: bool = Field(
        True, description="RTSWs announce one prefix for the rack instead of one for each NIC link."
    )
    max_routes: int = sourced(
        12_000,
        "Routes accepted from one neighbour.",
        source="BGP++ RouteLimit default",
        status="code",
        unit="routes",
        ge=100,
        le=1_000_000,
    )
