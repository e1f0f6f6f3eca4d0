"""Locating at full size: random single and double faults in 3,072 hosts, with noise; how many are named, by how many rounds, how fast.

python -m tests.scale.bench_locate [STORIES] [FIRST SEED] [INVENTORY]
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Iterator

from fabric.verify.locate import locate
from tests.scale.bench_table import Row, machine, table
from tests.verify.locate.simulate import KINDS, draw, names, places_of, story, wrong

FEWEST = 3
"""Rounds (docs/locating.md)."""


def locate_rows(stories: int = 20, first: int = 0, inventory: str = "roce-24k") -> Iterator[Row]:
    """Faults named, healthy parts blamed, rounds, and the slowest `locate` in CPU seconds.

    Single trunks of InfiniBand are left out: no hop answers there (docs/locating.md).
    """
    places = places_of(inventory)
    kinds = [kind for kind in KINDS if kind != "trunk" or not inventory.startswith(("ib", "rsc"))]
    named = count = blamed = extra = 0
    rounds: Counter[int] = Counter()
    slowest = 0.0
    for seed in range(first, first + stories):
        faults = draw(places, seed, 1 + seed % 2, kinds)
        cluster, found = story(places, faults, seed)
        gc.collect()  # what the simulation left is none of its time
        begin = time.process_time()
        parts = locate(places, found)
        slowest = max(slowest, time.process_time() - begin)
        right = [any(names(places, fault, part) for part in parts) for fault in faults]
        named, count = named + sum(right), count + len(faults)
        blamed += bool(wrong(places, faults, parts))
        extra += any(not any(names(places, fault, part) for fault in faults) for part in parts)
        rounds[len(cluster.rounds)] += 1
        if not all(right):
            print(f"seed {seed}: {faults} -> {[(part.kind, part.name) for part in parts]}", file=sys.stderr, flush=True)
        if (seed - first) % 10 == 9:
            print(
                f"{named} of {count}, {blamed} blamed, {extra} more parts, rounds {dict(rounds)}, slowest {slowest:.2f} s",
                file=sys.stderr,
                flush=True,
            )
    yield Row(
        f"locate: faults named, {stories} stories of {inventory}, {len(places.seats):,} hosts",
        "99 %",
        named >= 0.99 * count,
        value=f"{named} of {count}",
    )
    yield Row("locate: stories in which somebody healthy is blamed", "0", blamed == 0, value=str(blamed))
    yield Row("locate: stories with a part too many (undecided, path)", "", True, value=str(extra))
    yield Row(
        "locate: rounds of measurements, most", f"{3 * FEWEST}", max(rounds) <= 3 * FEWEST, value=str(max(rounds))
    )
    yield Row(
        "locate: rounds of measurements, mean", "", True, value=f"{sum(n * c for n, c in rounds.items()) / stories:.1f}"
    )
    yield Row("locate: slowest, CPU s", "10", slowest <= 10, value=f"{slowest:.2f}")


def main() -> int:
    """Measures and prints."""
    stories, first, inventory = (*sys.argv[1:4], *("20", "0", "roce-24k")[len(sys.argv) - 1 :])
    rows = list(locate_rows(int(stories), int(first), inventory))
    print(f"{machine()}\n\n{table(rows, markdown=True)}")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
