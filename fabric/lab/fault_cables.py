"""Faults of cables: cut, exchanged, slow, with another MTU on one end."""

from __future__ import annotations

import time

from fabric.errors import FabricError
from fabric.lab import cables, proc, shape
from fabric.lab.cables import Socket
from fabric.lab.fault_book import Book, Fault, Kinds

GAP_S = 1.5
"""How long a socket stays empty when its cable changes, in seconds: lldpd looks at its interfaces a second after a change, and must see it."""


class CableFaults:
    """What can be done to a cable. A cable is named by one end (`NODE:PORT`), or by its two devices."""

    def __init__(self, book: Book) -> None:
        self._book, self._plant = book, book.plant

    def kinds(self) -> Kinds:
        """By name, how each is made and undone."""
        return {
            "cut": (self._cut, self._mend),
            "swap": (self._swap, self._swap_back),
            "slow": (self._slow, self._speed_up),
            "mtu": (self._mtu, self._mtu_back),
        }

    def _link(self, a: str, b: str | None) -> tuple[Socket, Socket]:
        """The two sockets of a cable named by its one end, or by the two devices when only one cable joins them."""
        if ":" in a:
            here = self._plant.socket(a)
            there = self._plant.far(here)
            if there is None:
                raise FabricError(f"{a} has no cable now")
            if b is not None and b not in (there[0], self._plant.port_name(there)):
                raise FabricError(f"{a} is cabled to {self._plant.port_name(there)}, not to {b}")
            return here, there
        self._plant.spec(a)
        if b is None:
            raise FabricError(f"which cable of {a}?", hint=f"{a}:PORT, or {a} and the device at the other end")
        found = [
            (here, there)
            for here in self._plant.ends
            if here[0] == a and (there := self._plant.far(here)) and self._is(there, b)
        ]
        if len(found) != 1:
            raise FabricError(f"{len(found)} cables join {a} and {b}", hint=f"name one by its port: {a}:PORT")
        return found[0]

    def _is(self, socket: Socket, name: str) -> bool:
        return name in (socket[0], self._plant.port_name(socket))

    def _cut(self, a: str, b: str | None = None) -> Fault:
        here, there = self._link(a, b)
        end = self._plant.ends[there]
        stub = f"s{self._book.next}"
        self._plant.before_unplugging(there)
        state = cables.unplug(there, end)
        time.sleep(GAP_S)
        cables.stub(stub)
        cables.plug(there, stub, state)
        self._plant.ends[there] = stub + "a"
        self._plant.replugged(there)
        said = f"cable {self._plant.port_name(here)} - {self._plant.port_name(there)} is cut"
        return {"said": said, "end": end, "stub": stub}

    def _mend(self, fault: Fault) -> None:
        there = next(place for place, end in self._plant.ends.items() if end == fault["stub"] + "a")
        state = cables.unplug(there, fault["stub"])
        time.sleep(GAP_S)
        cables.drop(fault["stub"])
        cables.plug(there, fault["end"], state)
        self._plant.ends[there] = fault["end"]
        self._plant.replugged(there)

    def _swap(self, a: str, b: str) -> Fault:
        (here, first), (other, second) = self._link(a, None), self._link(b, None)
        if second in (here, first):  # both name the same end, or each another one
            raise FabricError(f"{a} and {b} are on one cable: there is nothing to exchange")
        self._exchange(first, second)
        name = self._plant.port_name
        return {
            "said": f"cables swapped: {name(here)} - {name(second)}, {name(other)} - {name(first)}",
            "sockets": [list(first), list(second)],
        }

    def _swap_back(self, fault: Fault) -> None:
        first, second = ((place[0], place[1]) for place in fault["sockets"])
        self._exchange(first, second)

    def _exchange(self, first: Socket, second: Socket) -> None:
        ends = self._plant.ends
        for socket in (first, second):
            self._plant.before_unplugging(socket)
        one, two = cables.unplug(first, "swap1"), cables.unplug(second, "swap2")
        time.sleep(GAP_S)
        cables.plug(first, "swap2", one)
        cables.plug(second, "swap1", two)
        ends[first], ends[second] = ends[second], ends[first]
        self._plant.replugged(first)
        self._plant.replugged(second)

    def _slow(self, a: str, rate: str) -> Fault:
        here, there = self._link(a, None)
        shape.limit({here: self._rate(rate), there: self._rate(rate)})
        said = f"cable {self._plant.port_name(here)} - {self._plant.port_name(there)} carries {rate} only"
        return {"said": said, "sockets": [list(here), list(there)]}

    def _speed_up(self, fault: Fault) -> None:
        sockets = [(name, linux) for name, linux in fault["sockets"]]
        shape.free(sockets)
        self._plant.shape(sockets)

    def _rate(self, rate: str) -> int | str:
        """As tc takes it; in a shaped lab in bits a second, as shapes are: `1gbit`, `10mbit`, `500kbit`."""
        units = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
        number, unit = rate[:-4], rate[-4:].lower()
        return int(number) * units[unit] if self._plant.rates and number.isdecimal() and unit in units else rate

    def _mtu(self, a: str, size: int) -> Fault:
        name, linux = socket = self._plant.socket(a)
        old = cables.snapshot(socket)["mtu"]
        proc.run(["ip", "-n", name, "link", "set", linux, "mtu", str(size)])
        self._plant.forget_ways()
        return {
            "said": f"{self._plant.port_name(socket)} has MTU {size} instead of {old}",
            "socket": [name, linux],
            "old": old,
        }

    def _mtu_back(self, fault: Fault) -> None:
        name, linux = fault["socket"]
        proc.run(["ip", "-n", name, "link", "set", linux, "mtu", str(fault["old"])])
        self._plant.forget_ways()
