"""fboss2 and fboss2-dev: `python -m fabric.lab.fboss.fboss2 NODE_DIR [--dev] WORDS`.

One host, itself. JSON is {host: model} on one line; a failure leaves `{}` on stdout, FBOSS's words on stderr and exit code 1; a command
line that is not understood gives an exit code above 100.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from fabric.errors import FabricError
from fabric.lab.fboss import client, faults, show_bgp, show_box, show_net, show_ports
from fabric.lab.fboss.box import Box
from fabric.lab.fboss.node import Node

Show = Callable[[Box, list[str]], Any]

SHOWS: dict[str, Show] = {
    "show lldp": show_net.lldp,
    "show route": show_net.routes,
    "show ndp": show_net.ndp,
    "show arp": show_net.arp,
    "show interface": show_ports.interfaces,
    "show interface status": show_ports.status,
    "show interface counters": show_ports.counters,
    "show interface errors": show_ports.errors,
    "show interface flaps": show_ports.flaps,
    "show port": show_ports.ports,
    "show transceiver": show_ports.transceivers,
    "show bgp summary": show_bgp.summary,
    "show bgp neighbors": show_bgp.neighbors,
    "show product": show_box.product,
    "show agent boot-type": show_box.boot_type,
    "show hw-agent": show_box.hw_agent,
}
"""The commands with a model, and the functions that make it."""

TEXTS: dict[str, Show] = {
    "show config running agent": show_box.running_agent,
    "show bgp config running": show_bgp.config,
    "show config running bgp": show_bgp.config,
}
"""The commands that print a configuration, indented and without host unless --fmt json is given."""

DEV: dict[str, Show] = {"config applied-info": show_box.applied_info}
"""What only fboss2-dev has, beside `config reload`."""

_EXTRAS, _REQUIRED = 109, 106
"""Exit codes of CLI11 for words too many and for a command that lacks words (that library's; not stated in the FBOSS source)."""

_WITH_VALUE = (
    "-H", "--host", "--file", "--fmt", "-l", "--loglevel", "--agent-port", "--qsfp-port", "--fsdb-port", "--color", "--filter", "--aggregate",
)  # fmt: skip
_ALONE = ("--aggregate-hosts", "--detail", "-y", "--yes")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_UNCONFIRMED = "Refusing to proceed: stdin/stderr is not a TTY and -y/--yes was not passed. Pass -y/--yes to run it without a terminal."


class UsageError(FabricError):
    """The command line is not understood."""


class InvalidError(FabricError):
    """The command refuses its arguments."""


class Line:
    """A command line, taken apart; options may stand anywhere."""

    def __init__(self, words: list[str]) -> None:
        self.dev = words[:1] == ["--dev"]
        self.words: list[str] = []
        self.options: dict[str, str] = {}
        rest = iter(words[int(self.dev) :])
        for word in rest:
            key, equals, value = word.partition("=")
            if key in _WITH_VALUE:
                self.options[key] = value if equals else next(rest, "")
            elif word in _ALONE:
                self.options[word] = ""
            elif word.startswith("-"):
                raise UsageError(f"The following argument was not expected: {word}")
            else:
                self.words.append(word)

    @property
    def host(self) -> str:
        """The host as the wrapper names it."""
        return self.options.get("-H") or self.options.get("--host") or "localhost"

    @property
    def json(self) -> bool:
        """Whether JSON is asked for."""
        return self.options.get("--fmt") == "json"

    @property
    def yes(self) -> bool:
        """Whether a write command was confirmed."""
        return "-y" in self.options or "--yes" in self.options

    def match(self, commands: dict[str, Show]) -> tuple[str, list[str]] | None:
        """The longest command that the words begin with, and the words after it."""
        for length in range(len(self.words), 0, -1):
            name = " ".join(self.words[:length])
            if name in commands:
                return name, self.words[length:]
        return None


def _out(text: str) -> None:
    print(text)


def _err(text: str) -> None:
    print(text, file=sys.stderr)


def run(box: Box, line: Line) -> None:
    """Run one command; ThriftError, InvalidError or UsageError when it fails."""
    if line.host not in (*_LOCAL, box.node.name):
        raise client.ThriftError(client.REFUSED)
    text = line.match(TEXTS)
    if text is not None:
        found = TEXTS[text[0]](box, text[1])
        _out(json.dumps({line.host: found}, separators=(",", ":")) if line.json else json.dumps(found, indent=2))
        return
    commands = {**SHOWS, **DEV} if line.dev else SHOWS
    known = line.match(commands)
    if known is not None:
        model = commands[known[0]](box, known[1])
        for note in box.notes:
            _err(note)
        _out(
            json.dumps({line.host: model}, separators=(",", ":"), ensure_ascii=False)
            if line.json
            else _text(known[0], model)
        )
    elif line.words[:2] == ["set", "port"]:
        _set_port(box, line)
    elif line.dev and line.words == ["config", "reload"]:
        client.ask(box.node, {"op": "reload"})
        _out("Config reloaded successfully")
    else:
        raise UsageError(
            f"The following argument was not expected: {' '.join(line.words)}"
            if line.words
            else "A subcommand is required"
        )


def _set_port(box: Box, line: Line) -> None:
    words = line.words[2:]
    if len(words) < 3 or words[-2] != "state" or words[-1] not in ("enable", "disable"):
        raise UsageError("set port PORT... state enable|disable is required")
    ports, up = words[:-2], words[-1] == "enable"
    if not line.yes:
        _confirm(ports, words[-1])
    client.ask(box.node, {"op": "set_port", "ports": ports, "up": up})
    for port in ports:
        _out(f"{'Enabling' if up else 'Disabling'} port {port}")


def _confirm(ports: list[str], verb: str) -> None:
    """Without -y only a typed `yes` at a terminal goes on."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidError(_UNCONFIRMED)
    _err(f"Proceed for: {verb.upper()} port(s) [{', '.join(ports)}] on localhost")
    _err("Type 'yes' to continue")
    if sys.stdin.readline().strip() != "yes":
        raise InvalidError("Aborted")


def _text(command: str, model: Any) -> str:
    return show_bgp.summary_text(model) if command == "show bgp summary" else _table(model)


def _table(model: Any) -> str:
    """A table for people; its columns are no contract, there or here."""
    rows = model
    if isinstance(model, dict):
        lists = [value for value in model.values() if isinstance(value, list)]
        rows = lists[0] if len(lists) == 1 else [model]
    if not rows:
        return ""
    keys = list(rows[0])
    cells = [keys, *([_cell(row.get(key, "")) for key in keys] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(keys))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _failed(line: Line, words: str) -> int:
    if line.json:
        _out("{}")
    _err(f"{line.host}::\n{'=' * 80}\n{words}\n\n{line.host}: {words}")
    return 1


def main(argv: list[str]) -> int:
    """Run fboss2 of the box whose folder is the first argument."""
    line = Line([])
    try:
        node = Node(argv[1])
        line = Line(argv[2:])
        if faults.spoil_output(node, line.words):
            return 0
        if node.faults().get("log_lines"):
            _err("I0102 03:04:05.678901  4242 EventBase.cpp:1] a log line of the command itself")
        run(Box(node, detail="--detail" in line.options), line)
    except UsageError as error:
        _err(f"{error.message}\nRun with --help for more information.")
        return _EXTRAS if line.words else _REQUIRED
    except client.ThriftError as error:
        return _failed(line, f"Thrift call failed: '{error.message}'")
    except InvalidError as error:
        return _failed(line, f"Invalid argument: {error.message}")
    except (FabricError, IndexError) as error:
        _err(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
