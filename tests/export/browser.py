"""A headless Chromium by its DevTools pipe, with nothing but the standard library: what a page shows, asks for and complains of."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *(
        "--headless",
        "--no-sandbox",
        "--remote-debugging-pipe",
        "--disable-gpu",
        "--no-first-run",
        "--disable-dev-shm-usage",
    ),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions", "--hide-scrollbars"),
)


def find() -> str | None:
    """The browser of this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Tab:
    """One page. `errors`: exceptions, console errors, refusals of its policy; `requests`: all that it asked for, itself left out."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.errors: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a DevTools command; what the page says meanwhile is noted."""
        result = self.browser.call(method, self.session, **params)
        self._note()
        return result

    def open(self, path: Path, *, width: int = 1200, height: int = 1000) -> float:
        """Loads a file; seconds until its load event, as a person would wait."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        began = time.perf_counter()
        url = path.resolve().as_uri()
        self.call("Page.navigate", url=url)
        self.browser.wait(self.session, "Page.loadEventFired")
        took = time.perf_counter() - began
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self._note()
        self.requests = [asked for asked in self.requests if asked != url]
        return took

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def text(self, selector: str) -> str:
        """What a person reads in an element."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def key(self, name: str) -> None:
        """A key is pressed and released."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def picture(self, selector: str = "body", scale: float = 1) -> bytes:
        """A PNG of an element, as far down as it goes; a small one is soon looked at."""
        box = self.run(
            f"(b => ({{x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height}}))"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        clip = {**box, "scale": scale}
        return base64.b64decode(self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"])

    def _note(self) -> None:
        for event in self.browser.taken(self.session):
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                self.errors.append(str(params["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                self.errors.append(str(params["args"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                self.errors.append(str(params["entry"]["text"]))
            elif method == "Network.requestWillBeSent":
                self.requests.append(str(params["request"]["url"]))


class Browser:
    """The process and its pipe: JSON messages, each ended by a zero byte (fd 3 in, fd 4 out on its side)."""

    def __init__(self, program: str, folder: Path) -> None:
        theirs_in, self.out = os.pipe()
        self.back, theirs_out = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
        # Through high numbers, so that neither end is overwritten by the other.
        high_in, high_out = os.dup(theirs_in), os.dup(theirs_out)
        actions += [(os.POSIX_SPAWN_DUP2, high_in, 3), (os.POSIX_SPAWN_DUP2, high_out, 4)]
        argv = [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self.pid = os.posix_spawn(program, argv, os.environ, file_actions=actions, setsid=True)
        for fd in (null, theirs_in, theirs_out, high_in, high_out):
            os.close(fd)
        self.number = 0
        self.buffer = b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def wait(self, session: str, method: str) -> None:
        """Until an event of that name has come."""
        while not any(e.get("sessionId") == session and e.get("method") == method for e in self.events):
            self.events.append(self._next())

    def taken(self, session: str) -> list[dict[str, Any]]:
        """The events of a page that were not taken yet."""
        mine = [event for event in self.events if event.get("sessionId") == session]
        self.events = [event for event in self.events if event.get("sessionId") != session]
        return mine

    def _next(self, timeout: float = 60.0) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], timeout)
            piece = os.read(self.back, 1 << 20) if ready else b""
            assert piece, "the browser does not answer"
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def close(self) -> None:
        """Ends the browser with all its processes."""
        with suppress(OSError, AssertionError):
            self.call("Browser.close")
        for fd in (self.out, self.back):
            os.close(fd)
        deadline = time.monotonic() + 5
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.killpg(self.pid, signal.SIGKILL)
            time.sleep(0.02)


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """A browser whose profile is in `folder`."""
    program = find()
    assert program is not None
    browser = Browser(program, folder)
    try:
        yield browser
    finally:
        browser.close()


def pixels(png: bytes) -> list[list[bytes]]:
    """The rows of an 8-bit RGB or RGBA picture, each pixel three or four bytes (PNG, W3C 2003: the five filters)."""
    at, data, width, depth = 8, b"", 0, 4
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        if kind == b"IHDR":
            width, _, _, colour = struct.unpack_from(">IIBB", png, at + 8)
            depth = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += 12 + size
    raw, stride = zlib.decompress(data), width * depth
    rows, above = [], bytes(stride)
    for start in range(0, len(raw), stride + 1):
        above = _unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), above, depth)
        rows.append([above[at : at + depth] for at in range(0, stride, depth)])
    return rows


def _unfiltered(kind: int, line: bytearray, above: bytes, depth: int) -> bytes:
    for at in range(len(line)):
        left = line[at - depth] if at >= depth else 0
        up, corner = above[at], above[at - depth] if at >= depth else 0
        line[at] = (line[at] + (0, left, up, (left + up) // 2, _nearest(left, up, corner))[kind]) & 255
    return bytes(line)


def _nearest(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda value: abs(guess - value))
