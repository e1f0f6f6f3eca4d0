"""systemctl of the box: the agent and bgpd are real processes, the other daemons are only on record."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from fabric.errors import FabricError
from fabric.lab import proc, systemctl
from fabric.lab.fboss import client, frr
from fabric.lab.fboss.node import Node

_PRETEND = (
    "qsfp_service", "fsdb", "led_service", "platform_manager", "sensor_service", "fan_service", "data_corral_service", "fboss_init",
)  # fmt: skip
_START_S = 20.0
_POLL_S = 0.05


class Units:
    """The units of one box. See `fabric.lab.systemctl.Box`."""

    changes = ("start", "stop", "restart")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.agent = "fboss_sw_agent" if node.split else "wedge_agent"
        self.units = [self.agent, *(["fboss_hw_agent@0"] if node.split else []), "bgpd", *_PRETEND]

    def _record(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self.node.state("units.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found

    def _note(self, unit: str, stopped: bool) -> None:
        found = {**self._record(), unit: {"stopped": stopped, "since": time.monotonic()}}
        self.node.state("units.json").write_text(json.dumps(found), encoding="utf-8")

    def pid(self, unit: str) -> int:
        """The main process; 0 when there is none, or the unit is only on record."""
        if unit == "bgpd":
            return frr.bgpd_pid(self.node) or 0
        if unit != self.agent:
            return 0
        try:
            pid = int(self.node.state("agent.pid").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0
        return pid if any("fabric.lab.fboss" in word for word in proc.cmdline(pid)) and proc.alive(pid) else 0

    def own_state(self, unit: str) -> str:
        """See Box."""
        if self._record().get(unit, {}).get("stopped"):
            return "inactive"
        faults = self.node.faults()
        down = (unit in (self.agent, "fboss_hw_agent@0") and faults.get("agent_down")) or (
            unit == "qsfp_service" and faults.get("qsfp_down")
        )
        real = unit in (self.agent, "bgpd")
        return "failed" if down or (real and not self.pid(unit)) else "active"

    def more(self, unit: str) -> dict[str, str]:
        """See Box. A start by hand has a time; what runs since power-on has 0."""
        since = float(self._record().get(unit, {}).get("since", 0.0))
        return {"NRestarts": "0", "ExecMainStartTimestampMonotonic": str(int(since * 1_000_000))}

    def change(self, verb: str, unit: str) -> None:
        """See Box."""
        if verb in ("stop", "restart"):
            self.stop(unit)
        if verb in ("start", "restart"):
            self.start(unit)

    def stop(self, unit: str) -> None:
        """End the unit's process."""
        pid = self.pid(unit)
        if pid:
            frr.end(pid)
        self._note(unit, stopped=True)

    def start(self, unit: str) -> None:
        """Start the unit unless it is active. As with a simple service, that it started does not say that it stayed."""
        self._note(unit, stopped=False)
        if unit == self.agent and not self.pid(unit):
            self._start_agent()
        elif unit == "bgpd" and not self.pid(unit):
            from fabric.lab.fboss import bgp

            try:
                bgp.restart(self.node)
            except FabricError:
                return  # it is in the journal, and the unit is failed

    def _start_agent(self) -> None:
        log = self.node.state("journal.log").open("ab")
        words = [sys.executable, "-S", "-P", "-m", "fabric.lab.fboss.agent", str(self.node.folder)]
        child = subprocess.Popen(  # noqa: S603 - ourselves
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
            env=dict(os.environ),
        )
        limit = time.monotonic() + _START_S
        while child.poll() is None and time.monotonic() < limit:
            if client.socket_path(self.node).exists() and self.pid(self.agent) == child.pid:
                try:
                    client.ask(self.node, {"op": "ping"})
                except client.ThriftError:
                    time.sleep(_POLL_S)
                    continue
                return
            time.sleep(_POLL_S)


def main(argv: list[str]) -> int:
    """`systemctl` of the box whose folder is the first argument."""
    try:
        node = Node(argv[1])
    except (FabricError, IndexError) as error:
        print(error, file=sys.stderr)
        return 1
    return systemctl.run(Units(node), argv[2:])


if __name__ == "__main__":
    sys.exit(main(sys.argv))
