"""QoS: what each switch runs against the one class that the spec declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabric.design.fabric import Fabric
from fabric.design.model import Switch
from fabric.design.qos import QosPlan, plan_qos
from fabric.spec.qos import Ecn, PfcWatchdog
from fabric.targets.eos.render import STARTUP_CONFIG
from fabric.targets.eos.view_qos import CONTROL_PLANE
from fabric.targets.fboss.agent_buffers import detection
from fabric.targets.fboss.agent_qos import priority_groups
from fabric.targets.fboss.rendering import AGENT
from fabric.verify.finding import Finding
from fabric.verify.observed import Network, seen
from fabric.verify.qos_eos import read_eos
from fabric.verify.qos_fboss import read_fboss
from fabric.verify.qos_reading import Marking, QosReading, QueueReading, UnreadableError, Watchdog
from fabric.verify.tier import judge_tiers

SHOWN = 8


def config_path(switch: Switch) -> str:
    """The artifact that holds a switch's QoS."""
    return STARTUP_CONFIG if switch.nos == "eos" else AGENT


def read_qos(fabric: Fabric, switch: Switch, content: bytes | None) -> QosReading:
    """The reading of what a switch runs. Raises UnreadableError when there is nothing, or nothing that is understood."""
    if content is None:
        raise UnreadableError("the device holds no configuration")
    ports = [port.slot.name for port in fabric.ports(switch) if port.enabled]
    if switch.nos == "eos":
        return read_eos(content.decode("utf-8", "replace"), ports)
    return read_fboss(content, ports)


def judge_qos(fabric: Fabric, network: Network) -> list[Finding]:
    """All findings on QoS: switch by switch, then tier by tier."""
    found: list[Finding] = []
    plan = plan_qos(fabric.spec.qos)
    for switch in fabric.switches:
        device = network.get(switch.name)
        if switch.state == "planned" or device is None or device.unreachable is not None:
            continue
        if device.qos is None:
            why = seen(network, switch.name).why("configuration")
            found.append(
                Finding("qos.class", switch.name, "unknown", why, "the declared class", "", (), (switch.name,))
            )
            continue
        found += _switch(fabric, plan, switch, device.qos)
    bad = {name for finding in found if finding.verdict == "fail" for name in finding.devices}
    return [*found, *judge_tiers(fabric, network, bad)]


def _switch(fabric: Fabric, plan: QosPlan, switch: Switch, reading: QosReading) -> Iterator[Finding]:
    check = _Check(fabric, plan, switch, reading)
    parts = {
        "class": [*check.dscp(), *check.queues_of(), *check.groups()],
        "pfc": [*check.lossless(), *check.bare()],
        "scheduling": [*check.scheduling()],
        "ecn": [*check.ecn()],
        "watchdog": [*check.watchdogs()],
        "mtu": [*check.mtu()],
    }
    for part, problems in parts.items():
        if not problems:
            yield Finding(f"qos.{part}", switch.name, "pass", "as declared", "as declared", "", (), (switch.name,))
            continue
        measured = "; ".join(said for said, _ in problems)
        expected = "; ".join(wanted for _, wanted in problems)
        action = f"apply the declared configuration to {switch.name} (fabric plan shows the difference)"
        yield Finding(f"qos.{part}", switch.name, "fail", measured, expected, action, (), (switch.name,))


Problem = tuple[str, str]
"""(what was found, what is declared)."""


@dataclass(frozen=True, slots=True)
class _Check:
    """The parts of one switch; EOS keeps traffic class and queue 7 for itself, so they are not compared there."""

    fabric: Fabric
    plan: QosPlan
    switch: Switch
    reading: QosReading

    def _kept(self, number: int) -> bool:
        return self.switch.nos == "eos" and number == CONTROL_PLANE

    def dscp(self) -> Iterator[Problem]:
        """DSCP to traffic class, all 64."""
        wrong: dict[tuple[int | None, int], list[int]] = {}
        for dscp, cls in enumerate(self.plan.traffic_class_of()):
            found = self.reading.dscp.get(dscp)
            if found != cls:
                wrong.setdefault((found, cls), []).append(dscp)
        for (found, cls), dscps in wrong.items():
            text = "no known traffic class" if found is None else f"traffic class {found}"
            yield f"DSCP {_ranges(dscps)} in {text}", f"DSCP {_ranges(dscps)} in traffic class {cls}"

    def queues_of(self) -> Iterator[Problem]:
        """Traffic class to queue, of the declared classes."""
        for queue in self.plan.queues:
            if self._kept(queue.traffic_class) or self._kept(queue.number):
                continue
            found = self.reading.queue_of.get(queue.traffic_class)
            if found != queue.number:
                cls = queue.traffic_class
                yield f"traffic class {cls} in queue {found}", f"traffic class {cls} in queue {queue.number}"

    def groups(self) -> Iterator[Problem]:
        """Traffic class to priority group, where there is such a map."""
        if self.reading.groups is None:
            return
        for cls, group in priority_groups(self.plan).items():
            found = self.reading.groups.get(cls)
            if found != group:
                yield f"traffic class {cls} in priority group {found}", f"traffic class {cls} in priority group {group}"

    def lossless(self) -> Iterator[Problem]:
        """The PFC priorities that never drop: the declared one alone."""
        if self.reading.lossless != {self.plan.priority}:
            found = _ranges(sorted(self.reading.lossless)) or "none"
            yield f"PFC without loss on priority {found}", f"PFC without loss on priority {self.plan.priority}"

    def bare(self) -> Iterator[Problem]:
        """Fabric ports without the lossless settings."""
        ports = self.reading.bare
        if ports:
            more = f" and {len(ports) - SHOWN:,} more" if len(ports) > SHOWN else ""
            yield f"no lossless settings on {', '.join(ports[:SHOWN])}{more}", "lossless settings on every fabric port"

    def scheduling(self) -> Iterator[Problem]:
        """Strict or weighted, and the weight, of each declared queue."""
        for queue in self.plan.queues:
            if self._kept(queue.number):
                continue
            found = self.reading.queues.get(queue.number)
            if found is None:
                yield f"queue {queue.number} is not configured", _scheduled(queue.number, queue.strict, queue.weight)
            elif found.strict != queue.strict or (not queue.strict and found.weight != queue.weight):
                weight = found.weight
                yield (
                    _scheduled(queue.number, found.strict, weight),
                    _scheduled(queue.number, queue.strict, queue.weight),
                )

    def ecn(self) -> Iterator[Problem]:
        """ECN: on the lossless queue as declared, on no other."""
        for number, queue in sorted(
            {**dict.fromkeys([self.plan.lossless.number], _NO_QUEUE), **self.reading.queues}.items()
        ):
            want = _marking(self.fabric.spec.qos.ecn) if number == self.plan.lossless.number else None
            if queue.ecn != want:
                yield f"queue {number}: {_marks(queue.ecn)}", f"queue {number}: {_marks(want)}"

    def watchdogs(self) -> Iterator[Problem]:
        """The PFC watchdog, wherever it is configured."""
        want = _dog(self.fabric.spec.qos.pfc_watchdog, fboss=self.switch.nos == "fboss")
        for place, dog in self.reading.watchdogs.items():
            if dog != want:
                yield f"watchdog {place}: {_times(dog)}", f"watchdog {place}: {_times(want)}"

    def mtu(self) -> Iterator[Problem]:
        """Configured IP MTU of the fabric ports."""
        want = self.fabric.spec.mtu.ip
        wrong: dict[int, list[str]] = {}
        for port, mtu in self.reading.mtus.items():
            if mtu != want:
                wrong.setdefault(mtu, []).append(port)
        for mtu, ports in wrong.items():
            more = f" and {len(ports) - SHOWN:,} more" if len(ports) > SHOWN else ""
            yield f"IP MTU {mtu:,} on {', '.join(ports[:SHOWN])}{more}", f"IP MTU {want:,}"


_NO_QUEUE = QueueReading(strict=False, weight=None, ecn=None)


def _ranges(found: list[int]) -> str:
    """[0, 1, 2, 5] as "0-2, 5"."""
    parts: list[list[int]] = []
    for number in found:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _scheduled(number: int, strict: bool, weight: int | None) -> str:
    return f"queue {number} strict" if strict else f"queue {number} with weight {weight}"


def _marking(ecn: Ecn | None) -> Marking | None:
    return None if ecn is None else Marking(ecn.min_bytes, ecn.max_bytes, ecn.probability)


def _marks(ecn: Marking | None) -> str:
    return "no ECN" if ecn is None else f"ECN from {ecn.min_bytes:,} to {ecn.max_bytes:,} bytes, {ecn.probability} %"


def _dog(spec: PfcWatchdog | None, *, fboss: bool) -> Watchdog | None:
    """The declared watchdog, as the hardware counts it (FBOSS: see `detection`)."""
    if spec is None:
        return None
    detect = detection(spec.detect_ms).actual_ms if fboss else spec.detect_ms
    return Watchdog(detect, spec.recover_ms, spec.action)


def _times(dog: Watchdog | None) -> str:
    return "off" if dog is None else f"{dog.detect_ms} ms, {dog.recover_ms} ms, {dog.action}"
