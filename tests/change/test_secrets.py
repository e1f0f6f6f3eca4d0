"""Secrets: where values come from, that a missing one is one clear line, and that none is ever shown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.change.credentials import Credentials
from fabric.change.mask import mask_line
from fabric.change.secrets import Secrets, SecretSource, references
from fabric.errors import FabricError
from fabric.spec.management import Secret
from fabric.targets.base import Artifact

VALUE = "hunter2-hunter2"
EXE = Path(sys.executable).with_name("ansible-vault")


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A vault, encrypted once for all tests."""
    folder = tmp_path_factory.mktemp("vault")
    (folder / "vault.yml").write_text(f"netops: {VALUE}\nfabric_password: {VALUE}\nnumber: 7\n")
    (folder / "pass").write_text("open sesame\n")
    command: list[str | Path] = [EXE, "encrypt", "--vault-password-file", folder / "pass", folder / "vault.yml"]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "vault.yml").read_bytes()


@pytest.fixture
def vault(tmp_path: Path, encrypted: bytes) -> dict[str, str]:
    """The environment for an encrypted vault.yml in tmp_path."""
    (tmp_path / "vault.yml").write_bytes(encrypted)
    (tmp_path / "pass").write_text("open sesame\n")
    return {"FABRIC_VAULT_PASSWORD_FILE": str(tmp_path / "pass"), "FABRIC_VAULT_FILE": str(tmp_path / "vault.yml")}


def source(tmp_path: Path, env: dict[str, str] | None = None, **declared: Secret) -> SecretSource:
    return SecretSource(declared, tmp_path, env or {})


def test_from_the_environment_a_file_and_a_vault(tmp_path: Path, vault: dict[str, str]) -> None:
    (tmp_path / "f").write_text("from-file\n")
    found = source(
        tmp_path, {**vault, "V": "from-env"}, e=Secret(env="V"), f=Secret(file="f"), v=Secret(vault="vault.yml:netops")
    ).resolve({"e", "f", "v"})
    assert found.fill(b"$SECRET{e} $SECRET{f} $SECRET{v}") == f"from-env from-file {VALUE}".encode()


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (None, "secret 'x' is not declared"),
        (Secret(env="NOT_SET"), "secret 'x' is not set (hint: set the environment variable NOT_SET)"),
        (Secret(env="EMPTY"), "secret 'x' is not set"),
        (Secret(env="LINES"), "secret 'x' holds a line end"),
        (Secret(file="none"), "secret 'x': there is no file"),
        (Secret(file="empty"), "secret 'x' is empty"),
        (Secret(file="."), "secret 'x': cannot read"),
        (Secret(vault="vault.yml:none"), "secret 'x': vault.yml holds no key 'none'"),
        (Secret(), "secret 'x' has no source"),
    ],
)
def test_what_cannot_be_had(tmp_path: Path, vault: dict[str, str], declared: Secret | None, words: str) -> None:
    (tmp_path / "empty").write_text("\n")
    env = {**vault, "EMPTY": "", "LINES": f"{VALUE}\nmore"}
    with pytest.raises(FabricError) as error:
        SecretSource({} if declared is None else {"x": declared}, tmp_path, env).resolve({"x"})
    assert words in str(error.value)
    assert VALUE not in str(error.value)
    assert mask_line(f"network: {error.value}") == f"network: {error.value}", (
        "a host's report masks secrets, not their names"
    )


def test_vault_with_the_wrong_password_or_none(tmp_path: Path, vault: dict[str, str]) -> None:
    declared = Secret(vault="vault.yml:netops")
    with pytest.raises(FabricError, match="no password for"):
        source(tmp_path, {}, x=declared).resolve({"x"})
    (tmp_path / "pass").write_text("wrong\n")
    with pytest.raises(FabricError, match="cannot be decrypted with this password"):
        source(tmp_path, vault, x=declared).resolve({"x"})
    (tmp_path / "vault.yml").write_text("netops: open\n")
    with pytest.raises(FabricError, match="is not encrypted"):
        source(tmp_path, vault, x=declared).resolve({"x"})


def test_a_single_value_may_be_encrypted(tmp_path: Path, vault: dict[str, str]) -> None:
    command: list[str | Path] = [
        EXE,
        "encrypt_string",
        "--vault-password-file",
        tmp_path / "pass",
        "-n",
        "netops",
        VALUE,
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (tmp_path / "vault.yml").write_text(text + "\n")
    assert (
        source(tmp_path, vault, x=Secret(vault="vault.yml:netops")).resolve({"x"}).fill(b"$SECRET{x}") == VALUE.encode()
    )


def test_the_password_may_come_from_a_program(tmp_path: Path, vault: dict[str, str]) -> None:
    (tmp_path / "pass").write_text("#!/bin/sh\necho open sesame\n")
    (tmp_path / "pass").chmod(0o700)
    assert Credentials.of(vault).password == VALUE


def test_values_in_json_are_escaped_and_nothing_shows_them() -> None:
    secrets = Secrets({"x": 'a"b\\c'})
    assert secrets.fill(b'{"key": "$SECRET{x}"}') == b'{"key": "a\\"b\\\\c"}'
    assert secrets.fill(b"key $SECRET{x}") == b'key a"b\\c'
    assert "a" not in repr(secrets).removeprefix("Secrets")
    with pytest.raises(FabricError, match="no value for secret 'y'"):
        secrets.fill(b"$SECRET{y}")


def test_devices_words_are_cleaned_of_values_and_of_what_looks_like_one() -> None:
    text = Secrets({"x": VALUE}).redact(f"% Invalid input: motd {VALUE}\nusername a secret sha512 $6$other")
    assert VALUE not in text
    assert "$6$other" not in text


def test_only_what_the_files_ask_for_is_needed() -> None:
    def file(content: bytes, *, secret: bool) -> Artifact:
        return Artifact("d", "r", "eos", "/p", content, secret=secret)

    assert references([file(b"$SECRET{a-b} $SECRET{c}", secret=True), file(b"$SECRET{no}", secret=False)]) == {
        "a-b",
        "c",
    }


def test_credentials(vault: dict[str, str]) -> None:
    assert Credentials.of({}) == Credentials("netops", "root", sm_user="root", password=None, key_file=None)
    found = Credentials.of({**vault, "FABRIC_USER": "me", "FABRIC_KEY_FILE": "/k"})
    assert (found.user, found.password, found.key_file) == ("me", VALUE, "/k")
    assert VALUE not in repr(found)
    login = found.login("fboss", "10.0.0.1", Path("/s/known_hosts"), 5.0)
    assert (login.username, login.known_hosts, login.timeout_s) == ("root", "/s/known_hosts", 5.0)
    sm = Credentials.of({"FABRIC_SM_USER": "smop"}).login("opensm", "10.0.0.2", Path("/s/known_hosts"), 5.0)
    assert sm.username == "smop"
    assert VALUE not in repr(login)


def test_a_value_inside_quotes_of_an_environment_file_arrives_whole() -> None:
    """systemd.exec(5): a quote or backslash in double quotes needs a backslash before it. Neither form is ever shown."""
    secrets = Secrets({"token": 'Zq"hun$ter\\x'})
    written = secrets.fill(b'TOKEN="$SECRET{token}"\n')
    assert written == b'TOKEN="Zq\\"hun$ter\\\\x"\n'
    assert secrets.fill(b"key $SECRET{token}") == b'key Zq"hun$ter\\x'
    assert "hun" not in secrets.redact(
        f"said {written.decode()} and {json.dumps('Zq' + chr(34) + 'hun$ter' + chr(92) + 'x')}"
    )
