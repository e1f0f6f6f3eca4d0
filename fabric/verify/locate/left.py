"""Bad results that no fault explains: collisions on a way, and pairs of which nobody is proven."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabric.verify.collectives.model import Part
from fabric.verify.locate.describe import measured, path_part
from fabric.verify.locate.gates import Judged
from fabric.verify.locate.places import FULL, Places


def leftover(places: Places, judged: Sequence[Judged], left: Sequence[Judged]) -> Iterator[Part]:
    """A part for each group of hosts with unexplained bad results, none of which blames a node."""
    groups: dict[tuple[str, ...], list[Judged]] = {}
    for one in left:
        groups.setdefault(tuple(sorted(one.measurement.hosts)), []).append(one)
    for hosts, bad in groups.items():
        if all(j.measurement.stage == "paths" for j in bad) and len(bad) < 2:
            continue  # one flow of many that met another one
        if _gone(judged, hosts, bad):
            continue  # it was slow once and good when it was repeated: noise
        if len(hosts) == 1:
            yield _alone(places, hosts[0], bad)
        elif len(hosts) == 2 and all(_proven(places, judged, host, bad) for host in hosts):
            yield _path(hosts, bad)
        else:
            yield _undecided(hosts, bad)


def _gone(judged: Sequence[Judged], hosts: tuple[str, ...], bad: Sequence[Judged]) -> bool:
    """Whether the same hosts were as often good as slow with the same rails; what broke is not forgotten."""
    rails = {j.measurement.rails for j in bad}
    good = sum(
        j.verdict == "good" and j.measurement.rails in rails and tuple(sorted(j.measurement.hosts)) == hosts
        for j in judged
    )
    return good >= len(bad) and all(j.ratio is not None and not j.measurement.wrong for j in bad)


def _proven(places: Places, judged: Sequence[Judged], host: str, bad: Sequence[Judged]) -> bool:
    """Whether a host is good with another partner on every rail that was bad here."""
    others = set(bad[0].measurement.hosts)
    rails = {rail for j in bad for rail in j.measurement.rails}
    whole = not rails  # where rails were bad alone, these are what was wrong with all together
    good: set[int] = set()
    for j in judged:
        m = j.measurement
        if (
            j.verdict == "good"
            and host in m.hosts
            and len(m.hosts) > 1
            and not set(m.hosts) <= others
            and places.ceiling(m) >= FULL
        ):
            if not m.rails:
                return True
            good.update(m.rails)
    return bool(good) and (not whole and rails <= good)


def _path(hosts: tuple[str, ...], bad: Sequence[Judged]) -> Part:
    one, other = hosts
    evidence = (*(measured(j) for j in bad[:6]), f"{one} and {other} are both good with other partners")
    again = len(bad) > 1
    return path_part(hosts, evidence, ("a fault that comes and goes",), 0.9 if again else 0.7, again=again)


def _undecided(hosts: tuple[str, ...], bad: Sequence[Judged]) -> Part:
    shown = hosts[:6]
    name = " or ".join(shown) if len(hosts) <= 2 else f"one of {len(hosts):,} hosts"
    advice = (
        "each of them with two different proven partners (stage retest)"
        if len(hosts) <= 2
        else "pairs of these hosts (stage pairs)"
    )
    others = (*shown, "the way between them")
    return Part("undecided", name, 0.3, "", tuple(measured(j) for j in bad[:6]), others, advice, hosts)


def _alone(places: Places, host: str, bad: Sequence[Judged]) -> Part:
    """Only tests within the host are bad, and too few of them to believe in a fault."""
    rails = bad[0].measurement.rails
    numbers = rails or tuple(seat.gpu for seat in places.seats[host])
    seats = places.seats[host]
    place = f"zone {seats[0].zone}, rack {seats[0].rack}, unit {seats[0].unit}" if seats else ""
    single = len(numbers) == 1
    name = f"{host}:gpu{numbers[0]}" if single else f"{host}:gpu{numbers[0]}-{numbers[-1]}" if numbers else host
    return Part(
        "gpu", name, 0.6 if single else 0.5, place, tuple(measured(j) for j in bad[:6]),
        () if single else ("one of these GPUs", f"the NVLink switches of {host}"),
        "repeat it; NVLink between two GPUs at a time (stage node), and dcgmi diag -r 3", (host,),
    )  # fmt: skip
