"""Flows on explicit paths in SimGrid, pure max-min: JSON {capacity: [bytes a second], paths: [[links]], size} in, seconds to the end out."""

from __future__ import annotations

import json
import sys
from typing import Any

import simgrid as sg  # type: ignore[import-not-found]

SETTINGS = (
    "network/model:CM02", "network/bandwidth-factor:1", "network/latency-factor:1", "network/weight-S:0", "network/crosstraffic:0",
    "network/TCP-gamma:1e18",
)  # fmt: skip


def main(asked: dict[str, Any]) -> list[float]:
    """The time at which each flow ends; all begin at 0."""
    engine = sg.Engine([sys.argv[0], *(f"--cfg={setting}" for setting in SETTINGS), "--log=root.threshold:error"])
    zone = sg.NetZone.create_full_zone("net")
    links = [zone.create_link(f"l{number}", float(rate)) for number, rate in enumerate(asked["capacity"])]
    for link in links:
        link.set_latency(0)
        link.seal()
    ends = [0.0] * len(asked["paths"])

    def send(box: str) -> None:
        sg.Mailbox.by_name(box).put("x", int(asked["size"]))

    def receive(box: str, number: int) -> None:
        sg.Mailbox.by_name(box).get()
        ends[number] = engine.clock

    pairs = []
    for number, path in enumerate(asked["paths"]):
        pair = zone.create_host(f"a{number}", 1e9), zone.create_host(f"b{number}", 1e9)
        zone.add_route(
            pair[0].netpoint, pair[1].netpoint, None, None, [sg.LinkInRoute(links[link]) for link in path], False
        )
        pairs.append(pair)
    zone.seal()
    for number, (source, target) in enumerate(pairs):
        sg.Actor.create(f"s{number}", source, send, f"m{number}")
        sg.Actor.create(f"r{number}", target, receive, f"m{number}", number)
    engine.run()
    return ends


if __name__ == "__main__":
    print(json.dumps(main(json.load(sys.stdin))))
