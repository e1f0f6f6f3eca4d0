"""A virtual EOS switch in this process: no root, no network, a clock that the test moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fabric.lab.eos.commands import COMMANDS
from fabric.lab.eos.device import NodeFile, Switch
from fabric.lab.eos.shell import Reply, Shell
from fabric.lab.eos.shows import handlers
from fabric.lab.eos.tree import Node, render


class FakeSources:
    """Live data as the tools print it."""

    def links(self) -> dict[str, dict[str, Any]]:
        return {
            "et3_1_1": {
                "ifname": "et3_1_1",
                "flags": ["UP", "LOWER_UP"],
                "operstate": "UP",
                "mtu": 9000,
                "address": "00:00:5e:00:53:01",
                "stats64": {
                    "rx": {"bytes": 1000, "packets": 11, "errors": 0, "dropped": 2, "multicast": 1},
                    "tx": {"bytes": 900, "packets": 9, "errors": 0, "dropped": 3},
                },
            },
            "et3_2_1": {
                "ifname": "et3_2_1",
                "flags": ["UP"],
                "operstate": "DOWN",
                "mtu": 1500,
                "address": "00:00:5e:00:53:02",
            },
            "ma0": {
                "ifname": "ma0",
                "flags": ["UP", "LOWER_UP"],
                "operstate": "UP",
                "mtu": 1500,
                "address": "00:00:5e:00:53:03",
            },
        }

    def frr(self, command: str) -> dict[str, Any]:
        if "summary" in command:
            peer = "198.51.100.1" if "ipv4" in command else "2001:db8:128::1"
            base = {"remoteAs": 64501, "msgRcvd": 5, "msgSent": 6, "inq": 0, "outq": 0, "peerUptimeMsec": 5000}
            return {
                "routerId": "192.0.2.1",
                "as": 64496,
                "peers": {
                    peer: {**base, "state": "Established", "pfxRcd": 16, "desc": "rtsw001"},
                    "198.51.100.5": {**base, "state": "Idle (Admin)"},
                },
            }
        hops = [{"ip": f"198.51.100.{n}", "interfaceName": f"et3_{n}_1", "active": True, "fib": True} for n in (1, 2)]
        connected = [{"directlyConnected": True, "interfaceName": "et3_1_1", "active": True}]
        return {
            "203.0.113.0/24": [
                {
                    "prefix": "203.0.113.0/24",
                    "protocol": "bgp",
                    "selected": True,
                    "installed": True,
                    "distance": 200,
                    "metric": 0,
                    "nexthops": hops,
                }
            ],
            "198.51.100.0/31": [
                {
                    "prefix": "198.51.100.0/31",
                    "protocol": "connected",
                    "selected": True,
                    "installed": True,
                    "distance": 0,
                    "metric": 0,
                    "nexthops": connected,
                }
            ],
            "10.0.0.0/16": [
                {
                    "prefix": "10.0.0.0/16",
                    "protocol": "connected",
                    "selected": True,
                    "nexthops": [{"interfaceName": "ma0", "active": True}],
                }
            ],
        }

    def neighbors(self) -> list[dict[str, Any]]:
        return [
            {
                "name": "et3_1_1",
                "age": "0 day, 00:00:05",
                "chassis": [
                    {
                        "id": [{"type": "mac", "value": "00:00:5e:00:53:11"}],
                        "name": [{"value": "rtsw001"}],
                        "descr": [{"value": "FBOSS"}],
                        "mgmt-ip": [{"value": "192.0.2.11"}],
                        "mgmt-iface": [{"value": "2"}],
                        "capability": [{"type": "Router", "enabled": True}],
                    }
                ],
                "port": [
                    {
                        "id": [{"type": "ifname", "value": "eth2/1/1"}],
                        "descr": [{"value": "ctsw001:Ethernet3/1/1"}],
                        "ttl": [{"value": "120"}],
                    }
                ],
            },
        ]


class VeosBox:
    """One switch: `cli()` logs in, `programmed` lists what was put in force, `now` is the clock."""

    def __init__(self, folder: Path, *, startup: str = "", **settings: Any) -> None:
        (folder / "flash").mkdir(exist_ok=True)
        if startup:
            (folder / "flash" / "startup-config").write_text(startup, encoding="utf-8")
        ports = {"Ethernet3/1/1": "et3_1_1", "Ethernet3/2/1": "et3_2_1"}
        node = {"name": "ctsw001", "ports": ports, "flash": str(folder / "flash"), "settings": {"eos": settings}}
        (folder / "node.json").write_text(json.dumps(node), encoding="utf-8")
        self.folder = folder
        self.now = 1_767_312_000.5
        self.programmed: list[list[str]] = []
        self.switch = Switch(NodeFile.read(folder), self._program, lambda: self.now)
        self.switch.boot()
        self._logins = 0

    def _program(self, root: Node) -> None:
        self.programmed.append(render(root))

    def cli(self, *, enabled: bool = True) -> Cli:
        self._logins += 1
        sources: Any = FakeSources()
        shell = Shell(self.switch, "netops", "vty1", self._logins, {**COMMANDS, **handlers(sources)})
        if enabled:
            shell.execute("enable")
        return Cli(shell)

    def fault(self, **faults: Any) -> None:
        (self.folder / "faults.json").write_text(json.dumps(faults), encoding="utf-8")


class Cli:
    """A login: `say` types a line, `text` is what came back."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    def reply(self, line: str) -> Reply:
        return self.shell.execute(line)

    def say(self, *lines: str) -> str:
        return "".join(self.shell.execute(line).text for line in lines)

    def json(self, line: str) -> Any:
        return json.loads(self.say(f"{line} | json"))

    def paste(self, text: str, target: str = "session-config") -> str:
        assert self.reply(f"copy terminal: {target}").action == "paste"
        return self.shell.pasted(text).text

    @property
    def prompt(self) -> str:
        return self.shell.prompt
