"""A small cluster of fakes: its job, its fleet, and an operator over both."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.change.clock import Clock
from fabric.change.control import Control, OpenDevice, Options
from fabric.change.events import Ended, Event
from fabric.change.live import LiveSource
from fabric.change.operate import Operator
from fabric.change.plan import Plan, make_plan
from fabric.change.secrets import Secrets, SecretSource
from fabric.change.waves import Wave, plan_waves
from fabric.design.model import Switch
from tests.change.fake_fleet import FakeClock, Fleet
from tests.change.fake_job import FakeJob

AGENT = "/etc/coop/agent.conf"
BGP = "/etc/coop/bgpcpp.conf"
STARTUP = "/mnt/flash/startup-config"


def files(name: str, mtu: int) -> dict[str, str]:
    if "ctsw" in name:
        return {STARTUP: f"hostname {name}\n!\ninterface Ethernet1/1\n   mtu {mtu}\n"}
    return {AGENT: json.dumps({"name": name, "mtu": mtu}), BGP: json.dumps({"name": name, "peer": "10.0.0.1"})}


def job(mtu: int, racks: int = 6, ctsws: int = 2, zones: int = 1) -> FakeJob:
    names = [f"z{z:02}-rtsw{r:03}" for z in range(1, zones + 1) for r in range(1, racks + 1)]
    names += [f"z{z:02}-ctsw{c:02}" for z in range(1, zones + 1) for c in range(1, ctsws + 1)]
    return FakeJob({name: files(name, mtu) for name in names}, spec_sha256=f"{mtu:064}")


def switch(name: str) -> Switch:
    zone, _, rest = name.partition("-")
    role: Any = "ctsw" if "ctsw" in rest else "rtsw"
    nos: Any = "eos" if role == "ctsw" else "fboss"
    return Switch(name, role, int(zone[1:]), int(rest[4:]), 0, "m", None, nos, "p", 1, 1, None, 1, "deployed")


def waves(names: Collection[str]) -> tuple[Wave, ...]:
    return plan_waves(map(switch, names), {})


@dataclass
class Cluster:
    """`old` is what the devices hold first, `new` what is declared."""

    state: Path
    old: FakeJob = field(default_factory=lambda: job(9000))
    new: FakeJob = field(default_factory=lambda: job(9100))
    clock: Clock = field(default_factory=FakeClock)
    folder: Path | None = None
    options: Options = field(default_factory=Options)
    fleet: Fleet = field(init=False)
    events: list[Event] = field(default_factory=list)
    observers: list[Callable[[Event], None]] = field(default_factory=list)
    control: Control = field(default_factory=Control)
    secrets: SecretSource = field(default_factory=lambda: SecretSource({}, Path(), {}))

    def __post_init__(self) -> None:
        self.fleet = Fleet(self.clock, self.folder)

    def install(self) -> Cluster:
        for name, content in self.old.files.items():
            self.fleet.install(name, content)
        return self

    def plan(self) -> Plan:
        source = LiveSource(self.new, self.fleet.open)
        source.fetch(self.new.devices)
        return make_plan(self.new, source, workers=1)

    def operator(self) -> Operator:
        def connect(_secrets: Secrets) -> OpenDevice:
            return self.fleet.open

        return Operator(
            self.new, "cluster.yaml", self.state, self.secrets, connect, waves, self.options,
            [self.events.append, *self.observers], self.clock, self.control,
        )  # fmt: skip

    def apply(self) -> dict[str, Ended]:
        return self.operator().apply(self.plan())

    def holds(self, name: str) -> str:
        """`old`, `new`, or `between`: what the device holds, when its timers are over."""
        running = self.fleet.running(name)
        return "old" if running == self.old.files[name] else "new" if running == self.new.files[name] else "between"

    def truthful(self, ended: dict[str, Ended]) -> None:
        """The report says of each device what it holds."""
        says = {"done": "new", "unchanged": "new"}
        for name, one in ended.items():
            if one.result not in ("lost", "broken"):
                assert self.holds(name) == says.get(one.result, "old"), (name, one)


def results(ended: dict[str, Ended]) -> dict[str, str]:
    return {name: one.result for name, one in ended.items()}
