"""Pages for the report's tests: a cluster's inventory with measurements made up around one slow host."""

from __future__ import annotations

import functools
from pathlib import Path
from random import Random

from fabric.design.seats import Seat, Seating, load_seating
from fabric.export.html_report import Page
from fabric.verify.collectives.model import Measurement, Part, PartKind
from fabric.verify.finding import Finding

INVENTORIES = Path(__file__).resolve().parents[2] / "inventories"
GOOD, SLOW = 46.0, 20.0


@functools.cache
def seating(name: str = "lab") -> Seating:
    return load_seating(INVENTORIES / name / "cluster.yaml")


def slow_seat(where: Seating) -> Seat:
    hosts = list(where.by_host)
    return where.by_host[hosts[len(hosts) // 3]][3]


def pairs(where: Seating, rounds: int = 1) -> list[Measurement]:
    """Rounds of disjoint pairs with all rails, then the first of them rail by rail; one ended wrong, one could not be made."""
    random, hosts, slow = Random(1), list(where.by_host), slow_seat(where)  # noqa: S311 - noise
    found: list[Measurement] = []
    first: list[tuple[str, str]] = []
    for number in range(rounds):
        made = list(zip(hosts[::2], hosts[1::2], strict=True))
        first = first or made
        for pair in made:
            value = (SLOW if slow.host in pair else GOOD) * random.uniform(0.96, 1.04)
            found.append(Measurement("pairs", "all_gather", pair, (), 1 << 30, (value,), "ok", "", 0, round=number))
        random.shuffle(hosts)
    for pair in first:
        for rail in range(8):
            value = (14.0 if slow.host in pair and rail == slow.rail else GOOD) * random.uniform(0.96, 1.04)
            found.append(Measurement("rails", "all_gather", pair, (rail,), 1 << 30, (value,), round=rounds))
    hosts = list(where.by_host)
    found.append(
        Measurement("pairs", "all_gather", (hosts[0], hosts[2]), state="broken", reason="hang, cut off after 60 s")
    )
    found.append(Measurement("pairs", "all_gather", (hosts[1], hosts[3]), state="unmade", reason="no login"))
    return found


def parts(where: Seating) -> dict[PartKind, Part]:
    """One of every kind that has a place."""
    seat, trunk, top = slow_seat(where), where.trunks[0], where.trunks[-1]
    hosts = tuple(where.by_host)
    names: dict[PartKind, str] = {
        "cable": seat.cable, "nic": seat.name, "gpu": f"{seat.host}:gpu{seat.gpu}", "host": seat.host, "switch": seat.switch,
        "trunk": trunk.name, "zone-uplinks": f"zone {seat.zone}", "path": top.name, "undecided": f"{hosts[0]}, {hosts[-1]}",
    }  # fmt: skip
    return {
        kind: Part(
            kind,
            name,
            0.93,
            "rack 1",
            (f"{name} is slow with two partners",),
            ("its NIC",),
            "swap the cable",
            (seat.host,),
        )
        for kind, name in names.items()
    }


def page(name: str = "lab", rounds: int = 1, **more: object) -> Page:
    where = seating(name)
    part = parts(where)["cable"]
    found = [
        Finding("collectives.cable", part.name, "fail", "20 GB/s", "46 GB/s", part.next, part.evidence, part.hosts),
        Finding("gpu.temperature", part.hosts[0], "fail", "87 C", "85 C", severity="warning"),
        Finding("read.host", next(iter(where.by_host)), "unknown", "no login", "an answer"),
        Finding("collectives.pairs", "all_gather", "pass", "46", "46", count=12),
    ]
    body: dict[str, object] = {
        "findings": found, "parts": [part], "measurements": pairs(where, rounds), "sources": ["results.jsonl"],
        "spec_sha256": "ab" * 32, **more,
    }  # fmt: skip
    return Page(where.name, "2026-01-31T12:00:00Z", "0.1.0", where, **body)  # type: ignore[arg-type]
