"""The small files: qsfp_service, fsdb, led_service. They are the same on every switch of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from fabric.errors import DesignError
from fabric.targets.fboss.box import Json
from fabric.targets.fboss.refusals_base import network


def qsfp_conf() -> Json:
    """qsfp.conf. Port speeds are not configured here: the forwarding process tells them."""
    return {
        "defaultCommandLineArgs": {"publish_state_to_fsdb": "true", "publish_stats_to_fsdb": "true"},
        "transceiverConfigOverrides": [],
        "transceiverFirmwareVersions": {"versionsMap": {}},
    }


def fsdb_conf(trusted_subnets: Sequence[str]) -> Json:
    """fsdb/current: who publishes what (the daemons of the box) and who may subscribe; DesignError for what is no subnet."""
    for index, subnet in enumerate(trusted_subnets):
        if "/" not in subnet or network(subnet) is None:
            raise DesignError(("fboss", "trusted_subnets", index), f"{subnet!r} is not a subnet such as 2001:db8::/32")
    return {
        "defaultCommandLineArgs": {"serveHeartbeats": "true", "useIdPathsForSubs": "true"},
        "trustedSubnets": list(trusted_subnets),
        "publishers": {
            "agent": _publisher("agent", stats=True),
            "qsfp_service": _publisher("qsfp_service", stats=True),
            "bgp": _publisher("bgp", stats=False),
        },
        "subscribers": {
            ":agent": {"trackReconnect": True, "allowExtendedSubscriptions": True, "numExpectedSubscriptions": 0},
            "fboss2": {"trackReconnect": False, "allowExtendedSubscriptions": True, "numExpectedSubscriptions": 1},
        },
    }


def _publisher(root: str, *, stats: bool) -> Json:
    kinds = [False, True] if stats else [False]
    paths = [{"path": {"raw": [root]}, "isExpected": True, "isStats": kind} for kind in kinds]
    return {"paths": paths, "skipThriftStreamLivenessCheck": False}


def led_conf() -> Json:
    """led.conf: led_service drives the port LEDs (a cabling error shows there)."""
    return {"defaultCommandLineArgs": {}, "ledControlledThroughService": True}
