"""QoS of a running configuration of EOS, from its lines (the JSON of the QoS show commands is not attested)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fabric.targets.eos.view_qos import DEFAULT_CLASSES
from fabric.verify.qos_reading import Marking, QosReading, QueueReading, UnreadableError, Watchdog, digest, numbers

_DSCP = re.compile(r"qos map dscp ([\d ,-]+) to traffic-class (\d+)$")
_QUEUE = re.compile(r"qos map traffic-class ([\d ,-]+) to (?:uc-)?tx-queue (\d+)$")
_GLOBAL = re.compile(r"priority-flow-control pause watchdog (?:default (timeout|recovery-time) ([\d.]+)|action (\S+))$")
_NO_DROP = re.compile(r"priority-flow-control priority (\d+) no-drop$")
_TIMER = re.compile(
    r"priority-flow-control pause watchdog port timer timeout ([\d.]+) .*?recovery-time ([\d.]+)(?: forced)?$"
)
_ACTION = re.compile(r"priority-flow-control pause watchdog port action (\S+)$")
_TX = re.compile(r"(?:uc-)?tx-queue (\d+)$")
_ECN = re.compile(
    r"random-detect ecn minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+)(?: max-mark-probability (\d+))?"
)
_UNITS = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_BUFFERS = ("platform trident mmu", "platform sand qos", "hardware buffer")
_QOS = ("qos ", "priority-flow-control ", "hardware counter feature ecn")
DEFAULT_MTU = 1500
"""IP MTU of a routed port without a line for it (eos.md)."""


@dataclass(slots=True)
class _Profile:
    """One `qos profile`."""

    on: bool = False
    trust: bool = False
    lossless: set[int] = field(default_factory=set)
    watch: bool = False
    timers: tuple[int, int] | None = None
    action: str | None = None
    queues: dict[int, QueueReading] = field(default_factory=dict)


def read_eos(text: str, ports: Sequence[str]) -> QosReading:
    """The reading of a running configuration; `ports` are the fabric ports. Raises UnreadableError when it is none."""
    blocks = _blocks(text)
    if not any(head.startswith("interface ") for head, _ in blocks):
        raise UnreadableError("the running configuration holds no interface")
    try:
        return _read(blocks, ports)
    except ValueError as error:
        raise UnreadableError(f"the running configuration has a number that is none: {error}") from error


def _read(blocks: Sequence[tuple[str, list[str]]], ports: Sequence[str]) -> QosReading:
    dscp, queue_of = dict(DEFAULT_CLASSES), {cls: cls for cls in range(8)}
    globally: dict[str, str] = {}
    for head, _ in blocks:
        if match := _DSCP.match(head):
            dscp.update(dict.fromkeys(numbers(match[1]), int(match[2])))
        elif match := _QUEUE.match(head):
            queue_of.update(dict.fromkeys(numbers(match[1]), int(match[2])))
        elif match := _GLOBAL.match(head):
            globally[match[1] or "action"] = match[2] or match[3]
    profiles = {head[12:].strip(): _profile(body) for head, body in blocks if head.startswith("qos profile ")}
    faces = {head[10:].strip(): body for head, body in blocks if head.startswith("interface ")}
    used = {port: _applied(faces.get(port, ())) for port in ports}
    common = Counter(name for name in used.values() if name is not None).most_common(1)
    name = common[0][0] if common else ""
    profile = profiles.get(name, _Profile())
    global_dog = _watchdog(globally.get("timeout"), globally.get("recovery-time"), globally.get("action"))
    return QosReading(
        dscp=dscp,
        queue_of=queue_of,
        groups=None,
        lossless=frozenset(profile.lossless) if profile.on and profile.trust else frozenset(),
        queues=profile.queues,
        watchdogs={"of the ports": _port_watchdog(profile, global_dog), "global": global_dog},
        bare=tuple(port for port in ports if used[port] != name or not name),
        mtus={port: _mtu(faces.get(port, ())) for port in ports},
        qos_hash=digest(_lines(blocks, _QOS)),
        buffers_hash=digest(_lines(blocks, _BUFFERS)),
    )


def _blocks(text: str) -> list[tuple[str, list[str]]]:
    """(top line, lines below it without their indentation) of each top line."""
    blocks: list[tuple[str, list[str]]] = []
    for raw in text.splitlines():
        line = raw.rstrip()
        if not line or line.lstrip().startswith("!"):
            continue
        if line[0] != " ":
            blocks.append((line, []))
        elif blocks:
            blocks[-1][1].append(line.strip())
    return blocks


def _lines(blocks: Iterable[tuple[str, list[str]]], starts: tuple[str, ...]) -> list[str]:
    """Blocks of one kind, sorted: releases print them in different order."""
    return sorted("\n ".join([head, *body]) for head, body in blocks if head.startswith(starts))


def _applied(body: Iterable[str]) -> str | None:
    for line in body:
        if line.startswith("service-profile "):
            return line[16:].strip()
    return None


def _mtu(body: Iterable[str]) -> int:
    for line in body:
        if line.startswith("mtu "):
            return int(line[4:])
    return DEFAULT_MTU


def _profile(body: Sequence[str]) -> _Profile:
    made = _Profile()
    queue: int | None = None
    for line in body:
        if match := _TX.match(line):
            queue = int(match[1])
            made.queues[queue] = QueueReading(strict=True, weight=None, ecn=None)  # EOS: strict unless `no priority`
        elif queue is not None and not line.startswith(("priority-flow-control", "qos ")):
            made.queues[queue] = _queue(made.queues[queue], line)
        else:
            _profile_line(made, line)
    return made


def _profile_line(made: _Profile, line: str) -> None:
    if line == "qos trust dscp":
        made.trust = True
    elif line in ("priority-flow-control on", "priority-flow-control mode on"):
        made.on = True
    elif match := _NO_DROP.match(line):
        made.lossless.add(int(match[1]))
    elif line == "priority-flow-control pause watchdog":
        made.watch = True
    elif match := _TIMER.match(line):
        made.timers = (_ms(match[1]), _ms(match[2]))
    elif match := _ACTION.match(line):
        made.action = match[1]


def _queue(queue: QueueReading, line: str) -> QueueReading:
    if line == "no priority":
        return QueueReading(False, queue.weight, queue.ecn)
    if line == "priority strict":
        return QueueReading(True, queue.weight, queue.ecn)
    if line.startswith("bandwidth percent "):
        return QueueReading(queue.strict, int(line[18:]), queue.ecn)
    if match := _ECN.match(line):
        unit_low, unit_high = _UNITS.get(match[2]), _UNITS.get(match[4])
        if unit_low is not None and unit_high is not None:
            marking = Marking(int(match[1]) * unit_low, int(match[3]) * unit_high, int(match[5] or 100))
            return QueueReading(queue.strict, queue.weight, marking)
    return queue


def _ms(seconds: str) -> int:
    return round(float(seconds) * 1000)


def _watchdog(timeout: str | None, recovery: str | None, action: str | None) -> Watchdog | None:
    if timeout is None or recovery is None:
        return None
    return Watchdog(_ms(timeout), _ms(recovery), "drop" if action == "drop" else "none")


def _port_watchdog(profile: _Profile, globally: Watchdog | None) -> Watchdog | None:
    """What holds on a port: its own timer and action go before the global ones."""
    if not profile.watch:
        return None
    timers = profile.timers or ((globally.detect_ms, globally.recover_ms) if globally else None)
    if timers is None:
        return None
    action = profile.action if profile.action is not None else (globally.action if globally else "none")
    return Watchdog(timers[0], timers[1], "drop" if action == "drop" else "none")
