"""Secrets: values from the environment, a file or an ansible-vault, filled into `$SECRET{name}` just before sending.

A value lives in memory only: nothing here puts one into a message, a repr or a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric.change.files import cannot, read_regular
from fabric.change.mask import MASK, mask_line
from fabric.errors import FabricError
from fabric.spec.management import Secret
from fabric.targets.base import Artifact

LIMIT = 1 << 20
"""Bytes of a file that holds a secret, or of a vault."""
_REFERENCE = re.compile(rb"\$SECRET\{([^}]*)\}")
_QUOTED = re.compile(rb'(?<==")\$SECRET\{([^}]*)\}(?="$)', re.MULTILINE)
"""A whole value between double quotes, as in an EnvironmentFile: systemd takes a backslash off there (systemd.exec(5))."""
_SHORTEST = 4  # a value shorter than this is not looked for in texts: it would mask half of them


class Secrets:
    """Values by name. Nothing prints them: repr says how many there are."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)
        long = [value for value in self._values.values() if len(value) >= _SHORTEST]
        found = sorted(
            {form for value in long for form in (value, _escaped(value), _in_json(value))}, key=len, reverse=True
        )
        self._known = re.compile("|".join(map(re.escape, found))) if found else None

    def __repr__(self) -> str:
        return f"Secrets({len(self._values)})"

    def fill(self, content: bytes) -> bytes:
        """A file's bytes with every placeholder replaced. Raises FabricError with the name of a secret that is not there."""
        as_json = content.lstrip()[:1] in (b"{", b"[")

        def value(match: re.Match[bytes], form: Callable[[str], str]) -> bytes:
            name = match[1].decode()
            if name not in self._values:
                raise FabricError(f"there is no value for secret {name!r}")
            return form(self._values[name]).encode()

        if as_json:
            return _REFERENCE.sub(lambda match: value(match, _in_json), content)
        # one pass, so that a value that itself looks like a placeholder stays what it is
        quoted = {match.start() for match in _QUOTED.finditer(content)}
        return _REFERENCE.sub(lambda match: value(match, _escaped if match.start() in quoted else str), content)

    def redact(self, text: str) -> str:
        """`text` (a device's words, a diff) without any of our values and without what looks like another secret."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        return "\n".join(map(mask_line, text.split("\n")))


def _in_json(value: str) -> str:
    return json.dumps(value)[1:-1]


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def references(artifacts: Iterable[Artifact]) -> set[str]:
    """The names of all secrets that the artifacts ask for."""
    return {name.decode() for artifact in artifacts if artifact.secret for name in _REFERENCE.findall(artifact.content)}


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Where values come from: `declared` is the spec's `secrets`, `folder` the spec's folder, `env` the environment."""

    declared: Mapping[str, Secret]
    folder: Path
    env: Mapping[str, str]

    def resolve(self, names: Iterable[str]) -> Secrets:
        """The values of `names`. Raises FabricError: one line with the name of the first secret that cannot be had."""
        vaults: dict[str, Mapping[str, str]] = {}
        return Secrets({name: self._value(name, vaults) for name in sorted(names)})

    def _value(self, name: str, vaults: dict[str, Mapping[str, str]]) -> str:
        declared = self.declared.get(name)
        if declared is None:
            raise FabricError(f"secret {name!r} is not declared in the spec", hint="add it under `secrets`")
        if declared.env is not None and self.env.get(declared.env):
            return _usable(name, self.env[declared.env])
        if declared.file is not None:
            return _usable(name, read_secret(self.folder / declared.file, f"secret {name!r}"))
        if declared.vault is not None:
            file, _, key = declared.vault.rpartition(":")
            if file not in vaults:
                from fabric.change.vault import read_vault

                vaults[file] = read_vault(self.folder / file, self.env)
            if key not in vaults[file]:
                raise FabricError(f"secret {name!r}: {file} holds no key {key!r}")
            return _usable(name, vaults[file][key])
        if declared.env is not None:
            raise FabricError(f"secret {name!r} is not set", hint=f"set the environment variable {declared.env}")
        raise FabricError(f"secret {name!r} has no source", hint="give it env, file or vault in the spec")


def read_secret(path: Path, what: str) -> str:
    """The text of a file that holds one secret, without its last line end. Raises FabricError that begins with `what`."""
    try:
        data = read_regular(str(path), LIMIT)
    except OSError as error:
        raise FabricError(f"{what}: {cannot('read', path, error).message}") from error
    if data is None:
        raise FabricError(f"{what}: there is no file {path}")
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise FabricError(f"{what}: {path} is not text") from None


def _usable(name: str, value: str) -> str:
    if not value:
        raise FabricError(f"secret {name!r} is empty")
    if not value.isprintable():
        raise FabricError(
            f"secret {name!r} holds a line end or another control character, which no configuration takes"
        )
    return value
