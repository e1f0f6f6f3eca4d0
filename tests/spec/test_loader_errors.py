"""Every file in bad/, and the made ones that are too big or too odd to keep, gets exactly the text in golden/errors/."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from fabric.errors import FabricError, FabricErrors
from fabric.spec.loader import load_model
from fabric.spec.yaml_read import MAX_BYTES

BAD = Path(__file__).parent / "bad"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


def _host_name(value: str) -> str:
    if not value.isalnum():
        raise ValueError(f"{value!r} is not a legal host name")
    return value


class Profile(Strict):
    kind: Literal["profile"] = "profile"
    hosts: Annotated[int, Field(ge=1, le=2)]


class Fixed(Strict):
    kind: Literal["fixed"]
    speed: Literal["100G", "200G", "400G"]


class Copper(Strict):
    medium: Literal["copper", "dac"]
    metres: Annotated[float, Field(gt=0, lt=3)]


class Optic(Strict):
    medium: Literal["optic"]
    module: str


class Zone(Strict):
    name: Annotated[str, AfterValidator(_host_name)]
    racks: Annotated[int, Field(ge=1, le=255)]
    profile: str | None = None
    cable: Annotated[Copper | Optic, Field(discriminator="medium")] | None = None
    uplinks: int | Literal["auto", "all"] = "auto"
    port: Profile | Fixed | None = None
    dscps: Annotated[tuple[int, ...], Field(min_length=1, max_length=3)] = (26,)


class Backend(Strict):
    zones: Annotated[list[Zone], Field(min_length=1)]
    pool: IPv4Network = IPv4Network("10.0.0.0/8")
    ecn: Literal["off", "red"] = "red"
    asns: dict[int, str] = {}
    labels: dict[str, Annotated[str, Field(max_length=8)]] = {}

    @model_validator(mode="after")
    def _unique(self) -> Backend:
        names = [zone.name for zone in self.zones]
        if len(set(names)) != len(names):
            raise ValueError("two zones have the same name")
        return self


class Spec(Strict):
    version: Annotated[Literal[1], Field(alias="schema")]
    site: Annotated[str, Field(pattern=r"^[a-z]+$", min_length=2)] = "lab"
    backend: Backend
    installed: date | None = None
    enabled: bool = True
    snmp_community: str | None = None


# Too big, or not text: made when the test runs
MADE: dict[str, Callable[[], bytes]] = {
    "binary.yaml": lambda: bytes(range(256)),
    "nul.yaml": lambda: b"schema: 1\nsite: a\x00b\n",
    "latin1.yaml": lambda: b"schema: 1\nsite: caf\xe9\n",
    "utf16.yaml": lambda: "schema: 1\n".encode("utf-16"),
    "elf.yaml": lambda: b"\x7fELF\x02\x01\x01" + bytes(64),
    "empty.yaml": lambda: b"",
    "too-large.yaml": lambda: b"# " + b"x" * MAX_BYTES,
    "10mb-unclosed.yaml": lambda: b"schema: [" + b"1, " * 3_500_000,
    "10mb-text.yaml": lambda: (
        b"schema: 1\nsite: " + b"a" * 10_000_000 + b"B\nbackend: {zones: [{name: a, racks: 1}]}\n"
    ),
    "10mb-same-key.yaml": lambda: b"schema: 1\n" * 1_000_000,
    "10mb-unknown-keys.yaml": lambda: b"".join(b"zones_%07d: {racks: %d}\n" % (n, n) for n in range(330_000)),
    "10mb-values.yaml": lambda: b"- 1\n" * 2_500_000,
    "deep-flow.yaml": lambda: b"schema: " + b"[" * 100_000,
    "deep-100.yaml": lambda: b"schema: " + b"[" * 100 + b"]" * 100,
    "deep-block.yaml": lambda: b"".join(b" " * n + b"a:\n" for n in range(3_000)),
    "laughs.yaml": lambda: _laughs(b"[", b"]"),
    "laughs-merge.yaml": lambda: _laughs(b"{<<: [", b"], k%d: 1}"),
}


def _laughs(start: bytes, end: bytes) -> bytes:
    lines = [b"a0: &a0 {lol: 1}"]
    for n in range(1, 30):
        close = end % n if b"%d" in end else end
        lines.append(b"a%d: &a%d " % (n, n) + start + b", ".join([b"*a%d" % (n - 1)] * 10) + close)
    return b"\n".join(lines) + b"\n"


def told(path: Path) -> str:
    """The lines that the user reads."""
    with pytest.raises(FabricError) as caught:
        load_model(path, Spec)
    errors = caught.value.errors if isinstance(caught.value, FabricErrors) else [caught.value]
    return "".join(f"{error}\n" for error in errors)


@pytest.mark.parametrize("name", sorted(path.name for path in BAD.glob("*.yaml")))
def test_bad_file(name: str, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]) -> None:
    monkeypatch.chdir(BAD)
    golden(f"errors/{name.removesuffix('.yaml')}.txt", told(Path(name)))


@pytest.mark.parametrize("name", MADE)
def test_made_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(MADE[name]())
    golden(f"errors/{name.removesuffix('.yaml')}.txt", told(Path(name)))


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]) -> None:
    import os

    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").write_text("")
    Path("loop").symlink_to("loop")
    os.mkfifo("pipe")
    names = ["missing.yaml", "folder", "file/cluster.yaml", "loop", "pipe", "/dev/null", "nul\0.yaml", "n" * 300]
    golden("errors/no-file.txt", "".join(told(Path(name)) for name in names))


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "cluster.yaml"
    path.write_text("schema: 1\n")
    monkeypatch.setattr(Path, "open", refuse)  # root may read everything: chmod would prove nothing
    assert told(path) == f"{path}: cannot read the file: Permission denied\n"
