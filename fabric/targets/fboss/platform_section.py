"""The `platform` section of agent.conf: the operator's base, or a minimal one of our own, with our port maps and lossless settings."""

from __future__ import annotations

import copy
from pathlib import Path

from fabric.errors import DesignError, FabricError
from fabric.spec.management import FbossSettings
from fabric.targets.fboss import platform_th3, platform_th4, wire
from fabric.targets.fboss.box import Box, Json
from fabric.targets.fboss.platform_base import place, read_base, required
from fabric.targets.fboss.strict import checked_raw

# Our own base for Tomahawk 4: the sections that the rules fill, and the globals that FBOSS's lossless edits know. No lane map and no
# polarity: they are board data that only the operator has.
_MINIMAL_TH4 = """\
---
device:
  0:
    PC_PORT_PHYS_MAP:
      ?
        PORT_ID: 0
      :
        PC_PHYS_PORT_ID: 0
...
---
device:
  0:
    PC_PORT:
      ?
        PORT_ID: 0
      :
        ENABLE: 1
        SPEED: 10000
        NUM_LANES: 1
      ?
        PORT_ID: [[1, 1]]
      :
        ENABLE: 0
        SPEED: 200000
        NUM_LANES: 4
        FEC_MODE: PC_FEC_RS544_2XN
        MAX_FRAME_SIZE: 9416
...
---
bcm_device:
  0:
    global:
      sai_mmu_qgroups_default: 1
...
---
bcm_device:
  0:
    port:
      1:
        dport_map_port: 1
...
---
device:
  0:
    TM_THD_CONFIG:
      THRESHOLD_MODE: LOSSY
...
---
device:
  0:
    PORT:
      ?
        PORT_ID: [[1, 1]]
      :
        MTU: 9416
        MTU_CHECK: 1
...
---
device:
  0:
    FP_CONFIG:
      FP_ING_OPERMODE: GLOBAL_PIPE_AWARE
...
"""


def platform_section(box: Box, settings: FbossSettings, base_dir: Path, *, qgroup: bool) -> Json:
    """The PlatformConfig of a box. `qgroup`: queue group guarantees are on (agent flag).

    Raises DesignError for a base file that is missing, unreadable, hostile, or of another box.
    """
    name = settings.platform_base.get(box.model)
    if name is None:
        if box.fboss.platform_base_required:
            raise required(box)
        return edited(box, own_base(box), qgroup=qgroup)
    base = read_base(box, name, base_dir)
    try:
        return edited(box, base, qgroup=qgroup)
    except FabricError as error:
        raise DesignError(place(box), f"{box.model}: base file {name}: {error.message}") from None


def own_base(box: Box) -> Json:
    """The minimal base: what the rules need to stand on. Real ports also want the board's lane maps: see fboss.platform_base."""
    if box.fboss.sdk_config == "bcm_config":
        return {"chip": {"bcm": {"config": dict(platform_th3.MINIMAL)}}}
    text = _MINIMAL_TH4.replace(
        "      1:\n        dport_map_port: 1\n", f"      {min(platform_th4.display_map(box))}:\n"
    )
    return {"chip": {"bcm": {"config": {}, "yamlConfig": text}}}


def edited(box: Box, base: Json, *, qgroup: bool) -> Json:
    """A base `platform` section with the rule-made port maps and the lossless settings; raises FabricError when it does not fit."""
    platform: Json = copy.deepcopy(base)
    bcm = platform["chip"]["bcm"]
    if box.fboss.sdk_config == "bcm_config":
        # where no public section shows that the lane rule holds, the operator's own map is all there is
        add_ports = not box.fboss.platform_base_required
        bcm["config"] = platform_th3.edit(box, bcm.get("config") or {}, qgroup=qgroup, add_ports=add_ports)
        return platform
    text = bcm.get("yamlConfig")
    if not text:
        raise FabricError(f"platform.chip.bcm.yamlConfig is missing, and {box.model} is configured there")
    bcm.setdefault("config", {})
    bcm["yamlConfig"] = platform_th4.edit(box, text)
    return platform


def dumped(platform: Json) -> wire.Raw:
    """A platform section checked and dumped once, for all devices that share it."""
    return checked_raw("PlatformConfig", platform)
