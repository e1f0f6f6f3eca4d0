"""The agent's socket, from both ends: one JSON object each way, a connection a request."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab.fboss.node import Node

_ANSWER_S = 60.0
_BACKLOG = 16
_LIMIT = 1 << 26

REFUSED = (
    "AsyncSocketException: connect failed, type = Socket not open, errno = 111 (Connection refused): Connection refused"
)
"""What a thrift client says when nobody listens (shape: device-answers.md B2; the words are unverified there)."""


class ThriftError(FabricError):
    """The daemon was not reached, or answered with an exception; the message is what stands in quotes after `Thrift call failed`."""


def socket_path(node: Node) -> Path:
    """The agent's socket."""
    return node.state("agent.sock")


def _short(node: Node) -> tuple[int, str]:
    """A name for the socket that fits the 108 bytes of sun_path, with the folder descriptor that it needs."""
    folder = os.open(socket_path(node).parent, os.O_RDONLY | os.O_DIRECTORY)
    return folder, f"/proc/self/fd/{folder}/{socket_path(node).name}"


def listen(node: Node) -> socket.socket:
    """The agent's own end; an old socket of a dead agent is replaced."""
    part = socket_path(node).with_suffix(".part")
    part.unlink(missing_ok=True)
    folder, name = _short(node)
    try:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(str(Path(name).with_suffix(".part")))
        server.listen(_BACKLOG)
        part.rename(socket_path(node))  # whoever sees it is answered
    finally:
        os.close(folder)
    return server


def receive(link: socket.socket, limit: int = _LIMIT) -> bytes:
    """All that the other end sends until it closes its side; ValueError beyond `limit` bytes."""
    found = bytearray()
    while part := link.recv(1 << 16):
        found += part
        if len(found) > limit:
            raise ValueError("too long")
    return bytes(found)


def ask(node: Node, request: dict[str, Any]) -> dict[str, Any]:
    """The agent's answer; ThriftError when it does not answer or refuses."""
    if node.faults().get("agent_down"):
        raise ThriftError(REFUSED)
    try:
        folder, name = _short(node)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
                link.settimeout(_ANSWER_S)
                link.connect(name)
                link.sendall(json.dumps(request).encode())
                link.shutdown(socket.SHUT_WR)
                answer = json.loads(receive(link))
        finally:
            os.close(folder)
    except (OSError, ValueError):
        raise ThriftError(REFUSED) from None
    if "error" in answer:
        raise ThriftError(str(answer["error"]))
    return dict(answer)
