"""Texts that stand in a device's configuration: what is taken."""

from __future__ import annotations

import pytest

from fabric.spec.base import plain_text, ssh_key


@pytest.mark.parametrize(
    "line",
    [
        "ssh-ed25519 AAAAC3Nza",
        "ssh-rsa " + "A" * 2744 + " a key of 16384 bits",
        "ecdsa-sha2-nistp256 AAAAE2Vj= netops@mgmt",
    ],
)
def test_public_keys(line: str) -> None:
    assert ssh_key(line) == line


@pytest.mark.parametrize("text", ["hall 1", 'row "a", ! #4'])
def test_plain_texts(text: str) -> None:
    assert plain_text(text) == text
