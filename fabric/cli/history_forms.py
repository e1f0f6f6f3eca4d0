"""What `fabric history` prints: lines for people, and the parts of its JSON (whose shapes stand at the command)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fabric.verify.history import Episode, Offender, Run, Since, Story
from fabric.words import counted


def story_lines(told: Story) -> Iterator[str]:
    """The story of one part."""
    if len(told.what.names) > 1:
        yield f"also called {', '.join(told.what.names[1:])}"
    for episode in told.episodes:
        yield _episode_line(episode)
    for speed in told.speeds:
        share = f", {100 * speed.value / speed.peers:.0f} % of its peers' {speed.peers:.4g}" if speed.peers else ""
        yield f"{speed.run.at}  {speed.stage} {speed.test}: {speed.value:.4g} GB/s{share}"
    if not told.episodes:
        yield "nothing was ever found wrong with it"
    wells = told.passes
    if wells:
        yield f"{counted(len(wells), 'run')} found it well, the last one at {wells[-1].at}"


def _episode_line(episode: Episode) -> str:
    last, times = episode.last, len(episode.told)
    begin = episode.told[0].run.at
    when = begin if times == 1 else f"{begin} to {last.run.at} ({times:,} runs)"
    end = f"; well again at {episode.over.at}" if episode.over is not None else ""
    word = "unknown" if last.verdict == "unknown" else "FAIL" if last.severity == "critical" else "WARN"
    return f"{when}  {word} {last.check}: {last.subject}: {last.measured}{end}"


def since_lines(since: Since, applied: Sequence[str]) -> Iterator[str]:
    """One kind of run since it was good."""
    last, good = since.last, since.good
    title = f"{','.join(last.checks)}{' of ' + ' '.join(last.selection) if last.selection else ''}"
    if good is last:
        yield f"{title}: the last run is good ({last.at})"
        return
    if good is None:
        yield f"{title}: no good run is known; the last one, {last.at}: {last.failed:,} failed"
    else:
        yield f"{title}: good at {good.at}, {counted(since.between, 'run')} later, at {last.at}: {last.failed:,} failed"
        changed = (
            f"changed: {good.spec_sha256[:12]} then, {last.spec_sha256[:12]} now"
            if since.spec_changed
            else "is the same"
        )
        yield f"  the spec {changed}"
        for line in since.spec_diff:
            yield f"    {line}"
        if since.tool_changed:
            yield f"  fabric was {good.tool}, is {last.tool}"
        for run in applied:
            yield f"  applied meanwhile: fabric runs show {run}"
    for episode in (*since.faults, *since.unknown):
        yield f"  {_episode_line(episode)}"
    for change in since.speeds:
        yield f"  {change.stage} {change.test}: {change.before:.4g} GB/s then, {change.now:.4g} GB/s now"


def run_data(run: Run) -> dict[str, Any]:
    """RUN."""
    return {
        "run": run.run, "at": run.at, "tool": run.tool, "spec": run.spec, "spec_sha256": run.spec_sha256,
        "checks": list(run.checks), "selection": list(run.selection),
        "passed": run.passed, "failed": run.failed, "unknown": run.unknown,
    }  # fmt: skip


def _episode(episode: Episode) -> dict[str, Any]:
    last = episode.last
    return {
        "check": last.check, "subject": last.subject, "verdict": last.verdict, "severity": last.severity,
        "measured": last.measured, "action": last.action, "first": episode.told[0].run.run, "last": last.run.run,
        "runs": len(episode.told), "over": None if episode.over is None else episode.over.run,
    }  # fmt: skip


def story_data(told: Story) -> dict[str, Any]:
    """The body of `fabric.history.part/1`."""
    speeds = [
        {
            "run": one.run.run, "at": one.run.at, "stage": one.stage, "test": one.test, "value": one.value,
            "peers": one.peers, "groups": one.groups,
        }
        for one in told.speeds
    ]  # fmt: skip
    return {
        "name": told.what.name, "names": list(told.what.names), "passes": [run.run for run in told.passes],
        "episodes": [_episode(episode) for episode in told.episodes], "speeds": speeds,
    }  # fmt: skip


def offender_data(one: Offender) -> dict[str, Any]:
    """One of `offenders`."""
    return {
        "name": one.name, "episodes": one.episodes, "runs": one.runs, "first": one.first, "last": one.last,
        "still": one.still, "checks": list(one.checks),
    }  # fmt: skip


def since_data(since: Since) -> dict[str, Any]:
    """One of `since`, without `applied`."""
    return {
        "last": run_data(since.last), "good": None if since.good is None else run_data(since.good), "between": since.between,
        "spec_changed": since.spec_changed, "tool_changed": since.tool_changed, "spec_diff": list(since.spec_diff),
        "faults": [_episode(one) for one in since.faults], "unknown": [_episode(one) for one in since.unknown],
        "speeds": [{"stage": c.stage, "test": c.test, "before": c.before, "now": c.now} for c in since.speeds],
    }  # fmt: skip
