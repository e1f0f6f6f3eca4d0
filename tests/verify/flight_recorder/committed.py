"""The small dumps that are committed, in data/: made by the generator, so that a change of it is seen.

python -m tests.verify.flight_recorder.committed     writes them again
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.verify.flight_recorder.generate import VERSIONS, write
from tests.verify.flight_recorder.job import Edit, Job

DATA = Path(__file__).parent / "data"


def _edit(name: str, value: object) -> Edit:
    return lambda op: setattr(op, name, value)


def _edited(edits: dict[tuple[int, int], Edit]) -> Job:
    return Job(tp=4, dp=1, rounds=3, edits=edits)


FAULTS = {
    "stopped": Job(tp=2, dp=2, rounds=3, stop={3: 8}),
    "gpu": Job(tp=2, dp=2, rounds=3, blind={3: 8}),
    "size": _edited({(3, 8): _edit("numel", 999)}),
    "type": _edited({(3, 8): _edit("dtype", "Float")}),
    "order": _edited({(3, 5): _edit("call", "_reduce_scatter_base"), (3, 6): _edit("call", "_all_gather_base")}),
    "p2p": Job(tp=1, dp=1, pp=4, rounds=6, stop={2: 7}, program=(("pp", "transfer", 1024),)),
    "subgroup": Job(tp=2, dp=2, rounds=3, stop={3: 9}),
}
EXPECTED = {
    "stopped": ("stopped", (3,)), "gpu": ("stuck", (3,)), "size": ("mismatch", (3,)), "type": ("mismatch", (3,)),
    "order": ("mismatch", (3,)), "p2p": ("stopped", (2,)), "subgroup": ("stopped", (3,)), "no-dump": ("no-dump", (3,)),
}  # fmt: skip


def write_all(folder: Path) -> None:
    """Every committed set below `folder`: one a version, one a fault, one without a dump, one as JSON."""
    for version in VERSIONS:
        write(FAULTS["stopped"].run(), folder / f"stopped-{version}", version)
    for name, job in FAULTS.items():
        if name != "stopped":
            write(job.run(), folder / f"{name}-2.9", "2.9")
    write(FAULTS["stopped"].run(), folder / "no-dump-2.9", "2.9", without=[3])
    write(FAULTS["stopped"].run(), folder / "stopped-json", "2.10", form="json")


if __name__ == "__main__":
    shutil.rmtree(DATA, ignore_errors=True)
    write_all(DATA)
