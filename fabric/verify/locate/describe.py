"""Believed faults as parts: names, places of both ends, evidence, what else fits, what would decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fabric.verify.collectives.model import Part
from fabric.verify.locate.clues import CABLE_SAYS, NIC_SAYS, Heard
from fabric.verify.locate.explain import Explained
from fabric.verify.locate.gates import Judged
from fabric.verify.locate.places import Places, Suspect
from fabric.verify.locate.settings import clue_text, place_of

if TYPE_CHECKING:
    from fabric.verify.locate.locate import Case

SHOWN = 8
"""Sentences of evidence that a part keeps."""


def parts(case: Case) -> Iterator[Part]:
    """A part for each believed fault; cables that all end at one host are that host."""
    for one in _merged(case):
        yield _part(case, one)


def _merged(case: Case) -> list[Explained]:
    """At least three cables, and half of a host's: what they share is the host."""
    links = Counter(one.suspect[1] for one in case.explained if one.suspect[0] == "link" and not _foreign(one))
    many = {host for host, count in links.items() if count >= 3 and count * 2 >= len(case.places.seats[host])}
    found: list[Explained] = []
    hosts: dict[str, Explained] = {}
    for one in case.explained:
        kind, name, _ = one.suspect
        if kind != "link" or name not in many:
            found.append(one)
        elif name in hosts:
            hosts[name].of.extend(one.of)
        else:
            hosts[name] = Explained(("host", name, 0), list(one.of), one.against, one.gain, one.confidence)
            found.append(hosts[name])
    return found


def _foreign(one: Explained) -> bool:
    """Whether another host's part explains the same as well."""
    return any(s[0] in ("link", "host", "gpu") and s[1] != one.suspect[1] for s in one.equals)


def _part(case: Case, one: Explained) -> Part:
    alike = [one.suspect, *one.equals]
    owners = {s[1] for s in alike if s[0] in ("link", "host", "gpu")}
    kinds = {s[0] for s in alike}
    if len(owners) > 1 or (owners and ("trunk" in kinds or _one_pair(case, one, kinds))):
        return _undecided(case, one, alike)
    if owners:
        return _of_host(case, one, alike, owners.pop())
    if one.suspect[0] == "path":
        return _path(case, one)
    zone = _whole_zone(case.places, one, alike)
    if zone is not None:
        return _of_fabric(case, replace(one, suspect=zone, equals=[]))
    peers = [s for s in alike if s[0] == one.suspect[0]]
    if len(peers) > 1 or one.suspect[0] == "some":
        return _undecided(case, one, alike)
    return _of_fabric(case, one)


def _one_pair(case: Case, one: Explained, kinds: Collection[str]) -> bool:
    """Whether all that is bad is between two hosts, whose way explains it as well: many tests of one pair prove no node."""
    bad = case.bad(one.of)
    return "path" in kinds and len(bad) == len(one.of) and all(len(j.measurement.hosts) == 2 for j in bad)


def _path(case: Case, one: Explained) -> Part:
    hosts = tuple(one.suspect[1].split(" <-> "))
    others = ("a fault that comes and goes", *(case.places.text(s) for s in one.equals))
    return path_part(hosts, _evidence(case, one), others, _sure(one.confidence), again=len(one.of) > 1)


def path_part(
    hosts: tuple[str, ...], evidence: tuple[str, ...], others: tuple[str, ...], sure: float, *, again: bool
) -> Part:
    """Two hosts that are bad together only: a way between them, no node."""
    advice = (
        "nobody's fault: look at the load balancing; flows whose way is known (stage paths) show the shared cable"
        if again
        else "measure the two again; when it stays, flows whose way is known (stage paths)"
    )
    place = "between them, on a way through the fabric"
    return Part("path", " <-> ".join(hosts), sure, place, evidence, others, advice, hosts)


def _whole_zone(places: Places, one: Explained, alike: Sequence[Suspect]) -> Suspect | None:
    """The zone, where the uplinks of several of its switches fit alike: what these share."""
    zones = [s for s in alike if s[0] == "zone"]
    owners = {places.zone_of_switch.get(s[1]) for s in alike if s[0] == "uplinks"}
    many = sum(s[0] == "uplinks" for s in alike) > 1
    return zones[0] if one.suspect[0] in ("uplinks", "zone") and many and owners == {z[2] for z in zones} else None


def _of_host(case: Case, one: Explained, alike: Sequence[Suspect], host: str) -> Part:
    gpus = sorted(s[2] for s in alike if s[0] == "gpu")
    links = sorted(s[2] for s in alike if s[0] == "link")
    wider = tuple(case.places.text(s) for s in alike if s[0] not in ("gpu", "link", "host"))
    if gpus and (one.suspect[0] == "gpu" or not links):
        return _gpu(case, one, host, gpus)
    if len(links) == 1 and not gpus and one.suspect[0] == "link":
        return _link(case, one, ("link", host, links[0]), wider)
    place, evidence = place_of(case.places, host), _evidence(case, one)
    if not links:
        advice = f"take {host} out, look at its PCIe, CPU, power, cooling and settings (fabric validate hosts)"
        return Part("host", host, _sure(one.confidence), place, evidence, wider, advice, (host,))
    others = (f"one of the {len(links)} NICs or cables of {host}", *wider)
    advice = f"measure each rail of {host} alone with a proven partner (stage rails)"
    return Part("host", host, _sure(one.confidence * 0.6), place, evidence, others, advice, (host,))


def _gpu(case: Case, one: Explained, host: str, gpus: Sequence[int]) -> Part:
    place, evidence = place_of(case.places, host), _evidence(case, one)
    if len(gpus) == 1:
        name = f"{host}:gpu{gpus[0]}"
        advice = f"dcgmi diag -r 3 on {name}; then reset, reseat or replace it"
        others: tuple[str, ...] = (
            (f"the PCIe way of {name}",) if any(len(j.measurement.hosts) > 1 for j in case.bad(one.of)) else ()
        )
        return Part("gpu", name, _sure(one.confidence), place, evidence, others, advice, (host,))
    name = f"{host}:gpu{gpus[0]}-{gpus[-1]}"
    others = ("one of these GPUs", f"the NVLink switches of {host}")
    advice = f"NVLink between two GPUs of {host} at a time (stage node), and dcgmi diag -r 3"
    return Part("gpu", name, _sure(one.confidence * 0.8), place, evidence, others, advice, (host,))


def _link(case: Case, one: Explained, link: Suspect, wider: tuple[str, ...]) -> Part:
    """NIC, cable or port: one place, told apart by a clue only."""
    seat = case.places.seat(link[1], link[2])
    said = {heard.clue.kind for heard in case.heard if heard.suspect == link}
    port = f"{seat.switch}:{seat.port}"
    nic, sure = seat.name, _sure(one.confidence)
    place = f"{nic} ({place_of(case.places, seat.host)}, rail {seat.rail}) to {port}"
    evidence = _evidence(case, one)
    if said & NIC_SAYS and not said & CABLE_SAYS:
        advice = f"reseat or replace {nic}, or look at its PCIe slot"
        return Part("nic", nic, sure, place, evidence, (seat.cable, *wider), advice, (seat.host,))
    if said & CABLE_SAYS:
        advice = f"clean, reseat or replace the cable and its modules; then the ports {nic} and {port}"
    else:
        advice = f"read the error counters at {nic} and {port}; swap the cable: what moves with it is the cable, what stays is its end"
    return Part("cable", seat.cable, sure, place, evidence, (nic, port, *wider), advice, (seat.host,))


def _of_fabric(case: Case, one: Explained) -> Part:
    kind, name, number = one.suspect
    places, sure, evidence = case.places, _sure(one.confidence), _evidence(case, one)
    others = tuple(places.text(s) for s in one.equals)
    if kind == "trunk":
        trunk = places.trunk[name]
        place = f"{trunk.a} port {trunk.a_port} to {trunk.b} port {trunk.b_port}"
        advice = f"read the error counters at both ends, drain one end's port, then clean or replace the cable {name}"
        return Part("trunk", name, sure, place, evidence, others, advice)
    if kind == "zone":
        hosts = tuple(host for host in places.seats if places.zone(host) == number)
        advice = f"routes, load and errors of the uplinks of zone {number} (fabric validate routing)"
        return Part("zone-uplinks", f"zone {number} uplinks", sure, f"zone {number}", evidence, others, advice, hosts)
    under = tuple(places.under.get(name, ()))
    if kind == "uplinks":
        advice = f"the fabric side of {name}: its uplinks' routes, load and errors; drain it"
        return Part("switch", name, sure, f"{name}, all uplinks", evidence, others, advice, under)
    advice = f"drain {name}, read its counters, buffers and temperature (fabric validate qos); then replace it"
    return Part("switch", name, sure, name, evidence, others, advice, under)


def _undecided(case: Case, one: Explained, alike: Sequence[Suspect]) -> Part:
    """Several parts fit equally: none of them is blamed."""
    names = _short(case.places, alike)
    if one.suspect[0] == "some":
        advice = f"single flows whose way is known from under {one.suspect[1]} (stage paths)"
    elif {s[0] for s in alike} & {"host", "link"}:
        advice = "each of the hosts with two different proven partners (stage retest)"
    else:
        advice = "flows that cross only one of them (stage paths)"
    name = names[0] if len(names) == 1 else f"{names[0]} or {names[1]}" + (" or others" if len(names) > 2 else "")
    hosts = tuple(dict.fromkeys(s[1] for s in alike if s[0] in ("host", "link", "gpu")))
    sure = _sure(one.confidence / max(2, len(names)))
    return Part("undecided", name, sure, "", _evidence(case, one), tuple(names[:SHOWN]), advice, hosts)


def _short(places: Places, alike: Sequence[Suspect]) -> list[str]:
    """Names without those that another one stands for: the host for its own cables."""
    whole = {s[1] for s in alike if s[0] == "host"}
    kept = [s for s in alike if not (s[0] in ("link", "gpu") and s[1] in whole)]
    return list(dict.fromkeys(places.text(s) for s in kept))


def _sure(value: float) -> float:
    return round(min(0.99, max(0.05, value)), 2)


def _evidence(case: Case, one: Explained) -> tuple[str, ...]:
    """What speaks for it, and for measured hosts what their partners do without them."""
    found = [
        measured(source) if isinstance(source, Judged) else clue_text(source)
        for source in (case.sources[number] for number in one.of)
    ]
    texts = list(dict.fromkeys(found))
    more = [f"and {len(texts) - SHOWN:,} more like these"] if len(texts) > SHOWN else []
    return (*texts[:SHOWN], *more, *_acquitted(case, one))


def measured(judged: Judged) -> str:
    """One result as evidence."""
    m = judged.measurement
    rails = f" rail {', '.join(map(str, m.rails))}" if m.rails else ""
    over = f" over {', '.join(m.trunks)}" if m.trunks else ""
    who = " - ".join(m.hosts) if len(m.hosts) <= 4 else f"{len(m.hosts):,} hosts"
    source = f" [{m.source}]" if m.source else ""
    return f"{m.stage} {m.test}: {who}{rails}{over}: {judged.why}{source}"


def _acquitted(case: Case, one: Explained) -> Iterable[str]:
    """Partners of the bad results that are good without the suspect."""
    kind, name, _ = one.suspect
    if kind not in ("link", "host", "gpu"):
        return
    partners = {host for j in case.bad(one.of) for host in j.measurement.hosts if host != name}
    good = {
        host
        for j in case.judged
        if j.verdict == "good" and len(j.measurement.hosts) > 1 and name not in j.measurement.hosts
        for host in j.measurement.hosts
        if host in partners
    }
    if good:
        shown = ", ".join(sorted(good)[:4])
        yield f"good without {name}: {shown}" + (f" and {len(good) - 4:,} more" if len(good) > 4 else "")


__all__ = ["Heard", "measured", "parts"]
