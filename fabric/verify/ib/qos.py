"""QoS: SL-to-VL maps and VL arbitration of HCA and switch ports as declared.

A port with fewer data VLs folds the declared ones (opensm masks them). The simulator has 8, and keeps no high limit (measured).
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.ib.model import QosTables, Subnet
from fabric.targets.opensm.mad_model import End, PortInfo, Topology
from fabric.verify.finding import Finding, Verdict
from fabric.verify.ib.names import match
from fabric.verify.ib.reads import Observed, PortQos, Unread
from fabric.words import counted

DROP = 15
"""The VL that stands for: drop packets of this SL."""
SIMULATED_VLS = 8
_SHOWN = 4
Pairs = tuple[tuple[int, int], ...]


def judge_qos(subnet: Subnet, seen: Observed) -> list[Finding]:
    """Findings on all ports that were read; those that differ alike are one."""
    if subnet.qos is None:
        return [_finding("tables", "subnet", "pass", "no QoS is declared, so nothing is compared", "no QoS", "")]
    if isinstance(seen.topology, Unread) or isinstance(seen.qos, Unread):
        why = (
            seen.topology.why
            if isinstance(seen.topology, Unread)
            else seen.qos.why
            if isinstance(seen.qos, Unread)
            else ""
        )
        return [_finding("tables", "all ports", "unknown", why, "SL2VL and VLArb can be read", "")]
    names = match(subnet, seen.topology).name
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    silent: list[str] = []
    right = 0
    for end, port in seen.qos.items():
        label = f"{names.get(end[0], f'0x{end[0]:016x}')}:{end[1]}"
        if port is None:
            silent.append(label)
            continue
        faults = tuple(_differences(subnet.qos, port, seen.topology.ports[end], simulated=seen.simulated))
        if faults:
            alike.setdefault(faults, []).append(label)
        right += not faults
    found = [_wrong(faults, labels) for faults, labels in alike.items()]
    if silent:
        text = "the ports did not answer for SL2VL or VLArb"
        found.append(_finding("tables", _ports(silent), "unknown", text, "they do", "", len(silent)))
    if right:
        found.append(
            _finding("tables", counted(right, "port"), "pass", "as declared", "SL2VL and VLArb as declared", "", right)
        )
    return [*found, *_not_exercised(subnet.qos, simulated=seen.simulated)]


def _differences(qos: QosTables, port: PortQos, info: PortInfo, *, simulated: bool) -> Iterator[tuple[str, str]]:
    """(measured, expected) of each table that is not as declared."""
    if qos.sl2vl is not None:
        wanted = tuple(fold(vl, info.data_vls) for vl in qos.sl2vl)
        if port.sl2vl != wanted:
            yield f"sl2vl {_numbers(port.sl2vl)}", f"sl2vl {_numbers(wanted)}"
    for name, declared, found in (
        ("vlarb_high", qos.vlarb_high, port.vlarb_high),
        ("vlarb_low", qos.vlarb_low, port.vlarb_low),
    ):
        if declared is not None:
            folded = tuple((fold(vl, info.data_vls), weight) for vl, weight in declared if weight)
            if found != folded:
                yield f"{name} {_pairs(found)}", f"{name} {_pairs(folded)}"
    if qos.high_limit is not None and not simulated and info.high_limit != qos.high_limit:
        yield f"high_limit {info.high_limit}", f"high_limit {qos.high_limit}"


def fold(vl: int, data_vls: int) -> int:
    """The VL that a port with so many data VLs uses for a declared one."""
    return vl if vl == DROP or data_vls < 1 else vl % data_vls


def _not_exercised(qos: QosTables, *, simulated: bool) -> Iterator[Finding]:
    used = {vl for vl in qos.sl2vl or () if vl != DROP} | {
        vl for vl, _ in (qos.vlarb_high or ()) + (qos.vlarb_low or ())
    }
    high = sorted(vl for vl in used if vl >= SIMULATED_VLS)
    if simulated and high:
        text = f"the simulator has {SIMULATED_VLS} data VLs: {', '.join(map(str, high))} were held against what they fold to"
        yield _finding("vls", "subnet", "unknown", text, "every declared VL is in use", "", len(high))
    if simulated and qos.high_limit is not None:
        text = "the simulator keeps no high limit"
        yield _finding("high-limit", "all ports", "unknown", text, f"high_limit {qos.high_limit}", "")


def _wrong(faults: tuple[tuple[str, str], ...], labels: list[str]) -> Finding:
    measured, expected = ("; ".join(texts) for texts in zip(*faults, strict=True))
    action = "see whether `qos TRUE` and the tables stand in opensm.conf of the master SM (`fabric plan`), then reload opensm"
    return _finding("tables", _ports(labels), "fail", measured, expected, action, len(labels))


def _ports(labels: list[str]) -> str:
    if len(labels) == 1:
        return labels[0]
    return f"{len(labels):,} ports: {', '.join(labels[:_SHOWN])}{', ...' * (len(labels) > _SHOWN)}"


def _numbers(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))


def _pairs(values: Pairs) -> str:
    return ",".join(f"{vl}:{weight}" for vl, weight in values) or "empty"


def _finding(
    kind: str, subject: str, verdict: Verdict, measured: str, expected: str, action: str, count: int = 1
) -> Finding:
    return Finding(f"qos.{kind}", subject, verdict, measured, expected, action, (), (), count)


def qos_ports(topology: Topology) -> list[End]:
    """The ports whose tables count: of HCAs, and of switches to others, where a link is up."""
    return [end for end in topology.far if end[1] > 0]
