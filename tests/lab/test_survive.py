"""Faults that must be survived: the real command line against virtual switches, stopped, killed, cut off and lied to at each step.

Each test ends with every switch exactly as before or exactly as declared, never between, with nothing of ours left on it or that
said, and with a report (exit code, JSON events, `fabric runs show`) that tells the truth.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.lab.survive_scene import (
    CTSW,
    CTSW2,
    EOS,
    RTSW,
    SWITCHES,
    Finished,
    Running,
    Scene,
    held,
    limit_files,
    poll,
    together,
)

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("vtysh") or not shutil.which("lldpd"), reason="needs root, FRR, lldpd"
    ),
]
BEFORE_COMMIT = ("run-started", "wave-started", "staging", "staged")
STEPS = (*BEFORE_COMMIT, "committing", "committed", "checking", "confirming", "confirmed", "ended", "wave-ended")


@pytest.fixture(scope="module")
def booted(needs_lab: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One lab for all tests of this module, in a folder of its own."""
    folder = tmp_path_factory.mktemp("survive")
    before = os.environ.get("FABRIC_LAB_DIR")
    os.environ["FABRIC_LAB_DIR"] = str(folder / "labs")
    scene = Scene(folder)
    try:
        scene.boot()
        yield scene
    finally:
        scene.down()
        os.environ.pop("FABRIC_LAB_DIR")
        if before is not None:
            os.environ["FABRIC_LAB_DIR"] = before


@pytest.fixture
def scene(booted: Scene) -> Scene:
    """The lab with all switches alike, and a spec that changes them all."""
    booted.ready()
    return booted


@pytest.fixture
def pair(booted: Scene) -> Scene:
    """The same for a test of RTSW and CTSW alone: the third need not be like them, and is spared an apply between most tests."""
    booted.ready((RTSW, CTSW))
    return booted


def _interrupted(
    scene: Scene, switch: str, at: str, timer: int = 120, options: Sequence[object] = ()
) -> tuple[Path, Running]:
    """An apply on one switch that is held at a step."""
    state = scene.state()
    where = "" if at in ("run-started", "wave-started", "wave-ended") else switch
    running = scene.start_apply(state, switch, timer=timer, options=options, stop_at=(at, where))
    running.stopped()
    return state, running


def _finish(scene: Scene, state: Path, running: Running, *results: str) -> Finished:
    """Let it go on to its end, which must be one of `results` for every switch that it is about, and true."""
    running.go()
    done = running.finish()
    assert {ended["result"] for ended in done.ended.values()} <= set(results), done
    assert done.ended, done
    scene.require_true(done, state)
    return done


# --- killed


@pytest.mark.parametrize("verb", ["resume", "rollback"])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_a_step(pair: Scene, step: str, verb: str) -> None:
    def one(switch: str) -> None:
        state, running = _interrupted(pair, switch, step)
        with held([running]):
            running.kill()
        shown = pair.show(state)
        assert shown["status"] == "interrupted"
        assert shown["devices"][switch]["result"] in ("open", "done")
        done = pair.again(state, verb)
        pair.require_true(done, state)
        assert done.code == 0, done
        pair.require("new" if verb == "resume" else "old", switch)

    together(one)


@pytest.mark.parametrize("verb", ["resume", "rollback"])
def test_killed_between_switches(scene: Scene, verb: str) -> None:
    """One is done, one in the middle, one not begun; the second attempt is killed as well."""
    state = scene.state()
    first = scene.start_apply(state, *SWITCHES, stop_at=("committed", CTSW))
    first.stopped()
    first.kill()
    there = ("confirming" if verb == "resume" else "rolling-back", CTSW)
    second = scene.start(state, "runs", verb, "last", "--spec", scene.spec, "--auto-approve", "--json", stop_at=there)
    second.stopped()
    second.kill()
    done = scene.again(state, verb)
    scene.require_true(done, state)
    assert done.code == 0, done
    scene.require("new" if verb == "resume" else "old", *SWITCHES)


def test_killed_and_never_looked_at(pair: Scene) -> None:
    """The switches return by themselves; a resume finds that, and goes on."""

    def one(switch: str) -> None:
        state, running = _interrupted(pair, switch, "committed", timer=30)
        running.kill()
        assert pair.is_in_force(switch, pair.new)
        pair.reverts(switch)
        done = pair.again(state, "resume")
        assert "reverted" in [event.get("result") for event in done.events], done
        pair.require_true(done, state)
        pair.require("new", switch)

    together(one)


# --- cut off


@pytest.mark.parametrize("step", ["staged", "committing"])
def test_ssh_is_lost_before_the_commit(pair: Scene, step: str) -> None:
    """What is staged cannot be removed: that is said, and the next apply removes it."""

    def one(switch: str) -> None:
        state, running = _interrupted(pair, switch, step)
        with held([running]):
            pair.fault("drop-ssh", name=switch, **({} if step == "staged" else {"seconds": 3.0}))
            done = _finish(pair, state, running, "failed")
        pair.require("old", switch, clean=False)
        if pair.leftovers(switch):
            done.said("could not be removed")

    together(one)
    pair.restore()
    together(lambda switch: pair.apply(pair.state(), switch))
    pair.require("new", RTSW, CTSW)


def test_ssh_is_lost_before_the_confirmation(pair: Scene) -> None:
    """The switch returns by its timer, and the tool, which has waited for it, says so."""
    runs: dict[str, tuple[Path, Running]] = {}

    def one(switch: str) -> None:
        runs[switch] = _interrupted(pair, switch, "committed", timer=30)
        pair.fault("drop-ssh", name=switch)
        runs[switch][1].go()
        pair.reverts(switch)

    together(one)
    pair.restore()
    for switch, (state, running) in runs.items():
        done = _finish(pair, state, running, "reverted")
        done.said("timer has returned it")
        pair.require("old", switch)


def test_ssh_is_lost_while_confirming(pair: Scene) -> None:
    """It comes back within the timer: the confirmation is given again, or found to be given."""

    def one(switch: str) -> None:
        state, running = _interrupted(pair, switch, "confirming")
        with held([running]):
            pair.fault("drop-ssh", name=switch, seconds=2.0)
            _finish(pair, state, running, "done", "rolled-back", "reverted")
        pair.require("new" if pair.is_at(switch, pair.new) else "old", switch)

    together(one)


@pytest.mark.parametrize("step", ["staged", "committed", "confirmed"])
def test_a_switch_reboots(pair: Scene, step: str) -> None:
    """EOS boots its old startup configuration, FBOSS the new files without a timer. What was confirmed is what it boots."""

    def one(switch: str) -> None:
        state, running = _interrupted(pair, switch, step)
        with held([running]):
            pair.fault("reboot", name=switch)
            pair.holds(switch)
            done = _finish(pair, state, running, *(["done"] if step == "confirmed" else ["failed", "rolled-back"]))
        if pair.leftovers(switch):
            done.said("could not be removed")

    together(one)


def test_a_switch_reboots_in_mid_wave(scene: Scene) -> None:
    state = scene.state()
    running = scene.start_apply(state, *SWITCHES, stop_at=("committed", CTSW))
    with held([running]):
        running.stopped()
        scene.fault("reboot", name=CTSW)
        scene.holds(CTSW)
        done = _finish(scene, state, running, "done", "failed", "not-started")
    assert (done.result(RTSW), done.result(CTSW2)) == ("done", "not-started"), done
    scene.require("old", CTSW, CTSW2)
    poll(lambda: scene.again(state, "resume").code == 0, "the run is resumed")
    scene.require("new", *SWITCHES)


# --- a switch that does not do as it is told


def test_a_line_is_refused(pair: Scene) -> None:
    def one(switch: str) -> None:
        eos = switch in EOS
        pair.spoil(switch, **({"refuse": f"mtu {pair.new}"} if eos else {"refuse_reload": True}))
        state = pair.state()
        done = pair.start_apply(state, switch).finish()
        assert done.result(switch) == "failed", done
        done.said("Invalid input" if eos else "reloadConfig refused")
        pair.require_true(done, state)
        pair.require("old", switch)

    together(one)


def test_a_difference_is_kept(pair: Scene) -> None:
    """The switch takes the change without a word, but not all of it."""

    def one(switch: str) -> None:
        keep = f"mtu {pair.new}" if switch in EOS else ["sw.interfaces[0].mtu"]
        pair.spoil(switch, keep=keep)
        state = pair.state()
        running = pair.start_apply(state, switch, stop_at=("rolling-back", switch))
        with held([running]):
            running.stopped()
            pair.mend(switch)
            done = _finish(pair, state, running, "rolled-back")
        done.said("difference", "mtu")
        pair.require("old", switch)

    together(one)


def test_changed_by_hand_after_the_plan(scene: Scene) -> None:
    plan, state = scene.folder / "plan.json", scene.state()
    chosen = [word for name in (RTSW, CTSW) for word in ("--device", name)]
    assert scene.run(state, "plan", scene.spec, "-o", plan, *chosen).code == 2
    scene.eos(CTSW, "configure", "interface Ethernet3/1/1", "description by hand", "end")
    agent = scene.disk(RTSW) / "coop" / "agent.conf"
    agent.write_text(agent.read_text().replace(f'"mtu": {scene.old}', '"mtu": 8999', 1))
    by_hand = {name: scene.holds(name) for name in SWITCHES}
    for switch in (RTSW, CTSW):
        done = scene.run(state, "apply", plan, "--device", switch, "--auto-approve", "--json")
        assert (done.code, done.result(switch)) == (1, "refused"), done
        done.said("changed since the plan")
        assert scene.show(state)["devices"][switch]["result"] == "refused"
    assert {name: scene.holds(name) for name in SWITCHES} == by_hand
    assert [scene.leftovers(name) for name in SWITCHES] == [[], [], []]
    scene.declare(scene.old)
    other = scene.run(state, "apply", plan, "--auto-approve")
    assert other.code == 1
    other.said("the spec has changed")


@pytest.mark.parametrize(("variant", "switches"), [("rack ASN", (RTSW,)), ("cluster ASN", (CTSW, CTSW2))])
def test_a_canary_breaks_bgp(scene: Scene, variant: str, switches: tuple[str, ...]) -> None:
    """The far ends are no part of the run, so that nothing can bring the sessions back."""
    canary, *rest = switches
    scene.declare(variant)
    state = scene.state()
    done = scene.start_apply(state, *switches, options=("--gate-timeout", 12)).finish()
    assert done.result(canary) == "rolled-back", done
    done.said("BGP session to", f"canary {canary}: rolled-back")
    assert {done.result(name) for name in rest} <= {"not-started"}, done
    scene.require_true(done, state)
    scene.require("old", *SWITCHES)
    scene.sessions_are_back()


# --- disks


def test_the_disk_of_a_switch_is_full(pair: Scene) -> None:
    def one(switch: str) -> None:
        state = pair.state()
        pair.fault("fill-disk", name=switch)
        done = pair.start_apply(state, switch).finish()
        assert done.result(switch) == "failed", done
        done.said("full")
        pair.require_true(done, state)
        pair.require("old", switch)

    together(one)


@pytest.mark.parametrize("step", ["staged", "committed"])
def test_the_disk_of_a_switch_fills_up(pair: Scene, step: str) -> None:
    """There may be room enough to go on, but nothing may be said to be done that is not."""

    def one(switch: str) -> None:
        state, running = _interrupted(pair, switch, step)
        with held([running]):
            pair.fault("fill-disk", name=switch)
            running.go()
            done = running.finish()
        pair.require_true(done, state)
        if pair.leftovers(switch):
            done.said("could not be removed")

    together(one)


def test_the_disk_of_the_journal_is_full(scene: Scene) -> None:
    """A run that cannot write its journal commits nothing."""
    state = scene.state()
    scene.on_small_disk(state, "1m")
    running = scene.start_apply(state, *SWITCHES, stop_at=("staging", RTSW))
    with held([running]):
        running.stopped()
        scene.fill(state)
        running.go()
        done = running.finish()
    scene.require_true(done)
    assert done.code == 1, done
    done.said("write the journal", "no space left")
    scene.require("old", *SWITCHES)


@pytest.mark.parametrize("step", ["staged", "committed", "checking", "confirming"])
def test_the_journal_cannot_be_written_any_more(pair: Scene, step: str) -> None:
    def one(switch: str) -> None:
        state, running = _interrupted(pair, switch, step)
        with held([running]):
            limit_files(running.pid, max(path.stat().st_size for path in state.glob("runs/*/journal.jsonl")))
            running.go()
            done = running.finish()
        done.said("write the journal")
        pair.require_true(done)
        pair.require("new" if step == "confirming" else "old", switch)
        recovered = pair.again(state, "resume")
        assert recovered.code == 0, recovered
        pair.require_true(recovered, state)
        pair.require("new", switch)

    together(one)


# --- the door


def _nothing_is_sent(scene: Scene, state: Path, *words: str, **env: str | None) -> None:
    chosen = [word for name in SWITCHES for word in ("--device", name)]
    done = scene.run(state, "apply", scene.spec, "--auto-approve", "--json", *chosen, env=env)
    assert (done.code, done.events) == (1, []), done
    done.said(*words)
    assert "Traceback" not in done.err
    scene.require("old", *SWITCHES)


def test_a_wrong_password(scene: Scene) -> None:
    wrong = {"FABRIC_KEY_FILE": None, "FABRIC_PASSWORD": "wrong", "SSH_AUTH_SOCK": None, "HOME": str(scene.folder)}
    _nothing_is_sent(scene, scene.state(), "login refused", *SWITCHES, **wrong)


def test_a_changed_host_key(scene: Scene) -> None:
    """Each switch shows the key of another one."""
    state = scene.state()
    rows = [line.split(" ", 1) for line in (state / "known_hosts").read_text().splitlines()]
    keys = [key for _, key in rows]
    text = "".join(f"{host} {key}\n" for (host, _), key in zip(rows, [*keys[1:], keys[0]], strict=True))
    (state / "known_hosts").write_text(text)
    _nothing_is_sent(scene, state, "the host key has changed", *SWITCHES)


# --- answers that mean nothing


_SPOILS: dict[str, dict[str, object]] = {
    "garbage": {"garbage": True},
    "flood": {"flood_mb": 100},
    "hang": {"hang": True},
}


@pytest.mark.parametrize("kind", sorted(_SPOILS))
def test_an_answer_means_nothing(pair: Scene, kind: str) -> None:
    """Before anything is staged: nothing is changed."""

    def one(switch: str) -> None:
        pair.spoil(switch, **_SPOILS[kind], only="bgp")
        state = pair.state()
        done = pair.start_apply(state, switch, options=("--timeout", 5)).finish()
        assert done.result(switch) == "failed", done
        pair.require_true(done, state)
        pair.mend(switch)
        pair.require("old", switch)

    together(one)


@pytest.mark.parametrize("kind", sorted(_SPOILS))
def test_an_answer_means_nothing_after_the_commit(pair: Scene, kind: str) -> None:
    """A switch that cannot be judged is returned."""

    def one(switch: str) -> None:
        state, running = _interrupted(pair, switch, "committed", options=("--timeout", 10, "--gate-timeout", 10))
        with held([running]):
            pair.spoil(switch, **_SPOILS[kind], only="bgp")
            _finish(pair, state, running, "rolled-back", "reverted")
        pair.mend(switch)
        pair.require("old", switch)

    together(one)


# --- other people


def test_two_at_once(pair: Scene) -> None:
    """The second one is refused and told who is at work; when the first is killed, its lock is known to be stale."""
    state = pair.state()
    first = pair.start_apply(state, RTSW, stop_at=("staged", RTSW))
    with held([first]):
        first.stopped()
        second = pair.start_apply(state, CTSW).finish()
        assert second.code == 1, second
        second.said("is being changed by fabric apply of", "since")
        assert second.ended == {}
        pair.require("old", CTSW)
        first.kill()
    third = pair.apply(state, RTSW, CTSW)
    third.said("stale lock", "is gone")
    pair.require_true(third, state)
    pair.require("new", RTSW, CTSW)


def test_somebody_elses_pending_session_is_left_alone(pair: Scene) -> None:
    session = "/root/.fboss2/agent.conf"
    pair.in_switch(RTSW, "sh", "-c", f"mkdir -p /root/.fboss2 && touch {session}")
    pair.spoil(CTSW, foreign_session="joe")
    try:
        for switch, theirs in ((CTSW, "joe"), (RTSW, session)):
            done = pair.apply(pair.state(), switch)
            done.said("somebody else's unfinished change", theirs)
        assert '"joe"' in pair.eos(CTSW, "show configuration sessions detail | json")
        pair.in_switch(RTSW, "test", "-e", session)
        pair.require("new", CTSW, RTSW)
    finally:
        pair.in_switch(RTSW, "rm", session)
        pair.mend(CTSW)
        pair.eos(CTSW, "configure session joe abort")


def test_somebody_elses_armed_session_is_in_the_way(pair: Scene) -> None:
    """What runs under joe's timer is no state to plan on; a plan that was made before is refused."""
    plan, state = pair.folder / "before-joe.json", pair.state()
    assert pair.run(state, "plan", pair.spec, "-o", plan, "--device", CTSW).code == 2
    description = "interface Ethernet3/1/1", "description by joe"
    pair.eos(CTSW, "configure session joe", *description, "end", "configure session joe commit timer 00:10:00")
    try:
        theirs = pair.holds(CTSW)
        done = pair.start_apply(state, CTSW).finish()
        assert (done.code, done.events) == (1, []), done
        done.said(CTSW, "somebody else's change (joe)", "timer")
        refused = pair.run(state, "apply", plan, "--auto-approve", "--json")
        assert (refused.code, refused.result(CTSW)) == (1, "refused"), refused
        assert pair.holds(CTSW) == theirs
        assert pair.leftovers(CTSW) == []
    finally:
        pair.eos(CTSW, "configure session joe abort")
    pair.require("old", CTSW)


# --- Ctrl-C


@pytest.mark.parametrize(
    ("step", "switch"),
    [
        ("staged", CTSW),
        ("checking", CTSW),
        ("committed", RTSW),
    ],
)
def test_ctrl_c_in_a_wave(scene: Scene, step: str, switch: str) -> None:
    """What is in flight is finished or returned, the rest is not begun."""
    state = scene.state()
    running = scene.start_apply(state, *SWITCHES, stop_at=(step, switch))
    with held([running]):
        running.stopped()
        running.signal(signal.SIGINT)
        done = _finish(scene, state, running, "done", "not-started")
    assert done.code == 1, done
    assert done.result(switch) == ("not-started" if step == "staged" else "done"), done
    assert done.result(CTSW2) == "not-started", done
    done.said("interrupted")
    for name in SWITCHES:
        assert scene.leftovers(name) == []
    assert scene.again(state, "rollback").code == 0
    scene.require("old", *SWITCHES)


def test_ctrl_c_twice(pair: Scene) -> None:
    """Nobody waits: what is in force is left to its timer, and that is said. A resume finds what the timer has done."""

    def one(switch: str) -> None:
        state, running = _interrupted(pair, switch, "committed,checking", timer=30)
        with held([running]):
            pair.spoil(switch, garbage=True, only="bgp")  # so that the gate never opens
            running.signal(signal.SIGINT)
            running.go()
            poll(lambda: "stopping" in running.texts[1], "it is stopping")
            running.stopped()  # before the gate, however long this took
            running.signal(signal.SIGINT)
            running.go()
            done = running.finish()
        assert (done.code, done.result(switch)) == (1, "lost"), done
        done.said("left", "timer", "runs resume")
        assert pair.show(state)["devices"][switch]["result"] == "lost"
        pair.mend(switch)
        pair.reverts(switch)
        again = pair.again(state, "resume")
        assert [event["result"] for event in again.events if event["event"] == "ended"] == ["reverted", "done"], again
        pair.require_true(again, state)
        pair.require("new", switch)

    together(one)
