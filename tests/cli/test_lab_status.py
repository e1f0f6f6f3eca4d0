"""`fabric lab status` says why a lab is not converged."""

from __future__ import annotations

from fabric.cli.lab_look import lacking


def test_what_nodes_lack() -> None:
    nodes = [
        {"name": name, "missing": words}
        for name, words in (("a", ""), ("b", "it is off"), ("c", "no routes to x"), ("d", "it is off"))
    ]
    assert list(lacking(nodes)) == ["not converged: 3 of 4 nodes", "  b, d: it is off", "  c: no routes to x"]
    assert list(lacking(nodes[:1])) == ["converged: every session, route and LLDP neighbour is there"]
