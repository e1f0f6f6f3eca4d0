"""The starter of tests/lab/test_survive.py, without a lab."""

from __future__ import annotations

import socket

import pytest

from tests.lab.survive_start import _serve


def test_it_ends_quietly_when_its_client_is_gone() -> None:
    client, server = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.close()
    with server, pytest.raises(SystemExit) as ended:
        _serve(server)
    assert ended.value.code == 0
