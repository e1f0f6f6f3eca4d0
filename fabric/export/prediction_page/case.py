"""One case: its waterfall, how busy each tier of links is, and the hottest links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric.predict.model import HotLink, Loss, Prediction, alike_text
from fabric.words import counted, printable

HOT = 8
"""Hot links that are drawn and stand in the page's table."""
PAIRS = 6
"""Rank pairs of a link that are written out."""
_BASE, _HIGH, _STEP, _BAR = 224.0, 160.0, 76.0, 50.0
_LEVEL_TOP, _LEVEL_BOTTOM, _LEFT, _RIGHT = 60.0, 224.0, 520.0, 944.0
_THICK = 16.0
_FULL = 2.0  # load at which an arrow has all of its thickness


@dataclass(frozen=True, slots=True)
class Bar:
    """A step of the waterfall: what is left of 100 in pixels, and above it what the step took."""

    x: float
    y: float
    height: float
    lost_y: float
    lost: float
    step: str
    said: str
    took: str


@dataclass(frozen=True, slots=True)
class Level:
    """A kind of switch (or the NICs) as a box over the whole width."""

    y: float
    name: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """The links of a tier in one direction: `width` pixels by the load of the busiest; `over`: more than its line rate is asked of it."""

    x: float
    y1: float
    y2: float
    width: float
    tier: str
    said: str
    over: bool
    gates: bool


@dataclass(frozen=True, slots=True)
class Hot:
    """A link: its bar in pixels."""

    y: float
    width: float
    link: HotLink
    name: str
    tier: str
    said: str
    pairs: str
    over: bool


@dataclass(frozen=True, slots=True)
class CaseView:
    """All of one case in its coordinates."""

    name: str
    head: str
    text: str
    bars: tuple[Bar, ...]
    levels: tuple[Level, ...]
    arrows: tuple[Arrow, ...]
    hot: tuple[Hot, ...]
    change: str
    height: float
    width: float = 960.0


def case_view(one: Prediction) -> CaseView:
    """The picture of one prediction."""
    name, said = printable(one.case.name), band_text(one.reached.p5, one.reached.p50, one.reached.p95)
    levels, arrows = _tiers(one.tiers)
    hot = _hot(one.hot)
    gate = f"the busiest tier is {arrows_max(one.tiers)}" if one.tiers else "no link is busy"
    return CaseView(
        name=name,
        head=f"{describe(one)}: reaches {said}, perfect balance {one.placement_bound:.0f} %",
        text=f"{name}: {_steps_text(one.waterfall)}; {gate}",
        bars=_bars(one.waterfall),
        levels=levels,
        arrows=arrows,
        hot=hot,
        change=_change(one),
        height=292.0 + 22.0 * len(hot) + (26.0 if one.change else 0.0),
    )


def describe(one: Prediction) -> str:
    """The question in short: `24,576 GPUs, all_gather ring, rack order, e-ecmp, 16 QPs`."""
    case = one.case
    channels = f" x {counted(case.channels, 'channel')}" if case.channels > 1 else ""
    flows = "" if case.hash == "ecmp" else f", {counted(case.qps, 'QP')}{channels}"
    order = {"given": "given order"}.get(case.placement, f"{case.placement} order")
    failed = f", {counted(len(case.failures), 'failure')}" if case.failures else ""
    alike = alike_text(case.seed_per_tier, case.seed_groups)
    same = f", {alike}" if alike else ""
    return f"{one.gpus:,} GPUs, {case.collective} {case.algorithm}, {order}, {case.hash}{flows}{same}{failed}"


def band_text(p5: float, p50: float, p95: float) -> str:
    """`78 % [67-84]`: the median and percentiles 5 to 95."""
    return f"{p50:.0f} % [{p5:.0f}\u2013{p95:.0f}]"


def arrows_max(tiers: Mapping[str, float]) -> str:
    """The busiest tier in words."""
    tier, load = max(tiers.items(), key=lambda item: item[1])
    return f"{printable(tier)} ({load:.2f} of line rate)"


def _steps_text(losses: Sequence[Loss]) -> str:
    return "waterfall " + ", ".join(f"{printable(loss.step)} {loss.left:.0f} %" for loss in losses)


def _bars(losses: Sequence[Loss]) -> tuple[Bar, ...]:
    found, before = [], 100.0
    for number, loss in enumerate(losses):
        left = min(max(loss.left, 0.0), 100.0)
        took = max(before - left, 0.0)
        height, lost = _HIGH * left / 100, _HIGH * took / 100
        y = _BASE - height
        said = f"\u2212{took:.0f}" if took >= 0.5 else ""
        found.append(Bar(16 + _STEP * number, y, height, y - lost, lost, printable(loss.step), f"{left:.0f}", said))
        before = left
    return tuple(found)


def _tiers(tiers: Mapping[str, float]) -> tuple[tuple[Level, ...], tuple[Arrow, ...]]:
    """Boxes from the NICs upwards and the arrows between them; what a tier is called says where it is: `rtsw up`, `ctsw down`."""
    placed = {tier: load for tier, load in tiers.items() if tier.endswith((" up", " down"))}
    names = _level_names(placed)
    if not placed:
        return (), ()
    gap = (_LEVEL_BOTTOM - _LEVEL_TOP) / (len(names) - 1)
    ys = {name: _LEVEL_BOTTOM - gap * number for number, name in enumerate(names)}
    most = max(placed.values())
    arrows = []
    for tier, load in placed.items():
        kind, _, way = tier.rpartition(" ")
        number = names.index(kind)
        other = number + 1 if way == "up" else number - 1
        if 0 <= other < len(names):
            start, end = ys[kind], ys[names[other]]
            sign = -1 if end < start else 1
            x = _LEFT + 60 if way == "up" else _LEFT + 250
            width = 1.5 + (_THICK - 1.5) * min(load / _FULL, 1.0)
            said = f"{load:.2f}" if load < 100 else f"{load:.0f}"
            arrows.append(
                Arrow(x, start + sign * 12, end - sign * 12, width, printable(tier), said, load > 1.005, load == most)
            )
    return tuple(Level(ys[name], printable(name).upper() if name != "NIC" else name) for name in names), tuple(arrows)


def _level_names(tiers: Mapping[str, float]) -> list[str]:
    """Kinds of switches from the lowest, in the order in which a flow meets them on its way up; the NICs below."""
    kinds = [tier.rpartition(" ")[0] for tier in tiers]
    ups = [tier.removesuffix(" up") for tier in tiers if tier.endswith(" up")]
    rest = [kind for kind in kinds if kind not in ups]
    names = list(dict.fromkeys([*ups, *rest]))
    return names if not names or names[0].lower() in ("nic", "host") else ["NIC", *names]


def _hot(links: Sequence[HotLink]) -> tuple[Hot, ...]:
    most = max((link.load for link in links), default=1.0) or 1.0
    found = []
    for number, link in enumerate(links[:HOT]):
        pairs = ", ".join(f"{a}\u2192{b}" for a, b in link.pairs[:PAIRS])
        more = max(link.flows - min(len(link.pairs), PAIRS), 0)
        text = f"ranks {pairs}" + (f" and {more:,} more" if more else "") if pairs else ""
        said = f"{link.load:.2f}, {printable(link.tier)}, {counted(link.flows, 'flow')}"
        y = 284.0 + 22.0 * number
        found.append(
            Hot(
                y,
                150 * link.load / most,
                link,
                printable(link.name),
                printable(link.tier),
                said,
                text,
                link.load > 1.005,
            )
        )
    return tuple(found)


def _change(one: Prediction) -> str:
    if one.change is None:
        return ""
    band = one.change.reached
    return f"first change: {printable(one.change.what)} ({printable(one.change.key)}): {band_text(band.p5, band.p50, band.p95)}"
