"""A RenderJob made of plain data, for the tests of `change`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabric.errors import FabricError
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.ends import Ends, FarEnds, SessionEnd

PEERS_OVER = {"Ethernet1/1": "10.0.0.1", "Ethernet2/1": "2001:db8::1"}
"""The port over which each peer of a fake device is."""


@dataclass
class FakeJob:
    """`files`: device -> path -> content. A device whose name holds "ctsw" is EOS, all others FBOSS."""

    files: Mapping[str, Mapping[str, str]]
    spec_sha256: str = "a" * 64
    more_names: frozenset[str] = frozenset()
    mode: int = 0o644
    fail_on: str = ""
    hidden: frozenset[str] = field(default_factory=frozenset)
    cables: Mapping[str, FarEnds] = field(default_factory=dict)

    @property
    def devices(self) -> Sequence[DeviceRef]:
        return [DeviceRef(name, role_of(name), target_of(name)) for name in self.files]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.files) | self.more_names

    def render(self, name: str) -> list[Artifact]:
        if name == self.fail_on:
            raise FabricError(f"{name} cannot be rendered", hint="because the test says so")
        return [
            Artifact(name, role_of(name), target_of(name), path, content.encode(), self.mode)
            for path, content in self.files[name].items()
        ]

    def normalise(self, _target: str, text: str) -> str:
        return "\n".join(line for line in text.split("\n") if line.strip() not in self.hidden)

    def ends(self, _target: str, files: Mapping[str, bytes | None]) -> Ends:
        """Sessions over the `cables` of the device that the files name; both ends must have the same MTU."""
        text = b"".join(content or b"" for content in files.values()).decode()
        name, mtu = re.search(r"z\d\d-\w+", text), re.search(r"mtu\W+(\d+)", text)
        if name is None or mtu is None:
            return Ends()
        sessions = {peer: SessionEnd(mtu[1], mtu[1], "", (), port) for port, peer in PEERS_OVER.items()}
        return Ends({peer: end for peer, end in sessions.items() if end.port in self.cables.get(name[0], {})})

    def far_ends(self, name: str) -> FarEnds:
        return self.cables.get(name, {})


def role_of(name: str) -> str:
    return "ctsw" if "ctsw" in name else "rtsw"


def target_of(name: str) -> str:
    return "eos" if "ctsw" in name else "fboss"


def many(count: int, size: int = 100) -> FakeJob:
    """`count` devices of one file."""
    return FakeJob(
        {f"rtsw{i:04}": {"/etc/coop/agent.conf": f'{{"a": {i}, "pad": "{"x" * size}"}}'} for i in range(count)}
    )
