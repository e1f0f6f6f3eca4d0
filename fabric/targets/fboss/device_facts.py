"""What the FBOSS driver asks of the box: one command a fact, outputs apart (log lines on stderr are never part of the JSON)."""

from __future__ import annotations

from fabric.targets.connect import Connection, Ran
from fabric.targets.device import DeviceError, DeviceRefusedError
from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, Route, Version
from fabric.targets.fboss.device_files import COOP
from fabric.targets.fboss.read_bgp import read_bgp
from fabric.targets.fboss.read_interface import read_admin, read_interfaces
from fabric.targets.fboss.read_lldp import read_lldp
from fabric.targets.fboss.read_route import read_route
from fabric.targets.fboss.read_version import read_agent_version, read_boot_history, read_product, read_uptime

_BOOT_HISTORY = "/var/facebook/logs/fboss/fboss_sw_agent_boot_history.log"


class FbossFacts:
    """The questions to one box, over its connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def version(self) -> Version:
        """Host name and up time of Linux, product and agent version of FBOSS; the latter two are None when not told."""
        host = self._connection.run("hostname").text.strip()
        if not host:
            raise DeviceError(f"{self._connection.name}: it tells no host name")
        try:
            model = read_product(self._ask("show product"))
        except DeviceRefusedError:
            model = None
        return Version(host, model, self._image(), read_uptime(self._connection.run("cat /proc/uptime").text))

    def _image(self) -> str | None:
        try:
            return read_agent_version(self._ask("show version agent"))
        except DeviceRefusedError:
            return read_boot_history(self._connection.run(f"tail -n 1 {_BOOT_HISTORY} 2>/dev/null").text)

    def lldp(self) -> list[LldpNeighbor]:
        """`show lldp`."""
        return read_lldp(self._ask("show lldp"))

    def bgp(self) -> list[BgpSession]:
        """`show bgp summary`; none on a box that was never given a BGP configuration (its bgpd does not run)."""
        try:
            return read_bgp(self._ask("show bgp summary"))
        except DeviceRefusedError:
            if self._connection.run(f"test -e {COOP}/bgpcpp/bgpcpp.conf || echo none").text.strip() == "none":
                return []
            raise

    def routes(self) -> list[Route]:
        """`show route`."""
        return read_route(self._ask("show route"))

    def interfaces(self) -> list[InterfaceState]:
        """`show interface`, and `show port` for the administrative state, which is unknown when that is refused."""
        try:
            admin = read_admin(self._ask("show port"))
        except DeviceRefusedError:
            admin = {}
        return read_interfaces(self._ask("show interface"), admin)

    def _ask(self, what: str) -> str:
        ran = self._connection.run(f"fboss2 --fmt json {what}")
        if ran.status != 0:
            words = failure_words(ran)
            said = words[0] if words else f"status {ran.status}"
            raise DeviceRefusedError(f"{self._connection.name}: fboss2 {what}: {said}", words)
        return ran.text


def failure_words(ran: Ran) -> tuple[str, ...]:
    """What a failed command says, without the frame that fboss2 puts around it."""
    return tuple(line for line in ran.words if line not in ("{}", "localhost::") and set(line) != {"="})
