"""Slurm over a scripted scontrol and sinfo; a program of the user's own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fabric.change.hosts.drain import HookDrain, SlurmDrain, command, drainer_of
from fabric.errors import FabricError
from tests.change.hosts.host_scene import until


class Controller:
    """Nodes by name: (state, reason)."""

    def __init__(self, **nodes: tuple[str, str]) -> None:
        self.nodes = nodes
        self.updates: list[list[str]] = []

    def __call__(self, argv: Sequence[str]) -> str:
        if argv[0] == "scontrol":
            self.updates.append(list(argv[2:]))
            values = dict(word.split("=", 1) for word in argv[2:])
            for name in values["NodeName"].split(","):
                self.nodes[name] = ("drained", values["Reason"]) if values["State"] == "DRAIN" else ("idle", "none")
            return ""
        assert list(argv[:4]) == ["sinfo", "-N", "-h", "-n"]
        asked = argv[4].split(",")
        return "".join(f"{n}|{s}|{r}\n" * 2 for n, (s, r) in self.nodes.items() if n in asked)


def test_only_our_own_nodes_are_given_back() -> None:
    slurm = Controller(
        a=("idle", "none"), b=("mixed", "none"), c=("drained", "bad fan"), d=("down*", "Not responding"),
        e=("drained", "fabric:R1"), f=("drained", "fabric:R0"),
    )  # fmt: skip
    drain = SlurmDrain(slurm)
    assert drain.drain(list("abcdef"), "R1") == {"a", "b", "e"}
    assert slurm.updates == [["NodeName=a,b,e", "State=DRAIN", "Reason=fabric:R1"]]
    slurm.nodes["b"] = ("draining", "fabric:R1")
    assert drain.busy(list("ab")) == {"b"}
    slurm.nodes["b"] = ("drained", "somebody else's now")
    assert drain.undrain(list("abe"), "R1") == {"b"}
    assert slurm.updates[1:] == [["NodeName=a,e", "State=RESUME"]]
    assert drain.undrain(["a"], "R1") == set()


@pytest.mark.parametrize("state", ["idle", "drained", "drained*", "down", "reserved", "planned", "idle~"])
def test_who_runs_no_job(state: str) -> None:
    assert not SlurmDrain(Controller(a=(state, "none"))).busy(["a"])


@pytest.mark.parametrize("state", ["allocated", "mixed", "draining", "draining@", "completing", "allocated+"])
def test_who_runs_jobs(state: str) -> None:
    assert SlurmDrain(Controller(a=(state, "none"))).busy(["a"]) == {"a"}


def test_a_node_that_slurm_does_not_know() -> None:
    with pytest.raises(FabricError, match="Slurm has no node b and 1 more"):
        SlurmDrain(Controller(a=("idle", "none"))).drain(["a", "b", "c"], "R1")


def test_a_program_of_ones_own(tmp_path: Path) -> None:
    hook = tmp_path / "hook"
    hook.write_text(
        '#!/bin/sh\necho "$@" >>"$0.log"\n[ "$1" = busy ] && echo b nobody\n[ "$1" != undrain ] || exit 3\n'
    )
    hook.chmod(0o755)
    drain = drainer_of(str(hook), None)
    assert isinstance(drain, HookDrain)
    assert drain.drain(["a", "b"], "R1") == {"a", "b"}
    assert drain.busy(["a", "b"]) == {"b"}
    with pytest.raises(FabricError, match=r"hook failed with code 3: no reason given"):
        drain.undrain(["a"], "R1")
    assert Path(f"{hook}.log").read_text().splitlines() == [
        "drain --reason=fabric:R1 a b", "busy a b", "undrain --reason=fabric:R1 a",
    ]  # fmt: skip


def test_commands_for_the_far_end_are_quoted(tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    ssh.chmod(0o755)
    assert command(f"{ssh} ctl")(["printf", "%s\n", "a|b; $HOME"]) == "a|b; $HOME\n"
    with pytest.raises(FabricError, match="cannot be run: No such file"):
        command(str(tmp_path / "none"))(["x"])


CONF = """
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
CryptoType=crypto/none
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPidFile={folder}/pid
SlurmctldPort=16829
ProctrackType=proctrack/pgid
SelectType=select/cons_tres
NodeName=h[1-4] NodeAddr=127.0.0.1 Port=[16831-16834] CPUs=1
PartitionName=one Nodes=ALL Default=YES
PartitionName=two Nodes=ALL
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmDrain]:
    """A real slurmctld; nodes h1 to h3 have been seen, h4 never."""
    if shutil.which("slurmctld") is None:
        pytest.skip("slurmctld is not installed")
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF.format(folder=tmp_path))
    monkeypatch.setenv("SLURM_CONF", str(conf))
    with (tmp_path / "log").open("w") as log:
        daemon = subprocess.Popen(["slurmctld", "-D", "-c"], stdout=log, stderr=log)
    try:
        call = command("")
        until(lambda: subprocess.run(["sinfo", "-h"], check=False, capture_output=True).returncode == 0)
        for state in ("State=DOWN", "State=RESUME"):
            call(["scontrol", "update", "NodeName=h[1-3]", state, "Reason=new"])
        yield SlurmDrain(call)
    finally:
        daemon.kill()
        daemon.wait()


@pytest.mark.lab
def test_a_real_slurmctld(slurm: SlurmDrain) -> None:
    slurm.call(["scontrol", "update", "NodeName=h3", "State=DRAIN", "Reason=bad fan"])
    nodes = ["h1", "h2", "h3", "h4"]
    before = slurm._states(nodes)
    assert slurm.drain(nodes, "R1") == {"h1", "h2", "h4"}
    assert {why for _, why in slurm._states(["h1", "h2", "h4"]).values()} == {"fabric:R1"}
    assert slurm.busy(nodes) == set()
    assert slurm.undrain(nodes, "R1") == {"h3"}
    after = slurm._states(nodes)
    assert {name: state.rstrip("*") for name, (state, _) in after.items()} == {
        name: state.rstrip("*") for name, (state, _) in before.items()
    }
    with pytest.raises(FabricError, match="Slurm has no node nope"):
        slurm.drain(["nope"], "R1")
