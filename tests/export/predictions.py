"""Predictions made up by hand for the tests of the pictures: small, large as is, large tuned, as in the published figure."""

from __future__ import annotations

from dataclasses import replace

from fabric.predict.model import Band, Case, Change, HotLink, Loss, Point, Prediction

SIZES = tuple(1 << power for power in range(20, 37, 2))


def prediction(
    name: str, gpus: int, reached: tuple[float, float, float], half: float, *, change: Change | None = None
) -> Prediction:
    """`half`: size in bytes at which latency alone leaves 50 %."""
    band = Band(*reached)
    points = []
    for size in SIZES:
        latency = 100 * size / (size + half)
        share = latency / 100
        points.append(
            Point(
                size,
                Band(*(value * share for value in reached)),
                latency,
                band,
                "LL128" if size < 1 << 28 else "Simple",
            )
        )
    load = 100 / band.p50
    hot = tuple(
        HotLink(
            f"z01-rtsw{number:03}:eth1/{number}/1 -> z01-ctsw{number:02}:Ethernet{number}/1/1",
            *(tier, load / number, 40 + number, ((3, 11), (8, 16))),
        )
        for number, tier in ((1, "ctsw up"), (2, "rtsw up"))
    )
    tiers = {"rtsw up": load / 2, "ctsw up": load, "atsw down": load * 0.9, "ctsw down": 0.8, "rtsw down": 0.7}
    steps = ("ideal", "latency", "placement", "hashing", "polarisation", "failures")
    lefts = (100, 98, min(98, band.p95 + 5), band.p50, band.p50, band.p50)
    waterfall = tuple(Loss(step, left) for step, left in zip(steps, lefts, strict=True))
    case = Case(name, gpus=gpus, sizes=SIZES, qps=16, placement="rack" if change is None else "random")
    return Prediction(
        case, gpus, band, min(100.0, band.p95 + 5), None if change else band.p50 + 1, tuple(points), waterfall, hot, tiers, change
    )  # fmt: skip


def three() -> list[Prediction]:
    """Small, large as is, large tuned."""
    change = Change("order ranks by rack", "scheduler.topology", Band(67, 78, 84))
    return [
        prediction("small", 256, (90, 94, 98), 4e8),
        prediction("large as is", 24_576, (11, 12, 13), 46e9, change=change),
        prediction("large tuned", 24_576, (92, 96, 99), 2e9),
    ]


def hostile(text: str) -> list[Prediction]:
    """The same with a text that is no name in every place where a name can be."""
    one = three()[1]
    link = replace(one.hot[0], name=text, tier=text)
    return [
        replace(
            one,
            case=replace(one.case, name=text),
            hot=(link,),
            tiers={text: 1.0, f"{text} up": 2.0},
            waterfall=(Loss(text, 10.0),),
            change=Change(text, text, Band(1, 2, 3)),
            points=(replace(one.points[0], protocol=text),),
        )
    ]
