"""What is no part's fault: settings of a host or of the whole fleet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fabric.verify.collectives.causes import Cause, explain
from fabric.verify.collectives.model import Part
from fabric.verify.locate.clues import SETTINGS, Heard
from fabric.verify.locate.gates import Fleet
from fabric.verify.locate.places import Places
from fabric.words import counted

FLEET_SHARE = 0.5
"""From this share of the hosts that were heard on, a setting is the fleet's."""


def fleet_parts(fleets: Iterable[Fleet]) -> Iterator[Part]:
    """Tests that are slow almost everywhere: no single part explains them."""
    for fleet in fleets:
        if fleet.why:
            text = f"{fleet.share:.0%} of {counted(fleet.count, 'group')} broke off or had wrong data: {fleet.why}"
            yield Part(
                "setting", f"{fleet.test} ({fleet.stage})", 0.8, "the whole fleet", (text,), ("that many faults at once",),
                "look at what all hosts share: the program, the driver, NCCL's version and settings (fabric validate hosts)",
                fleet.hosts,
            )  # fmt: skip
            continue
        text = f"{fleet.share:.0%} of {counted(fleet.count, 'result')} below {fleet.expected:.4g} GB/s, median {fleet.median:.4g}"
        yield Part(
            "setting", f"{fleet.test} ({fleet.stage})", 0.8, "the whole fleet", (text,),
            ("the expected value is of other hardware",),
            "compare the hosts' settings (fabric validate hosts, fabric validate qos) and the expected value's source", fleet.hosts,
        )  # fmt: skip


def setting_parts(places: Places, heard: Sequence[Heard]) -> Iterator[Part]:
    """One part a cause and host; one for all, when most hosts say the same."""
    by_cause: dict[Cause, dict[str, list[Heard]]] = {}
    for one in heard:
        cause = explain(one.clue) if one.clue.kind in SETTINGS else None
        if cause is not None:
            by_cause.setdefault(cause, {}).setdefault(_host(one), []).append(one)
    for cause, by_host in by_cause.items():
        known = [host for host in by_host if host in places.seats]
        if len(known) > 2 and len(known) >= FLEET_SHARE * len(places.seats):
            said = [one for found in by_host.values() for one in found]
            yield _part(cause, f"{cause.kind} on {counted(len(known), 'host')}", "the whole fleet", said, tuple(known))
        else:
            for host, said in by_host.items():
                hosts = (host,) if host in places.seats else ()
                yield _part(cause, host or "the hosts named", place_of(places, host), said, hosts)


def _host(one: Heard) -> str:
    if one.suspect is not None and one.suspect[0] in ("host", "gpu", "link"):
        return one.suspect[1]
    return one.clue.where


def _part(cause: Cause, name: str, place: str, said: Sequence[Heard], hosts: tuple[str, ...]) -> Part:
    evidence = (cause.cause, *list(dict.fromkeys(clue_text(one) for one in said))[:6])
    return Part("setting", name, 0.9, place, evidence, (), cause.do, hosts)


def clue_text(heard: Heard) -> str:
    """A clue as evidence: what it says, how often, from where."""
    clue = heard.clue
    times = f" ({clue.count:,} times)" if clue.count > 1 else ""
    peer = f" with {clue.peer}" if clue.peer else ""
    source = f" [{clue.source}]" if clue.source else ""
    at = f" at {clue.where}" if clue.where else ""
    return f"{clue.kind}{at}{peer}: {clue.text}{times}{source}"


def place_of(places: Places, host: str) -> str:
    """Where a host stands; empty for one that is not known."""
    seats = places.seats.get(host)
    return f"zone {seats[0].zone}, rack {seats[0].rack}, unit {seats[0].unit}" if seats else ""
