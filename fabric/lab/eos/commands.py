"""The commands that do something: modes and the shell here, configurations and files in their own modules."""

from __future__ import annotations

import re

from fabric.lab.eos import config
from fabric.lab.eos.commands_config import CONFIG
from fabric.lab.eos.commands_files import FILES, saved
from fabric.lab.eos.grammar import Refused
from fabric.lab.eos.shell import Answer, Call, Handler, Reply, Shell


def _enable(shell: Shell, _: Call) -> Answer:
    shell.privileged = True
    return ""


def _disable(shell: Shell, _: Call) -> Answer:
    shell.privileged = False
    return ""


def _end(shell: Shell, _: Call) -> Answer:
    shell.leave()
    return ""


def _exit(_: Shell, __: Call) -> Answer:
    return Reply("", "close")


def _configure(shell: Shell, _: Call) -> Answer:
    if any(
        "disabled" in node.words for node in shell.switch.sessions.running.find("service", "configuration", "terminal")
    ):
        raise Refused("% Unavailable command (configure terminal is disabled)")
    shell.enter(None)
    return ""


def _width(_: Shell, call: Call) -> Answer:
    return f"Width set to {call.words[2]} columns.\n"


def _length(_: Shell, call: Call) -> Answer:
    return "Pagination disabled.\n" if call.words[2] == "0" else f"Length set to {call.words[2]} lines.\n"


def _nothing(_: Shell, __: Call) -> Answer:
    return ""


def _bash(_: Shell, call: Call) -> Answer:
    command = call.words[1] if len(call.words) > 1 else ""
    limit = re.match(r"timeout (\d+) (.*)", command)
    return Reply("", "bash", f"timeout {limit[1]} {limit[2]}" if limit else command)


def _ping(_: Shell, call: Call) -> Answer:
    words = call.words[1].split()
    if words[0] == "vrf":
        words = words[2:]
    if not words or not re.fullmatch(r"[0-9A-Fa-f:.]+", words[0]):
        raise Refused("% Invalid input (at token 1)")
    return Reply("", "bash", f"ping -c 5 -i 0.2 -W 1 {words[0]}")


def _reload(shell: Shell, call: Call) -> Answer:
    boot = Reply("", "reload")
    if call.words[-1] == "now":
        return boot

    def proceed(answer: str) -> Reply:
        return boot if answer in ("", "y", "yes") else Reply()

    def save(answer: str) -> Reply:
        if answer.startswith("y"):
            saved(shell)
        elif not answer.startswith("n"):
            return Reply()
        return shell.ask("Proceed with reload? [confirm]", proceed)

    startup = [line for line in shell.switch.startup_lines() or [] if not line.startswith("!")]
    now = [line for line in config.text_of(shell.switch.sessions.running).splitlines() if not line.startswith("!")]
    if startup != now:
        return shell.ask("System configuration has been modified. Save? [yes/no/cancel/diff]:", save)
    return shell.ask("Proceed with reload? [confirm]", proceed)


COMMANDS: dict[str, Handler] = {
    "enable": _enable,
    "disable": _disable,
    "end": _end,
    "exit": _exit,
    "configure": _configure,
    "terminal_width": _width,
    "terminal_length": _length,
    "nothing": _nothing,
    "bash": _bash,
    "ping": _ping,
    "reload": _reload,
    **CONFIG,
    **FILES,
}
"""What answers each command of the table that is not a show."""
