"""The hardware of a machine: its description, the programs that show it, and the unit that switches it on; files over the image."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fabric.catalog.parts import HostModel
from fabric.design.hosts.model import HostPlan
from fabric.lab.machines.standins.packages import LIBRARY, program, script, unit

NVLINKS = 18
"""NVLinks of an H100 (NVIDIA's data sheet; unverified)."""

MEMORY_MIB = {"H100": 81559, "A100": 81920}
"""What nvidia-smi says of the memory of an 80 GB card, in MiB (unverified)."""

_TOOLS = Path(__file__).parent / "tools"
_PACKAGE = "fabric/lab/machines/standins/tools"
RUN = "/usr/bin/python3 -S -P -m fabric.lab.machines.standins.tools"
_BOOT = f"""[Unit]
Description=Hardware of this machine (stand-in)
DefaultDependencies=no
After=systemd-remount-fs.service
Before=sysinit.target systemd-sysctl.service systemd-networkd.service systemd-modules-load.service
RequiresMountsFor=/run /var/lib

[Service]
Type=oneshot
RemainAfterExit=yes
Environment=PYTHONPATH={LIBRARY}
ExecStart={RUN} boot

[Install]
WantedBy=sysinit.target
"""


def files(plan: HostPlan, model: HostModel) -> dict[str, tuple[str, int]]:
    """Path below / -> (text, mode)."""
    found = {
        "var/lib/standin/hardware.json": (json.dumps(describe(plan, model), indent=1), 0o644),
        "usr/bin/lspci": program("lspci"), "usr/bin/setpci": script("setpci"), "usr/sbin/ethtool": program("ethtool"),
        "usr/sbin/modprobe": program("modprobe"), "usr/sbin/lsmod": program("lsmod"), "usr/bin/chronyc": program("chronyc"),
        "usr/lib/systemd/system/standin-hardware.service": (_BOOT, 0o644),
        # It must not set the clock, which is that of the machine below; and it must run.
        "etc/default/chrony": ('DAEMON_OPTS="-F 1 -x"\n', 0o644),
        "etc/systemd/system/chrony.service.d/lab.conf": ("[Unit]\nConditionCapability=\n", 0o644),
    }  # fmt: skip
    load = f"[Unit]\nConditionCapability=\n\n[Service]\nEnvironment=PYTHONPATH={LIBRARY}\nExecStart=\nExecStart={RUN} modules-load\n"
    found["etc/systemd/system/systemd-modules-load.service.d/lab.conf"] = (load, 0o644)
    found |= unit("slurmd", "Slurm node daemon", "Type=exec\nExecStart=/usr/bin/sleep infinity")
    found |= dict(_library())
    return found


ENABLED = ("standin-hardware.service", "slurmd.service")
"""Units that run on a machine from the first boot on."""

_WANTED_BY = {"standin-hardware.service": "sysinit.target", "slurmd.service": "multi-user.target"}


def links() -> Mapping[str, str]:
    """Symbolic links below / -> their targets: what `systemctl enable` would make."""
    return {
        f"etc/systemd/system/{_WANTED_BY[name]}.wants/{name}": f"/usr/lib/systemd/system/{name}" for name in ENABLED
    }


def _library() -> Iterator[tuple[str, tuple[str, int]]]:
    parts = Path(_PACKAGE).parts
    for length in range(1, len(parts)):
        yield f"{LIBRARY.lstrip('/')}/{'/'.join(parts[:length])}/__init__.py", ("", 0o644)
    for path in sorted(_TOOLS.glob("*.py")):
        yield f"{LIBRARY.lstrip('/')}/{_PACKAGE}/{path.name}", (path.read_text(encoding="utf-8"), 0o644)


def describe(plan: HostPlan, model: HostModel) -> dict[str, Any]:
    """`tools.state.Hardware` as plain data. NICs sit where the spec says, all else where there is room."""
    taken = {nic.pci for nic in plan.nics}
    free = (f"0000:{bus:02x}:00.0" for bus in range(0x10, 0x100) if f"0000:{bus:02x}:00.0" not in taken)
    switches = max(1, model.gpus.value // 2)
    per_gpu, per_nic = model.gpus.value // switches, max(1, len(plan.nics) // switches)
    name = model.gpu.replace(" GB", "GB")
    return {
        "gpu_name": f"NVIDIA {name}",
        "gpu_memory_mib": MEMORY_MIB.get(name.split()[0], 81920),
        "nvlinks": NVLINKS,
        "bridges": [next(free) for _ in range(switches)],
        "gpus": [{"pci": next(free), "switch": place // per_gpu} for place in range(model.gpus.value)],
        "nics": [
            {
                "netdev": nic.name, "hca": nic.hca, "pci": nic.pci or next(free), "speed_gbps": nic.speed_gbps,
                "switch": place // per_nic,
            }
            for place, nic in enumerate(plan.nics)
        ],
    }  # fmt: skip
