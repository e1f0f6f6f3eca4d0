"""How the command line talks to a lab's supervisor: one JSON line asks, JSON lines answer, over a unix socket in the state folder."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fabric.errors import FabricError

SOCKET = "control.sock"


def ask(
    folder: Path,
    operation: str,
    *,
    progress: Callable[[str], None] | None = None,
    timeout_s: float = 600.0,
    **arguments: Any,
) -> dict[str, Any]:
    """Have the supervisor of the lab in `folder` do something; returns its answer.

    `progress` is called with each line that the supervisor says meanwhile. Raises FabricError with its words, or when it does not answer.
    """
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(timeout_s)
        try:
            with _short(folder) as path:
                channel.connect(path)
            channel.sendall(json.dumps({"op": operation, **arguments}).encode() + b"\n")
            with channel.makefile("r", encoding="utf-8") as lines:
                for line in lines:
                    answer: dict[str, Any] = json.loads(line)
                    if "progress" not in answer:
                        return _result(answer)
                    if progress is not None:
                        progress(answer["progress"])
        except TimeoutError:
            raise FabricError(f"the lab's supervisor did not answer in {timeout_s:g} s") from None
        except (OSError, ValueError) as error:
            raise FabricError(
                f"the lab's supervisor does not answer: {error}", hint=f"see {folder}/logs/supervisor.log"
            ) from None
    raise FabricError("the lab's supervisor went away", hint=f"see {folder}/logs/supervisor.log")


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise FabricError(str(answer["error"]), hint=answer.get("hint"))
    return answer


@contextlib.contextmanager
def _short(folder: Path) -> Iterator[str]:
    """A path of the socket that fits the 108 bytes of `sun_path`, however long the folder's is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


class Listener:
    """The supervisor's end."""

    def __init__(self, folder: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        with _short(folder) as path:
            self._socket.bind(f"{path}.part")
        self._socket.listen(16)
        (folder / f"{SOCKET}.part").rename(folder / SOCKET)  # there only once it can be connected to

    def fileno(self) -> int:
        """For selectors."""
        return self._socket.fileno()

    def serve_one(self, handle: Callable[[dict[str, Any], Callable[[str], None]], dict[str, Any]]) -> None:
        """Take one request, have it handled, answer. A client that went away or asks nonsense harms nobody."""
        channel, _ = self._socket.accept()
        with channel:
            channel.settimeout(5.0)
            try:
                request = json.loads(_line(channel))
                answer = self._handled(handle, request, channel)
                channel.sendall(json.dumps(answer).encode() + b"\n")
            except (OSError, ValueError) as error:
                print(f"control: {error}", flush=True)

    @staticmethod
    def _handled(
        handle: Callable[[dict[str, Any], Callable[[str], None]], dict[str, Any]],
        request: dict[str, Any],
        channel: socket.socket,
    ) -> dict[str, Any]:
        def say(text: str) -> None:
            channel.sendall(json.dumps({"progress": text}).encode() + b"\n")

        try:
            return handle(request, say)
        except FabricError as error:
            return {"error": error.message, "hint": error.hint}
        except OSError as error:
            return {"error": error.strerror or str(error)}
        except Exception as error:  # a bug in one operation must not end the lab
            import traceback

            traceback.print_exc()
            return {"error": f"the lab's supervisor failed: {error!r}", "hint": "its log has the details"}


def _line(channel: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        part = channel.recv(65536)
        if not part or len(data) > 1_000_000:
            raise ValueError("a request that is no line")
        data += part
    return data
