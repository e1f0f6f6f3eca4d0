"""`fabric history`: what every validate found, of one part, of repeat offenders, since the last good run.

`--json` prints, each with its version: `fabric.history.runs/1` {schema, cluster, runs: [RUN]}; `fabric.history.part/1` {schema, name, names,
passes: [run], episodes: [EPISODE], speeds: [{run, at, stage, test, value, peers, groups}]}; `fabric.history.lemons/1` {schema, runs, offenders:
[{name, episodes, runs, first, last, still, checks}]}; `fabric.history.since/1` {schema, since: [{last: RUN, good: RUN or null, between,
spec_changed, spec_diff: [line], tool_changed, faults: [EPISODE], unknown: [EPISODE], speeds: [{stage, test, before, now}], applied: [run]}]}.
RUN: {run, at, tool, spec, spec_sha256, checks, selection, passed, failed, unknown}. EPISODE: {check, subject, verdict, severity, measured,
action, first, last, runs, over}; first, last and over are runs, over is null while it lasts. Speeds in GB/s, times UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabric.cli.common import json_option, named_spec, named_spec_option, print_json, print_table
from fabric.cli.history_forms import offender_data, run_data, since_data, since_lines, story_data, story_lines
from fabric.cli.live import state_folder, state_option
from fabric.errors import FabricError
from fabric.words import counted, printable

if TYPE_CHECKING:
    from fabric.design.seats import Seating
    from fabric.verify.history import History, Run, Since, What

MOST = 1_000_000_000
"""Of runs that may be asked for: a history of one a second has fewer, and a database takes no number of any size."""


@click.command("history")
@click.argument("words", nargs=-1, metavar="[SPEC] [HOST|PORT|CABLE]")
@named_spec_option
@state_option
@click.option("--lemons", is_flag=True, help="Repeat offenders: what was faulty, was well again, and came back.")
@click.option("--since-good", is_flag=True, help="What changed since the last good run of each kind.")
@click.option(
    "--at-least", type=click.IntRange(1, MOST), default=2, show_default=True, help="lemons: so many times faulty anew."
)
@click.option(
    "--last", type=click.IntRange(1, MOST), metavar="N", help="Look at the last N runs (all; of the list of runs 20)."
)
@json_option
@click.pass_context
def history(
    context: click.Context,
    /,
    *,
    words: tuple[str, ...],
    state: Path | None,
    lemons: bool,
    since_good: bool,
    at_least: int,
    last: int | None,
    as_json: bool,
) -> None:
    """What `fabric validate` found over time; every run of it is kept in the state folder, one file a cluster.

    Without a name: the runs. With the name of a host, a NIC or GPU of one (host:nic, host:gpu3), a switch, a port (switch:port) or a
    cable ('a:port <-> b:port'): what was found of it and when, and how fast it was beside its peers.

    Exit codes: 2 something is wrong now, or there are repeat offenders; 0 not; 1 there is no history.
    """
    from fabric.design.seats import load_seating
    from fabric.verify.history import History, history_file

    spec, name = _spec_and_name(words)
    if (name is not None) + lemons + since_good > 1:
        raise FabricError("a name, --lemons and --since-good are three questions", hint="ask one at a time")
    seating = load_seating(spec)
    folder = state_folder(spec, state)
    with History.read(history_file(folder, seating.name)) as kept:
        if name is not None:
            code = _part(kept, seating, name, as_json=as_json)
        elif lemons:
            code = _lemons(kept, kept.runs(last), at_least, as_json=as_json)
        elif since_good:
            code = _since(kept, folder, as_json=as_json)
        else:
            code = _runs(kept, seating.name, last or 20, as_json=as_json)
    context.exit(code)


def _spec_and_name(words: Sequence[str]) -> tuple[Path, str | None]:
    """One word is the spec when there is such a file or it looks like one, else a name."""
    import os

    if len(words) > 2:
        raise FabricError(
            "history takes a spec and one name", hint="quote a cable: 'z01-rtsw001:eth2/1/1 <-> z01-r001-h1:eth1'"
        )
    if (named := named_spec()) is not None:
        if len(words) > 1:
            raise FabricError("history takes one name", hint="the spec is given by --spec already")
        return named, words[0] if words else None
    default = Path(os.environ.get("FABRIC_SPEC") or "cluster.yaml")
    if not words:
        return default, None
    if len(words) == 1 and not (words[0].endswith((".yaml", ".yml")) or Path(words[0]).exists()):
        return default, words[0]
    return Path(words[0]), words[1] if len(words) == 2 else None


def _runs(kept: History, cluster: str, last: int, *, as_json: bool) -> int:
    runs = kept.runs(last)
    if as_json:
        print_json("fabric.history.runs/1", {"cluster": cluster, "runs": [run_data(run) for run in runs]})
        return 0
    rows = [
        (run.run, ",".join(run.checks), " ".join(run.selection) or "all", run.failed, run.unknown, run.passed)
        for run in runs
    ]
    print_table(("run", "checks", "of", "failed", "unknown", "passed"), rows)
    return 0


def _part(kept: History, seating: Seating, name: str, *, as_json: bool) -> int:
    from fabric.verify.history import story, what_of

    what = what_of(seating, name) or _known(kept, seating, name)
    told = story(kept, what)
    if as_json:
        print_json("fabric.history.part/1", story_data(told))
    else:
        for line in story_lines(told):
            click.echo(printable(line))
    return 2 if any(episode.over is None and episode.last.verdict == "fail" for episode in told.episodes) else 0


def _known(kept: History, seating: Seating, name: str) -> What:
    """A name that the design does not have any more, or never had; FabricError when the history does not know it either."""
    from fabric.design.suggest import near
    from fabric.verify.history import What
    from fabric.verify.history.names import names_it

    if any(names_it(text, (name,)) for _, text in kept.mentions(name)):
        return What(name, (name,))
    hint = near(name, [*seating.by_host, *seating.trunks_of])
    raise FabricError(
        f"neither the spec nor the history knows {name!r}",
        hint=hint
        if hint.startswith("did")
        else "a host, host:nic, host:gpu0, a switch, switch:port, or a cable in quotes",
    )


def _lemons(kept: History, runs: Sequence[Run], at_least: int, *, as_json: bool) -> int:
    from fabric.verify.history import offenders

    found = offenders(kept, runs, at_least=at_least)
    if as_json:
        print_json("fabric.history.lemons/1", {"runs": len(runs), "offenders": [offender_data(one) for one in found]})
    elif found:
        rows = [
            (one.name, one.episodes, one.runs, one.first, one.last, "yes" if one.still else "no", ", ".join(one.checks))
            for one in found
        ]
        print_table(("name", "times", "runs", "first", "last", "now", "found"), rows)
    else:
        click.echo(f"nothing came back in {counted(len(runs), 'run')}")
    return 2 if found else 0


def _since(kept: History, folder: Path, *, as_json: bool) -> int:
    from fabric.verify.history import since_good

    found = since_good(kept)
    applied = [_applied(folder, since) for since in found]
    if as_json:
        body = [{**since_data(since), "applied": runs} for since, runs in zip(found, applied, strict=True)]
        print_json("fabric.history.since/1", {"since": body})
    else:
        for since, runs in zip(found, applied, strict=True):
            for line in since_lines(since, runs):
                click.echo(printable(line))
    return 2 if any(since.last.failed for since in found) else 0


def _applied(folder: Path, since: Since) -> list[str]:
    """Runs of `fabric apply` that began after the good run; a damaged journal is left to `fabric runs list`."""
    from fabric.change.runs import list_runs

    if since.good is None or since.good is since.last:
        return []
    return [run.id for run in list_runs(folder) if since.good.at <= run.at <= since.last.at]
