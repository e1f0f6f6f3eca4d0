"""Values out of an ansible-vault file: a YAML mapping, encrypted as a whole or value by value (`!vault`)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fabric.change.secrets import read_secret
from fabric.errors import FabricError

PASSWORD_FILE = "FABRIC_VAULT_PASSWORD_FILE"  # noqa: S105 - the variable's name
"""Environment variable: the file with the vault's password, or a program that prints it, as ansible takes it."""
_HEADER = "$ANSIBLE_VAULT;"
_WAIT_S = 30


def read_vault(path: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The texts and numbers of the vault's top level by key. Raises FabricError, never with a value in it."""
    text = read_secret(path, "vault")
    vault = _library(env, path)
    if text.startswith(_HEADER):
        text = _decrypt(vault, text, path)
    elif "!vault" not in text:
        raise FabricError(f"vault: {path} is not encrypted", hint="ansible-vault encrypt it")

    class Loader(yaml.SafeLoader):
        """Safe YAML with `!vault`."""

    Loader.add_constructor("!vault", lambda _loader, node: _decrypt(vault, str(node.value), path))
    try:
        data = yaml.load(text, Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError:
        raise FabricError(f"vault: {path} holds no YAML") from None
    if not isinstance(data, dict):
        raise FabricError(f"vault: {path} holds no mapping of names to values")
    return {str(key): str(value) for key, value in data.items() if isinstance(value, str | int)}


def _library(env: Mapping[str, str], path: Path) -> Any:
    where = env.get(PASSWORD_FILE) or env.get("ANSIBLE_VAULT_PASSWORD_FILE")
    if not where:
        raise FabricError(f"vault: no password for {path}", hint=f"set {PASSWORD_FILE} to the file that holds it")
    from ansible.constants import DEFAULT_VAULT_IDENTITY  # heavy: only who has a vault pays
    from ansible.parsing.vault import VaultLib, VaultSecret

    return VaultLib([(DEFAULT_VAULT_IDENTITY, VaultSecret(_password(Path(where)).encode()))])


def _password(path: Path) -> str:
    if path.is_file() and os.access(path, os.X_OK):
        try:
            done = subprocess.run([str(path.resolve())], capture_output=True, timeout=_WAIT_S, check=True)  # noqa: S603
        except (OSError, subprocess.SubprocessError) as error:
            raise FabricError(f"vault: {path} gave no password ({type(error).__name__})") from None
        return done.stdout.decode("utf-8", "replace").strip()
    return read_secret(path, "vault password").strip()


def _decrypt(vault: Any, text: str, path: Path) -> str:
    from ansible.errors import AnsibleError

    try:
        return str(vault.decrypt(text.strip().encode()).decode("utf-8"))
    except (AnsibleError, UnicodeDecodeError):
        raise FabricError(f"vault: {path} cannot be decrypted with this password") from None
