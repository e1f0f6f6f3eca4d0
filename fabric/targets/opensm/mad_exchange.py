"""Many questions at once over one port: a window of unanswered requests, each asked again when its time is over.

One datagram at a time leaves the port idle for a round trip each; with a window the tables of a large fabric come at the speed of
the slower of this program and the wire.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from fabric.targets.opensm.mad_packet import Answer, Request, decode, encode

# Management packets have no flow control, and a switch's agent has few buffers: opensm keeps 4 on the wire by default, and 64 where
# it was told so (infiniband.md 1.3). What is dropped all the same is asked for again.
WINDOW: Final = 16
TIMEOUT_MS: Final = 1000
TRIES: Final = 3
POLL_MS: Final = 100

# Takes a request and its data (None = no answer, or refused); returns what to ask next.
Then = Callable[[Request, bytes | None], Iterable[Request]]


class Wire(Protocol):
    """What an exchange needs of a port (`mad_lib.MadPort`)."""

    def send(self, packet: bytes, kind: int, lid: int, timeout_ms: int) -> None:
        """Sends one datagram."""

    def receive(self, timeout_ms: int) -> tuple[bytes, bool] | None:
        """The next datagram and whether it is an own one that came back; None when none came in time."""


@dataclass(slots=True)
class _Flight:
    """A request on the way."""

    request: Request
    deadline: float
    tries: int


class Exchange:
    """Asks over `wire`. `m_key` opens a subnet whose ports are protected by one. `clock` gives seconds, for tests."""

    def __init__(
        self, wire: Wire, *, window: int = WINDOW, timeout_ms: int = TIMEOUT_MS, tries: int = TRIES,
        m_key: int = 0, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._wire = wire
        self._window = window
        self._timeout_ms = timeout_ms
        self._tries = tries
        self._clock = clock
        self._m_key = m_key
        self._last = 0
        self._flying: dict[int, _Flight] = {}  # in the order of sending, so the first has the earliest deadline

    def run(self, requests: Iterable[Request], then: Then) -> None:
        """Asks all of `requests` and whatever `then` returns on the way; returns when every one is answered or given up."""
        more = iter(requests)
        waiting: deque[Request] = deque()
        while True:
            while len(self._flying) < self._window:
                request = waiting.popleft() if waiting else next(more, None)
                if request is None:
                    break
                self._launch(request, 1)
            if not self._flying:
                return
            for request, data in self._landed():
                waiting.extend(then(request, data))

    def ask(self, request: Request) -> bytes | None:
        """The data of one answer; None when there is none."""
        found: list[bytes | None] = []

        def keep(_request: Request, data: bytes | None) -> Iterable[Request]:
            found.append(data)
            return ()

        self.run([request], keep)
        return found[0]

    def _launch(self, request: Request, tries: int) -> None:
        self._last = self._last % 0xFFFFFFFF + 1
        self._flying[self._last] = _Flight(request, self._clock() + self._timeout_ms / 1000, tries)
        self._wire.send(
            encode(request, self._last, self._m_key), request.management_class, request.lid, self._timeout_ms
        )

    def _landed(self) -> list[tuple[Request, bytes | None]]:
        """What one look at the wire settles: an answer, or the requests whose time is over for good."""
        got = self._wire.receive(POLL_MS)
        if got is not None and not got[1]:
            answer = decode(got[0])
            flight = self._flying.get(answer.transaction) if answer else None
            if answer is not None and flight is not None and _answers(answer, flight.request):
                del self._flying[answer.transaction]
                return [(flight.request, answer.data if answer.status == 0 else None)]
        elif got is None or got[1]:
            return self._expired()
        return []

    def _expired(self) -> list[tuple[Request, bytes | None]]:
        now = self._clock()
        late = []
        for transaction, flight in self._flying.items():
            if flight.deadline > now:
                break
            late.append(transaction)
        lost: list[tuple[Request, bytes | None]] = []
        for transaction in late:
            flight = self._flying.pop(transaction)
            if flight.tries < self._tries:
                self._launch(flight.request, flight.tries + 1)
            else:
                lost.append((flight.request, None))
        return lost


def _answers(answer: Answer, request: Request) -> bool:
    """Whether an answer is to this very question: a stray or forged one with a transaction of ours is not taken."""
    return answer.attribute == request.attribute and answer.modifier == request.modifier
