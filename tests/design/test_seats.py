"""Rank to GPU to NIC to port, by names and by addresses, against the fabric's own links."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fabric.design.ip import fmt4, fmt6
from fabric.design.load import Cluster
from fabric.design.seats import Seat, Seating, load_seating
from fabric.resources import resource

ROCE, IB = ("lab", "roce-24k"), ("ib-lab",)


def _seating(name: str) -> Seating:
    return load_seating(resource("inventories") / name / "cluster.yaml")


@pytest.mark.parametrize("name", [*ROCE, *IB])
def test_every_nic_has_the_seat_of_its_cable(name: str) -> None:
    seating = _seating(name)
    cluster = seating.cluster
    links = cluster.fabric.links() if isinstance(cluster, Cluster) else cluster.subnet.links
    cables = {
        f"{link.a}:{link.a_port} <-> {link.b.replace(' ', ':')}:{link.b_port}": link
        for link in links
        if link.tier == "host"
    }
    seats = [seat for found in seating.by_host.values() for seat in found]
    assert len(seats) <= len(cables)
    wanted = {seat.cable if seat.guid is None else f"{seat.cable}:1" for seat in seats}
    assert wanted <= set(cables)
    assert all(seating.by_port[seat.switch, seat.port] is seat for seat in seats)


FORMS: dict[str, Callable[[Seat], list[str]]] = {
    "lab": lambda seat: [fmt4(seat.ip4 or 0), f"::ffff:{fmt4(seat.ip4 or 0)}", fmt6(seat.ip6 or 0)],
    "ib-lab": lambda seat: [fmt6(0xFE80 << 112 | (seat.guid or 0))],
}


@pytest.mark.parametrize("name", FORMS)
def test_an_address_is_a_seat(name: str) -> None:
    seating = _seating(name)
    for seats in seating.by_host.values():
        for seat in seats:
            for text in FORMS[name](seat):
                assert seating.seat_at(text) == seat
    assert [seating.seat_at(word) for word in ("192.0.2.1", "x", "", "fe80::1")] == [None] * 4


def test_both_ends_of_a_trunk_are_found_by_address() -> None:
    seating = _seating("lab")
    for trunk in seating.trunks:
        assert trunk.a4 is not None and trunk.b4 is not None
        assert seating.trunk_at(fmt4(trunk.a4)) == (trunk, trunk.a)
        assert seating.trunk_at(fmt4(trunk.b4)) == (trunk, trunk.b)
        assert trunk in seating.trunks_of[trunk.a] and trunk in seating.trunks_of[trunk.b]
