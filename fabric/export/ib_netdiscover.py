"""A golden `ibnetdiscover` cache: the design as the tool itself would see it, to compare a live fabric with.

`ibnetdiscover --diff CACHE` on the live fabric prints what differs, and needs no subnet manager. Its exit code is 0 either way: an empty
output is what shows that all is well. The cache is made without a subnet manager, so it holds LID 0 and state Initialize everywhere:
`iblinkinfo --diff` and `--diffcheck ...,lid` would report every link. It is of use only with the real GUIDs in the design.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from time import monotonic, sleep

from fabric.errors import FabricError

READY = b"Network simulator ready."
_LIBRARY = "*/umad2sim/libumad2sim.so"
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Net:
    """A net file of ibsim, the room that it needs, and the node that the tool sits at."""

    text: str
    nodes: int
    switches: int
    ports: int
    table: int
    seat: str


def netdiscover_cache(net: Net, *, timeout_s: float = 300.0) -> bytes:
    """The bytes of the cache. Starts an ibsim of its own and ends it. FabricError when a tool is missing or fails."""
    tools = {
        name: which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin")
        for name in ("ibsim", "ibnetdiscover")
    }
    library = next(Path("/usr/lib").glob(_LIBRARY), None)
    missing = [name for name, path in tools.items() if path is None] + ([] if library else ["libumad2sim.so"])
    if missing:
        raise FabricError(f"{', '.join(missing)} not found", hint="install ibsim-utils and infiniband-diags")
    with tempfile.TemporaryDirectory(prefix="fabric-ibsim-") as name:
        folder = Path(name)
        (folder / "sim.net").write_text(net.text, encoding="ascii")
        env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        env["IBSIM_SOCKNAME"] = folder.name
        with _ibsim(str(tools["ibsim"]), net, folder, env, timeout_s):
            env |= {"LD_PRELOAD": str(library), "SIM_HOST": net.seat}
            _run([str(tools["ibnetdiscover"]), "--cache", "cache"], folder, env, timeout_s)
        return (folder / "cache").read_bytes()


@contextmanager
def _ibsim(tool: str, net: Net, folder: Path, env: dict[str, str], timeout_s: float) -> Iterator[None]:
    size = ["-N", net.nodes, "-S", net.switches, "-P", net.ports, "-L", net.table]
    log = folder / "ibsim.log"
    with log.open("wb") as out:
        process = subprocess.Popen(  # noqa: S603 - the tool by its path, our own arguments
            [tool, "-s", "-n", *map(str, size), "sim.net"],
            cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        end = monotonic() + timeout_s
        while READY not in log.read_bytes():
            if process.poll() is not None or monotonic() > end:
                raise FabricError(f"ibsim did not take the design: {_last(log.read_bytes())}")
            sleep(_POLL_S)
        yield
    finally:
        process.kill()
        process.wait()


def _run(argv: list[str], folder: Path, env: dict[str, str], timeout_s: float) -> None:
    try:
        done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, timeout=timeout_s, check=False)  # noqa: S603 - as above
    except subprocess.TimeoutExpired:
        raise FabricError(f"{Path(argv[0]).name} gave no answer in {timeout_s:.0f} s") from None
    if done.returncode != 0 or not (folder / "cache").exists():
        raise FabricError(f"{Path(argv[0]).name} failed: {_last(done.stderr or done.stdout)}")


def _last(text: bytes) -> str:
    lines = [line for line in text.decode("ascii", "replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
