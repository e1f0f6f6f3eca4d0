"""Software and hardware of EOS, from `show version | json` and `show hostname | json`."""

from __future__ import annotations

from fabric.targets.answer import name, seconds, text
from fabric.targets.eos.read_answer import answer_object
from fabric.targets.facts import Version


def read_version(version: str, hostname: str) -> Version:
    """Both answers together; releases such as 4.15 tell no uptime."""
    row = answer_object(version, "show version")
    host = name(answer_object(hostname, "show hostname"), "hostname", "show hostname")
    return Version(host, text(row, "modelName"), text(row, "version"), seconds(row, "uptime"))
