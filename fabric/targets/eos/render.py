"""From a switch of the design to its startup configuration."""

from __future__ import annotations

from fabric.design.fabric import Fabric
from fabric.design.model import Switch
from fabric.spec.base import PLACEHOLDER
from fabric.targets.base import Artifact
from fabric.targets.eos.templates import render_text
from fabric.targets.eos.view import device_view

STARTUP_CONFIG = "/mnt/flash/startup-config"
"""Where EOS keeps the configuration that it boots with, as its Linux side names it (`flash:/startup-config` in the CLI)."""


def render(fabric: Fabric, switch: Switch) -> list[Artifact]:
    """The startup configuration of an EOS switch, in running-config order, without what EOS hides because it is a default.

    Secrets stand in it as `$SECRET{name}`. FabricError for a switch that EOS does not run on.
    """
    content = render_text(device_view(fabric, switch)).encode()
    secret = PLACEHOLDER.encode() in content
    return [Artifact(switch.name, switch.role, "eos", STARTUP_CONFIG, content, mode=0o600, secret=secret)]
