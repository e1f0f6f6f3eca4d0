"""A RenderJob made of plain data, for the tests of `change`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabric.errors import FabricError
from fabric.targets.base import Artifact, DeviceRef


@dataclass
class FakeJob:
    """`files`: device -> path -> content. A device whose name holds "ctsw" is EOS, all others FBOSS."""

    files: Mapping[str, Mapping[str, str]]
    spec_sha256: str = "a" * 64
    more_names: frozenset[str] = frozenset()
    mode: int = 0o644
    fail_on: str = ""
    hidden: frozenset[str] = field(default_factory=frozenset)

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


def role_of(name: str) -> str:
    return "ctsw" if "ctsw" in name else "rtsw"


def target_of(name: str) -> str:
    return "eos" if "ctsw" in name else "fboss"


def many(count: int, size: int = 100) -> FakeJob:
    """`count` devices of one file."""
    return FakeJob(
        {f"rtsw{i:04}": {"/etc/coop/agent.conf": f'{{"a": {i}, "pad": "{"x" * size}"}}'} for i in range(count)}
    )
